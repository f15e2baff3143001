"""ExecuTorch exports between Slipway and the Python reference, both ways. Run by tools/interop.sh.

    python executorch_reference.py SLIPWAY [NAME...]

For every golden case the reference's loader runs our export in Python's executorch.runtime and gives eager's numbers at
several batch sizes, lengths and paddings; for decoders also prefill and decode with a growing cache, and the golden
tokens with a static one. So do the methods of one file, which executorch.runtime loads by their names. Slipway loads and runs what the reference exports of llama and bert, plain, and prompt and
steps with either cache; executorch_reference_generate.py generates with it.
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
from executorch.runtime import Runtime
from safetensors.torch import load_file, save_file
from transformers import GenerationConfig
from transformers.exporters import ExecutorchConfig, ExecutorchExporter, ExportedModel
from transformers.exporters.utils import get_leaf_tensors

from checks import check, finish, slipway
from decoding import Masks, best, head_dim

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "models"
TOLERANCE = 1e-4
# Batch, new tokens, past tokens.
SIZES = ((1, 1, 1), (1, 5, 3), (3, 4, 7), (2, 9, 1))
SLOTS = 32
ROWS = 2  # those of the example, which the specs of a static cache record
THEIRS = ("bert-base", "llama-causal-lm")


def close(got, want, keep, what):
    if check(got.shape == want.shape, f"{what}: shape {list(got.shape)}, need {list(want.shape)}"):
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
    slipway("export", folder, out, "--format", "executorch", "--no-validate", "--quiet", *arguments)
    return ExportedModel.from_pretrained(out)


def plain(folder, meta, reference, scratch):
    causal = meta["head"] == "causal-lm"
    exported = export(folder, scratch / "plain", "--task", "text-generation" if causal else "auto")
    what = f"{folder.name} plain"
    inputs, want = load_file(folder / "inputs.safetensors"), load_file(folder / "outputs.safetensors")
    got = get_leaf_tensors(exported(**inputs))
    for leaf in set(want) & set(got):
        value = got[leaf]
        if value.dim() == 4:  # eager crops sliding layers, an export keeps all
            value = value[:, :, -want[leaf].shape[2] :]
        close(value, want[leaf], kept(inputs["attention_mask"], want[leaf]), f"{what}: {leaf}")
    check(bool(set(want) & set(got)), f"{what}: outputs {sorted(got)}")
    for batch, length, _ in SIZES:
        ids = torch.randint(3, reference.config.vocab_size, (batch, length))
        mask = torch.ones_like(ids)
        if batch > 1:
            mask[0, : length // 2] = 0 if causal else 1
            mask[0, -(length // 2) :] = 1 if causal else 0
        call = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in inputs:
            call["token_type_ids"] = (torch.arange(length) > 2).long().expand(batch, length).contiguous()
        with torch.no_grad():
            eager = dict(call, position_ids=torch.arange(length)[None]) if causal else call
            a, b = exported(**call), reference(**eager)
        for field in ("logits", "last_hidden_state", "start_logits", "end_logits"):
            if field in b:
                close(a[field], b[field], kept(mask, b[field]), f"{what} {batch}x{length}: {field}")


def growing(folder, reference, scratch):
    runners = export(folder, scratch / "generation", "--generation", "--multi-token-decode").runners
    for batch, length, past in SIZES:
        ids = torch.randint(3, reference.config.vocab_size, (batch, past + length))
        mask = torch.ones_like(ids)
        if batch > 1 and past > 1:
            mask[0, :1] = 0
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        with torch.no_grad():
            want = reference(input_ids=ids, attention_mask=mask, position_ids=positions).logits
        first = runners["prefill"](input_ids=ids[:, :past], attention_mask=mask[:, :past],
                                   position_ids=positions[:, :past])
        got = runners["decode"](input_ids=ids[:, past:], attention_mask=mask, position_ids=positions[:, past:],
                                past_key_values=first.past_key_values)
        keep, what = mask[..., None].bool(), f"{folder.name} growing {batch}x{length} after {past}"
        close(first.logits, want[:, :past], keep[:, :past], f"{what}: prompt")
        close(got.logits, want[:, past:], keep[:, past:], f"{what}: rest")


def static(folder, reference, scratch):
    """The guide's loop, over as many rows as the specs say, equal ones. Python gets the cache from the outputs."""
    exported = export(folder, scratch / "static", "--generation", "--multi-token-decode", "--static-cache", SLOTS)
    runner = exported.runners["decode"]
    generated = json.loads((folder / "generate.json").read_text())
    prompt = torch.tensor(generated["prompt"]["input_ids"]).expand(ROWS, -1)
    # Exports keep all tokens of sliding layers too: their windows are in the masks.
    config = copy.deepcopy(reference.config)
    config.sliding_window = config.layer_types = None
    cache = transformers.StaticCache(config=config, max_cache_len=SLOTS)
    heads = getattr(reference.config, "num_key_value_heads", None) or reference.config.num_attention_heads
    cache.early_initialization(ROWS, heads, head_dim(reference.config), torch.float32, "cpu")
    names = [f"attention_mask.{k}" for k in runner_masks(runner)] or ["attention_mask"]
    masks = Masks(reference.config, names)
    tokens, feed, at = [], prompt, 0
    while len(tokens) < len(generated["new_tokens"]):
        positions = torch.arange(at, at + feed.shape[1])
        out = runner(input_ids=feed, attention_mask=expanded(masks.argument(positions, SLOTS)),
                     position_ids=positions[None].expand(ROWS, -1), past_key_values=cache)
        cache = out.past_key_values
        feed, at = best(out.logits, reference.config), at + feed.shape[1]
        tokens.append(feed[:, 0].tolist())
    check(tokens == [[token] * ROWS for token in generated["new_tokens"]],
          f"{folder.name} static: {tokens}, need {generated['new_tokens']}")


def single_file(folder, reference, scratch):
    """Prefill and decode as methods of one file: eager's numbers, those of two files, and the golden tokens."""
    out = scratch / "single"
    slipway("export", folder, out, "--format", "executorch", "--generation", "--single-file", "--no-validate", "--quiet")
    listed = json.loads(slipway("inspect", out, "--json"))["components"]
    program = Runtime.get().load_program(out / "model.pte")
    methods = {name: program.load_method(entry["method"]) for name, entry in listed.items()}
    apart = export(folder, scratch / "apart", "--generation").runners

    def call(component, **leaves):
        given = [leaves[leaf["name"].removeprefix("input.")] for leaf in listed[component]["inputs"]]
        made = methods[component].execute(given)
        return {leaf["name"].removeprefix("output."): value.clone() for leaf, value in zip(listed[component]["outputs"], made)}

    generated = json.loads((folder / "generate.json").read_text())
    prompt = torch.tensor(generated["prompt"]["input_ids"])
    for rows in (1, 3):
        ids = prompt.expand(rows, -1).contiguous()
        mask, positions = torch.ones_like(ids), torch.arange(ids.shape[1]).expand(rows, -1).contiguous()
        with torch.no_grad():
            want = reference(input_ids=ids).logits
        got = call("prefill", input_ids=ids, attention_mask=mask, position_ids=positions)
        what = f"{folder.name} in one file, {rows} rows"
        close(got["logits"], want, torch.tensor(True), what)
        other = apart["prefill"](input_ids=ids, attention_mask=mask, position_ids=positions)
        check(torch.equal(got["logits"], other.logits), f"{what}: not the numbers of two files")
        tokens = []
        while True:
            feed = best(got["logits"], reference.config)
            tokens.append(feed[:, 0].tolist())
            if len(tokens) == len(generated["new_tokens"]):
                break
            mask = torch.cat((mask, torch.ones_like(feed)), 1)
            cache = {leaf: value for leaf, value in got.items() if leaf.startswith("past_key_values")}
            got = call("decode", input_ids=feed, attention_mask=mask, position_ids=mask.sum(1, keepdim=True) - 1, **cache)
        check(tokens == [[token] * rows for token in generated["new_tokens"]], f"{what}: {tokens}")
    for name in ("forward", "step"):
        try:
            program.load_method(name)
            check(False, f"{folder.name}: one file has a method {name}")
        except (KeyError, RuntimeError, ValueError):
            check(True, "")


def expanded(mask):
    if isinstance(mask, dict):
        return {name: value.expand(ROWS, -1, -1, -1) for name, value in mask.items()}
    return mask.expand(ROWS, -1, -1, -1)


def runner_masks(runner):
    """The keys of the mask where it is a dictionary."""
    context = runner.in_spec.child(1).context
    spec = runner.in_spec.child(1).child(context.index("attention_mask"))
    return list(spec.context) if spec.num_leaves > 1 or spec.context else []


def run_ours(out, call, scratch, *options):
    """What `slipway run` gives."""
    given, made = scratch / "given.safetensors", scratch / "made.safetensors"
    save_file({k: v.contiguous() for k, v in call.items()}, given)
    slipway("run", out, "--inputs", given, "--outputs", made, *options)
    return load_file(made)


def ours_runs_theirs(folder, inputs, reference, scratch):
    golden = load_file(folder / "outputs.safetensors")
    reference.config.use_cache = False
    out = scratch / "theirs"
    ExecutorchExporter().export(reference, dict(inputs), config=ExecutorchConfig(dynamic=True)).save_pretrained(out)
    reference.config.use_cache = True
    got = run_ours(out, inputs, scratch)
    for leaf in set(got) & set(golden):
        close(got[leaf], golden[leaf], kept(inputs["attention_mask"], got[leaf]), f"{folder.name}, theirs: {leaf}")
    check(bool(set(got) & set(golden)), f"{folder.name}, theirs in ours: outputs {sorted(got)}")


def ours_steps_theirs(folder, reference, scratch):
    """Prompt and steps on a cache, growing and static, in the program's memory and in the caller's."""
    prompt = torch.tensor(json.loads((folder / "generate.json").read_text())["prompt"]["input_ids"])
    with torch.no_grad():
        want = reference(prompt).logits
    every, length = torch.tensor(True), prompt.shape[1]
    positions, slots = torch.arange(length)[None], torch.arange(SLOTS)
    flags = {f"alloc_{part}": False for part in ("graph_input", "graph_output", "mutable_buffers")}
    static_config = GenerationConfig(cache_implementation="static", max_cache_len=SLOTS)
    for name, given, options in (("growing", {}, {}), ("static", {}, {"generation_config": static_config}),
                                 ("caller", flags, {"generation_config": static_config})):
        out, what = scratch / name, f"{folder.name}, theirs, {name}"
        ExecutorchExporter().export_for_generation(
            reference, {"input_ids": prompt, "attention_mask": torch.ones_like(prompt)},
            config=ExecutorchConfig(dynamic=True, **given), multi_token_decode=True, **options).save_pretrained(out)
        cache = {}
        if options:
            heads, size = reference.config.num_key_value_heads, head_dim(reference.config)
            for layer in range(reference.config.num_hidden_layers):
                for part in ("keys", "values"):
                    cache[f"past_key_values.layers.{layer}.{part}"] = torch.zeros(1, heads, SLOTS, size)
                cache[f"past_key_values.layers.{layer}.cumulative_length"] = torch.tensor(0)
        # The prompt but two tokens, then one, then the last.
        for begin, end in ((0, length - 2), (length - 2, length - 1), (length - 1, length)):
            at = positions[:, begin:end]
            mask = (slots <= at[0][:, None])[None, None] if options else torch.ones(1, end, dtype=torch.long)
            component = "decode" if options or begin > 0 else "prefill"
            got = run_ours(out, {"input_ids": prompt[:, begin:end], "attention_mask": mask, "position_ids": at, **cache},
                           scratch, "--component", component)
            cache = {leaf: value for leaf, value in got.items() if leaf.startswith("past_key_values")}
            close(got["logits"], want[:, begin:end], every, f"{what}: tokens {begin} to {end}")


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        for folder in sorted(p for p in GOLDEN.iterdir() if (p / "meta.json").exists()):
            if sys.argv[2:] and folder.name not in sys.argv[2:]:
                continue
            scratch = pathlib.Path(name) / folder.name
            scratch.mkdir()
            meta = json.loads((folder / "meta.json").read_text())
            reference = getattr(transformers, meta["auto_class"]).from_pretrained(folder, dtype=torch.float32).eval()
            plain(folder, meta, reference, scratch)
            if meta["head"] == "causal-lm":
                growing(folder, reference, scratch)
                static(folder, reference, scratch)
                single_file(folder, reference, scratch)
            if folder.name in THEIRS:
                ours_runs_theirs(folder, load_file(folder / "inputs.safetensors"), reference, scratch)
                if meta["head"] == "causal-lm":
                    ours_steps_theirs(folder, reference, scratch)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
