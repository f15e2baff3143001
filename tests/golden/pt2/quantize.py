#!/usr/bin/env python3
"""Quantizes tiny models and exports them as .pt2: quantize.py GOLDEN OUT. Needs transformers, torch and torchao 0.18.

GOLDEN has the golden cases. OUT gets a folder a program: model.pt2, export.json, config.json, inputs.safetensors and what the
quantized program gives for them. `pack_reference.py OUT OUT quantized.tar.xz` packs them. The quantizers of PyTorch 2 Export work
on the traced graph, the way that the reference's PT2EQuantizer uses them; torchao's quantize_() changes the model before.
"""
import collections
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file
from torchao.quantization import (Int8DynamicActivationInt8WeightConfig, Int8DynamicActivationIntxWeightConfig,
                                  Int8WeightOnlyConfig, IntxWeightOnlyConfig, quantize_)
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (X86InductorQuantizer,
                                                                        get_default_x86_inductor_quantization_config)
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torchao.utils import unwrap_tensor_subclass
from transformers.exporters import DynamoConfig, DynamoExporter, PT2EQuantizer


class OfLayers(XNNPACKQuantizer):
    """XNNPACK's quantizer for linear layers. It makes floats of numbers that are added, also of positions, and fails then."""

    STATIC_OPS = DYNAMIC_OPS = ["linear"]

    def transform_for_annotation(self, model):
        return model


def xnnpack(dynamic):
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
    return OfLayers().set_global(config)


def x86():
    return X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())


# name: (golden case, class, a quantizer of graphs or a configuration for quantize_())
PROGRAMS = {
    "bert-pt2e-x86": ("bert-base", "BertModel", x86),
    "bert-pt2e-xnnpack": ("bert-base", "BertModel", lambda: xnnpack(dynamic=False)),
    "bert-pt2e-xnnpack-dynamic": ("bert-base", "BertModel", lambda: xnnpack(dynamic=True)),
    "bert-8da8w": ("bert-base", "BertModel", Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int8, weight_granularity=PerAxis(0))),
    "llama-pt2e-x86": ("llama-causal-lm", "LlamaForCausalLM", x86),
    "llama-pt2e-xnnpack-dynamic": ("llama-causal-lm", "LlamaForCausalLM", lambda: xnnpack(dynamic=True)),
    "llama-8da4w": ("llama-causal-lm", "LlamaForCausalLM", Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(32))),
    "llama-int4": ("llama-causal-lm", "LlamaForCausalLM", IntxWeightOnlyConfig(
        weight_dtype=torch.int4, granularity=PerGroup(32))),
    "llama-int8": ("llama-causal-lm", "LlamaForCausalLM", Int8WeightOnlyConfig()),
    "llama-int8-products": ("llama-causal-lm", "LlamaForCausalLM", Int8DynamicActivationInt8WeightConfig()),
}


def leaves(value, name=""):
    """Tensors by the dotted names that the exporters give them."""
    if isinstance(value, torch.Tensor):
        return {name: value}
    if hasattr(value, "layers"):  # a cache
        value = {"layers": {str(i): {"keys": layer.keys, "values": layer.values} for i, layer in enumerate(value.layers)}}
    found = {}
    for key, item in value.items():
        if item is not None:
            found |= leaves(item, f"{name}.{key}" if name else key)
    return found


def export(case, kind, how, golden):
    model = getattr(transformers, kind).from_pretrained(golden / case).eval()
    inputs = dict(load_file(golden / case / "inputs.safetensors"))
    quantizer = None
    if callable(how):
        quantizer = PT2EQuantizer(how(), calibration_dataset=[inputs])
    else:
        quantize_(model, how)
        unwrap_tensor_subclass(model)  # weights as plain tensors
    config = DynamoConfig(dynamic=True, quantizer=quantizer)
    exported = DynamoExporter().export(model, inputs, config)
    return exported, inputs


def main():
    golden, out = (pathlib.Path(argument) for argument in sys.argv[1:3])
    for name, (case, kind, how) in PROGRAMS.items():
        if len(sys.argv) > 3 and name not in sys.argv[3:]:
            continue
        exported, inputs = export(case, kind, how, golden)
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        exported.save_pretrained(folder)
        program = torch.export.load(folder / "model.pt2")
        with torch.no_grad():
            outputs = leaves(program.module()(**inputs))
        save_file(inputs, folder / "inputs.safetensors")
        save_file({key: value.contiguous() for key, value in outputs.items()}, folder / "outputs.safetensors")
        print(name, dict(collections.Counter(str(node.target) for node in program.graph.nodes if "aten" not in str(node.target)
                                             and node.op == "call_function")))


if __name__ == "__main__":
    main()
