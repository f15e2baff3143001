"""Checks of OpenVINO exports in OpenVINO itself. Run by tools/interop.sh.

    python openvino_ir.py SLIPWAY

Every golden case, plain, with a growing cache and with a static cache, stateless and stateful: OpenVINO reads the IR
and gives the golden outputs and the numbers of single rows of the reference (rows.safetensors) at other batch sizes,
lengths, pasts and paddings; rows that are masked everywhere are finite; the CPU plug-in fuses norms and rotation.
"""

import json
import pathlib
import sys
import tempfile

import numpy as np
import openvino
from safetensors.numpy import load_file

from checks import check, finish, slipway

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "models"
TOLERANCE = 1e-4
# Batch, new tokens, past tokens.
SIZES = ((1, 1, 1), (1, 5, 3), (3, 4, 7), (2, 9, 1), (3, 1, 20), (2, 1, 4))
SLOTS = 32
CORE = openvino.Core()


class Model:
    """A compiled component, called with what it takes of the given arrays."""

    def __init__(self, file):
        self.model = CORE.read_model(file)
        self.compiled = CORE.compile_model(self.model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        self.request = self.compiled.create_infer_request()
        self.inputs = {port.any_name for port in self.model.inputs}
        self.outputs = [port.any_name for port in self.model.outputs]

    def __call__(self, arrays):
        taken = {name: np.array(arrays[name], order="C") for name in self.inputs}
        results = self.request.infer(taken)
        return {name: np.array(results[name]) for name in self.outputs}

    def layers(self):
        """How many nodes of each kind run."""
        counts = {}
        for node in self.compiled.get_runtime_model().get_ops():
            kind = node.get_rt_info()["layerType"].astype(str)
            counts[kind] = counts.get(kind, 0) + 1
        return counts


def export(folder, out, *arguments):
    slipway("export", folder, out, "--format", "openvino", "--no-validate", *arguments)
    return {f.stem.removeprefix("openvino_"): Model(f) for f in sorted(pathlib.Path(out).glob("*.xml"))}


def close(got, want, keep, what):
    if not check(got.shape == want.shape, f"{what}: shape {got.shape}, not {want.shape}"):
        return
    worst = float(np.max(np.where(keep, np.abs(got.astype(np.float64) - want), 0), initial=0))
    check(worst <= TOLERANCE and np.isfinite(got).all(), f"{what} differs by {worst:.2e}")


def kept(mask, value):
    """Where the padding mask keeps a position of an output or of a cache."""
    if value.ndim == 4:
        return mask[:, None, -value.shape[2] :, None].astype(bool)
    if value.ndim >= 2 and value.shape[1] == mask.shape[1]:
        return mask.reshape(mask.shape + (1,) * (value.ndim - 2)).astype(bool)
    return np.array(True)


def plain_name(name):
    return name.removeprefix("output.")


def example(model, folder, what):
    """The golden inputs give the golden outputs."""
    inputs, wanted = load_file(folder / "inputs.safetensors"), load_file(folder / "outputs.safetensors")
    # Callers that give no positions count from the first slot.
    inputs["position_ids"] = np.broadcast_to(np.arange(inputs["input_ids"].shape[1]), inputs["input_ids"].shape)
    for name in model.inputs - inputs.keys():
        cache = wanted[name.removeprefix("input.")]
        inputs[name] = np.zeros((cache.shape[0], cache.shape[1], 0, cache.shape[3]), np.float32)
    # A constant that the reference's sliding cache carries along is no state.
    wanted = {n: v for n, v in wanted.items() if not n.endswith("._sliding_window_tensor")}
    results = {plain_name(n): v for n, v in model(inputs).items()}
    check(results.keys() >= wanted.keys(), f"{what}: outputs {sorted(wanted.keys() - results.keys())} are missing")
    for name, want in wanted.items():
        if want.ndim == 4:  # the reference's sliding layers keep their window only
            results[name] = results[name][:, :, -want.shape[2] :]
        close(results[name], want, kept(inputs["attention_mask"], want), f"{what} {name}")


def padded(rows, batch, length, past, pads):
    """Rows of the reference behind left padding of `pads` positions each: ids, mask, positions, caches of the past."""
    total = past + length
    ids, mask = np.full((batch, total), 1, np.int64), np.zeros((batch, total), np.int64)
    caches = {n: np.full((batch, v.shape[1], total, v.shape[3]), 0.5, np.float32) for n, v in rows.items() if v.ndim == 4}
    for r in range(batch):
        n = total - pads[r]
        ids[r, pads[r] :], mask[r, pads[r] :] = rows["input_ids"][r, :n], 1
        for name, cache in caches.items():
            cache[r, :, pads[r] :] = rows[name][r, :, :n]
    return ids, mask, np.maximum(np.cumsum(mask, 1) - 1, 0), caches


def wanted_logits(rows, mask, length):
    """The reference's logits for the last `length` positions; zeros where there is padding."""
    batch, total = mask.shape
    want = np.zeros((batch, total, rows["logits"].shape[2]))
    for r in range(batch):
        n = int(mask[r].sum())
        want[r, total - n :] = rows["logits"][r, :n]
    return want[:, total - length :]


def growing(model, rows, what):
    """Any batch, length, past and padding."""
    for batch, length, past in SIZES:
        for pads in ([0] * batch, [min(r, past) for r in range(batch)], [min(2 * r, past + length - 1) for r in range(batch)]):
            ids, mask, positions, caches = padded(rows, batch, length, past, pads)
            feeds = {"input_ids": ids[:, past:], "attention_mask": mask, "position_ids": positions[:, past:]}
            feeds |= {f"input.{name}": cache[:, :, :past] for name, cache in caches.items()}
            results = {plain_name(n): v for n, v in model(feeds).items()}
            at = f"{what} {batch}x{length} after {past}, pads {pads}"
            keep = mask[:, past:, None].astype(bool)
            close(results["logits"], wanted_logits(rows, mask, length), keep, at)
            for name, cache in caches.items():
                close(results[name], cache, kept(mask, cache), f"{at} {name}")


def causal_mask(mask, length, total, slots, window):
    """[batch, 1, length, slots]: what each of the last `length` of `total` positions sees."""
    key, query = np.arange(slots)[None, :], np.arange(total - length, total)[:, None]
    visible = (key <= query) & ((query - key < window) if window else True)
    filled = np.zeros((mask.shape[0], slots), bool)
    filled[:, : mask.shape[1]] = mask.astype(bool)
    return visible[None, None] & filled[:, None, None, :]


def static(models, rows, window, what, kept_inside=False):
    """A prompt into empty slots, then steps; the last state goes into the next call."""
    for pads in ([0, 0, 0], [0, 2, 3]):
        ids, mask, positions, caches = padded(rows, 3, 9, 0, pads)
        state = {}
        for name, cache in caches.items():
            state[f"input.{name}"] = np.zeros((3, cache.shape[1], SLOTS, cache.shape[3]), np.float32)
            state[f"input.{name.rsplit('.', 1)[0]}.cumulative_length"] = np.array(0, np.int64)
        at = 0
        for component, length in (("prefill", 6), ("decode", 1), ("decode", 1), ("decode", 1)):
            model, end = models[component], at + length
            feeds = {"input_ids": ids[:, at:end], "position_ids": positions[:, at:end], **state}
            for name in model.inputs:
                if name.startswith("attention_mask"):
                    slots = SLOTS
                    w = window if name != "attention_mask.full_attention" else None
                    feeds[name] = causal_mask(mask[:, :end], length, end, slots, w)
            feeds["beam_idx"] = np.arange(3, dtype=np.int32)
            if kept_inside and component == "decode" and at == 6:
                for s in model.request.query_state():
                    name = next(n for n in state if variable(n.removeprefix("input.")) == s.name)
                    value = np.array(state[name], np.int32 if state[name].dtype == np.int64 else None)
                    s.state = openvino.Tensor(value)
            results = model(feeds)
            close(results["logits"], wanted_logits(rows, mask[:, :end], length), mask[:, at:end, None].astype(bool),
                  f"{what} {component} to {end}, pads {pads}")  # fmt: skip
            for name, value in results.items():
                if name != "logits":
                    state[f"input.{plain_name(name)}"] = value
            at = end


def variable(name):
    """past_key_values.layers.0.keys -> past_key_values.0.keypresent.0.key"""
    _, _, layer, part = name.split(".")
    if part not in ("keys", "values"):
        return f"input.{name}output.{name}"
    return f"past_key_values.{layer}.{part[:-1]}present.{layer}.{part[:-1]}"


def stateful(model, rows, what):
    """A prompt, then the rest; rows reordered between; a cache put in from outside."""
    check(not any(n.startswith(("input.", "past")) for n in model.inputs), f"{what}: no cache is an input: {model.inputs}")
    check(model.outputs == ["logits"], f"{what}: no cache is an output: {model.outputs}")
    for op in model.model.get_ops():
        if op.get_type_name() == "ReadValue":
            first = op.input(0).get_partial_shape()
            sizes = [None if d.is_dynamic else d.get_length() for d in first]
            check(sizes[0] is None and sizes[2] == 0 and None not in sizes[1:], f"{what}: begins as [?, heads, 0, size]: {first}")
    states = {s.name: s for s in model.request.query_state()}
    for batch, length, past in SIZES:
        for pads in ([0] * batch, [min(r, past) for r in range(batch)], [min(2 * r, past + length - 1) for r in range(batch)]):
            ids, mask, positions, caches = padded(rows, batch, length, past, pads)
            wanted = wanted_logits(rows, mask, past + length)
            at = f"{what} {batch}x{length} after {past}, pads {pads}"

            def step(begin, end, order):
                feeds = {"input_ids": ids[:, begin:end], "attention_mask": mask[:, :end],
                         "position_ids": positions[:, begin:end], "beam_idx": np.array(order, np.int32)}  # fmt: skip
                got = model(feeds)["logits"]
                close(got, wanted[:, begin:end], mask[:, begin:end, None].astype(bool), f"{at}, {begin} to {end}")

            same = list(range(batch))
            model.request.reset_state()
            step(0, past, same)
            step(past, past + length, same)
            model.request.reset_state()
            step(0, past, same)
            order = [batch - 1] * batch
            ids, mask, positions, wanted = ids[order], mask[order], positions[order], wanted[order]
            step(past, past + length, order)
            model.request.reset_state()
            for name, cache in caches.items():
                states[variable(name)].state = openvino.Tensor(np.ascontiguousarray(cache[order][:, :, :past]))
            step(past, past + length, same)


def encoder(model, rows, what):
    """Any batch and length, with padding behind."""
    for lengths in ((1,), (7,), (16,), (2, 7), (16, 1, 7), (7, 7)):
        total = max(lengths)
        ids, types, mask = (np.zeros((len(lengths), total), np.int64) for _ in range(3))
        for r, n in enumerate(lengths):
            ids[r, :n], types[r, :n], mask[r, :n] = rows["input_ids"][r, :n], rows["token_type_ids"][r, :n], 1
        results = model({"input_ids": ids, "token_type_ids": types, "attention_mask": mask})
        for r, n in enumerate(lengths):
            for name, value in results.items():
                want = rows[f"L{n}.R{r}.{name}"]
                got = value[r : r + 1, :n] if want.ndim >= 2 and want.shape[1] == n and value.shape[1] == total else value[r : r + 1]
                close(got, want, np.array(True), f"{what} lengths {lengths}, row {r}, {name}")


def masked_everywhere(model, rows, what):
    """A row of padding only, beside a good one."""
    batch, past, length = 2, 3, 4
    ids, mask, positions, caches = padded(rows, batch, length, past, [0, 0])
    mask[1] = 0
    feeds = {"input_ids": ids[:, past:], "attention_mask": mask, "position_ids": positions[:, past:]}
    feeds |= {f"input.{name}": cache[:, :, :past] for name, cache in caches.items()}
    results = model(feeds)
    check(all(np.isfinite(v).all() for v in results.values()), f"{what}: rows that are masked everywhere are finite")
    want = wanted_logits({**rows, "logits": rows["logits"][:1]}, mask[:1], length)
    close(results["logits"][:1], want, np.array(True), f"{what}: the row beside one that is masked everywhere")


def case(folder, out):
    config = json.loads((folder / "config.json").read_text())
    rows = load_file(folder / "rows.safetensors")
    name = folder.name
    if not name.endswith("causal-lm"):
        models = export(folder, out / "encoder")
        example(models["model"], folder, name)
        encoder(models["model"], rows, name)
        return
    example(export(folder, out / "plain", "--task", "text-generation", "--stateless")["model"], folder, f"{name} plain")
    model = export(folder, out / "growing", "--stateless")["model"]
    example(model, folder, f"{name} growing")
    growing(model, rows, f"{name} growing")
    masked_everywhere(model, rows, f"{name} growing")
    layers = model.layers()
    check(layers.get("RMS", 0) > 2 and layers.get("RoPE", 0) > 2, f"{name}: norms and rotation are fused: {layers}")
    model = export(folder, out / "stateful")["model"]
    stateful(model, rows, f"{name} stateful")
    layers = model.layers()
    wanted = config["num_hidden_layers"]
    check(layers.get("ScaledDotProductAttention", 0) == wanted and layers.get("RoPE", 0) == 2 * wanted,
          f"{name} stateful: attention and rotation are fused: {layers}")  # fmt: skip
    models = export(folder, out / "static", "--generation", "--static-cache", SLOTS, "--stateless")
    static(models, rows, config.get("sliding_window"), f"{name} static")
    models = export(folder, out / "static_stateful", "--generation", "--static-cache", SLOTS)
    check(not any(n.startswith("input.") for n in models["decode"].inputs), f"{name} static: the cache is inside")
    static(models, rows, config.get("sliding_window"), f"{name} static stateful", kept_inside=True)


def main():
    for folder in sorted(f for f in GOLDEN.iterdir() if (f / "meta.json").exists()):
        with tempfile.TemporaryDirectory() as out:
            case(folder, pathlib.Path(out))
    return finish()


if __name__ == "__main__":
    sys.exit(main())
