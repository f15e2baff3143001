"""Greedy decoding by onnxruntime-genai: decode_genai.py DIRECTORY PROMPT_LENGTH NEW_TOKENS THREADS; prints JSON."""
import json
import sys
import time

import onnxruntime_genai as og


def run(model, prompt, new_tokens):
    """Seconds to the first token, and of the steps after it."""
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=len(prompt) + new_tokens, min_length=len(prompt) + new_tokens, do_sample=False)
    generator = og.Generator(model, params)
    start = time.perf_counter()
    generator.append_tokens([prompt])
    generator.generate_next_token()
    first = time.perf_counter()
    for _ in range(new_tokens - 1):
        generator.generate_next_token()
    return first - start, time.perf_counter() - first


def main():
    directory, (length, new_tokens, threads) = sys.argv[1], map(int, sys.argv[2:5])
    config = og.Config(directory)
    if threads > 0:
        config.overlay(json.dumps({"model": {"decoder": {"session_options": {"intra_op_num_threads": threads}}}}))
    model = og.Model(config)
    prompt = [3 + i * 7919 % 40000 for i in range(length)]
    run(model, prompt, 4)
    first, rest = run(model, prompt, new_tokens)
    print(json.dumps({"prompt_tokens_per_second": length / first,
                      "decode_tokens_per_second": (new_tokens - 1) / rest}))


main()
