"""Runs the program of every op case in ExecuTorch against the numbers of PyTorch. Run by tools/interop.sh.

    SLIPWAY_EXECUTORCH_CASES=FOLDER core_tests --gtest_filter=ExecutorchOps.EveryCaseLowers
    python executorch_ops.py FOLDER

A case that is listed in EXCEPTIONS must fail; all others must not. Cases without a file have no kernel:
the test that writes them lists these. Kernels end the process where arguments do not fit them, so each
case runs in a process of its own.
"""

import json
import multiprocessing
import pathlib
import sys

import torch
from executorch.runtime import Runtime

from checks import check, finish

ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}  # fmt: skip
# One rounding of the dtype, relative to the larger of 1 and the value; times 16 are allowed.
ROUNDINGS = {"f64": 5e-7, "f32": 5e-7, "f16": 1e-3, "bf16": 8e-3}
# What occurs in the text of a case that does not give PyTorch's numbers, and why.
EXCEPTIONS = ()
NAN, ENDS = "XNNPACK does not pass NaN on", "XNNPACK gives NaN at the ends of the range"
XNNPACK_EXCEPTIONS = (
    ("f32[3], %x1: f32[3]) { %y = aten::minimum(", NAN),
    ("f32[9]) { %y = aten::exp(", NAN),
    ("f32[6]) { %y = aten::sqrt(", ENDS),
    ("f32[6]) { %y = aten::rsqrt(", ENDS),
)


def tensor(spec):
    values = [float(v) if isinstance(v, str) else v for v in spec["values"]]
    if spec["dtype"][0] not in "fb":
        values = [int(v) for v in values]
    return torch.tensor(values, dtype=DTYPES[spec["dtype"]]).reshape(spec["shape"])


def difference(got, spec):
    """What differs from a case's output, or None."""
    want = tensor(spec)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"is {got.dtype} {tuple(got.shape)}, not {want.dtype} {tuple(want.shape)}"
    a, b = got.double(), want.double()
    far = (a - b).abs() > 16 * ROUNDINGS.get(spec["dtype"], 0) * b.abs().clamp(min=1)
    finite = a.isfinite() & b.isfinite()
    wrong = ~((a == b) | (a.isnan() & b.isnan())) & (far | ~finite)
    return f"gives {got.flatten()[:8].tolist()}, PyTorch {want.flatten()[:8].tolist()}" if wrong.any() else None


def run(file, case, answer):
    try:
        names = [line.split(" ", 1) for line in file.with_suffix(".names").read_text().splitlines()]
        method = Runtime.get().load_program(file).load_method("forward")
        results = method.execute([tensor(case["inputs"][name]) for kind, name in names if kind == "input"])
        outputs = dict(zip([name for kind, name in names if kind == "output"], results, strict=True))
        for name, want in case["outputs"].items():
            if wrong := difference(outputs[name], want):
                answer.send(f"{name} {wrong}")
                return
        answer.send(None)
    except Exception as error:
        answer.send(" ".join(str(error).split())[-300:])


def run_apart(file, case):
    """What is wrong with a case, or None."""
    receive, send = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=run, args=(file, case, send))
    process.start()
    send.close()
    try:
        wrong = receive.recv()
    except EOFError:
        wrong = "ended the process"
    process.join()
    return wrong


def main():
    multiprocessing.set_start_method("fork")
    torch.set_num_threads(1)
    ran = 0
    for i, line in enumerate((ROOT / "tests/golden/ops/cases.jsonl").read_text().splitlines()):
        case = json.loads(line)
        for stem, exceptions in ((f"{i}", EXCEPTIONS), (f"{i}_xnnpack", XNNPACK_EXCEPTIONS)):
            file = pathlib.Path(sys.argv[1]) / f"{stem}.pte"
            if not file.exists():
                continue
            ran += 1
            reason = next((why for text, why in exceptions if text in case["graph"]), None)
            wrong = run_apart(file, case)
            if reason is None:
                check(wrong is None, f"{stem} {case['graph']}\n  {wrong}")
            else:
                check(wrong is not None, f"{case['graph']}: listed as an exception ({reason}) and passes")
    check(ran > 1100, f"only {ran} cases were written")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
