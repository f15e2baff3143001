"""Runs the IR of every op case in OpenVINO against the numbers of PyTorch. Run by tools/interop.sh.

    SLIPWAY_OPENVINO_CASES=FOLDER core_tests --gtest_filter=OpenVINOOps.EveryCaseLowers
    python openvino_ops.py FOLDER

A case that is listed in EXCEPTIONS must fail; all others must not.
"""

import json
import pathlib
import sys

import numpy as np
import openvino

from checks import check, finish

ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float32, "bf16": np.float32, "i64": np.int64, "i32": np.int32,
    "i16": np.int16, "i8": np.int8, "u64": np.uint64, "u32": np.uint32, "u16": np.uint16, "u8": np.uint8, "bool": np.bool_,
}  # fmt: skip
# One rounding of the dtype, relative to the larger of 1 and the value; times 16 are allowed.
ROUNDINGS = {"f64": 5e-7, "f32": 5e-7, "f16": 1e-3, "bf16": 8e-3}
# What occurs in the text of a case that does not give PyTorch's numbers, and why.
NAN, STORED = "the CPU plug-in does not pass NaN on", "16-bit floats are stored only, computed as float32"
EXCEPTIONS = (
    ("f32[9]) { %y = aten::exp(", NAN),
    ("f32[9]) { %y = aten::relu(", NAN),
    ("f32[9]) { %y = aten::clamp(", NAN),
    ("f32[3], %x1: f32[3]) { %y = aten::minimum(", NAN),
    ("bucketize.Tensor(%x0, %x1, right=", NAN),
    ("searchsorted.Tensor(%x0, %x1, right=", NAN),
    ("f32[3]) { %y = aten::amax(%x0, [0])", NAN),
    ("f32[3]) { %y = aten::amin(%x0, [0])", NAN),
    ("f32[7]) { %y = aten::_to_copy(%x0, dtype=f16)", STORED),
    ("f32[4]) { %y = aten::_to_copy(%x0, dtype=bf16)", STORED),
    ('f16[4, 6]) { %y0, %y1 = torchao::choose_qparams_affine(%x0, "ASYMMETRIC", [1, 6], i8', STORED),
    ("i8[5]) { %y = aten::mul.Scalar(%x0, 50)", "int8 saturates where PyTorch's wraps"),
)


def tensor(spec):
    values = [float(v) if isinstance(v, str) else v for v in spec["values"]]
    if spec["dtype"][0] not in "fb":
        values = [int(v) for v in values]
    return np.array(values, DTYPES[spec["dtype"]]).reshape(spec["shape"])


def difference(got, spec):
    """What differs from a case's output, or None."""
    want = tensor(spec)
    if got.shape != want.shape:
        return f"has shape {got.shape}, not {want.shape}"
    a, b = np.asarray(got, np.float64), np.asarray(want, np.float64)
    with np.errstate(invalid="ignore"):
        far = np.abs(a - b) > 16 * ROUNDINGS.get(spec["dtype"], 0) * np.maximum(1, np.abs(b))
        wrong = ~((a == b) | (np.isnan(a) & np.isnan(b))) & (far | np.isnan(a) | np.isnan(b) | np.isinf(a) | np.isinf(b))
    return f"gives {got.reshape(-1)[:8]}, PyTorch {want.reshape(-1)[:8]}" if wrong.any() else None


def run(core, file, case):
    try:
        model = core.compile_model(core.read_model(file), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        names = {port.any_name for port in model.inputs}
        results = model({name: tensor(v) for name, v in case["inputs"].items() if name in names})
        for name, want in case["outputs"].items():
            if wrong := difference(results[name], want):
                return f"{name} {wrong}"
    except Exception as error:
        return " ".join(str(error).split())[-300:]
    return None


def main():
    core = openvino.Core()
    for i, line in enumerate((ROOT / "tests/golden/ops/cases.jsonl").read_text().splitlines()):
        case = json.loads(line)
        reason = next((why for text, why in EXCEPTIONS if text in case["graph"]), None)
        wrong = run(core, pathlib.Path(sys.argv[1]) / f"openvino_{i}.xml", case)
        if reason is None:
            check(wrong is None, f"{case['graph']}\n  {wrong}")
        else:
            check(wrong is not None, f"{case['graph']}: listed as an exception ({reason}) and passes")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
