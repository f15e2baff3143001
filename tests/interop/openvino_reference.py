"""OpenVINO exports between Slipway and the Python reference, both ways. Run by tools/interop.sh.

    python openvino_reference.py SLIPWAY

For every golden case the reference's loader runs our export and gives eager's numbers at the example's and other batch
sizes, lengths and paddings, also step by step on the cache that the graph keeps. Slipway loads what the reference
exports, stateful, stateless and for generation: it gives the golden outputs and generates the golden tokens.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.exporters import ExportedModel, OpenVINOConfig, OpenVINOExporter
from transformers.exporters.utils import get_leaf_tensors

from checks import check, finish, slipway

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "models"
TOLERANCE = 1e-4
# Batch, new tokens, past tokens.
SIZES = ((1, 1, 1), (1, 5, 3), (3, 4, 7), (2, 9, 1))
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}  # the CPU plug-in computes in bfloat16 by itself


def close(got, want, keep, what):
    if check(got.shape == want.shape, f"{what}: shape {list(got.shape)}, need {list(want.shape)}"):
        worst = torch.where(keep, (got - want).abs(), torch.zeros(())).max().item()
        check(worst <= TOLERANCE, f"{what} differs by {worst:.2e}")


def kept(mask, value):
    if value.dim() >= 2 and value.shape[1] == mask.shape[1]:
        return mask.reshape(mask.shape + (1,) * (value.dim() - 2)).bool()
    return torch.tensor(True)


def positions_of(mask):
    return (mask.cumsum(-1) - 1).clamp(min=0) * mask


def load(folder):
    return ExportedModel.from_pretrained(folder, config=EXACT)


def theirs_runs_ours(folder, meta, reference, scratch):
    causal = meta["head"] == "causal-lm"
    out = scratch / "ours"
    slipway("export", folder, out, "--format", "openvino", "--no-validate")
    inputs = load_file(folder / "inputs.safetensors")
    for batch, length, past in SIZES:
        ids = torch.randint(3, reference.config.vocab_size, (batch, past + length))
        mask = torch.ones_like(ids)
        if batch > 1:
            mask[0, :1] = 0 if causal else 1
            mask[0, -(length // 2) :] = 1 if causal else 0
        call = {"input_ids": ids, "attention_mask": mask}
        if causal:
            call["position_ids"] = positions_of(mask)
        elif "token_type_ids" in inputs:
            call["token_type_ids"] = (torch.arange(past + length) > 2).long().expand(batch, -1).contiguous()
        exported = load(out)  # with no state from the last size
        with torch.no_grad():
            want = reference(**call)
        what = f"{folder.name} {batch}x{length} after {past}"
        if not causal:
            got = exported(**call)
            for field in ("logits", "last_hidden_state", "start_logits", "end_logits"):
                if field in want:
                    close(got[field], want[field], kept(mask, want[field]), f"{what}: {field}")
            continue
        head = {k: v[:, :past] for k, v in call.items()}
        tail = {k: v if k == "attention_mask" else v[:, past:] for k, v in call.items()}
        keep = mask[..., None].bool()
        close(exported(**head).logits, want.logits[:, :past], keep[:, :past], f"{what}: prompt")
        close(exported(**tail).logits, want.logits[:, past:], keep[:, past:], f"{what}: rest")


def run_ours(out, call, scratch):
    """What `slipway run` gives."""
    given, made = scratch / "given.safetensors", scratch / "made.safetensors"
    save_file({k: v.contiguous() for k, v in call.items()}, given)
    slipway("run", out, "--inputs", given, "--outputs", made)
    return load_file(made)


def ours_runs_theirs(folder, meta, reference, scratch):
    causal = meta["head"] == "causal-lm"
    inputs, golden = load_file(folder / "inputs.safetensors"), load_file(folder / "outputs.safetensors")
    call = dict(inputs)
    if causal:
        call["position_ids"] = positions_of(inputs["attention_mask"])
    reference.config.use_cache = False
    exported = OpenVINOExporter().export(reference, dict(call), OpenVINOConfig(dynamic=True))
    reference.config.use_cache = True
    out = scratch / "theirs"
    exported.save_pretrained(out)
    got = run_ours(out, call, scratch)
    for leaf, value in got.items():
        if leaf in golden:
            close(value, golden[leaf], kept(inputs["attention_mask"], value), f"{folder.name}, theirs in ours: {leaf}")
    check(bool(set(got) & set(golden)), f"{folder.name}, theirs in ours: outputs {sorted(got)}")


def ours_generates_theirs(folder, reference, scratch):
    generated = json.loads((folder / "generate.json").read_text())
    prompt = torch.tensor(generated["prompt"]["input_ids"])
    # The window of a sliding layer is an input of theirs that nothing fills in.
    slides = getattr(reference.config, "sliding_window", None) is not None
    for stateful in (True,) if slides else (True, False):
        exported = OpenVINOExporter().export_for_generation(
            reference, {"input_ids": prompt, "attention_mask": torch.ones_like(prompt)},
            OpenVINOConfig(dynamic=True, stateful=stateful), multi_token_decode=True)
        out = scratch / f"generation-{stateful}"
        exported.save_pretrained(out)
        given = scratch / "prompt.safetensors"
        save_file({"input_ids": prompt}, given)
        count = len(generated["new_tokens"])
        said = json.loads(slipway("generate", out, "--inputs", given, "--max-new-tokens", count,
                                  "--min-new-tokens", count, "--json"))
        check(said["new_ids"][0] == generated["new_tokens"],
              f"{folder.name}, stateful {stateful}: {said['new_ids'][0]}, need {generated['new_tokens']}")


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        for folder in sorted(p for p in GOLDEN.iterdir() if (p / "meta.json").exists()):
            scratch = pathlib.Path(name) / folder.name
            scratch.mkdir()
            meta = json.loads((folder / "meta.json").read_text())
            reference = getattr(transformers, meta["auto_class"]).from_pretrained(folder, dtype=torch.float32).eval()
            theirs_runs_ours(folder, meta, reference, scratch)
            ours_runs_theirs(folder, meta, reference, scratch)
            if (folder / "generate.json").exists():
                ours_generates_theirs(folder, reference, scratch)
    return finish()


sys.exit(main())
