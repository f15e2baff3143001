"""onnxruntime-genai as a reader of a directory: python genai.py JOBS.json, answers on standard output.

A job is {"directory", "rows", "new_tokens", "through_end"} and gives {"tokens"}, the new ids of each row, or
{"directory", "texts"} and gives {"ids"}. What fails gives {"error"}.
"""

import json
import sys

import onnxruntime_genai as og


def generate(job):
    model = og.Model(job["directory"])
    tokens = []
    for row in job["rows"]:
        params = og.GeneratorParams(model)
        length = len(row) + job["new_tokens"]
        # The end token is impossible below min_length.
        params.set_search_options(do_sample=False, max_length=length, min_length=length if job["through_end"] else 0)
        generator = og.Generator(model, params)
        generator.append_tokens(row)
        while not generator.is_done():
            generator.generate_next_token()
        tokens.append([int(i) for i in generator.get_sequence(0)][len(row) :])
    return {"tokens": tokens}


def encode(job):
    tokenizer = og.Tokenizer(og.Model(job["directory"]))
    return {"ids": [[int(i) for i in tokenizer.encode(text)] for text in job["texts"]]}


def answer(job):
    try:
        return generate(job) if "rows" in job else encode(job)
    except Exception as error:  # whatever the tool refuses is the answer
        return {"error": f"{type(error).__name__}: {error}"}


with open(sys.argv[1], encoding="utf-8") as file:
    print(json.dumps([answer(job) for job in json.load(file)]))
