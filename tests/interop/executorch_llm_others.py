"""Generates with programs for ExecuTorch's LLM runner that ExecuTorch's own exporter wrote. Run by tools/interop.sh.

    python executorch_llm_others.py SLIPWAY

A small decoder is exported in the ways that such programs come in: a slot for each token or for the first one, prompts
in one call or token by token, logits of all tokens or of the last, a cache or none. `slipway generate` gives the tokens
of eager PyTorch, and ends where the program's own get_eos_ids says.
"""

import json
import logging
import pathlib
import sys
import tempfile
import warnings

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from safetensors.torch import save_file
from torch.export import Dim, export

from checks import check, finish, slipway

VOCABULARY, WIDTH, HEADS, SLOTS, MOST = 61, 32, 4, 48, 16
PROMPT, COUNT = [3, 14, 15, 9, 26, 5, 35, 8, 9, 7, 9, 32, 38, 46, 26, 43, 38, 32, 7, 9], 20


class Decoder(torch.nn.Module):
    """One layer of attention over slots, or over the call's tokens where there is no cache."""

    def __init__(self, cached, last, rank):
        super().__init__()
        torch.manual_seed(7)
        self.cached, self.last, self.rank = cached, last, rank
        self.embed, self.place = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Embedding(SLOTS, WIDTH)
        self.qkv, self.head = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, VOCABULARY)
        if cached:
            self.register_buffer("k_cache", torch.zeros(1, SLOTS, WIDTH))
            self.register_buffer("v_cache", torch.zeros(1, SLOTS, WIDTH))

    def forward(self, tokens, input_pos=None):
        count = tokens.shape[1]
        if input_pos is None:
            positions = torch.arange(count)
        else:
            positions = input_pos if self.cached == "each" else input_pos + torch.arange(count)
        x = self.embed(tokens) + self.place(positions)
        query, key, value = self.qkv(x).split(WIDTH, -1)
        if self.cached:
            key = self.k_cache.index_copy_(1, positions, key)
            value = self.v_cache.index_copy_(1, positions, value)
        q, k, v = (t.view(1, -1, HEADS, WIDTH // HEADS).transpose(1, 2) for t in (query, key, value))
        scores = q @ k.transpose(2, 3) / (WIDTH // HEADS) ** 0.5
        hidden = torch.arange(k.shape[2])[None, :] > positions[:, None]
        x = x + (scores.masked_fill(hidden, -1e9).softmax(-1) @ v).transpose(1, 2).reshape(1, -1, WIDTH)
        logits = self.head(4 * torch.tanh(x))
        if self.last:
            logits = logits[:, -1:]
        return logits[:, 0] if self.rank == 2 else logits


def eager():
    """Greedy tokens of the whole text again and again."""
    model, text = Decoder(None, True, 3), list(PROMPT)
    with torch.no_grad():
        for _ in range(COUNT):
            text.append(int(model(torch.tensor([text]))[0, -1].argmax()))
    return text[len(PROMPT) :]


def save(model, folder, tokens, positions, dynamic, ends):
    names = {"tokens": {1: dynamic} if dynamic else None}
    given = (torch.zeros(1, tokens, dtype=torch.long),)
    if positions:
        given += (torch.arange(positions),)
        names["input_pos"] = {0: dynamic} if dynamic and positions > 1 else None
    facts = {"get_max_seq_len": MOST if model.cached else SLOTS, "get_max_context_len": SLOTS, "get_vocab_size": VOCABULARY,
             "use_kv_cache": bool(model.cached), "enable_dynamic_shape": dynamic is not None, "get_eos_ids": ends}
    model = model.eval().requires_grad_(False)
    program = to_edge_transform_and_lower(export(model, given, dynamic_shapes=names),
                                          partitioner=[XnnpackPartitioner()], constant_methods=facts).to_executorch()
    folder.mkdir()
    (folder / "model.pte").write_bytes(program.buffer)


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    want = eager()
    end = want[7]  # generation ends at the first of it
    piece = Dim("tokens", min=1, max=MOST)
    kinds = {
        "a slot each, all logits": (Decoder("each", False, 3), 5, 5, piece),
        "the first slot, last logits": (Decoder("first", True, 2), 5, 1, piece),
        "token by token": (Decoder("first", True, 3), 1, 1, None),
        "no cache": (Decoder(None, False, 3), 5, 0, Dim("tokens", min=1, max=SLOTS)),
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        save_file({"input_ids": torch.tensor([PROMPT])}, folder / "prompt.safetensors")
        for i, (name, (model, tokens, positions, dynamic)) in enumerate(kinds.items()):
            for ends, expected in (([VOCABULARY - 1], want), ([1, end], want[: want.index(end) + 1])):
                out = folder / f"{i}-{len(ends)}"
                save(model, out, tokens, positions, dynamic, ends)
                made = json.loads(slipway("generate", out, "--inputs", folder / "prompt.safetensors", "--max-new-tokens",
                                          COUNT, "--json"))
                check(made["new_ids"] == [expected], f"{name}: {made['new_ids']}, not {[expected]}")
    return finish()


sys.exit(main())
