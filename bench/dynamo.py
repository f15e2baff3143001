#!/usr/bin/env python3
"""A .pt2 in the libtorch plug-in beside the same model as an eager PyTorch module: dynamo.py TOOL GGUF PYTHON.

SmolLM2-135M in float32 on the CPU: reading a prompt of 128 tokens, and steps of one token after it. Rounds are taken
in turns, because the speed of a machine drifts: each ratio is the median over rounds of the quotient within a round.
PYTHON has transformers, torch and gguf. Exits with 1 when a ratio is above its limit.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import measure

LIMITS = {"prompt_seconds": 1.1, "step_seconds": 1.3}


def eager(gguf, prompt_length, new_tokens, threads):
    """Prints the seconds of the module's prompt and of one step, medians of three runs after one."""
    import torch
    from transformers import AutoModelForCausalLM
    torch.set_num_threads(threads)
    path = pathlib.Path(gguf)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
    prompt = torch.randint(3, 1000, (1, prompt_length), generator=torch.Generator().manual_seed(1))
    prompts, steps = [], []
    with torch.no_grad():
        for _ in range(4):
            start = time.perf_counter()
            out = model(input_ids=prompt, attention_mask=torch.ones_like(prompt), use_cache=True)
            prompts.append(time.perf_counter() - start)
            start = time.perf_counter()
            for i in range(1, new_tokens):
                ids = out.logits[:, -1:].argmax(-1)
                mask = torch.ones(1, prompt_length + i, dtype=torch.long)
                out = model(input_ids=ids, attention_mask=mask, past_key_values=out.past_key_values, use_cache=True)
            steps.append((time.perf_counter() - start) / (new_tokens - 1))
    print(json.dumps({"prompt_seconds": statistics.median(prompts[1:]),
                      "step_seconds": statistics.median(steps[1:])}))


def main():
    if sys.argv[1] == "--eager":
        return eager(sys.argv[2], *map(int, sys.argv[3:]))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("gguf")
    parser.add_argument("python")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt-length", type=int, default=128)
    parser.add_argument("--new-tokens", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    sizes = [str(options.prompt_length), str(options.new_tokens), str(options.threads)]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.tool, "export", options.gguf, f"{folder}/out", "--format", "dynamo", "--no-validate",
                        "--quiet"], check=True, stdout=subprocess.DEVNULL)
        commands = {
            "slipway": [options.tool, "bench", "--json", "--prompt-length", sizes[0], "--new-tokens", sizes[1],
                        "--threads", sizes[2], f"{folder}/out"],
            "eager": [options.python, __file__, "--eager", options.gguf, *sizes],
        }
        times = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                times[name].append(json.loads(measure.run(command)[2].strip().splitlines()[-1]))
    failed = False
    print(f"libtorch plug-in and eager PyTorch, {options.threads} threads, median of {options.rounds} rounds")
    for what, limit in LIMITS.items():
        ours, theirs = ([one[what] for one in times[name]] for name in ("slipway", "eager"))
        ratio = statistics.median(a / b for a, b in zip(ours, theirs))
        failed |= ratio > limit
        print(f"  {what:16} {statistics.median(ours) * 1e3:8.1f} ms, eager {statistics.median(theirs) * 1e3:8.1f} ms, "
              f"ratio {ratio:.2f}  (limit {limit}){'  MISSED' if ratio > limit else ''}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
