#!/usr/bin/env python3
"""Decoding speed beside two peers in one run, as ratios: decode.py TOOL GGUF PYTHON [--genai-python PYTHON].

SmolLM2-135M in float32 on the CPU, a prompt of 128 tokens, 128 new ones, greedy. The peers are onnxruntime-genai on the
same directory (`--layout genai`) and the Python loop of the reference's guide over its own static export; a loop that
binds the cache of that graph in place is shown beside it, without a limit. Rounds are taken in turns, because the speed of a machine drifts: each ratio is the median over rounds of the
quotient within a round. PYTHON has transformers, torch, onnxruntime and gguf; onnxruntime-genai is in it too, or in
the other one. Exits with 1 when a ratio is below its limit.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import measure

HERE = pathlib.Path(__file__).resolve().parent
GENAI_LIMIT, REFERENCE_LIMIT, OUTSIDE_LIMIT = 1.0, 1.2, 50e-6


def last_json(command):
    """The JSON document on the last line of a command's output, and its peak of anonymous memory."""
    _, peak, output = measure.run([str(part) for part in command])
    return json.loads(output.strip().splitlines()[-1]), peak


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("gguf")
    parser.add_argument("python")
    parser.add_argument("--genai-python")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt-length", type=int, default=128)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=0, help="of each runtime; 0: each one's default")
    options = parser.parse_args()
    sizes = [options.prompt_length, options.new_tokens, options.threads]
    with tempfile.TemporaryDirectory() as folder:
        growing, static, theirs = (pathlib.Path(folder) / name for name in ("genai", "static", "reference"))
        slots = options.prompt_length + options.new_tokens
        export = [options.tool, "export", options.gguf]
        subprocess.run(export + [growing, "--layout", "genai", "--no-validate", "--quiet"], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(export + [static, "--generation", "--static-cache", str(slots), "--no-validate", "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run([options.python, HERE / "decode_reference.py", "export", options.gguf, theirs, str(slots)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        bench = ["bench", "--json", "--repeat", "1", "--prompt-length", str(sizes[0]), "--new-tokens", str(sizes[1]),
                 "--threads", str(sizes[2])]
        commands = {
            "slipway, growing cache": [options.tool, *bench, growing],
            "onnxruntime-genai": [options.genai_python or options.python, HERE / "decode_genai.py", growing, *sizes],
            "slipway, static cache": [options.tool, *bench, static, "--max-cache-len", slots],
            "reference's runner": [options.python, HERE / "decode_reference.py", "runner", theirs, *sizes],
            "its graph, bound in place": [options.python, HERE / "decode_reference.py", "bound", theirs, *sizes],
        }
        rates, prompts, peaks, outside = ({name: [] for name in commands} for _ in range(4))
        for _ in range(options.rounds):
            for name, command in commands.items():
                result, peak = last_json(command)
                rates[name].append(result["decode_tokens_per_second"])
                prompts[name].append(result["prompt_tokens_per_second"])
                outside[name].append(result.get("step_seconds_outside_runtime", 0))
                peaks[name].append(peak)
    print(f"decoding {sizes[1]} tokens after {sizes[0]}, median of {options.rounds} rounds")
    for name in commands:
        print(f"  {name:28} {statistics.median(rates[name]):7.1f} tokens/s, "
              f"prompt {statistics.median(prompts[name]):7.1f} tokens/s, "
              f"{statistics.median(peaks[name]) / 1e6:7.1f} MB anonymous")
    failed = False

    def check(what, value, limit, good):
        nonlocal failed
        failed |= not good
        print(f"  {what:60} {value}  (limit {limit}){'' if good else '  MISSED'}")

    for ours, peer, limit in (("slipway, growing cache", "onnxruntime-genai", GENAI_LIMIT),
                              ("slipway, static cache", "reference's runner", REFERENCE_LIMIT)):
        ratio = statistics.median(a / b for a, b in zip(rates[ours], rates[peer]))
        check(f"{ours} / {peer}", f"{ratio:.2f}", limit, ratio >= limit)
    for ours in ("slipway, growing cache", "slipway, static cache"):
        spent = statistics.median(outside[ours])
        check(f"{ours}: outside the runtime", f"{spent * 1e6:.0f} us a step", f"{OUTSIDE_LIMIT * 1e6:.0f} us",
              spent <= OUTSIDE_LIMIT)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
