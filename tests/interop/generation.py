"""Checks of exports for generation against the Python reference, both ways. Run by tools/interop.sh.

    python generation.py SLIPWAY

For every golden decoder: onnx.checker accepts the components; the reference's decode loop of its guide runs over our
static export and gives the golden tokens, at two cache lengths; ONNX Runtime does the same with each pair of cache
input and output bound to one buffer; our growing prefill and decode run in the reference. The other way: exports for
generation that the reference writes are continued by `slipway generate`.
"""

import json
import pathlib
import sys
import tempfile

import numpy
import onnx
import onnxruntime
import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, StaticCache
from transformers.exporters import ExportedModel, OnnxConfig, OnnxExporter

from checks import check, finish, slipway
from decoding import Masks, best, head_dim

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "models"
DECODERS = ("llama", "mistral", "qwen2", "qwen3")
onnxruntime.set_default_logger_severity(3)  # it warns of every input with a default


def graph_inputs(path):
    session = onnxruntime.InferenceSession(path)
    return [i.name for i in session.get_inputs()]


def guide_loop(out, prompt, count, max_cache_len):
    """The decode loop of the reference's guide. Its ONNX runner returns the cache that it updated."""
    exported = ExportedModel.from_pretrained(out)
    decode = exported.runners["decode"]
    config = AutoConfig.from_pretrained(out)
    masks = Masks(config, [n for n in graph_inputs(out / "decode.onnx") if n.startswith("attention_mask")])
    past_key_values = StaticCache(config=config, max_cache_len=max_cache_len)
    past_key_values.early_initialization(batch_size=1, num_heads=config.num_key_value_heads, head_dim=head_dim(config),
                                         dtype=torch.float32, device="cpu")
    # Eager gives sliding layers a cache of their own kind; exported graphs have full ones everywhere.
    for layer in past_key_values.layers:
        if layer.keys.shape[2] != max_cache_len:
            shape = (1, config.num_key_value_heads, max_cache_len, head_dim(config))
            layer.keys, layer.values = torch.zeros(shape), torch.zeros(shape)
    positions = torch.arange(prompt.shape[1])
    outputs = decode(input_ids=prompt, attention_mask=masks.argument(positions, max_cache_len),
                     position_ids=positions[None], past_key_values=past_key_values)
    tokens = [best(outputs.logits, config)]
    for position in range(prompt.shape[1], prompt.shape[1] + count - 1):
        positions = torch.tensor([position])
        outputs = decode(input_ids=tokens[-1], attention_mask=masks.argument(positions, max_cache_len),
                         position_ids=positions[None], past_key_values=outputs.past_key_values)
        tokens.append(best(outputs.logits, config))
    return [t.item() for t in tokens]


def shared_buffers(out, prompt, count, cache_len):
    """ONNX Runtime with every cache pair, the lengths too, bound to one buffer."""
    session = onnxruntime.InferenceSession(out / "decode.onnx")
    inputs = {i.name: i for i in session.get_inputs()}
    config = AutoConfig.from_pretrained(out)
    masks = Masks(config, [n for n in inputs if n.startswith("attention_mask")])
    binding, buffers = session.io_binding(), {}
    for name, spec in inputs.items():
        if not name.startswith("input."):
            continue
        shape = [1, spec.shape[1], cache_len, spec.shape[3]] if spec.shape else []
        array = numpy.zeros(shape, numpy.float32 if spec.shape else numpy.int64)
        buffers[name] = onnxruntime.OrtValue.ortvalue_from_numpy(array)
        binding.bind_ortvalue_input(name, buffers[name])
        binding.bind_ortvalue_output(name.replace("input.", "output.", 1), buffers[name])
    before = {name: value.data_ptr() for name, value in buffers.items()}
    ids, positions, tokens = prompt.numpy(), torch.arange(prompt.shape[1]), []
    for _ in range(count):
        binding.bind_cpu_input("input_ids", ids)
        binding.bind_cpu_input("position_ids", positions[None].numpy())
        for name, mask in masks.at(positions, cache_len).items():
            binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(mask.contiguous().numpy()))
        binding.bind_output("logits")
        session.run_with_iobinding(binding)
        # The order of bound outputs is that of binding them.
        logits = next(v for v in binding.get_outputs() if len(v.shape()) == 3).numpy()
        tokens.append(best(logits, config).item())
        ids, positions = numpy.array([[tokens[-1]]], numpy.int64), positions[-1:] + 1
    same = all(value.data_ptr() == before[name] for name, value in buffers.items())
    lengths = {value.numpy().item() for name, value in buffers.items() if name.endswith("cumulative_length")}
    return tokens, same and lengths == {prompt.shape[1] + count - 1}


def growing_loop(out, prompt, count):
    """Our prefill and decode of a growing cache in the reference's runner."""
    exported, config = ExportedModel.from_pretrained(out), AutoConfig.from_pretrained(out)
    mask, positions = torch.ones_like(prompt), torch.arange(prompt.shape[1])[None]
    outputs = exported.runners["prefill"](input_ids=prompt, attention_mask=mask, position_ids=positions)
    tokens = [best(outputs.logits, config)]
    for _ in range(count - 1):
        mask = torch.cat([mask, torch.ones(1, 1, dtype=torch.int64)], 1)
        outputs = exported.runners["decode"](input_ids=tokens[-1], attention_mask=mask,
                                             position_ids=mask.sum(1, keepdim=True) - 1,
                                             past_key_values=outputs.past_key_values)
        tokens.append(best(outputs.logits, config))
    return [t.item() for t in tokens]


def ours(name, scratch):
    folder = GOLDEN / f"{name}-causal-lm"
    golden = json.loads((folder / "generate.json").read_text())
    prompt, want = torch.tensor(golden["prompt"]["input_ids"]), golden["new_tokens"]
    for multi in ([], ["--multi-token-decode"]):
        growing = scratch / f"{name}-growing{len(multi)}"
        slipway("export", folder, growing, "--generation", *multi)
        got = growing_loop(growing, prompt, len(want))
        check(got == want, f"{name} growing {multi}: the reference's runner gives {got}, need {want}")
        static = scratch / f"{name}-static{len(multi)}"
        slipway("export", folder, static, "--generation", "--static-cache", 32, *multi)
        for component in ("prefill", "decode"):
            for out in (growing, static):
                onnx.checker.check_model(str(out / f"{component}.onnx"), full_check=True)
                check(True, f"{out.name}: onnx.checker accepts {component}")
    for cache_len in (32, 45):
        got = guide_loop(static, prompt, len(want), cache_len)
        check(got == want, f"{name} static {cache_len}: the guide's loop gives {got}, need {want}")
        got, in_place = shared_buffers(static, prompt, len(want), cache_len)
        check(got == want, f"{name} static {cache_len}: shared buffers give {got}, need {want}")
        check(in_place, f"{name} static {cache_len}: the buffers stay and their lengths advance")


def theirs(name, scratch):
    folder = GOLDEN / f"{name}-causal-lm"
    golden = json.loads((folder / "generate.json").read_text())
    prompt = torch.tensor(golden["prompt"]["input_ids"])
    save_file({"input_ids": prompt}, scratch / "prompt.safetensors")
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    # From one row without padding the reference freezes the batch and lets the prompt's graph take no mask.
    padded = {"input_ids": prompt.repeat(2, 1), "attention_mask": torch.ones_like(prompt).repeat(2, 1)}
    padded["attention_mask"][0, :2] = 0
    alone = {"input_ids": prompt, "attention_mask": torch.ones_like(prompt)}
    static = GenerationConfig(cache_implementation="static", max_cache_len=32, pad_token_id=0)
    for kind, settings, multi, example in (("growing", None, False, padded), ("static", static, False, padded),
                                           ("static", static, True, padded), ("static", static, False, alone)):
        out = scratch / f"theirs-{name}-{kind}-{multi}-{len(example['input_ids'])}"
        OnnxExporter().export_for_generation(model, dict(example), config=OnnxConfig(dynamic=True),
                                             generation_config=settings, multi_token_decode=multi).save_pretrained(out)
        made = json.loads(slipway("generate", out, "--inputs", scratch / "prompt.safetensors", "--ignore-eos",
                                  "--max-new-tokens", len(golden["new_tokens"]), "--json"))
        check(made["new_ids"][0] == golden["new_tokens"],
              f"{out.name}: the reference's export gives {made['new_ids'][0]} here")


def main():
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for name in DECODERS:
            ours(name, scratch)
        for name in ("llama", "qwen3"):
            theirs(name, scratch)
    return finish()


sys.exit(main())
