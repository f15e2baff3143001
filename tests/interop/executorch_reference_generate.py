"""`slipway generate` with what the reference's ExecutorchExporter.export_for_generation saved. Run by tools/interop.sh.

    python executorch_reference_generate.py SLIPWAY

Such .pte files bound sizes and fix none; heads come from the config.json beside them. Caches grow or have slots, steps take
one token or many, prompts are padded or not, memory is the program's or the caller's. The tokens are those that the reference's own
runner makes with the same directory, and those of eager PyTorch.
"""

import copy
import json
import logging
import pathlib
import sys
import tempfile
import warnings

import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, GenerationConfig
from transformers.exporters import ExecutorchConfig, ExecutorchExporter, ExportedModel

from checks import check, finish, slipway
from decoding import Masks, best, head_dim
from executorch_reference import GOLDEN, ROWS, SLOTS, expanded, runner_masks

MODELS = ("llama", "qwen3")
CALLER = {f"alloc_{part}": False for part in ("graph_input", "graph_output", "mutable_buffers")}
# Name, slots, many tokens a step, padding in the example, flags.
KINDS = (
    ("growing", None, False, False, {}),
    ("growing, padded", None, False, True, {}),
    ("growing, many", None, True, False, {}),
    ("static", SLOTS, False, False, {}),
    ("static, many", SLOTS, True, False, {}),
    ("static, many, padded", SLOTS, True, True, {}),
    ("static, many, caller's memory", SLOTS, True, False, CALLER),
)


def export(model, prompt, kind, out):
    _, slots, many, padded, flags = kind
    example = {"input_ids": prompt.repeat(ROWS, 1), "attention_mask": torch.ones_like(prompt).repeat(ROWS, 1)}
    if padded:
        example["attention_mask"][0, :2] = 0
    static = GenerationConfig(cache_implementation="static", max_cache_len=slots, pad_token_id=0) if slots else None
    ExecutorchExporter().export_for_generation(
        model, example, config=ExecutorchConfig(dynamic=True, **flags), multi_token_decode=many, generation_config=static
    ).save_pretrained(out)


def takes_mask(runner):
    name = "attention_mask"
    return name in runner.in_spec.child(1).context and name not in runner.metadata.in_constants


def runner_tokens(model, prompt, kind, out, count):
    """What the reference's runner makes of its directory: as many equal rows as its example had."""
    _, slots, _, padded, _ = kind
    runners, config = ExportedModel.from_pretrained(out).runners, model.config
    prefill, decode = runners["prefill"], runners["decode"]
    feed, length, tokens, cache = prompt.expand(ROWS, -1), prompt.shape[1], [], None
    masks = None
    if slots:
        masks = Masks(config, [f"attention_mask.{k}" for k in runner_masks(decode)] or ["attention_mask"])
        full = copy.deepcopy(config)
        full.sliding_window = full.layer_types = None
        cache = transformers.StaticCache(config=full, max_cache_len=slots)
    at = 0
    while len(tokens) < count:
        runner = prefill if at == 0 else decode
        positions = torch.arange(at, at + feed.shape[1])
        call = {"input_ids": feed, "position_ids": positions[None].expand(ROWS, -1)}
        if cache is not None:
            call["past_key_values"] = cache
        elif "past_key_values" in runner.in_spec.child(1).context:
            call["past_key_values"] = transformers.DynamicCache(config=config)
        if takes_mask(runner):
            grown = torch.ones(ROWS, at + feed.shape[1], dtype=torch.long)
            call["attention_mask"] = expanded(masks.argument(positions, slots)) if slots else grown
            if slots and at == 0 and not padded:  # a prompt's graph then takes a dictionary of None
                call["attention_mask"] = dict.fromkeys(call["attention_mask"])
        made = runner(**call)
        cache, at = made.past_key_values, at + feed.shape[1]
        feed = best(made.logits, config)
        tokens.append(feed[0].item())
    return tokens


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        for model_name in MODELS:
            folder = GOLDEN / f"{model_name}-causal-lm"
            golden = json.loads((folder / "generate.json").read_text())
            prompt, want = torch.tensor(golden["prompt"]["input_ids"]), golden["new_tokens"]
            save_file({"input_ids": prompt}, scratch / "prompt.safetensors")
            save_file({"input_ids": prompt.repeat(2, 1)}, scratch / "two.safetensors")
            model = AutoModelForCausalLM.from_pretrained(folder).eval()
            for i, kind in enumerate(KINDS):
                out, what = scratch / f"{model_name}{i}", f"{model_name}, {kind[0]}"
                export(model, prompt, kind, out)
                for rows, inputs in ((1, "prompt.safetensors"), (2, "two.safetensors")):
                    made = json.loads(slipway("generate", out, "--inputs", scratch / inputs, "--max-new-tokens", len(want),
                                              "--min-new-tokens", len(want), "--json"))["new_ids"]
                    check(made == [want] * rows, f"{what}: slipway makes {made}, eager {want}")
                if kind[4]:
                    continue  # Python gives programs no memory, so the second call of its runner is wrong
                theirs = runner_tokens(model, prompt, kind, out, len(want))
                check(theirs == want, f"{what}: the reference's runner makes {theirs}, slipway {want}")
    return finish()


sys.exit(main())
