"""Optimum as a reader and writer of directories: python optimum_onnx.py JOBS.json, answers on standard output.

A job is {"directory", "rows", "new_tokens", "through_end"} and gives {"tokens"}, the new ids of the rows run as one batch
that is padded on the left; {"directory", "texts"} gives {"ids"}; {"directory", "sentences"} gives {"embeddings"}, mean
pooling, unit length; {"checkpoint", "directory"} writes an export and gives {}. What fails gives {"error"}.
"""

import json
import sys

import torch
from optimum.onnxruntime import ORTModelForCausalLM, ORTModelForFeatureExtraction
from transformers import AutoTokenizer


def generate(job):
    model = ORTModelForCausalLM.from_pretrained(job["directory"])
    width = max(map(len, job["rows"]))
    pad = [width - len(row) for row in job["rows"]]
    ids = torch.tensor([[0] * n + row for n, row in zip(pad, job["rows"])])
    mask = torch.tensor([[0] * n + [1] * (width - n) for n in pad])
    limits = {"max_new_tokens": job["new_tokens"]}
    if job["through_end"]:
        limits["min_new_tokens"] = job["new_tokens"]
    made = model.generate(input_ids=ids, attention_mask=mask, do_sample=False, **limits)
    return {"tokens": made[:, width:].tolist()}


def embed(job):
    model = ORTModelForFeatureExtraction.from_pretrained(job["directory"])
    tokenizer = AutoTokenizer.from_pretrained(job["directory"])
    inputs = tokenizer(job["sentences"], padding=True, return_tensors="pt")
    hidden, mask = model(**inputs).last_hidden_state, inputs["attention_mask"][..., None]
    pooled = (hidden * mask).sum(1) / mask.sum(1)
    return {"embeddings": torch.nn.functional.normalize(pooled, dim=1).tolist()}


def answer(job):
    try:
        if "rows" in job:
            return generate(job)
        if "sentences" in job:
            return embed(job)
        if "texts" in job:
            tokenizer = AutoTokenizer.from_pretrained(job["directory"])
            return {"ids": [tokenizer(text)["input_ids"] for text in job["texts"]]}
        ORTModelForCausalLM.from_pretrained(job["checkpoint"], export=True).save_pretrained(job["directory"])
        return {}
    except Exception as error:  # whatever the tool refuses is the answer
        return {"error": f"{type(error).__name__}: {error}"}


with open(sys.argv[1], encoding="utf-8") as file:
    answers = [answer(job) for job in json.load(file)]
print(json.dumps(answers))
