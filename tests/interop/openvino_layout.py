"""Checks that OpenVINO GenAI and Optimum Intel load what `slipway export --layout openvino-genai` writes: openvino_layout.py SLIPWAY.

Runs in the environment of tools/interop_layouts.sh. Tokenizers of every kind give the ids and texts of the library
`tokenizers`; SmolLM2, the tiny decoders and MiniLM give the tokens and vectors of the reference; directories that Optimum
Intel wrote run here.
"""

import json
import pathlib
import shutil
import tempfile
import warnings

import numpy as np
import openvino as ov
import openvino_genai
import openvino_tokenizers
import torch
from optimum.intel import OVModelForCausalLM, OVModelForFeatureExtraction
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from checks import check, finish, slipway
from made_tokenizers import KINDS
from tokenizer_texts import CORPUS, KNOWN, LONG, WITH_TOKENS

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
MODELS = ROOT / ".deps" / "models"
DECODERS = ("llama", "mistral", "qwen2", "qwen3")
EXACT = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
TOLERANCE = 1e-4  # float32 sums in another order


class Graphs:
    """The tokenizer and detokenizer of a directory, run by OpenVINO itself."""

    def __init__(self, tokenizer, detokenizer):
        core = ov.Core()
        self.forward, self.backward = core.compile_model(tokenizer, "CPU"), core.compile_model(detokenizer, "CPU")

    @classmethod
    def of(cls, directory):
        return cls(directory / "openvino_tokenizer.xml", directory / "openvino_detokenizer.xml")

    def encode(self, texts):
        return {name: value.tolist() for name, value in ((out.any_name, out_value) for out, out_value in self.forward(np.array(texts)).items())}

    def ids(self, text):
        return self.encode([text])["input_ids"][0]

    def text(self, ids):
        return str(self.backward(np.array([ids], dtype=np.int64))["string_output"][0])


def texts_of(tokenizer):
    special = [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special][:8]
    chosen = [special[0], special[1 % len(special)], special[-1]]
    return CORPUS + [text.format(*chosen) for text in WITH_TOKENS]


def same_texts(name, tokenizer, graphs):
    for text in texts_of(tokenizer) + LONG:
        want = tokenizer.encode(text).ids
        check(graphs.ids(text) == want, f"{name}: ids of {text[:40]!r}")
        if want and len(want) < 5000:
            check(graphs.text(want) == tokenizer.decode(want), f"{name}: text of the ids of {text[:40]!r}")


def same_batches(name, tokenizer, config, graphs):
    """Rows of several lengths, padded on the side that the configuration says."""
    side, pad = config.get("padding_side", "right"), config.get("pad_token")
    pad_id = tokenizer.token_to_id(pad) if pad else 0
    tokenizer.enable_padding(direction=side, pad_id=pad_id)
    texts = texts_of(tokenizer)
    for rows in (texts[10:20], texts[12:15], texts[-6:]):
        want, got = tokenizer.encode_batch(rows), graphs.encode(rows)
        check(got["input_ids"] == [row.ids for row in want], f"{name}: padded ids of a batch")
        check(got["attention_mask"] == [row.attention_mask for row in want], f"{name}: mask of a batch")
        if "token_type_ids" in got:
            check(got["token_type_ids"] == [row.type_ids for row in want], f"{name}: types of a batch")
    tokenizer.no_padding()


def known_differences(name, tokenizer, graphs):
    if name not in KNOWN:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pair = openvino_tokenizers.convert_tokenizer(PreTrainedTokenizerFast(tokenizer_object=tokenizer), with_detokenizer=True)
    official = Graphs(*pair)
    for text, why in KNOWN[name].items():
        want = tokenizer.encode(text).ids
        check(graphs.ids(text) != want, f"{name}: {text!r} is equal now, but was known to differ: {why}")
        check(official.ids(text) != want, f"{name}: {text!r} differs here only, not in the official conversion: {why}")


def options_of_calls(name, tokenizer, config, directory):
    """What callers of OpenVINO GenAI may ask for at each call."""
    genai, text = openvino_genai.Tokenizer(str(directory)), "Hello, world! The quick brown fox"
    encode = lambda **options: genai.encode(text, **options).input_ids.data[0].tolist()
    plain = tokenizer.encode(text, add_special_tokens=False).ids
    check(encode(add_special_tokens=False) == plain, f"{name}: no special tokens")
    tokenizer.enable_truncation(6)
    check(encode(max_length=6, truncation=True) == tokenizer.encode(text).ids, f"{name}: at most 6 tokens")
    tokenizer.no_truncation()
    count = len(tokenizer.encode(text).ids) + 5
    for side in ("left", "right"):
        tokenizer.enable_padding(direction=side, length=count, pad_id=genai.get_pad_token_id() if config.get("pad_token") else 0)
        got = encode(max_length=count, pad_to_max_length=True, padding_side=side)
        check(got == tokenizer.encode(text).ids, f"{name}: padded on the {side} to {count}: {got}")
    tokenizer.no_padding()
    ids = tokenizer.encode(text).ids
    for skip in (True, False):
        check(genai.decode(ids, skip_special_tokens=skip) == tokenizer.decode(ids, skip_special_tokens=skip), f"{name}: decode, skip {skip}")
    for key in ("bos_token", "eos_token", "pad_token"):
        if key in config:
            check(getattr(genai, f"get_{key}_id")() == tokenizer.token_to_id(config[key]), f"{name}: {key}")


def tokenizers(scratch):
    for name, make in KINDS.items():
        tokenizer, config = make()
        source = scratch / f"made-{name}"
        shutil.copytree(GOLDEN / "models" / ("bert-base" if name.startswith("bert") else "llama-causal-lm"), source)
        tokenizer.save(str(source / "tokenizer.json"))
        (source / "tokenizer_config.json").write_text(json.dumps(config))
        directory = scratch / f"kind-{name}"
        slipway("export", source, directory, "--layout", "openvino-genai", "--no-validate")
        if not check((directory / "openvino_tokenizer.xml").exists(), f"{name}: has a tokenizer"):
            continue
        graphs = Graphs.of(directory)
        check(("token_type_ids" in [out.any_name for out in graphs.forward.outputs]) == name.startswith("bert"), f"{name}: outputs")
        same_texts(name, tokenizer, graphs)
        same_batches(name, tokenizer, config, graphs)
        known_differences(name, tokenizer, graphs)
        options_of_calls(name, tokenizer, config, directory)


def until_end(tokens, end):
    return tokens[: tokens.index(end)] if end in tokens else tokens


def greedy(count, through_end):
    config = openvino_genai.GenerationConfig()
    config.do_sample, config.max_new_tokens, config.ignore_eos = False, count, through_end
    return config


def tokens_of_pipeline(pipeline, row, count, through_end):
    return list(pipeline.generate(ov.Tensor(np.array([row], dtype=np.int64)), greedy(count, through_end)).tokens[0])


def tokens_of_optimum(model, rows, count, **limits):
    width = max(map(len, rows))
    ids = torch.tensor([[0] * (width - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    made = model.generate(input_ids=ids, attention_mask=mask, do_sample=False, max_new_tokens=count, **limits)
    return made[:, width:].tolist()


def generates_here(directory, name, what):
    golden = json.loads((GOLDEN / "models" / f"{name}-causal-lm" / "generate.json").read_text())
    new, prompt = golden["new_tokens"], golden["prompt"]["input_ids"][0]
    ids = directory.with_suffix(".safetensors")
    save_file({"input_ids": torch.tensor([prompt])}, ids)
    made = json.loads(slipway("generate", directory, "--inputs", ids, "--max-new-tokens", len(new), "--json"))
    got = until_end(made["new_ids"][0], 2)
    check(len(got) >= len(new) - 1 and got == new[: len(got)], f"{what}: {got}, need {new}")


def tiny_decoders(scratch):
    for name in DECODERS:
        golden = json.loads((GOLDEN / "models" / f"{name}-causal-lm" / "generate.json").read_text())
        sequence, new = golden["sequence"], golden["new_tokens"]
        start, checkpoint = len(sequence) - len(new), GOLDEN / "models" / f"{name}-causal-lm"
        directory = scratch / f"{name}-openvino-genai"
        slipway("export", checkpoint, directory, "--layout", "openvino-genai", "--validate")
        model = OVModelForCausalLM.from_pretrained(directory, ov_config=EXACT)
        prompts = [start, start + 2, start + 5]
        count = len(sequence) - prompts[-1]
        # Greedy text is its own continuation, whatever part of it is the prompt.
        want = [sequence[n : n + count] for n in prompts]
        got = tokens_of_optimum(model, [sequence[:n] for n in prompts], count, min_new_tokens=count)
        check(got == want, f"Optimum Intel reads {name}: {got}, need {want}")
        generates_here(directory, name, f"slipway reads {directory.name}")
        theirs = scratch / f"by-optimum-{name}"
        OVModelForCausalLM.from_pretrained(checkpoint, export=True, compile=False).save_pretrained(theirs)
        generates_here(theirs, name, f"slipway reads {theirs.name}")


def smollm2(scratch):
    cases = json.loads((GOLDEN / "reference" / "smollm2.json").read_text())["cases"]
    directory, end = scratch / "smollm2", 2  # <|im_end|>
    slipway("export", sorted((MODELS / "smollm2").glob("*.gguf"))[0], directory, "--layout", "openvino-genai")
    for backend in ("PA", "SDPA"):
        pipeline = openvino_genai.LLMPipeline(str(directory), "CPU", ATTENTION_BACKEND=backend, **EXACT)
        for i, case in enumerate(cases):
            got = tokens_of_pipeline(pipeline, case["input_ids"], len(case["new_ids"]), False)
            check(until_end(got, end) == until_end(case["new_ids"], end), f"LLMPipeline {backend}, case {i}: {got}, need {case['new_ids']}")
            ids = pipeline.get_tokenizer().encode(case["text"], add_special_tokens=False).input_ids.data[0].tolist()
            check(ids == case["input_ids"], f"LLMPipeline {backend}, case {i}: its tokenizer gives {ids}")
            messages = case.get("messages")
            if messages:
                text = pipeline.get_tokenizer().apply_chat_template(messages, add_generation_prompt=True)
                check(text == case["text"], f"LLMPipeline {backend}, case {i}: its chat template gives {text!r}")
        history = openvino_genai.ChatHistory()
        history.append({"role": "user", "content": "What is the capital of France?"})
        answer = pipeline.generate(history, greedy(20, False)).texts[0]
        history.append({"role": "assistant", "content": answer})
        history.append({"role": "user", "content": "And of Italy?"})
        second = pipeline.generate(history, greedy(20, False)).texts[0]
        check("Paris" in answer and "Rome" in second, f"LLMPipeline {backend} chats: {answer!r}, {second!r}")
        del pipeline
    model = OVModelForCausalLM.from_pretrained(directory, ov_config=EXACT)
    ids, want = [case["input_ids"] for case in cases], [case["new_ids"] for case in cases]
    for rows in ([0], [1], [2], [3], [0, 1, 2]):
        got = tokens_of_optimum(model, [ids[i] for i in rows], max(len(want[i]) for i in rows))
        for i, row in zip(rows, got, strict=True):
            row = row[: len(want[i])]
            check(until_end(row, end) == until_end(want[i], end), f"Optimum Intel reads SmolLM2, rows {rows}: {row}, need {want[i]}")


def minilm(scratch):
    directory = scratch / "minilm"
    slipway("export", MODELS / "minilm", directory, "--layout", "openvino-genai", "--task", "feature-extraction")
    tokenizer = Tokenizer.from_file(str(MODELS / "minilm" / "tokenizer.json"))
    tokenizer.no_padding(), tokenizer.no_truncation()
    same_texts("minilm", tokenizer, Graphs.of(directory))
    reference = json.loads((GOLDEN / "reference" / "minilm.json").read_text())
    inputs = AutoTokenizer.from_pretrained(directory)(reference["sentences"], padding=True, return_tensors="pt")
    hidden = OVModelForFeatureExtraction.from_pretrained(directory, ov_config=EXACT)(**inputs).last_hidden_state
    mask = inputs["attention_mask"][..., None]
    vectors = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)
    worst = (vectors - torch.tensor(reference["embeddings"])).abs().max().item()
    check(worst <= TOLERANCE, f"Optimum Intel reads MiniLM: embeddings differ by {worst:.2e}")


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        tokenizers(scratch)
        tiny_decoders(scratch)
        smollm2(scratch)
        minilm(scratch)
    return finish()


raise SystemExit(main())
