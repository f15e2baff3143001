#!/usr/bin/env python3
"""Makes the expectations of generation from the reference: token ids, beam scores, processed scores.

tiny.json     per model of ../models: three left-padded prompts, and what generate() gives under many settings
processors.json  fixed scores, and what the reference's logits processors make of them
smollm2_beams.json  SmolLM2's prompts of ../reference/smollm2.json with three beams (only with --smollm2 FILE.gguf)

Run with transformers 5.23.0 and torch 2.12.0: python generate_expectations.py [--smollm2 FILE.gguf]
"""
import argparse
import itertools
import json
import pathlib

import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ["llama-causal-lm", "mistral-causal-lm", "qwen2-causal-lm", "qwen3-causal-lm"]
PAD, NEW = 0, 14


def prompts(vocabulary):
    """Rows of 9, 4 and 6 tokens; the second repeats itself, for n-grams and penalties."""
    rows = [torch.randint(3, vocabulary, (n,)).tolist() for n in (9, 4, 6)]
    rows[1][2:] = rows[1][:2]
    width = max(map(len, rows))
    ids = torch.tensor([[PAD] * (width - len(r)) + r for r in rows])
    mask = torch.tensor([[0] * (width - len(r)) + [1] * len(r) for r in rows])
    return ids, mask


def run(model, ids, mask, settings):
    """New ids of each row up to its end, and the beams' scores."""
    settings = dict(settings)
    settings.setdefault("eos_token_id", None)
    model.generation_config = transformers.GenerationConfig(pad_token_id=PAD, **settings)
    out = model.generate(ids, attention_mask=mask, return_dict_in_generate=True, output_scores=True, do_sample=False)
    new = out.sequences[:, ids.shape[1]:].tolist()
    if settings.get("num_beams", 1) > 1:
        lengths = (out.beam_indices >= 0).sum(1).tolist()
        scores = [float(s) for s in out.sequences_scores]
        return [row[:n] for row, n in zip(new, lengths)], scores
    ends = settings["eos_token_id"] or []
    return [row[:next((i + 1 for i, t in enumerate(row) if t in ends), len(row))] for row in new], []


def choose_ends(model, ids, mask):
    """Two end tokens under which beams end at as many different lengths as possible."""
    rows, _ = run(model, ids, mask, {"max_new_tokens": NEW, "num_beams": 4, "num_return_sequences": 4})
    tokens = sorted({t for row in rows for t in row[1:]})[:24]
    best = (-1, None)
    for pair in itertools.combinations(tokens, 2):
        made, _ = run(model, ids, mask, {"max_new_tokens": NEW, "num_beams": 3, "num_return_sequences": 3,
                                         "eos_token_id": list(pair)})
        lengths = {len(r) for r in made}
        score = len(lengths) + (NEW in lengths)
        best = max(best, (score, pair))
    return list(best[1])


def settings_of(ends):
    new = {"max_new_tokens": NEW}
    yield dict(new)
    yield dict(new, eos_token_id=ends[:1])
    yield dict(new, eos_token_id=ends)
    yield dict(new, eos_token_id=ends, min_new_tokens=6)
    yield dict(max_length=9 + NEW, eos_token_id=ends, min_length=12)
    yield dict(new, eos_token_id=ends, repetition_penalty=1.4)
    yield dict(new, repetition_penalty=1.3, no_repeat_ngram_size=2)
    yield dict(new, no_repeat_ngram_size=1)
    for beams in (2, 3, 4):
        yield dict(new, num_beams=beams)
        for penalty in (0.5, 1.0, 2.0):
            for early in (False, True, "never"):
                yield dict(new, num_beams=beams, num_return_sequences=beams, eos_token_id=ends, length_penalty=penalty,
                           early_stopping=early)
    yield dict(new, num_beams=3, num_return_sequences=2, eos_token_id=ends, length_penalty=-1.0)
    yield dict(new, num_beams=3, num_return_sequences=3, eos_token_id=ends, length_penalty=0.0, early_stopping="never")
    yield dict(new, num_beams=3, num_return_sequences=3, eos_token_id=ends, min_new_tokens=5)
    yield dict(new, num_beams=3, num_return_sequences=3, eos_token_id=ends, repetition_penalty=1.3)
    yield dict(new, num_beams=4, num_return_sequences=2, eos_token_id=ends[:1], no_repeat_ngram_size=2)


def tiny():
    models = []
    for name in MODELS:
        torch.manual_seed(7)
        model = transformers.AutoModelForCausalLM.from_pretrained(HERE.parent / "models" / name).eval()
        ids, mask = prompts(model.config.vocab_size)
        ends = choose_ends(model, ids, mask)
        cases = []
        for settings in settings_of(ends):
            rows, scores = run(model, ids, mask, settings)
            cases.append({"settings": settings, "new_ids": rows, "scores": scores})
        models.append({"model": name, "input_ids": ids.tolist(), "attention_mask": mask.tolist(), "cases": cases})
        print(name, ends, sorted({len(r) for c in cases for r in c["new_ids"]}))
    return models


def processors():
    """Scores of -infinity are null."""
    torch.manual_seed(11)
    model = transformers.AutoModelForCausalLM.from_pretrained(HERE.parent / "models" / MODELS[0])
    ids = torch.tensor([[0, 0, 5, 6, 5, 7, 5], [3, 4, 3, 4, 8, 3, 4]])
    mask = torch.tensor([[0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]])
    logits = (torch.randn(2, 12) * 2).round(decimals=3)
    logits[0, 3] = logits[0, 9] = logits[0].topk(4)[0][-1]  # equals around the fourth place
    sample = {"do_sample": True, "top_k": 0}
    cases = [
        {"repetition_penalty": 1.3}, {"repetition_penalty": 0.8}, {"no_repeat_ngram_size": 1},
        {"no_repeat_ngram_size": 2}, {"no_repeat_ngram_size": 3}, {"min_length": 8, "eos_token_id": [2, 9]},
        {"min_length": 7, "eos_token_id": [2, 9]}, {"min_new_tokens": 3, "eos_token_id": [1]},
        dict(sample), dict(sample, temperature=0.7), dict(sample, top_k=4), dict(sample, top_k=100),
        dict(sample, top_p=0.8), dict(sample, top_p=0.3), dict(sample, top_p=0.01), dict(sample, min_p=0.1),
        dict(sample, min_p=0.6), dict(sample, min_p=1.0), {"do_sample": True},
        dict(sample, temperature=1.8, top_k=7, top_p=0.9, min_p=0.05),
        dict(sample, top_k=1, num_beams=2, eos_token_id=[1, 2]),
        dict(sample, top_p=0.05, num_beams=2, eos_token_id=[1, 2]),
        dict(sample, min_p=1.0, num_beams=2),
        dict(sample, temperature=0.5, top_k=6, top_p=0.7, repetition_penalty=1.2, no_repeat_ngram_size=2,
             min_new_tokens=1, eos_token_id=[4, 10]),
    ]
    made = []
    for settings in cases:
        config = transformers.GenerationConfig(**{"top_k": 50, **settings})
        ends = settings.get("eos_token_id")
        config._eos_token_tensor = torch.tensor(ends) if ends else None
        steps = model._get_logits_processor(config, input_ids_seq_length=ids.shape[1], device="cpu",
                                            model_kwargs={"attention_mask": mask})
        scores = steps(ids, logits.clone())
        made.append({"settings": settings,
                     "scores": [[None if s == -float("inf") else s for s in row] for row in scores.tolist()]})
    return {"input_ids": ids.tolist(), "padding": [2, 0], "logits": logits.tolist(), "cases": made}


def smollm2(path):
    path = pathlib.Path(path)
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    model.eval()
    ends, cases = model.config.eos_token_id, []
    ends = ends if isinstance(ends, list) else [ends]
    for item in json.loads((HERE.parent / "reference" / "smollm2.json").read_text())["cases"]:
        ids = torch.tensor([item["input_ids"]])
        settings = {"max_new_tokens": 24, "num_beams": 3, "num_return_sequences": 3, "eos_token_id": ends}
        rows, scores = run(model, ids, torch.ones_like(ids), settings)
        cases.append({"input_ids": item["input_ids"], "settings": settings, "new_ids": rows, "scores": scores})
        print(item["text"] if item["text"] else "chat", [len(r) for r in rows], scores)
    return cases


def write(name, items):
    lines = ",\n".join(json.dumps(item, separators=(",", ":")) for item in items)
    (HERE / name).write_text("[\n" + lines + "\n]\n")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--smollm2")
    options = arguments.parse_args()
    with torch.no_grad():
        if options.smollm2:
            write("smollm2_beams.json", smollm2(options.smollm2))
            return
        write("processors.json", [processors()])
        flat = [{"model": m["model"], "input_ids": m["input_ids"], "attention_mask": m["attention_mask"], **case}
                for m in tiny() for case in m["cases"]]
        write("tiny.json", flat)


main()
