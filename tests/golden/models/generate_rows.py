#!/usr/bin/env python3
"""Makes rows.safetensors of each case: the reference evaluated on single rows without padding.

Decoders: three rows of 21 tokens; `input_ids` [3, 21], `logits` [3, 21, V] and the caches [3, heads, 21, head_dim]
of the whole rows. A causal model gives the same for every prefix, so one evaluation serves every length and past.
Encoders: three rows of 16 tokens; `L{n}.R{row}.{leaf}` for the first n tokens of each row, n in 1, 2, 7, 16.

Run with transformers 5.23.0 and torch 2.12.0: python generate_rows.py
"""
import json
import pathlib

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.exporters.utils import get_leaf_tensors

HERE = pathlib.Path(__file__).resolve().parent


def main():
    torch.manual_seed(0)
    for folder in sorted(p for p in HERE.iterdir() if (p / "meta.json").exists()):
        meta = json.loads((folder / "meta.json").read_text())
        model = getattr(transformers, meta["auto_class"]).from_pretrained(folder).eval()
        causal = meta["head"] == "causal-lm"
        ids = torch.randint(3, model.config.vocab_size, (3, 21 if causal else 16))
        tensors = {"input_ids": ids}
        with torch.no_grad():
            if causal:
                # A growing cache keeps every key; eager's sliding layers would crop theirs.
                outputs = [model(ids[r : r + 1], past_key_values=transformers.DynamicCache()) for r in range(3)]
                leaves = [get_leaf_tensors(o) for o in outputs]
                for name in leaves[0]:
                    tensors[name] = torch.cat([leaf[name] for leaf in leaves]).contiguous()
            else:
                types = torch.randint(0, 2, ids.shape)
                tensors["token_type_ids"] = types
                for n in (1, 2, 7, 16):
                    for r in range(3):
                        out = model(ids[r : r + 1, :n], token_type_ids=types[r : r + 1, :n])
                        for name, value in get_leaf_tensors(out).items():
                            tensors[f"L{n}.R{r}.{name}"] = value.clone().contiguous()
        save_file(tensors, folder / "rows.safetensors")
        print(folder.name, sorted(tensors)[:4])


main()
