#!/usr/bin/env python3
"""OpenVINO: speed beside two peers in one run, as ratios: openvino_speed.py TOOL GGUF PYTHON.

SmolLM2-135M on the CPU, a prompt of 512 tokens and 128 new ones, greedy. The peers are openvino_genai.LLMPipeline on
the same directory (`--layout openvino-genai`) and the reference's IR in the reference's runner. Each pair computes in
the same precision: float32 as the files say, and bfloat16, which the pipeline takes by itself where the CPU has it.
Rounds are taken in turns, because the speed of a machine drifts: each ratio is the median over rounds of the quotient
within a round. PYTHON has transformers, torch, gguf, openvino and openvino_genai. Exits with 1 when a ratio is below
its limit.
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
LIMIT = 1.0
PRECISIONS = ("f32", "bf16")


def last_json(command):
    _, peak, output = measure.run([str(part) for part in command])
    return json.loads(output.strip().splitlines()[-1]), peak


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("gguf")
    parser.add_argument("python")
    parser.add_argument("--reference", help="a directory that openvino_peers.py exported; default: made here")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt-length", type=int, default=512)
    parser.add_argument("--new-tokens", type=int, default=128)
    options = parser.parse_args()
    sizes = [options.prompt_length, options.new_tokens]
    peers = HERE / "openvino_peers.py"
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory() as folder:
        ours = pathlib.Path(folder) / "ours"
        theirs = options.reference or pathlib.Path(folder) / "reference"
        subprocess.run([options.tool, "export", options.gguf, ours, "--layout", "openvino-genai", "--no-validate"],
                       **quiet)
        if not options.reference:
            subprocess.run([options.python, peers, "export", options.gguf, theirs], **quiet)
        commands = {}
        for precision in PRECISIONS:
            properties = [f"{key}={precision}" for key in ("INFERENCE_PRECISION_HINT", "KV_CACHE_PRECISION")]
            commands[f"slipway, {precision}"] = [
                options.tool, "bench", "--json", "--repeat", "1", "--prompt-length", sizes[0], "--new-tokens", sizes[1],
                ours, "--session-option", properties[0], "--session-option", properties[1]]
            commands[f"LLMPipeline, {precision}"] = [options.python, peers, "genai", ours, *sizes, precision]
            commands[f"reference's runner, {precision}"] = [options.python, peers, "runner", theirs, *sizes, precision]
        decode, prompt, peaks = ({name: [] for name in commands} for _ in range(3))
        for _ in range(options.rounds):
            for name, command in commands.items():
                result, peak = last_json(command)
                decode[name].append(result["decode_tokens_per_second"])
                prompt[name].append(result["prompt_tokens_per_second"])
                peaks[name].append(peak)
    print(f"OpenVINO: {sizes[1]} tokens after {sizes[0]}, median of {options.rounds} rounds")
    for name in commands:
        print(f"  {name:28} {statistics.median(decode[name]):7.1f} tokens/s, "
              f"prompt {statistics.median(prompt[name]):7.1f} tokens/s, "
              f"{statistics.median(peaks[name]) / 1e6:7.1f} MB anonymous")
    failed = False
    for precision in PRECISIONS:
        for peer in (f"LLMPipeline, {precision}", f"reference's runner, {precision}"):
            for what, rates in (("decode", decode), ("prompt", prompt)):
                ratio = statistics.median(a / b for a, b in zip(rates[f"slipway, {precision}"], rates[peer]))
                failed |= ratio < LIMIT
                print(f"  {what} / {peer:30} {ratio:.2f}  (limit {LIMIT}){'' if ratio >= LIMIT else '  MISSED'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
