"""OpenVINO's own pipeline, and the reference's IR in the reference's runner; prints JSON.

openvino_peers.py export GGUF DIRECTORY
openvino_peers.py genai DIRECTORY PROMPT_LENGTH NEW_TOKENS PRECISION
openvino_peers.py runner DIRECTORY PROMPT_LENGTH NEW_TOKENS PRECISION
"""
import json
import pathlib
import sys
import time


def export(gguf, directory):
    """Prompt and steps as two graphs whose caches are variables."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.exporters import OpenVINOConfig, OpenVINOExporter
    path = pathlib.Path(gguf)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    inputs = {"input_ids": torch.randint(3, 90, (2, 7)), "attention_mask": torch.ones(2, 7, dtype=torch.long)}
    OpenVINOExporter().export_for_generation(
        model, inputs, config=OpenVINOConfig(dynamic=True), multi_token_decode=True).save_pretrained(directory)


def numbers(length, seed):
    """Another prompt each time: the pipeline keeps what it has read."""
    return [3 + (i * 7919 + seed * 104729) % 40000 for i in range(length)]


def genai(directory, length, new_tokens, precision):
    import numpy as np
    import openvino
    import openvino_genai
    # The cache as the file says: the pipeline passes what is given here on, and nothing else.
    pipeline = openvino_genai.LLMPipeline(directory, "CPU", INFERENCE_PRECISION_HINT=precision,
                                          KV_CACHE_PRECISION=precision)
    config = openvino_genai.GenerationConfig(max_new_tokens=new_tokens, ignore_eos=True, do_sample=False)

    def run(seed):
        ids = np.array([numbers(length, seed)], np.int64)
        inputs = openvino_genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(np.ones_like(ids)))
        metrics = pipeline.generate(inputs, config).perf_metrics
        return metrics.get_ttft().mean / 1e3, metrics.get_tpot().mean / 1e3 * (new_tokens - 1)

    run(1)
    return run(2)


def runner(directory, length, new_tokens, precision):
    """The reference's runner without its last step: it wants caches among the outputs, which are variables here. One
    graph reads the prompt too, so that its cache need not be handed over."""
    import torch
    from transformers.exporters.utils import openvino_feed
    from transformers.exporters import ExportedModel
    exported = ExportedModel.from_pretrained(directory, device="cpu", config={"INFERENCE_PRECISION_HINT": precision})
    decode = exported.runners["decode"]

    def run(seed):
        decode.request.reset_state()
        ids, position = torch.tensor([numbers(length, seed)]), 0
        times = []
        for _ in range(new_tokens):
            begin, count = time.perf_counter(), ids.shape[1]
            feed = openvino_feed(decode.compiled_model, {
                "input_ids": ids, "position_ids": torch.arange(position, position + count)[None],
                "attention_mask": torch.ones(1, position + count, dtype=torch.long)})
            logits = decode.request.infer(feed, share_inputs=True, share_outputs=True)["logits"]
            ids = torch.tensor([[int(logits[0, -1].argmax())]])
            position += count
            times.append(time.perf_counter() - begin)
        return times[0], sum(times[1:])

    run(1)
    return run(2)


if sys.argv[1] == "export":
    export(*sys.argv[2:])
else:
    length, new_tokens = int(sys.argv[3]), int(sys.argv[4])
    first, rest = {"genai": genai, "runner": runner}[sys.argv[1]](sys.argv[2], length, new_tokens, sys.argv[5])
    print(json.dumps({"prompt_tokens_per_second": length / first,
                      "decode_tokens_per_second": (new_tokens - 1) / rest}))
