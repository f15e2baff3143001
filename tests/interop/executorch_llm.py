"""Generates with `slipway export --layout executorch-llm` in ExecuTorch's LLM runner and in executorch.runtime.

    python executorch_llm.py SLIPWAY

Tokens must be those of the reference: SmolLM2's and the tiny decoders'. Prompts are read in one call and one token at a
time. Metadata methods are compared with config.json. The runner gives SmolLM2's text, with the tokenizer of the folder.
"""

import json
import pathlib
import sys
import tempfile

import torch
from executorch.extension.llm.runner._llm_runner import GenerationConfig, TextLLMRunner
from executorch.runtime import Runtime

from checks import check, finish, slipway

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
SMOLLM2 = ROOT / ".deps" / "models" / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
DECODERS = ("llama", "mistral", "qwen2", "qwen3")
METHODS = {
    "get_vocab_size": "vocab_size",
    "get_n_layers": "num_hidden_layers",
    "get_n_kv_heads": "num_key_value_heads",
    "get_head_dim": "head_dim",
}
SLOTS = 64


def generate(method, prompt, piece, count, never):
    """The likeliest tokens after a prompt that is read `piece` tokens at a time."""
    position, tokens = 0, []
    feeds = [prompt[i : i + piece] for i in range(0, len(prompt), piece)]
    while len(tokens) < count:
        feed = feeds.pop(0)
        positions = torch.arange(position, position + len(feed))
        (logits,) = method.execute([torch.tensor([feed]), positions])
        position += len(feed)
        if not feeds:
            last = logits[0, -1].clone()
            last[never] = -torch.inf
            tokens.append(int(last.argmax()))
            feeds = [[tokens[-1]]]
    return tokens


def check_methods(name, program, config):
    def answer(method):
        return program.load_method(method).execute([])

    for method, key in METHODS.items():
        if key in config:
            check(answer(method) == [config[key]], f"{name}: {method} gives {answer(method)}")
    for method, want in (("get_max_seq_len", SLOTS), ("get_max_context_len", SLOTS), ("use_kv_cache", True), ("get_dtype", 6)):
        check(answer(method) == [want], f"{name}: {method} gives {answer(method)}")
    ends = config["eos_token_id"]
    ends = ends if isinstance(ends, list) else [ends]
    check(answer("get_eos_ids") == ends, f"{name}: get_eos_ids gives {answer('get_eos_ids')}")


def check_model(name, source, cases, never, folder):
    slipway("export", source, folder / name, "--layout", "executorch-llm", "--static-cache", SLOTS)
    program = Runtime.get().load_program(folder / name / "model.pte")
    check_methods(name, program, json.loads((folder / name / "config.json").read_text()))
    method = program.load_method("forward")
    for i, (prompt, want) in enumerate(cases):
        for piece in (len(prompt), 1):
            got = generate(method, prompt, piece, len(want), never)
            check(got == want, f"{name}, case {i}, {piece} tokens a call: {got}, not {want}")


def check_runner(name, folder, cases):
    runner = TextLLMRunner(str(folder / name / "model.pte"), str(folder / name / "tokenizer.json"))
    settings = GenerationConfig()
    settings.temperature, settings.echo = 0.0, False
    for case in cases:
        settings.max_new_tokens = len(case["new_ids"])
        parts = []
        runner.reset()
        runner.generate(case["text"], settings, parts.append)
        check("".join(parts) == case["new_text"], f"{name}: the runner's text is {''.join(parts)!r}, not {case['new_text']!r}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for decoder in DECODERS:
            source = GOLDEN / "models" / f"{decoder}-causal-lm"
            golden = json.loads((source / "generate.json").read_text())
            # Ends were never chosen: min_new_tokens was as many as max_new_tokens.
            ends = json.loads((source / "generation_config.json").read_text())["eos_token_id"]
            cases = [(golden["prompt"]["input_ids"][0], golden["new_tokens"])]
            check_model(decoder, source, cases, ends, folder)
        if SMOLLM2.exists():
            cases = json.loads((GOLDEN / "reference" / "smollm2.json").read_text())["cases"]
            short = [case for case in cases if len(case["input_ids"]) + len(case["new_ids"]) <= SLOTS]
            check_model("smollm2", SMOLLM2, [(case["input_ids"], case["new_ids"]) for case in short], [], folder)
            texts = [case for case in short if case["messages"] is None]
            check(texts, "no case of SmolLM2 fits the slots")
            check_runner("smollm2", folder, texts)
        else:
            print("SmolLM2 is not there and was not checked")
    return finish()


sys.exit(main())
