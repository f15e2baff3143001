"""Checks that the reference takes an export directory: its manifest, its names, and calls of it.

    python manifest_check.py DIR [--checkpoint CHECKPOINT]   an export that Slipway or the reference wrote
    python manifest_check.py --prototype                     an export made here, to check the check

Needs transformers 5.23, torch, onnx and onnxruntime. With a checkpoint the outputs are compared with those of the
model in PyTorch, within 1e-4 plus 1e-4 of the value.
"""

import argparse
import contextlib
import json
import sys
import tempfile
from pathlib import Path

import onnx
import torch
from transformers import AutoConfig, DynamicCache
from transformers.exporters.base import ExportedModel
from transformers.exporters.metadata import ExportMetadata, load_treespec
from transformers.exporters.utils import get_leaf_tensors

failures = []


def check(condition, what):
    """Records a failed expectation and goes on, so that one run shows them all."""
    if not condition:
        failures.append(what)
        print(f"FAIL {what}")


def filled(spec):
    """The structure of a spec with a distinct tensor at each leaf."""
    leaves = [torch.full((1,), float(i)) for i in range(spec.num_leaves)]
    return torch.utils._pytree.tree_unflatten(leaves, spec), leaves


def leaf_paths(structure, leaves):
    """The dotted path of each leaf that get_leaf_tensors finds, in the order of the leaves."""
    by_id = {id(tensor): path for path, tensor in get_leaf_tensors(structure).items()}
    return [by_id.get(id(leaf)) for leaf in leaves]


def check_text(directory):
    """The bytes of export.json are those that the reference's own writer gives its content."""
    text = (directory / "export.json").read_text(encoding="utf-8")
    check(json.dumps(json.loads(text), indent=2) + "\n" == text, "export.json is laid out as json.dumps(indent=2)")


def check_component(name, entry, directory):
    """Specs, keyword arguments and the graph's names agree. Returns the metadata and the graph."""
    known = set(ExportMetadata.__dataclass_fields__)
    check(list(entry["metadata"]) == [f for f in ExportMetadata.__dataclass_fields__], f"{name}: metadata has {known}")
    metadata = ExportMetadata.from_dict(entry["metadata"])
    specs = {}
    for key in ("in_spec", "out_spec"):
        text = getattr(metadata, key)
        specs[key] = load_treespec(text)
        again = torch.utils._pytree.treespec_dumps(specs[key])
        check(again == text, f"{name}: {key} reads back to the same text")

    (args, kwargs), in_leaves = filled(specs["in_spec"])
    check(args == (), f"{name}: in_spec has keyword arguments only")
    check(list(kwargs) == list(metadata.kwargs), f"{name}: kwargs {list(metadata.kwargs)} are in_spec's {list(kwargs)}")
    in_paths = leaf_paths(kwargs, in_leaves)
    outputs, out_leaves = filled(specs["out_spec"])
    constants = {index for index, _ in metadata.out_constants}
    out_paths = [path for i, path in enumerate(leaf_paths(outputs, out_leaves)) if i not in constants]

    graph = onnx.load(str(directory / entry["file"]), load_external_data=False).graph
    initializers = {tensor.name for tensor in graph.initializer}
    inputs = [value.name for value in graph.input if value.name not in initializers]
    names = [value.name for value in graph.output]
    both = set(in_paths) & set(out_paths)
    want_in = [f"input.{path}" if path in both else path for path in in_paths]
    want_out = [f"output.{path}" if path in both else path for path in out_paths]
    # Inputs bind by name and unread ones may be dropped; outputs bind by their order.
    check([path for path in want_in if path in inputs] == inputs, f"{name}: inputs {inputs} are of {want_in} in order")
    check(names == want_out, f"{name}: outputs {names} are {want_out}")
    return metadata, graph


def caches(graph, batch, past):
    """The sizes of each layer's cache inputs, as the graph states them."""
    sizes = {}
    for value in graph.input:
        path = value.name.removeprefix("input.")
        if path.startswith("past_key_values.layers.") and path.rsplit(".", 1)[1] in ("keys", "values"):
            dims = value.type.tensor_type.shape.dim
            # The prototype's tracer writes fixed sizes as symbols that are numbers.
            heads, width = (int(dims[i].dim_param or dims[i].dim_value) for i in (1, 3))
            sizes.setdefault(int(path.split(".")[2]), (batch, heads, past, width))
    return [sizes[i] for i in sorted(sizes)]


def check_calls(exported, graph, config, model, steps):
    """Calls with an empty and a filled cache, several batches and lengths; compares where there is a model."""
    names = {value.name.removeprefix("input.") for value in graph.input}
    with_cache = any(name.startswith("past_key_values.") for name in names)
    generator = torch.Generator().manual_seed(0)
    calls = 0
    for batch in (1, 2, 3):
        for past in (0, 1, 5) if with_cache else (0,):
            for length in steps:
                total = past + length
                ids = torch.randint(3, config.vocab_size, (batch, total), generator=generator)
                call = {
                    "input_ids": ids[:, past:],
                    "attention_mask": torch.ones(batch, total, dtype=torch.int64),
                    "position_ids": torch.arange(past, total)[None].repeat(batch, 1),
                    "token_type_ids": torch.zeros(batch, length, dtype=torch.int64),
                }
                call = {key: value for key, value in call.items() if key in names}
                expected = None
                if with_cache:
                    data = [(torch.randn(s, generator=generator),) * 2 for s in caches(graph, batch, past)]
                    if model is not None and past:
                        layers = model(input_ids=ids[:, :past], use_cache=True).past_key_values.layers
                        data = [(layer.keys, layer.values) for layer in layers]
                    call["past_key_values"] = DynamicCache(ddp_cache_data=data)
                if model is not None:
                    full = {k: v for k, v in call.items() if k == "token_type_ids"}
                    expected = model(input_ids=ids, attention_mask=torch.ones_like(ids), **full)
                got = exported(**call)
                calls += 1
                if not expected:
                    continue
                theirs = get_leaf_tensors(expected)
                for path, value in get_leaf_tensors(got).items():
                    want = theirs[path]
                    # The model saw the whole text, the export its last positions; caches hold all of it.
                    if with_cache and not path.startswith("past_key_values."):
                        want = want[:, past:]
                    close = value.shape == want.shape and torch.allclose(value, want, rtol=1e-4, atol=1e-4)
                    check(close, f"batch {batch}, past {past}, length {length}: {path} is the model's")
    return calls


def load_model(architecture, checkpoint):
    """The reference's model, run position by position as the export does."""
    import transformers

    return getattr(transformers, architecture).from_pretrained(checkpoint, dtype=torch.float32).eval()


def check_directory(directory, checkpoint, steps):
    check_text(directory)
    manifest = json.loads((directory / "export.json").read_text(encoding="utf-8"))
    graphs = {}
    for name, entry in manifest["components"].items():
        graphs[name] = check_component(name, entry, directory)
    exported = ExportedModel.from_pretrained(directory)
    calls = 0
    if len(graphs) == 1:
        metadata, graph = next(iter(graphs.values()))
        model = load_model(metadata.architecture, checkpoint) if checkpoint else None
        calls = check_calls(exported, graph, AutoConfig.from_pretrained(directory), model, steps)
    with tempfile.TemporaryDirectory() as copy:
        exported.save_pretrained(copy)
        saved = (Path(copy) / "export.json").read_bytes()
        check(saved == (directory / "export.json").read_bytes(), "the reference saves the same export.json")
    print(f"{directory}: {len(graphs)} components, {calls} calls, {len(failures)} failures")


def prototype(folder):
    """A decode graph of the reference as an export of one component that takes a cache."""
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.exporters import OnnxConfig, OnnxExporter

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    ids = torch.randint(3, 64, (2, 9))
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    stages = OnnxExporter().export_for_generation(model, inputs, config=OnnxConfig(dynamic=True))
    one = ExportedModel({"model": stages.components["decode"]}, "onnx", config=model.config)
    one.save_pretrained(folder / "export")
    model.save_pretrained(folder / "checkpoint")
    return folder / "export", folder / "checkpoint"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--prototype", action="store_true")
    options = parser.parse_args()
    if options.prototype == (options.directory is not None):
        parser.error("give a directory or --prototype")
    with torch.no_grad(), contextlib.ExitStack() as stack:
        if options.prototype:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            directory, checkpoint = prototype(folder)
            # A decode graph of the reference takes one token at a time.
            check_directory(directory, checkpoint, steps=(1,))
        else:
            check_directory(options.directory, options.checkpoint, steps=(1, 2, 7))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
