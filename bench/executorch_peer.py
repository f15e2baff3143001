"""The reference's own .pte of SmolLM2, with a static cache in the caller's memory; takes 20 minutes and 4.4 GB.

executorch_peer.py GGUF DIRECTORY
"""
import pathlib
import sys


def main():
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig
    from transformers.exporters import ExecutorchConfig, ExecutorchExporter
    path = pathlib.Path(sys.argv[1])
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
    ids = torch.arange(8).reshape(1, 8)
    config = ExecutorchConfig(dynamic=True, alloc_graph_input=False, alloc_graph_output=False,
                              alloc_mutable_buffers=False)
    ExecutorchExporter().export_for_generation(
        model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, config=config, multi_token_decode=True,
        generation_config=GenerationConfig(cache_implementation="static", max_cache_len=512)).save_pretrained(sys.argv[2])


if __name__ == "__main__":
    main()
