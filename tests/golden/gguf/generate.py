# Writes blocks.json: random blocks of every supported encoding and the float32 bits that the
# Python `gguf` package decodes them to. Run: python generate.py (needs numpy and gguf).
import base64
import json
import pathlib

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize

# Where the half-precision scales of a block lie.
SCALES = {
    "F32": [], "F16": [], "BF16": [],
    "Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
}
# Zeros of both signs, the smallest and largest subnormals and normals, ordinary values.
SPECIAL = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x7BFF, 0xFBFF,
           0x3C00, 0xBC00, 0x2E66, 0xA1D3]


def random_half(rng):
    if rng.random() < 0.4:
        return int(rng.choice(SPECIAL))
    bits = int(rng.integers(0, 0x7C00))
    return bits | (0x8000 if rng.random() < 0.5 else 0)


def blocks_of(name, count, rng):
    size = GGML_QUANT_SIZES[Type[name]][1]
    raw = rng.integers(0, 256, (count, size), dtype=np.uint8)
    if name == "F32":
        raw = rng.standard_normal(count).astype("<f4").view(np.uint8).reshape(count, 4)
    elif name == "F16":
        halves = SPECIAL + [0x7C00, 0xFC00] + [random_half(rng) for _ in range(count)]
        raw = np.array(halves[:count], "<u2").view(np.uint8).reshape(count, 2)
    elif name == "BF16":
        raw[:, 1] &= 0xBF  # stay below infinity
    for block in raw:
        for at in SCALES[name]:
            block[at:at + 2] = np.frombuffer(np.uint16(random_half(rng)).tobytes(), np.uint8)
    return raw


def main():
    rng = np.random.default_rng(20240229)
    out = {}
    for name in SCALES:
        block, size = GGML_QUANT_SIZES[Type[name]]
        count = {1: 256, 32: 24, 256: 8}[block]
        raw = blocks_of(name, count, rng)
        values = dequantize(raw.reshape(1, -1), Type[name]).astype("<f4").reshape(-1)
        assert values.size == count * block
        out[name] = {
            "type": int(Type[name]),
            "block": block,
            "bytes": size,
            "blocks": base64.b16encode(raw.tobytes()).decode(),
            "values": base64.b16encode(values.tobytes()).decode(),
        }
    path = pathlib.Path(__file__).with_name("blocks.json")
    path.write_text(json.dumps(out, indent=1) + "\n")


main()
