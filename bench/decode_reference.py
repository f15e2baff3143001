"""The reference's static export and Python loops over it.

decode_reference.py export GGUF DIRECTORY SLOTS; decode_reference.py LOOP DIRECTORY PROMPT_LENGTH NEW_TOKENS THREADS,
which prints JSON. LOOP is `runner`, the sample of the reference's guide, or `bound`, which leaves the reference aside
and binds each layer's keys and values as input and output of the graph, so that the cache is updated in place.
"""
import json
import pathlib
import sys
import time


def export(gguf, directory, slots):
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig
    from transformers.exporters import OnnxConfig, OnnxExporter
    path = pathlib.Path(gguf)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    inputs = {"input_ids": torch.randint(3, 90, (2, 7)), "attention_mask": torch.ones(2, 7, dtype=torch.long)}
    OnnxExporter().export_for_generation(
        model, inputs, config=OnnxConfig(dynamic=True), multi_token_decode=True,
        generation_config=GenerationConfig(cache_implementation="static", max_cache_len=int(slots))
    ).save_pretrained(directory)


class Runner:
    """The guide's loop: the runner of `decode`, tensors and a StaticCache."""

    def __init__(self, directory, slots, threads):
        import onnxruntime
        import torch
        from transformers.exporters import ExportedModel
        self.torch, self.slots, self.directory = torch, slots, directory
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.exported = ExportedModel.from_pretrained(directory).to(session_options=options)
        self.decode = self.exported.runners["decode"]

    def start(self):
        from transformers import AutoConfig, StaticCache
        torch, config = self.torch, AutoConfig.from_pretrained(self.directory)
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.cache, self.position = StaticCache(config=config, max_cache_len=self.slots), 0
        self.cache.early_initialization(1, config.num_key_value_heads, width, torch.float32, torch.device("cpu"))

    def step(self, ids):
        torch = self.torch
        positions = torch.arange(self.position, self.position + len(ids))
        mask = (torch.arange(self.slots)[None, :] <= positions[:, None])[None, None]
        out = self.decode(input_ids=torch.tensor([ids]), attention_mask=mask, position_ids=positions[None],
                          past_key_values=self.cache)
        self.cache = out.past_key_values
        self.position += len(ids)
        return int(out.logits[0, -1].argmax())


class Bound:
    def __init__(self, directory, slots, threads):
        import numpy
        import onnxruntime
        self.np, self.ort, self.slots = numpy, onnxruntime, slots
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(pathlib.Path(directory) / "decode.onnx"), options,
                                                    providers=["CPUExecutionProvider"])
        self.caches = [i for i in self.session.get_inputs() if i.name.endswith((".keys", ".values"))]
        self.counters = [i.name for i in self.session.get_inputs() if i.name.endswith(".cumulative_length")]

    def start(self):
        np, ort = self.np, self.ort
        self.binding, self.position = self.session.io_binding(), 0
        self.kept = {}
        for cache in self.caches:
            heads, width = int(cache.shape[1]), int(cache.shape[3])
            value = ort.OrtValue.ortvalue_from_numpy(np.zeros((1, heads, self.slots, width), np.float32))
            self.kept[cache.name] = value
            self.binding.bind_ortvalue_input(cache.name, value)
            self.binding.bind_ortvalue_output(cache.name.replace("input.", "output."), value)

    def step(self, ids):
        np = self.np
        count = len(ids)
        positions = np.arange(self.position, self.position + count)
        mask = (np.arange(self.slots)[None, :] <= positions[:, None])[None, None]
        self.binding.bind_cpu_input("input_ids", np.array([ids], np.int64))
        self.binding.bind_cpu_input("position_ids", positions[None].astype(np.int64))
        self.binding.bind_cpu_input("attention_mask", mask)
        for name in self.counters:
            self.binding.bind_cpu_input(name, np.array(self.position, np.int64))
        self.binding.bind_output("logits")  # anew: it has the shape of this call
        self.session.run_with_iobinding(self.binding)
        self.position += count
        return int(self.binding.get_outputs()[-1].numpy()[0, -1].argmax())


def measured(loop, prompt, new_tokens):
    loop.start()
    begin = time.perf_counter()
    token = loop.step(prompt)
    first = time.perf_counter()
    for _ in range(new_tokens - 1):
        token = loop.step([token])
    return first - begin, time.perf_counter() - first


def run(kind, directory, length, new_tokens, threads):
    length, new_tokens = int(length), int(new_tokens)
    loop = kind(directory, length + new_tokens, int(threads))
    prompt = [3 + i * 7919 % 40000 for i in range(length)]
    measured(loop, prompt, 4)
    first, rest = measured(loop, prompt, new_tokens)
    print(json.dumps({"prompt_tokens_per_second": length / first,
                      "decode_tokens_per_second": (new_tokens - 1) / rest}))


if sys.argv[1] == "export":
    export(*sys.argv[2:])
else:
    run({"runner": Runner, "bound": Bound}[sys.argv[1]], *sys.argv[2:])
