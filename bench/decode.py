#!/usr/bin/env python3
"""Tokens a second of `slipway generate`: decode.py TOOL EXPORT [--runs N] [--tokens N]."""
import argparse
import json
import statistics

import measure

PROMPT = "Write a long story about a lighthouse keeper who finds a map in a bottle."


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("export")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=64)
    options = parser.parse_args()
    rates, prefills, loads, peaks = [], [], [], []
    for _ in range(options.runs):
        _, peak, output = measure.run([options.tool, "generate", options.export, "--prompt", PROMPT, "--ignore-eos",
                                       "--max-new-tokens", str(options.tokens), "--json"])
        result = json.loads(output)
        rates.append(result["tokens_per_second"])
        prefills.append(result["prefill_seconds"])
        loads.append(result["load_seconds"])
        peaks.append(peak)
    print(f"greedy decoding of {options.tokens} tokens, median of {options.runs} runs")
    print(f"  loading            {statistics.median(loads):8.2f} s")
    print(f"  first token        {statistics.median(prefills):8.3f} s")
    print(f"  then               {statistics.median(rates):8.1f} tokens/s")
    print(f"  anonymous memory   {max(peaks) / 1e6:8.1f} MB")


if __name__ == "__main__":
    main()
