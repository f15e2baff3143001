#!/usr/bin/env python3
"""ExecuTorch: export time, file, arena and decoding beside the reference's .pte: executorch_speed.py TOOL LOOP GGUF.

SmolLM2-135M in float32. The export's limit is twice that of ONNX. LOOP is examples/executorch_decode, which runs both
.pte files: a static cache of 2048 slots in the caller's memory, one row, at most 64 tokens a call, as the reference
chooses for its example. Both must make the same tokens. Rounds are taken in turns; a ratio is the median of quotients
within rounds. --reference names a directory that executorch_peer.py has made; where it is not there, it is made with
--python, which has transformers, torch 2.13 and executorch (20 minutes). Exits with 1 when a limit is passed.
"""
import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import measure

HERE = pathlib.Path(__file__).resolve().parent
FILE_LIMIT, ARENA_LIMIT, SPEED_LIMIT = 1.03, 1.1, 1.0
ROWS = {"name": "batch_size", "min": 1, "max": 1}
TOKENS, SLOTS = {"name": "sequence_length", "max": 64}, {"name": "cache_length", "max": 2048}
BOUNDS = {"input_ids": {"0": ROWS, "1": TOKENS}, "attention_mask": {"0": ROWS, "2": TOKENS, "3": SLOTS}}
QUIET = ("--format", "executorch", "--no-validate", "--quiet")


def export_seconds(options, scratch):
    """Medians of exporting one graph and of writing as much; the first round is not counted."""
    exports, writes = [], []
    for number in range(options.rounds + 1):
        seconds, _, _ = measure.run([options.tool, "export", options.gguf, str(scratch / "plain"), *QUIET])
        size = measure.folder_bytes(scratch / "plain")
        file = (scratch / "plain" / "model.pte").stat().st_size
        shutil.rmtree(scratch / "plain")
        write = measure.write_seconds(scratch / "bytes", size)
        if number > 0:
            exports.append(seconds)
            writes.append(write)
    return statistics.median(exports), statistics.median(writes), file


def decode(options, file):
    """(arena, tokens a second, tokens)"""
    done = subprocess.run([options.loop, file, "504,3575,282", str(options.new_tokens)], capture_output=True, text=True)
    said = re.search(r"arena of (\d+) bytes, ([\d.]+) tokens/s", done.stderr)
    if done.returncode != 0 or not said:
        sys.exit(f"[bench] {options.loop} {file} failed: {done.stderr[-500:]}")
    return int(said[1]), float(said[2]), done.stdout


def report(what, value, limit, good):
    print(f"  {what:34} {value:>12}   limit {limit}{'' if good else '   MISSED'}")
    return not good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("loop")
    parser.add_argument("gguf")
    parser.add_argument("--reference", default="build/executorch_reference")
    parser.add_argument("--python", default="python3")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--folder", default="build", help="where to write, on the disk to measure")
    options = parser.parse_args()
    theirs = pathlib.Path(options.reference) / "decode.pte"
    if not theirs.exists():
        print("bench: the reference exports (20 minutes, once)", flush=True)
        theirs.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([options.python, HERE / "executorch_peer.py", options.gguf, theirs.parent], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder) as folder:
        scratch = pathlib.Path(folder)
        dry = subprocess.run([options.tool, "export", options.gguf, "--format", "executorch", "--dry-run", "--json"],
                             check=True, capture_output=True, text=True)
        weights = json.loads(dry.stdout)["data_bytes"]
        export, write, file = export_seconds(options, scratch)
        measure.run([options.tool, "export", options.gguf, str(scratch / "static"), *QUIET, "--generation",
                     "--multi-token-decode", "--static-cache", "512", "--no-alloc-graph-input", "--no-alloc-graph-output",
                     "--no-alloc-mutable-buffers", "--dynamic-shapes", json.dumps(BOUNDS)])
        ours, rates, tokens, arenas = scratch / "static" / "decode.pte", {}, set(), {}
        for _ in range(options.rounds):
            for name, path in (("ours", ours), ("theirs", theirs)):
                arenas[name], rate, made = decode(options, path)
                rates.setdefault(name, []).append(rate)
                tokens.add(made)
    ratio = statistics.median(a / b for a, b in zip(rates["ours"], rates["theirs"]))
    limit = 2 * (2 * write + 0.5)
    print(f"ExecuTorch: SmolLM2-135M, median of {options.rounds} rounds")
    failed = report("export", f"{export:.2f} s", f"{limit:.2f} s (twice that of ONNX)", export <= limit)
    failed |= report("file / weights", f"{file / weights:.4f}", FILE_LIMIT, file <= FILE_LIMIT * weights)
    arena = arenas["ours"] / arenas["theirs"]
    failed |= report("arena / reference's", f"{arena:.2f}", ARENA_LIMIT, arena <= ARENA_LIMIT)
    print(f"  arenas: {arenas['ours'] / 1e6:.1f} MB, reference {arenas['theirs'] / 1e6:.1f} MB")
    failed |= report("decode / reference's", f"{ratio:.2f}", SPEED_LIMIT, ratio >= SPEED_LIMIT)
    print(f"  tokens/s: {statistics.median(rates['ours']):.1f}, reference {statistics.median(rates['theirs']):.1f}")
    failed |= report("the same tokens", "yes" if len(tokens) == 1 else "no", "yes", len(tokens) == 1)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
