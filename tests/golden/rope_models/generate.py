#!/usr/bin/env python3
"""Logits of the tiny llama of ../models/llama-causal-lm under every rotary kind, short and long.

kinds.json: the rope_parameters (and max_position_embeddings) of each case; kinds.safetensors: `input_ids` [1, 40] and
`<case>.L<n>` [1, n, vocab] for n on both sides of the switch at 16. Each length is a fresh model: the reference keeps
state between calls. Run with transformers 5.23.0 and torch 2.12.0: python generate.py
"""
import json
import pathlib

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, LlamaForCausalLM

HERE = pathlib.Path(__file__).resolve().parent
BASE = HERE.parent / "models" / "llama-causal-lm"
KINDS = {
    "default": {"rope_type": "default", "rope_theta": 5000.0},
    "linear": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
    "dynamic": {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0},
    "yarn": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16},
    "llama3": {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
               "high_freq_factor": 4.0, "original_max_position_embeddings": 16},
    "longrope": {"rope_type": "longrope", "rope_theta": 10000.0, "factor": 4.0,
                 "original_max_position_embeddings": 16, "short_factor": [1.0, 1.1, 1.2, 1.3],
                 "long_factor": [1.5, 2.0, 3.0, 4.0]},
}


def main():
    torch.manual_seed(7)
    weights = load_file(BASE / "model.safetensors")
    ids = torch.randint(3, 128, (1, 40))
    tensors, table = {"input_ids": ids}, {}
    for name, rope in KINDS.items():
        limit = 16 if name == "dynamic" else 64
        table[name] = {"rope_parameters": rope, "max_position_embeddings": limit}
        for n in (7, 16, 17, 40):
            config = AutoConfig.from_pretrained(BASE)
            config.rope_parameters, config.max_position_embeddings = dict(rope), limit
            model = LlamaForCausalLM(config).eval()
            model.load_state_dict(weights)
            with torch.no_grad():
                tensors[f"{name}.L{n}"] = model(ids[:, :n]).logits.contiguous()
    (HERE / "kinds.json").write_text(json.dumps(table, indent=1) + "\n")
    save_file(tensors, HERE / "kinds.safetensors")
    print(len(tensors))


main()
