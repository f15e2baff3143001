"""Writes rope.json: rotary frequencies of many settings, computed by the reference.

Run in a Python environment with torch and transformers 5.23: python generate.py
"""

import json
from pathlib import Path

import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

SHORT = [1.0, 1.0, 1.05, 1.2, 1.7, 2.5, 4.0, 8.0]
LONG = [1.0, 1.5, 2.25, 4.0, 9.0, 17.0, 33.0, 64.0]
LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}


def case(head_dim, max_positions, rope, seq_len=None, top=None):
    """One setting as config.json states it, and what the reference computes from it."""
    keys = {
        "hidden_size": 4 * head_dim,
        "num_attention_heads": 4,
        "head_dim": head_dim,
        "max_position_embeddings": max_positions,
        "rope_parameters": dict(rope),
        **(top or {}),
    }
    config = LlamaConfig(**json.loads(json.dumps(keys)))
    kind = config.rope_parameters["rope_type"]
    if kind == "default":
        inv_freq, scaling = LlamaRotaryEmbedding.compute_default_rope_parameters(config)
    else:
        inv_freq, scaling = ROPE_INIT_FUNCTIONS[kind](config, seq_len=seq_len)
    return {
        "config": keys,
        "seq_len": seq_len,
        "inv_freq": inv_freq.to(torch.float32).tolist(),
        "attention_scaling": float(scaling),
    }


def cases():
    for head_dim, theta in ((8, 10000.0), (64, 10000), (128, 1000000.0), (80, 500000.0), (12, 123456.789)):
        yield case(head_dim, 2048, {"rope_type": "default", "rope_theta": theta})
        yield case(head_dim, 2048, {"rope_type": "linear", "rope_theta": theta, "factor": 3.3})
        for seq_len in (None, 100, 2048, 2049, 5000, 100000):
            yield case(head_dim, 2048, {"rope_type": "dynamic", "rope_theta": theta, "factor": 2.5}, seq_len)
        yield case(head_dim, 131072, {"rope_type": "llama3", "rope_theta": theta, **LLAMA3})
        yield case(head_dim, 131072, {"rope_type": "llama3", "rope_theta": theta, **LLAMA3, "factor": 32.0,
                                      "low_freq_factor": 0.5, "original_max_position_embeddings": 300})
        yarn = {"rope_type": "yarn", "rope_theta": theta, "factor": 4.0, "original_max_position_embeddings": 512}
        yield case(head_dim, 2048, yarn)
        yield case(head_dim, 2048, {**yarn, "truncate": False})
        yield case(head_dim, 2048, {**yarn, "factor": None})
        yield case(head_dim, 2048, {**yarn, "factor": 40, "mscale": 0.707, "mscale_all_dim": 1.0})
        yield case(head_dim, 2048, {**yarn, "mscale": 1.0, "mscale_all_dim": 0})
        yield case(head_dim, 2048, {**yarn, "attention_factor": 1.25, "beta_fast": 64, "beta_slow": 0.5})
        yield case(head_dim, 2048, {**yarn, "beta_fast": 1, "beta_slow": 1})
    for seq_len in (None, 16, 17):
        rope = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": SHORT, "long_factor": LONG}
        yield case(16, 64, {**rope, "original_max_position_embeddings": 16}, seq_len)
        yield case(16, 64, rope, seq_len, top={"original_max_position_embeddings": 16})
        yield case(16, 64, {**rope, "original_max_position_embeddings": 16, "factor": 2.0}, seq_len)
        yield case(16, 64, {**rope, "original_max_position_embeddings": 16, "attention_factor": 1.5}, seq_len)
        yield case(32, 64, {**rope, "original_max_position_embeddings": 16, "partial_rotary_factor": 0.5}, seq_len)
    for kind in ("linear", "dynamic", "yarn"):
        yield case(64, 2048, {"rope_type": kind, "rope_theta": 10000.0, "factor": 2.0, "partial_rotary_factor": 0.3125})
    yield case(64, 2048, {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}, top={"partial_rotary_factor": 0.4})


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(c) for c in cases())
    Path(__file__).with_name("rope.json").write_text(f"[\n{lines}\n]\n")
