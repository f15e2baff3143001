#!/usr/bin/env python3
"""Logits of cached steps across the switch of the rotary kinds, for the ids and kinds of generate.py.

steps.safetensors: `<case>.P<p>` [1, n, vocab], the logits of the last prompt token and of the steps after it, where the
reference reads the first p of the ids at once and the rest one by one, on its growing cache. The prompt of 14 tokens
crosses the switch at 16 with its steps, the one of 20 lies beyond. Run with transformers 5.23.0 and torch 2.12.0:
python generate_steps.py
"""
import json
import pathlib

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, DynamicCache, LlamaForCausalLM

HERE = pathlib.Path(__file__).resolve().parent
BASE = HERE.parent / "models" / "llama-causal-lm"


def main():
    weights = load_file(BASE / "model.safetensors")
    ids = load_file(HERE / "kinds.safetensors")["input_ids"]
    tensors = {}
    for name, patch in json.loads((HERE / "kinds.json").read_text()).items():
        for prompt, steps in ((14, 8), (20, 4)):
            config = AutoConfig.from_pretrained(BASE)
            for key, value in patch.items():
                setattr(config, key, value)
            model = LlamaForCausalLM(config).eval()
            model.load_state_dict(weights)
            cache = DynamicCache(config=config)
            logits = []
            with torch.no_grad():
                for begin, end in [(0, prompt)] + [(prompt + i, prompt + i + 1) for i in range(steps)]:
                    out = model(ids[:, begin:end], past_key_values=cache, use_cache=True)
                    logits.append(out.logits[:, -1:])
            tensors[f"{name}.P{prompt}"] = torch.cat(logits, dim=1).contiguous()
    save_file(tensors, HERE / "steps.safetensors")
    print(len(tensors))


main()
