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


def cache_leaf(name, inputs, shape):
    """An empty cache, its counters and slots for a program of another cache than the case's."""
    return torch.zeros(shape, dtype=torch.int64 if "cumulative_length" in name else torch.float32)


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


def feeds(method, names, inputs):
    given = []
    for i, name in enumerate(names):
        if name in inputs:
            given.append(torch.from_numpy(inputs[name].copy()))
            continue
        if not name.startswith("past_key_values"):
            raise KeyError(f"{name} is not among {sorted(inputs)}")
        sizes = list(method.metadata.input_tensor_meta(i).sizes())
        if sizes:
            sizes[0] = next(iter(inputs.values())).shape[0]
        if name.endswith(("keys", "values")) and GROWS:
            sizes[2] = 0
        given.append(cache_leaf(name, inputs, sizes))
    return given


GROWS = False


def run(file, case, answer):
    global GROWS
    GROWS = ".growing" in file.name
    try:
        inputs, wanted = load(case / "inputs.safetensors"), load(case / "outputs.safetensors")
        names = [line.split(" ", 1) for line in file.with_suffix(".names").read_text().splitlines()]
        method = Runtime.get().load_program(file).load_method("forward")
        if method is None:
            answer.send((None, "the method does not load"))
            return
        results = method.execute(feeds(method, [n for kind, n in names if kind == "input"], inputs))
        outputs = dict(zip([n for kind, n in names if kind == "output"], results, strict=True))
        mask = inputs.get("attention_mask", inputs.get("decoder_attention_mask"))
        worst, compared = 0.0, 0
        for name, got in outputs.items():
            if name not in wanted:
                continue
            got, want = got.numpy(), wanted[name]
            if got.ndim == 4 and got.shape != want.shape:
                got = got[:, :, : want.shape[2]] if ".static" in file.name else got[:, :, -want.shape[2] :]
            if got.shape != want.shape:
                answer.send((None, f"{name}: shape {got.shape}, not {want.shape}"))
                return
            difference = np.where(kept(mask, want), np.abs(got.astype(np.float64) - want), 0)
            if np.isnan(difference).any():
                answer.send((None, f"{name} is NaN"))
                return
            worst, compared = max(worst, float(difference.max(initial=0))), compared + 1
        if not compared:
            answer.send((None, "nothing to compare"))
        elif worst > TOLERANCE:
            answer.send((None, f"differs by {worst:.2e}"))
        else:
            answer.send((f"{worst:.1e} over {compared} outputs", None))
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
