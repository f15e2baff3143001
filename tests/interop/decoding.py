"""What decode loops over exports share: the next token, and the masks that callers of a static cache make."""

import torch


def head_dim(config):
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def best(logits, config):
    """The likeliest next token [1, 1]. The golden runs had min_new_tokens = max_new_tokens: no end token."""
    last = torch.as_tensor(logits)[:, -1:].clone()
    if config.eos_token_id is not None:
        last[..., torch.as_tensor(config.eos_token_id)] = -torch.inf
    return last.argmax(-1)


class Masks:
    """The masks of a static cache under the names that a graph takes, with the windows of the model."""

    def __init__(self, config, names):
        window = getattr(config, "sliding_window", None)
        types = getattr(config, "layer_types", None)
        self.windows = {}
        for name in names:
            kind = name.partition(".")[2]
            if kind == "full_attention" or not window or (not kind and types and "sliding_attention" not in types):
                self.windows[name] = None
            else:
                self.windows[name] = window

    def at(self, positions, cache_len):
        slots = torch.arange(cache_len)[None, :]
        masks = {}
        for name, window in self.windows.items():
            mask = slots <= positions[:, None]
            if window:
                mask &= positions[:, None] - slots < window
            masks[name] = mask[None, None]
        return masks

    def argument(self, positions, cache_len):
        masks = self.at(positions, cache_len)
        if list(masks) == ["attention_mask"]:
            return masks["attention_mask"]
        return {name.partition(".")[2]: mask for name, mask in masks.items()}
