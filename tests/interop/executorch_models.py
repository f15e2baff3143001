"""Runs the programs of golden models in ExecuTorch against the reference's numbers. Run by tools/interop.sh.

    SLIPWAY_EXECUTORCH_MODELS=FOLDER [SLIPWAY_EXECUTORCH_PROGRAMS=CASES] \\
        core_tests --gtest_filter=ExecutorchModels.*
    python executorch_models.py FOLDER [CASES] [NAME...]

Each program runs in a process of its own. Where attention_mask is 0 nothing is compared. Programs listed
in FAILURES must fail; those of models that ExecuTorch has no kernels for are not written.
"""

import json
import multiprocessing
import pathlib
import sys

import numpy as np
import torch
from executorch.runtime import Runtime

from checks import check, finish

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "models"
TOLERANCE = 1e-4
DTYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "I32": np.int32, "BOOL": np.bool_, "U8": np.uint8}
FAILURES = {}


def load(path):
    """The tensors of a safetensors file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + at for at in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def kept(mask, want):
    """Which elements of an output belong to positions that the mask keeps."""
    keep = np.ones_like(want, bool)
    if mask is not None and mask.ndim == 2:
        m = mask.astype(bool)
        if want.ndim == 4 and want.shape[2] <= m.shape[1] and want.shape[0] == m.shape[0]:
            keep = np.broadcast_to(m[:, None, m.shape[1] - want.shape[2] :, None], want.shape)
        elif want.ndim >= 2 and want.shape[:2] == m.shape:
            keep = np.broadcast_to(m.reshape(m.shape + (1,) * (want.ndim - 2)), want.shape)
    return keep


def cached_feed(method, i, name, case):
    """An input of a program with a cache that a case without one lacks: an empty cache, positions from 0, and
    the masks of a static one."""
    sizes = list(method.metadata.input_tensor_meta(i).sizes())
    rows, length = case.inputs["input_ids"].shape
    if name.endswith("cumulative_length"):
        return torch.zeros((), dtype=torch.int64)
    if name.startswith("past_key_values"):
        return torch.zeros([rows, sizes[1], case.slots, sizes[3]])
    if name == "position_ids":
        return torch.arange(length).repeat(rows, 1)
    slot, query = torch.arange(case.slots), torch.arange(length)[:, None]
    visible = slot <= query
    if window := case.windows[name]:
        visible &= query - slot < window
    return visible[None, None].repeat(rows, 1, 1, 1)


class Case:
    """What a program is run on: the case's own inputs, or without padding for programs with a cache."""

    def __init__(self, file, folder):
        lines = [line.split(" ") for line in file.with_suffix(".names").read_text().splitlines()]
        self.names = {kind: [n for k, n, *_ in lines if k == kind] for kind in ("input", "output")}
        self.windows = {n: int(rest[0]) for k, n, *rest in lines if k == "window"}
        self.cached = ".growing" in file.name or ".static" in file.name
        self.slots = 32 if ".static" in file.name else 0
        if self.cached:
            tensors = load(folder / "rows.safetensors")
            self.inputs = {"input_ids": tensors["input_ids"]}
            if ".growing" in file.name:
                self.inputs["attention_mask"] = np.ones_like(tensors["input_ids"])
            self.wanted = tensors
        else:
            self.inputs, self.wanted = load(folder / "inputs.safetensors"), load(folder / "outputs.safetensors")
        self.mask = self.inputs.get("attention_mask", self.inputs.get("decoder_attention_mask"))

    def feeds(self, method):
        for i, name in enumerate(self.names["input"]):
            if name in self.inputs:
                yield torch.from_numpy(self.inputs[name].copy())
            elif self.cached:
                yield cached_feed(method, i, name, self)
            else:
                raise KeyError(f"{name} is not among {sorted(self.inputs)}")


def compare(outputs, case):
    """How far the outputs are from what is wanted, in words; ValueError where that is too far."""
    worst, compared = 0.0, 0
    for name, got in outputs.items():
        if name not in case.wanted:
            continue
        got, want = got.numpy(), case.wanted[name]
        if got.ndim == 4 and got.shape != want.shape:
            got = got[:, :, : want.shape[2]] if case.slots else got[:, :, -want.shape[2] :]
        if got.shape != want.shape:
            raise ValueError(f"{name}: shape {got.shape}, not {want.shape}")
        difference = np.where(kept(case.mask, want), np.abs(got.astype(np.float64) - want), 0)
        if not difference.max(initial=0) <= TOLERANCE:
            raise ValueError(f"{name} differs by {difference.max():.2e}")
        worst, compared = max(worst, float(difference.max(initial=0))), compared + 1
    if not compared:
        raise ValueError("nothing to compare")
    return f"{worst:.1e} over {compared} outputs"


def run(file, folder, answer):
    try:
        case = Case(file, folder)
        method = Runtime.get().load_program(file).load_method("forward")
        results = method.execute(list(case.feeds(method)))
        answer.send((compare(dict(zip(case.names["output"], results, strict=True)), case), None))
    except Exception as error:
        answer.send((None, " ".join(str(error).split())[-300:]))


def run_apart(file, case):
    receive, send = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=run, args=(file, case, send))
    process.start()
    send.close()
    try:
        result = receive.recv()
    except EOFError:
        result = None, "ended the process"
    process.join()
    return result


def main():
    multiprocessing.set_start_method("fork")
    folder, rest = pathlib.Path(sys.argv[1]), sys.argv[2:]
    programs = pathlib.Path(rest[0]) if rest else None
    ran = 0
    for file in sorted(folder.glob("*.pte")):
        name, kind = file.stem.rsplit(".", 1)
        if rest[1:] and name not in rest[1:]:
            continue
        case = programs / name if kind == "traced" else GOLDEN / name
        done, wrong = run_apart(file, case)
        ran += 1
        if done:
            print(f"{file.stem}: {done}", flush=True)
        if file.stem in FAILURES:
            check(wrong is not None, f"{file.stem} passes, expected to fail: {FAILURES[file.stem]}")
        else:
            check(wrong is None, f"{file.stem}: {wrong}")
    check(ran >= 17 or bool(rest[1:]), f"only {ran} programs were written")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
