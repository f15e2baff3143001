"""Runs traced programs, exported to OpenVINO, against the reference's numbers. Run by tools/interop.sh.

    python openvino_traced.py SLIPWAY [NAME...]

tests/golden/pt2/reference.tar.xz and more.tar.xz have the reference's traces of tiny models with inputs and outputs.
Each runs in a process of its own; where attention_mask is 0 nothing is compared. Programs listed in FAILURES must fail.
"""

import pathlib
import subprocess
import sys
import tarfile
import tempfile

from checks import check, finish

PROGRAMS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "pt2"
PICKED = "picked by a mask (index.Tensor): their number depends on values"
FAILURES = {
    "idefics3-image-text-to-text": f"the images that are not padding are {PICKED}",
    "qwen2_audio-multimodal-lm": f"the audio positions are {PICKED}",
    "smolvlm-image-text-to-text": f"the images that are not padding are {PICKED}",
}
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


def run(case, out):
    """What is wrong, or None."""
    done = subprocess.run(
        [sys.argv[1], "export", case / "model.pt2", out, "--format", "openvino", "--no-validate"],
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
    with tempfile.TemporaryDirectory() as folder:
        for name in ("reference.tar.xz", "more.tar.xz"):
            with tarfile.open(PROGRAMS / name) as archive:
                archive.extractall(folder, filter="data")
        cases = sorted(path.parent for path in pathlib.Path(folder).glob("*/model.pt2"))
        check(len(cases) >= 108, f"there are {len(cases)} programs")
        for case in cases:
            if sys.argv[2:] and case.name not in sys.argv[2:]:
                continue
            wrong = run(case, pathlib.Path(folder) / "out")
            if case.name in FAILURES:
                check(wrong is not None, f"{case.name} passes, expected to fail: {FAILURES[case.name]}")
            else:
                check(wrong is None, f"{case.name}: {wrong}")
    return finish()


if __name__ == "__main__":
    sys.exit(main())
