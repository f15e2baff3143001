"""Quantized programs through Slipway and through ExecuTorch's own partitioners. Run by tools/interop.sh.

    python executorch_quantized.py SLIPWAY CASES [NAME...]

CASES has tests/golden/pt2/quantized.tar.xz unpacked. Both .pte files run in Python's executorch.runtime on the inputs that the
reference ran: ours is no farther from the reference's numbers than theirs, and no larger.
"""

import pathlib
import sys
import tempfile
import warnings

import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed
import torchao.quantization.quant_primitives  # defines torchao's affine ops
import transformers
from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime
from safetensors.torch import load_file
from transformers.exporters.exporter_dynamo import register_cache_pytrees_for_model

from checks import check, finish, slipway

# The cases that were tried in ExecuTorch's partitioners; bert-pt2e-x86 ends in an error there.
NAMES = ("bert-8da8w", "bert-pt2e-xnnpack", "bert-pt2e-xnnpack-dynamic", "llama-8da4w", "llama-pt2e-xnnpack-dynamic")
ROUNDING = 1e-4


def worst(outputs, want, mask):
    """The largest difference where the mask keeps the position."""
    most = 0.0
    for (name, expected), got in zip(want.items(), outputs):
        difference = (expected - got).abs()
        if difference.shape[:2] == mask.shape:
            difference = difference[mask]
        elif difference.dim() == 4:
            difference = difference.transpose(1, 2)[mask]
        most = max(most, difference.max().item())
    return most


def theirs(program, path):
    lowered = to_edge_transform_and_lower(
        program, partitioner=[XnnpackDynamicallyQuantizedPartitioner(), XnnpackPartitioner()])
    path.write_bytes(lowered.to_executorch().buffer)


def main():
    cases = pathlib.Path(sys.argv[2])
    # Caches are containers that torch must know before it reads a program with one.
    register_cache_pytrees_for_model(transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=8, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1)))
    for name in sys.argv[3:] or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            ours, other = pathlib.Path(folder) / "ours", pathlib.Path(folder) / "theirs.pte"
            slipway("export", cases / name / "model.pt2", ours, "--format", "executorch", "--quiet")
            program = torch.export.load(cases / name / "model.pt2")
            theirs(program, other)
            given, want = (load_file(cases / name / f"{kind}.safetensors") for kind in ("inputs", "outputs"))
            order = [spec.arg.name for spec in program.graph_signature.input_specs if spec.arg.name in given]
            inputs = [given[name] for name in order]
            mask = given["attention_mask"].bool()
            far = {}
            for kind, path in (("ours", ours / "model.pte"), ("theirs", other)):
                method = Runtime.get().load_program(path).load_method("forward")
                far[kind] = worst(method.execute(inputs), want, mask)
            sizes = (ours / "model.pte").stat().st_size, other.stat().st_size
            print(f"{name}: ours {far['ours']:.3g} from the reference, {sizes[0]} bytes; "
                  f"theirs {far['theirs']:.3g}, {sizes[1]} bytes", flush=True)
            check(far["ours"] <= far["theirs"] + ROUNDING, f"{name}: ours is {far['ours']:.3g} from the reference")
            check(sizes[0] <= sizes[1], f"{name}: ours is larger")
    return finish()


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    sys.exit(main())
