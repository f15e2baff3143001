"""Checks that other tools load the directories of `slipway export --layout` and generate the reference's tokens.

    python layouts.py SLIPWAY ENVIRONMENTS [TOOL ...]

ENVIRONMENTS is the folder where tools/interop_layouts.sh installed the tools; TOOL is genai, optimum or
transformers.js, all of them when none is named. Expected tokens are those of tests/golden and of the reference's run of SmolLM2.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

from checks import check, finish, slipway

ROOT = pathlib.Path(__file__).resolve().parents[2]
READERS = pathlib.Path(__file__).with_name("readers")
GOLDEN = ROOT / "tests" / "golden"
MODELS = ROOT / ".deps" / "models"
DECODERS = ("llama", "mistral", "qwen2", "qwen3")
TOOLS = ("genai", "optimum", "transformers.js")
# A directory with genai_config.json is one of Optimum too.
LAYOUTS_OF = {"genai": ("genai",), "optimum": ("optimum", "genai"), "transformers.js": ("transformers.js",)}
TOLERANCE = 1e-4  # float32 sums in another order
# What a tool cannot read, by (tool, model): a part of its message, and why. One that starts to work fails the check.
EXPECTED_FAILURES = {
    ("optimum", "qwen3"): ("Got: 8 Expected: 16",
                           "the reader makes empty caches of hidden_size / num_attention_heads instead of head_dim (optimum#2379)"),
}


def read_with(tool, jobs, scratch):
    """The answers of a tool, in its own environment."""
    environments = pathlib.Path(sys.argv[2])
    command = {
        "genai": [environments / "genai/bin/python", READERS / "genai.py"],
        "optimum": [environments / "optimum/bin/python", READERS / "optimum_onnx.py"],
        "transformers.js": ["node", READERS / "transformers_js.mjs", environments / "js/node_modules"],
    }[tool]
    path = scratch / f"{tool}.json"
    path.write_text(json.dumps(jobs, default=str), encoding="utf-8")
    done = subprocess.run([*map(str, command), str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{tool}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def until_end(tokens, end):
    """Some tools return the end token, some do not, and rows of a batch are filled up behind it."""
    return tokens[: tokens.index(end)] if end in tokens else tokens


class Plan:
    """Jobs of one tool and the checks of their answers."""

    def __init__(self, tool):
        self.tool, self.jobs, self.checks = tool, [], []

    def add(self, job, verify):
        self.jobs.append(job)
        self.checks.append(verify)

    def tokens(self, directory, rows, want, what, through_end, end=None, fails=None):
        """Greedy tokens of rows of ids equal those wanted."""

        def verify(answer):
            if fails is not None:
                part, why = fails
                return check(part in answer.get("error", ""), f"{what}: fails as known ({why}), got {answer}")
            if not check("error" not in answer, f"{what}: {answer.get('error')}"):
                return None
            for i, row in enumerate(want):
                check(until_end(answer["tokens"][i], end) == until_end(row, end),
                      f"{what}: row {i} is {answer['tokens'][i]}, need {row}")

        longest = max(map(len, want))
        self.add({"directory": directory, "rows": rows, "new_tokens": longest, "through_end": through_end}, verify)

    def run(self, scratch):
        for answer, verify in zip(read_with(self.tool, self.jobs, scratch), self.checks, strict=True):
            verify(answer)


def plan_decoders(plan, scratch):
    """Tiny decoders: the golden tokens alone, and in a batch of prompts of several lengths."""
    for name in DECODERS:
        golden = json.loads((GOLDEN / "models" / f"{name}-causal-lm" / "generate.json").read_text())
        sequence, new = golden["sequence"], golden["new_tokens"]
        start = len(sequence) - len(new)
        for layout in LAYOUTS_OF[plan.tool]:
            directory = scratch / f"{name}-{layout}"
            what = f"{plan.tool} reads {directory.name}"
            fails = EXPECTED_FAILURES.get((plan.tool, name))
            # The golden tokens go on through the end token.
            plan.tokens(directory, [sequence[:start]], [new], what, True, fails=fails)
            # Greedy text is its own continuation, whatever part of it is the prompt.
            prompts = [start, start + 2, start + 5]
            count = len(sequence) - prompts[-1]
            plan.tokens(directory, [sequence[:n] for n in prompts], [sequence[n : n + count] for n in prompts],
                        f"{what}, 3 prompts", True, fails=fails)
    if plan.tool == "transformers.js":
        # A step's two best logits are 0.07 apart in this model: halves do not change the choice.
        golden = json.loads((GOLDEN / "models" / "llama-causal-lm" / "generate.json").read_text())
        plan.tokens(scratch / "llama-fp16", golden["prompt"]["input_ids"], [golden["new_tokens"]],
                    "transformers.js reads llama in float16", True)


def plan_real_models(plan, scratch):
    """SmolLM2 with its tokenizer, prompt by prompt and as a batch; sentences through MiniLM."""
    cases = json.loads((GOLDEN / "reference" / "smollm2.json").read_text())["cases"]
    end = 2  # <|im_end|>
    ids, want = [case["input_ids"] for case in cases], [case["new_ids"] for case in cases]
    directory = scratch / f"smollm2-{plan.tool}"
    what = f"{plan.tool} reads SmolLM2"
    for i, case in enumerate(cases):
        plan.tokens(directory, [ids[i]], [want[i]], f"{what}, case {i}", False, end)
    plan.tokens(directory, ids[:3], want[:3], f"{what}, 3 prompts", False, end)

    def same_ids(answer):
        check(answer.get("ids") == ids, f"{what}: its tokenizer gives {answer}")

    plan.add({"directory": directory, "texts": [case["text"] for case in cases]}, same_ids)
    if plan.tool == "genai":
        return
    reference = json.loads((GOLDEN / "reference" / "minilm.json").read_text())

    def same_vectors(answer):
        if not check("error" not in answer, f"{plan.tool} reads MiniLM: {answer.get('error')}"):
            return
        worst = max(abs(a - b) for got, row in zip(answer["embeddings"], reference["embeddings"], strict=True)
                    for a, b in zip(got, row, strict=True))
        check(worst <= TOLERANCE, f"{plan.tool} reads MiniLM: embeddings differ by {worst:.2e}")

    plan.add({"directory": scratch / f"minilm-{plan.tool}", "sentences": reference["sentences"]}, same_vectors)


def write_ids(path, row):
    """A safetensors file of input_ids [1, n]."""
    header = json.dumps({"input_ids": {"dtype": "I64", "shape": [1, len(row)], "data_offsets": [0, 8 * len(row)]}}).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack(f"<{len(row)}q", *row))


def generates_here(directory, name, scratch, what):
    """Slipway itself loads a directory and gives the golden tokens."""
    golden = json.loads((GOLDEN / "models" / f"{name}-causal-lm" / "generate.json").read_text())
    new = golden["new_tokens"]
    write_ids(scratch / "ids.safetensors", golden["prompt"]["input_ids"][0])
    made = json.loads(slipway("generate", directory, "--inputs", scratch / "ids.safetensors", "--max-new-tokens", len(new),
                              "--json"))
    # It stops at the end token, which the golden tokens leave out: what went before must be equal.
    got = until_end(made["new_ids"][0], 2)
    check(len(got) >= len(new) - 1 and got == new[: len(got)], f"{what}: {got}, need {new}")
    check(json.loads(slipway("inspect", directory, "--json"))["components"]["model"]["op_counts"], f"{what}: inspect")


def written_by_optimum(plan, scratch):
    """Directories that Optimum itself wrote run here."""
    for name in ("llama", "qwen2"):
        directory = scratch / f"by-optimum-{name}"

        def verify(answer, directory=directory, name=name):
            if check("error" not in answer, f"Optimum exports {name}: {answer.get('error')}"):
                generates_here(directory, name, scratch, f"slipway reads {directory.name}")

        plan.add({"checkpoint": GOLDEN / "models" / f"{name}-causal-lm", "directory": directory}, verify)


def prompt_logits(directory, scratch):
    """Graphs for transformers.js take the number of last logits, and Slipway gives all where it is left out."""
    inputs = json.loads(slipway("inspect", directory, "--json"))["components"]["model"]["inputs"]
    check("num_logits_to_keep" in [leaf["name"] for leaf in inputs], f"{directory.name} takes num_logits_to_keep")
    write_ids(scratch / "ids.safetensors", [5, 6, 7])
    made = json.loads(slipway("run", directory, "--inputs", scratch / "ids.safetensors", "--outputs",
                              scratch / "all.safetensors", "--json"))
    shapes = {leaf["name"]: leaf["shape"] for leaf in made["outputs"]}
    check(shapes["logits"][:2] == [1, 3], f"{directory.name}: all logits, got {shapes['logits']}")


def export_all(scratch, layouts):
    smollm2 = sorted((MODELS / "smollm2").glob("*.gguf"))[0]
    for layout in layouts:
        for name in DECODERS:
            directory = scratch / f"{name}-{layout}"
            slipway("export", GOLDEN / "models" / f"{name}-causal-lm", directory, "--layout", layout, "--validate")
            generates_here(directory, name, scratch, f"slipway reads {directory.name}")
        slipway("export", smollm2, scratch / f"smollm2-{layout}", "--layout", layout)
        if layout != "genai":
            slipway("export", MODELS / "minilm", scratch / f"minilm-{layout}", "--layout", layout, "--task", "feature-extraction")
        if layout == "transformers.js":
            prompt_logits(scratch / "llama-transformers.js", scratch)
            slipway("export", GOLDEN / "models" / "llama-causal-lm", scratch / "llama-fp16", "--layout", layout, "--dtype", "fp16")


def main():
    tools = sys.argv[3:] or TOOLS
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        export_all(scratch, sorted({layout for tool in tools for layout in LAYOUTS_OF[tool]}))
        for tool in tools:
            plan = Plan(tool)
            plan_decoders(plan, scratch)
            plan_real_models(plan, scratch)
            if tool == "optimum":
                written_by_optimum(plan, scratch)
            plan.run(scratch)
    return finish()


sys.exit(main())
