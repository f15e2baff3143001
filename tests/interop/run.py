"""Checks of exports against the Python reference, both ways. Run by tools/interop.sh.

    python run.py SLIPWAY

For every golden case: Slipway exports it; onnx.checker with full shape inference accepts the file at every opset
that is offered; the reference's ExportedModel.from_pretrained loads the directory and gives the golden outputs.
The other way: exports that the reference writes are loaded and run by Slipway and give the reference's outputs.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import onnx
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.exporters import ExportedModel, OnnxConfig, OnnxExporter
from transformers.exporters.utils import get_leaf_tensors

from checks import check, finish, slipway

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "models"
TOLERANCE = 1e-4  # float32 sums in another order


def difference(got, want, mask):
    """The largest difference where the padding mask keeps the position."""
    got, want = got.float(), want.float()
    if want.dim() == 4:  # a cache; eager's sliding layers keep only the tail
        got = got[:, :, -want.shape[2] :]
        keep = mask[:, None, -want.shape[2] :, None].bool()
    elif want.dim() >= 2 and want.shape[1] == mask.shape[1]:
        keep = mask.reshape(mask.shape + (1,) * (want.dim() - 2)).bool()
    else:
        keep = torch.tensor(True)
    return torch.where(keep, (got - want).abs(), torch.zeros(())).max().item()


def compare(got, want, mask, what):
    for leaf, value in want.items():
        if leaf.endswith("_sliding_window_tensor"):
            continue
        check(leaf in got, f"{what}: output {leaf} is there")
        if leaf in got:
            worst = difference(got[leaf], value, mask)
            check(worst <= TOLERANCE, f"{what}: {leaf} differs by {worst:.2e}")


def check_file(path, what):
    try:
        onnx.checker.check_model(str(path), full_check=True)
        check(True, what)
    except Exception as error:
        check(False, f"{what}: {error}")


def case(folder, scratch):
    meta = json.loads((folder / "meta.json").read_text())
    inputs, want = load_file(folder / "inputs.safetensors"), load_file(folder / "outputs.safetensors")
    mask = inputs["attention_mask"]
    causal = meta["head"] == "causal-lm"
    tasks = ["text-generation", "text-generation-with-past"] if causal else ["auto"]
    for task in tasks:
        what = f"{folder.name} {task}"
        out = scratch / f"{folder.name}-{task}"
        slipway("export", folder, out, "--format", "onnx", "--task", task)
        check_file(out / "model.onnx", f"{what}: onnx.checker accepts the file")
        model = ExportedModel.from_pretrained(out)
        arguments = dict(inputs)
        if task == "text-generation-with-past":
            arguments["position_ids"] = torch.clamp(mask.cumsum(1) - 1, min=0)
            arguments["past_key_values"] = transformers.DynamicCache(config=model.config)
            reference = getattr(transformers, meta["auto_class"]).from_pretrained(folder).eval()
            two_steps(model, reference, arguments, what)
        else:
            with torch.no_grad():
                compare(get_leaf_tensors(model(**arguments)), want, mask, f"{what} in the reference")
        slipway("run", out, "--inputs", folder / "inputs.safetensors", "--outputs", scratch / "o.safetensors")
        if task != "text-generation-with-past":
            compare(load_file(scratch / "o.safetensors"), want, mask, f"{what} in slipway")
    for opset in range(18, 25):
        out = scratch / f"{folder.name}-opset"
        slipway("export", folder, out, "--format", "onnx", "--opset", opset)
        check_file(out / "model.onnx", f"{folder.name} opset {opset}: onnx.checker accepts the file")
        check(onnx.load(out / "model.onnx", load_external_data=False).opset_import[0].version == opset,
              f"{folder.name}: the file declares opset {opset}")


def two_steps(model, reference, arguments, what):
    """A prompt on an empty cache, then one token on the cache that came back, as eager does it."""
    with torch.no_grad():
        eager = dict(arguments, past_key_values=transformers.DynamicCache())
        want, got = reference(**eager), filled_call(model, arguments)
        keep = arguments["attention_mask"].bool()
        check((got.logits - want.logits)[keep].abs().max() <= TOLERANCE, f"{what}: prompt logits")
        token = want.logits[:, -1:].argmax(-1)
        mask = torch.cat([arguments["attention_mask"], torch.ones_like(token)], 1)
        step = {"input_ids": token, "attention_mask": mask, "position_ids": mask.sum(1, keepdim=True) - 1}
        want = reference(**step, past_key_values=want.past_key_values)
        got = model(**step, past_key_values=got.past_key_values)
        worst = (got.logits - want.logits).abs().max().item()
        check(worst <= TOLERANCE, f"{what}: next-token logits differ by {worst:.2e}")


def filled_call(model, arguments):
    """The prompt call: an empty cache is one of zero-length tensors, which the reference's runner wants spelled out."""
    config = model.config
    heads = config.num_key_value_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    batch = arguments["input_ids"].shape[0]
    cache = transformers.DynamicCache()
    for layer in range(config.num_hidden_layers):
        empty = torch.zeros(batch, heads, 0, size)
        cache.update(empty, empty.clone(), layer)
    return model(**dict(arguments, past_key_values=cache))


def from_reference(name, scratch):
    """An export that the reference writes runs here."""
    folder = GOLDEN / name
    meta = json.loads((folder / "meta.json").read_text())
    model = getattr(transformers, meta["auto_class"]).from_pretrained(folder).eval()
    inputs = load_file(folder / "inputs.safetensors")
    out = scratch / f"reference-{name}"
    OnnxExporter().export(model, dict(inputs), config=OnnxConfig(dynamic=True)).save_pretrained(out)
    slipway("run", out, "--inputs", folder / "inputs.safetensors", "--outputs", scratch / "r.safetensors")
    compare(load_file(scratch / "r.safetensors"), load_file(folder / "outputs.safetensors"),
            inputs["attention_mask"], f"{name} exported by the reference")
    if meta["head"] == "causal-lm":
        out = scratch / f"reference-{name}-gen"
        OnnxExporter().export_for_generation(model, dict(inputs), config=OnnxConfig(dynamic=True)).save_pretrained(out)
        # The decode step is fed from the exported prefill: eager's sliding layers crop their keys, an export keeps them.
        prefill = {**inputs, "position_ids": torch.clamp(inputs["attention_mask"].cumsum(1) - 1, min=0)}
        # The reference's graphs take the window of each sliding layer as a scalar input.
        windows = {k: v for k, v in load_file(folder / "outputs.safetensors").items() if k.endswith("_window_tensor")}
        save_file({**prefill, **windows}, scratch / "prefill.safetensors")
        slipway("run", out, "--component", "prefill", "--inputs", scratch / "prefill.safetensors",
                "--outputs", scratch / "p.safetensors")
        first = load_file(scratch / "p.safetensors")
        mask = torch.cat([inputs["attention_mask"], torch.ones(2, 1, dtype=torch.int64)], 1)
        step = {"input_ids": first["logits"][:, -1:].argmax(-1), "attention_mask": mask,
                "position_ids": mask.sum(1, keepdim=True) - 1}
        cache = {k: v for k, v in first.items() if k.startswith("past_key_values")}
        save_file({**windows, **step, **cache}, scratch / "step.safetensors")
        slipway("run", out, "--component", "decode", "--inputs", scratch / "step.safetensors",
                "--outputs", scratch / "d.safetensors")
        with torch.no_grad():
            eager = model(**prefill, past_key_values=transformers.DynamicCache())
            want = model(**step, past_key_values=eager.past_key_values).logits
        got = load_file(scratch / "d.safetensors")["logits"]
        worst = (got - want).abs().max().item()
        check(worst <= TOLERANCE, f"{name}: the reference's decode component differs by {worst:.2e}")


def manifests(scratch):
    """The manifest and calls at several sizes, as the reference sees them."""
    script = pathlib.Path(__file__).with_name("manifest_check.py")
    for name, task in (("llama-causal-lm", "text-generation-with-past"), ("bert-base", "auto")):
        done = subprocess.run([sys.executable, script, scratch / f"{name}-{task}", "--checkpoint", GOLDEN / name],
                              capture_output=True, text=True)
        check(done.returncode == 0, f"manifest_check of {name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def real_models(scratch):
    models = ROOT / ".deps" / "models"
    for source in (models / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf", models / "minilm"):
        out = scratch / source.stem
        slipway("export", source, out, "--format", "onnx")
        check_file(out / "model.onnx", f"{source.name}: onnx.checker accepts the file")


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        for folder in sorted(p for p in GOLDEN.iterdir() if (p / "meta.json").exists()):
            case(folder, scratch)
        for name in ("llama-causal-lm", "qwen2-causal-lm", "bert-base", "bert-question-answering"):
            from_reference(name, scratch)
        manifests(scratch)
        real_models(scratch)
    return finish()


sys.exit(main())
