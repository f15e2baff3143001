"""Runs traced programs, exported to OpenVINO, against the reference's numbers. Run by tools/interop.sh.

    python openvino_traced.py SLIPWAY PROGRAMS CASES [NAME...]

PROGRAMS/NAME/dynamo/model.pt2 are the reference's traces of the models in CASES/NAME, which have the inputs and the
outputs. Each runs in a process of its own; where attention_mask is 0 nothing is compared.
"""

import pathlib
import subprocess
import sys
import tempfile

from checks import check, finish

TOLERANCE = 1e-4
ONE = """
import json, pathlib, sys
import numpy as np, openvino
from safetensors.numpy import load_file
file, case, tolerance = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), float(sys.argv[3])
core = openvino.Core()
model = core.read_model(file)
inputs, wanted = load_file(case / "inputs.safetensors"), load_file(case / "outputs.safetensors")
names = [port.any_name for port in model.inputs]
missing = [n for n in names if n.removeprefix("input.") not in inputs]
if missing: sys.exit(f"inputs {missing} are not among {sorted(inputs)}")
feeds = {n: inputs[n.removeprefix("input.")] for n in names}
compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
results = compiled.create_infer_request().infer(feeds)
mask = inputs.get("attention_mask", inputs.get("decoder_attention_mask"))
worst, compared = 0.0, 0
for port in model.outputs:
    name = port.any_name.removeprefix("output.")
    if name not in wanted: continue
    got, want = np.array(results[port.any_name]), wanted[name]
    if got.ndim == 4 and got.shape != want.shape: got = got[:, :, -want.shape[2]:]
    if got.shape != want.shape: sys.exit(f"{name}: shape {got.shape}, not {want.shape}")
    keep = np.ones_like(want, bool)
    if mask is not None and mask.ndim == 2:
        m = mask.astype(bool)
        if want.ndim == 4 and want.shape[2] <= m.shape[1] and want.shape[0] == m.shape[0]:
            keep = np.broadcast_to(m[:, None, m.shape[1] - want.shape[2]:, None], want.shape)
        elif want.ndim >= 2 and want.shape[:2] == m.shape:
            keep = np.broadcast_to(m.reshape(m.shape + (1,) * (want.ndim - 2)), want.shape)
    difference = np.where(keep, np.abs(got.astype(np.float64) - want), 0)
    if np.isnan(difference).any(): sys.exit(f"{name} is NaN")
    if float(difference.max(initial=0)) > tolerance: sys.exit(f"{name} differs by {difference.max():.2e}")
    worst, compared = max(worst, float(difference.max(initial=0))), compared + 1
if not compared: sys.exit("nothing to compare")
print(f"{worst:.1e} over {compared} outputs")
"""


def run(program, case, out):
    """What is wrong, or None."""
    done = subprocess.run(
        [sys.argv[1], "export", program, out, "--format", "openvino", "--stateless", "--no-validate"],
        capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        return "export: " + (done.stdout + done.stderr).strip()[:600]
    done = subprocess.run([sys.executable, "-c", ONE, out / "openvino_model.xml", case, str(TOLERANCE)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        return (done.stderr.strip() or f"the process ended with {done.returncode}")[-700:]
    print(case.name, done.stdout.strip(), flush=True)
    return None


def main():
    programs, cases = map(pathlib.Path, sys.argv[2:4])
    names = sys.argv[4:] or sorted(p.parent.parent.name for p in programs.glob("*/dynamo/model.pt2"))
    for name in names:
        with tempfile.TemporaryDirectory() as out:
            wrong = run(programs / name / "dynamo/model.pt2", cases / name, pathlib.Path(out) / "out")
        check(wrong is None, f"{name}: {wrong}")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
