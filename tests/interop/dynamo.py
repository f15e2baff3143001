"""Checks of .pt2 exports against PyTorch and the Python reference. Run by tools/interop.sh.

    python dynamo.py SLIPWAY

For every golden case: torch.export.load opens every file, plain, with a growing cache, for generation and with a
static cache; the types that a file states are those that torch computes; the reference's loader runs it and gives the
golden outputs, and eager's at other batch sizes, lengths and paddings; the decode loop of the reference's guide runs
over the static export and gives the golden tokens. AOTInductor compiles a llama and a bert.
"""

import copy
import json
import logging
import pathlib
import sys
import tempfile
import warnings

import torch
import transformers
from safetensors.torch import load_file
from transformers.exporters import ExportedModel
from transformers.exporters.utils import get_leaf_tensors

from checks import check, finish, slipway
from decoding import Masks, best

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "models"
TOLERANCE = 1e-5
# Batch, new tokens, past tokens.
SIZES = ((1, 1, 1), (1, 5, 3), (3, 4, 7), (2, 9, 1))
SLOTS = 32


def close(got, want, keep, what):
    worst = torch.where(keep, (got - want).abs(), torch.zeros(())).max().item()
    check(worst <= TOLERANCE, f"{what} differs by {worst:.2e}")


def kept(mask, value):
    """Where the padding mask keeps a position of an output or of a cache."""
    if value.dim() == 4:
        return mask[:, None, -value.shape[2] :, None].bool()
    if value.dim() >= 2 and value.shape[1] == mask.shape[1]:
        return mask.reshape(mask.shape + (1,) * (value.dim() - 2)).bool()
    return torch.tensor(True)


def export(folder, out, *arguments):
    slipway("export", folder, out, "--format", "dynamo", "--no-validate", *arguments)
    return ExportedModel.from_pretrained(out)


class Types(torch.fx.Interpreter):
    """Runs a program and compares the dtype and the rank of each value with what the file says."""

    def __init__(self, program):
        super().__init__(program.graph_module)
        self.wrong = []

    def run_node(self, node):
        value = super().run_node(node)
        stated = node.meta.get("val")
        if isinstance(value, torch.Tensor) and isinstance(stated, torch.Tensor):
            sizes = [(a, b) for a, b in zip(value.shape, stated.shape) if isinstance(b, int)]
            if value.dtype != stated.dtype or value.dim() != stated.dim() or any(a != b for a, b in sizes):
                self.wrong.append(f"{node.name}: {value.dtype}{list(value.shape)}, stated {stated.dtype}{list(stated.shape)}")
        return value


def check_program(program, what):
    targets = [n.target for n in program.graph.nodes if n.op == "call_function"]
    strange = {t for t in targets if isinstance(t, str) or (isinstance(t, torch._ops.OpOverload) and t.namespace != "aten")}
    check(not strange, f"{what}: every op is one of torch's: {strange}")
    args, kwargs = copy.deepcopy(program.example_inputs)
    flat, spec = torch.utils._pytree.tree_flatten((args, kwargs))
    check(spec == program.call_spec.in_spec, f"{what}: the example inputs have the structure of the call")
    stored = {**program.state_dict, **program.constants}
    specs = [s for s in program.graph_signature.input_specs if s.target is not None]
    types = Types(program)
    with torch.no_grad():
        types.run(*[stored[s.target] for s in specs], *flat)
    check(not types.wrong, f"{what}: stated types: {types.wrong[:3]}")


def plain(folder, meta, reference, scratch):
    causal = meta["head"] == "causal-lm"
    exported = export(folder, scratch / "plain", "--task", "text-generation" if causal else "auto")
    what = f"{folder.name} plain"
    check_program(exported.components["model"].program, what)
    inputs, want = load_file(folder / "inputs.safetensors"), load_file(folder / "outputs.safetensors")
    with torch.no_grad():
        got = get_leaf_tensors(exported(**inputs))
    for leaf, value in want.items():
        if not leaf.endswith("_sliding_window_tensor") and check(leaf in got, f"{what}: output {leaf} is there"):
            length = min(value.shape[2], got[leaf].shape[2]) if value.dim() == 4 else None
            a, b = (got[leaf][:, :, -length:], value[:, :, -length:]) if length else (got[leaf], value)
            close(a, b, kept(inputs["attention_mask"], b), f"{what}: {leaf}")
    for batch, length, _ in SIZES:
        ids = torch.randint(3, reference.config.vocab_size, (batch, length))
        mask = torch.ones_like(ids)
        if causal and batch > 1:
            mask[0, : length // 2] = 0
        elif batch > 1:
            mask[0, -(length // 2) :] = 0
        call = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in inputs:
            call["token_type_ids"] = (torch.arange(length) > 2).long().expand(batch, length).contiguous()
        with torch.no_grad():
            eager = dict(call, position_ids=torch.arange(length)[None]) if causal else call
            a, b = exported(**call), reference(**eager)
        for field in ("logits", "last_hidden_state", "start_logits"):
            if field in b:
                close(a[field], b[field], kept(mask, b[field]), f"{what} {batch}x{length}: {field}")


def growing(folder, reference, scratch):
    exported = export(folder, scratch / "growing")
    what = f"{folder.name} growing cache"
    check_program(exported.components["model"].program, what)
    components = export(folder, scratch / "generation", "--generation")
    for name, component in components.components.items():
        check_program(component.program, f"{folder.name} generation {name}")
    for batch, length, past in SIZES:
        ids = torch.randint(3, reference.config.vocab_size, (batch, past + length))
        mask = torch.ones_like(ids)
        if batch > 1:
            mask[0, :1] = 0
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        head = {"input_ids": ids[:, :past], "attention_mask": mask[:, :past], "position_ids": positions[:, :past]}
        tail = {"input_ids": ids[:, past:], "attention_mask": mask, "position_ids": positions[:, past:]}
        with torch.no_grad():
            want = reference(input_ids=ids, attention_mask=mask, position_ids=positions).logits
            first = components.runners["prefill"](**head)
            cache = first.past_key_values
            got = exported(**tail, past_key_values=copy.deepcopy(cache))
        keep = mask[..., None].bool()
        if past > 1 or batch == 1:
            close(first.logits, want[:, :past], keep[:, :past], f"{folder.name} prefill {batch}x{past}")
        close(got.logits, want[:, past:], keep[:, past:], f"{what} {batch}x{length} after {past}")
        if length == 1:
            with torch.no_grad():
                step = components.runners["decode"](**tail, past_key_values=cache)
            close(step.logits, want[:, past:], keep[:, past:], f"{folder.name} decode {batch} after {past}")


def guide_loop(folder, scratch):
    """The decode loop of the reference's guide. The rows of the batch are the same prompt."""
    exported = export(folder, scratch / "static", "--generation", "--multi-token-decode", "--static-cache", SLOTS)
    for name, component in exported.components.items():
        check_program(component.program, f"{folder.name} static {name}")
    generated = json.loads((folder / "generate.json").read_text())
    decode = exported.runners["decode"]
    _, example_kwargs = exported.components["decode"].program.example_inputs
    past_key_values = copy.deepcopy(example_kwargs["past_key_values"])
    past_key_values.reset()
    batch, slots = past_key_values.layers[0].keys.shape[0], past_key_values.layers[0].keys.shape[2]
    check(slots == SLOTS, f"{folder.name}: the template has {slots} slots")
    memory = [layer.keys.data_ptr() for layer in past_key_values.layers]
    example = example_kwargs["attention_mask"]
    names = [f"attention_mask.{k}" for k in example] if isinstance(example, dict) else ["attention_mask"]
    masks = Masks(exported.config, names)

    def expanded(mask):
        rows = {k: v.expand(batch, 1, -1, -1) for k, v in mask.items()} if isinstance(mask, dict) else None
        return rows or mask.expand(batch, 1, -1, -1)

    def call(ids, positions):
        outputs = decode(input_ids=ids, attention_mask=expanded(masks.argument(positions, slots)),
                         position_ids=positions[None].expand(batch, -1), past_key_values=past_key_values)
        return best(outputs.logits, exported.config)

    prompt = torch.tensor(generated["prompt"]["input_ids"]).expand(batch, -1)
    tokens = [call(prompt, torch.arange(prompt.shape[1]))]
    for position in range(prompt.shape[1], prompt.shape[1] + len(generated["new_tokens"]) - 1):
        tokens.append(call(tokens[-1], torch.tensor([position])))
    rows = torch.cat(tokens, 1).tolist()
    check(rows == [generated["new_tokens"]] * batch, f"{folder.name}: the guide's loop gives {rows[0]}")
    check(memory == [layer.keys.data_ptr() for layer in past_key_values.layers],
          f"{folder.name}: the cache is written in place")
    lengths = {int(layer.cumulative_length) for layer in past_key_values.layers}
    check(lengths == {prompt.shape[1] + len(tokens) - 1}, f"{folder.name}: the cache counts {lengths}")


def compiled(folder, scratch, task):
    """AOTInductor's own file gives the same numbers, at another batch size too."""
    exported = export(folder, scratch / "aoti", "--task", task)
    program = exported.components["model"].program
    path = torch._inductor.aoti_compile_and_package(program, package_path=str(scratch / "compiled.pt2"))
    model = torch._inductor.aoti_load_package(path)
    inputs = load_file(folder / "inputs.safetensors")
    for batch in (2, 1):
        call = {k: inputs[k][:batch].contiguous() for k in program.example_inputs[1]}
        with torch.no_grad():
            got, want = get_leaf_tensors(model(**call)), get_leaf_tensors(exported(**call))
        for leaf, value in want.items():
            close(got[leaf], value, kept(call["attention_mask"], value), f"{folder.name} compiled, batch {batch}: {leaf}")


def deferred(folder, scratch):
    """Bounds beyond the model's are promised, and checked by the graph itself."""
    shapes = {"input_ids": {"0": {"name": "rows"}, "1": {"name": "tokens", "min": 1, "max": 2000}}}
    exported = export(folder, scratch / "deferred", "--dynamic-shapes", json.dumps(shapes),
                      "--prefer-deferred-runtime-asserts-over-guards")
    limit = exported.config.max_position_embeddings
    for length, message in ((limit, None), (limit + 1, f"tokens <= {limit}"), (2001, "<= 2000")):
        ids = torch.ones(2, length, dtype=torch.long)
        try:
            exported(input_ids=ids, attention_mask=ids, token_type_ids=ids * 0)
            said = None
        except (AssertionError, RuntimeError) as error:
            said = str(error)
        check(message in said if message and said else message == said,
              f"{folder.name}: {length} tokens: {said}, need {message}")


def main():
    warnings.simplefilter("ignore")
    # Example inputs hold cache classes, so torch falls back from its restricted unpickler, and its message about that
    # is malformed. Its own files do the same.
    logging.raiseExceptions = False
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        for folder in sorted(p for p in GOLDEN.iterdir() if (p / "meta.json").exists()):
            scratch = pathlib.Path(name) / folder.name
            scratch.mkdir()
            meta = json.loads((folder / "meta.json").read_text())
            reference = getattr(transformers, meta["auto_class"]).from_pretrained(folder, dtype=torch.float32).eval()
            plain(folder, meta, reference, scratch)
            if meta["head"] == "causal-lm":
                growing(folder, reference, scratch)
                if (folder / "generate.json").exists():
                    guide_loop(folder, scratch)
        deferred(GOLDEN / "bert-base", pathlib.Path(name))
        for case, task in (("llama-causal-lm", "text-generation"), ("bert-base", "auto")):
            compiled(GOLDEN / case, pathlib.Path(name), task)
    return finish()


sys.exit(main())
