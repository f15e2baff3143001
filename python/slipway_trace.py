"""Traces a transformers model into a .pt2 program: what `slipway trace` runs.

Reads one JSON object from the environment variable SLIPWAY_TRACE (see `main`) and writes a folder
that `slipway export FOLDER/model.pt2` takes. The exit status is 0, or 5 where a package is missing,
4 where the model cannot be traced, 3 for a model that cannot be loaded; the last line of standard
error says why.
"""
import sys

sys.path = [folder for folder in sys.path if folder]  # no file of the working directory is imported

import json  # noqa: E402
import os  # noqa: E402

ENVIRONMENT, UNSUPPORTED, INVALID = 5, 4, 3
AUTO_CLASSES = {
    "feature-extraction": "AutoModel",
    "fill-mask": "AutoModelForMaskedLM",
    "image-classification": "AutoModelForImageClassification",
    "image-text-to-text": "AutoModelForImageTextToText",
    "question-answering": "AutoModelForQuestionAnswering",
    "text-classification": "AutoModelForSequenceClassification",
    "text-generation": "AutoModelForCausalLM",
    "text-generation-with-past": "AutoModelForCausalLM",
    "text2text-generation": "AutoModelForSeq2SeqLM",
    "token-classification": "AutoModelForTokenClassification",
}
DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
WITH_PAST = "text-generation-with-past"


def fail(code, message):
    print(f"[trace] {message}", file=sys.stderr)
    sys.exit(code)


def load_packages():
    try:
        import torch
        import transformers
        from transformers.exporters import DynamoConfig, DynamoExporter
    except ImportError as error:
        fail(ENVIRONMENT, f"{sys.executable} has no {error.name or error}: install torch and transformers "
                          "5.23 there, or name another interpreter with --python")
    return torch, transformers, DynamoExporter, DynamoConfig


def model_class(transformers, config, task):
    if task == "auto":
        names = getattr(config, "architectures", None) or []
        if len(names) != 1 or not hasattr(transformers, names[0]):
            fail(INVALID, f"config.json names the architectures {names}, need one that transformers has; give --task")
        return getattr(transformers, names[0])
    if task not in AUTO_CLASSES:
        fail(INVALID, f"task {task} is not one of auto, {', '.join(AUTO_CLASSES)}")
    return getattr(transformers, AUTO_CLASSES[task])


def load_model(torch, transformers, job):
    # No code of the checkpoint is run, and no pickled weights are read.
    options = {"trust_remote_code": False}
    try:
        config = transformers.AutoConfig.from_pretrained(job["model"], **options)
        cls = model_class(transformers, config, job["task"])
        model = cls.from_pretrained(job["model"], config=config, dtype=getattr(torch, DTYPES[job["dtype"]]),
                                    use_safetensors=True)
    except Exception as error:  # noqa: BLE001  whatever the library raises is a model that does not load
        fail(INVALID, f"{job['model']} cannot be loaded: {error}")
    return model.eval()


def text_inputs(torch, model, batch, length):
    vocabulary = model.config.get_text_config().vocab_size
    ids = torch.arange(batch * length).reshape(batch, length) % max(vocabulary - 3, 1) + min(3, vocabulary - 1)
    inputs = {"input_ids": ids, "attention_mask": torch.ones(batch, length, dtype=torch.long)}
    if getattr(model.config, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = ids[:, : max(length - 1, 1)].clone()
    return inputs


def image_inputs(torch, model, batch):
    config = getattr(model.config, "vision_config", None) or model.config
    size = getattr(config, "image_size", None)
    if size is None:
        fail(UNSUPPORTED, "config.json does not say how large an image is: give --inputs")
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    channels = getattr(config, "num_channels", 3)
    pixels = torch.linspace(-1, 1, batch * channels * height * width).reshape(batch, channels, height, width)
    return {"pixel_values": pixels.to(model.dtype)}


def example_inputs(torch, model, job):
    if job["inputs"]:
        from safetensors.torch import load_file
        return load_file(job["inputs"])
    batch, length = job["batch_size"], job["sequence_length"]
    if model.main_input_name in ("input_ids", "inputs_embeds"):
        return text_inputs(torch, model, batch, length)
    if model.main_input_name == "pixel_values":
        return image_inputs(torch, model, batch)
    fail(UNSUPPORTED, f"no example is known for the input {model.main_input_name}: give --inputs FILE.safetensors "
                      "with the model's keyword arguments")


def with_past(torch, model, inputs):
    """A step over a cache that holds the first half of the example."""
    ids = inputs["input_ids"]
    half = ids.shape[1] // 2
    with torch.no_grad():
        first = model(input_ids=ids[:, :half], attention_mask=inputs["attention_mask"][:, :half], use_cache=True)
    positions = torch.arange(half, ids.shape[1]).expand(ids.shape[0], -1)
    return {"input_ids": ids[:, half:], "attention_mask": inputs["attention_mask"], "position_ids": positions,
            "past_key_values": first.past_key_values}


def main():
    job = json.loads(os.environ["SLIPWAY_TRACE"])
    torch, transformers, exporter, config = load_packages()
    model = load_model(torch, transformers, job)
    inputs = example_inputs(torch, model, job)
    if job["task"] == WITH_PAST:
        inputs = with_past(torch, model, inputs)
    try:
        exported = exporter().export(model, inputs, config=config(dynamic=job["dynamic"]))
    except Exception as error:  # noqa: BLE001  tracing fails in many ways
        fail(UNSUPPORTED, f"{type(model).__name__} cannot be traced: {error}")
    exported.save_pretrained(job["out"])
    try:
        transformers.AutoTokenizer.from_pretrained(job["model"]).save_pretrained(job["out"])
    except Exception as error:  # noqa: BLE001  a model without a tokenizer is fine
        print(f"[trace] no tokenizer was saved: {str(error).splitlines()[0]}", file=sys.stderr)


if __name__ == "__main__":
    main()
