"""Writes cases.jsonl: one case per line, a graph of one op with inputs and what PyTorch gives.

Run with an interpreter that has torch and torchao (2.12 and 0.18 were used). Cases of slipway:: ops are computed by
plain torch code below, written from the papers' formulas, not from the ops' bodies.
"""

import json
import math
import pathlib
import sys

import index_cases
import more_cases
import quantized_cases
import torch
import torch.nn.functional as F

SHORT = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.int64: "i64", torch.int32: "i32", torch.int16: "i16", torch.int8: "i8",
    torch.uint8: "u8", torch.bool: "bool",
}
random = torch.Generator().manual_seed(20)
lines = []


def floats(*shape, dtype=torch.float32, low=-3.0, high=3.0):
    """Multiples of 1/64, so that every dtype holds them exactly and the file stays small."""
    steps = torch.randint(int(low * 64), int(high * 64) + 1, shape, generator=random)
    if dtype in (torch.float16, torch.bfloat16):
        steps = steps // 4 * 4
    return (steps.double() / 64).to(dtype)


def ints(*shape, low=-4, high=5, dtype=torch.int64):
    return torch.randint(low, high, shape, generator=random).to(dtype)


def bools(*shape):
    return torch.randint(0, 2, shape, generator=random).bool()


def spelled(value):
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def packed(tensor):
    flat = tensor.reshape(-1)
    if tensor.dtype.is_floating_point:
        digits = 17 if tensor.dtype == torch.float64 else 9
        values = [float(f"{v:.{digits}g}") for v in flat.double().tolist()]
    else:
        values = [int(v) for v in flat.tolist()]
    return {"dtype": SHORT[tensor.dtype], "shape": list(tensor.shape),
            "values": [spelled(v) for v in values]}


class Size(int):
    """A symbolic size in the graph's text: Size(4, "2*n") is 4 for PyTorch."""

    def __new__(cls, value, text):
        made = int.__new__(cls, value)
        made.text = text
        return made


def spelled_type(tensor, name, symbols):
    """f32[n, 4]: the axes in `symbols` have names instead of numbers."""
    sizes = [symbols.get((name, i), size) for i, size in enumerate(tensor.shape)]
    return f"%{name}: {SHORT[tensor.dtype]}[{', '.join(map(str, sizes))}]"


def case(op, *args, expect=None, symbols=None, **kwargs):
    """`symbols`: names of input axes, as {"x0": {0: "n"}}."""
    inputs = {}

    def text(arg):
        if isinstance(arg, Size):
            return arg.text
        if isinstance(arg, torch.Tensor):
            name = f"x{len(inputs)}"
            inputs[name] = arg
            return "%" + name
        if isinstance(arg, (list, tuple)):
            return "[" + ", ".join(text(a) for a in arg) + "]"
        if isinstance(arg, bool):
            return "true" if arg else "false"
        if isinstance(arg, str):
            return f'"{arg}"'
        if isinstance(arg, torch.dtype):
            return SHORT[arg]
        return repr(arg)  # None, int, float, inf

    written = [text(a) for a in args] + [f"{k}={text(v)}" for k, v in kwargs.items()]
    if expect is None:
        space, _, name = op.partition("::")
        packet, _, overload = name.partition(".")
        call = getattr(getattr(getattr(torch.ops, space), packet), overload or "default")
        if not any(isinstance(t, torch.Tensor) for t in inputs.values()) and "device" not in kwargs:
            expect = call(*args, **kwargs, device="cpu")
        else:
            expect = call(*args, **kwargs)
    named = {(n, i): s for n, axes in (symbols or {}).items() for i, s in axes.items()}
    heads = [spelled_type(t, n, named) for n, t in inputs.items()]
    several = isinstance(expect, (list, tuple))
    results = [f"y{i}" for i in range(len(expect))] if several else ["y"]
    dims = "".join(f"{', ' if i else 'dims: '}{s} in 1.." for i, s in
                   enumerate(sorted({s for s in named.values() if s.isidentifier()})))
    graph = (f"{dims}{' ' if dims else ''}graph({', '.join(heads)}) {{ "
             f"{', '.join('%' + r for r in results)} = {op}({', '.join(written)}) "
             f"return {', '.join(f'{r}=%{r}' for r in results)} }}")
    lines.append(json.dumps({"op": op, "graph": graph,
                             "inputs": {n: packed(t) for n, t in inputs.items()},
                             "outputs": {r: packed(t) for r, t in
                                         zip(results, expect if several else [expect])}}))


def pointwise():
    half, brain = torch.float16, torch.bfloat16
    for op in ("add", "sub"):
        case(f"aten::{op}.Tensor", floats(2, 3), floats(3))
        case(f"aten::{op}.Tensor", floats(2, 3), floats(2, 1), alpha=0.5)
        case(f"aten::{op}.Tensor", ints(4), floats(4, dtype=half))
        case(f"aten::{op}.Scalar", floats(5), 0.1)
        case(f"aten::{op}.Scalar", ints(5), 2, 3)
        case(f"aten::{op}.Scalar", ints(5), 0.25)
    case("aten::rsub.Scalar", floats(5), 1.5)
    case("aten::rsub.Scalar", ints(5), 1, 2)
    case("aten::mul.Tensor", floats(2, 1, 3), floats(4, 1))
    case("aten::mul.Tensor", floats(4, dtype=half), floats(4, dtype=half))
    case("aten::mul.Tensor", floats(4, dtype=half), floats(4, dtype=brain))
    case("aten::mul.Tensor", ints(4, dtype=torch.int32), ints(4))
    case("aten::mul.Tensor", bools(4), ints(4, dtype=torch.uint8, low=0))
    case("aten::mul.Scalar", floats(5, dtype=half), 0.1)
    case("aten::mul.Scalar", floats(5, dtype=torch.float64), 0.1)
    case("aten::mul.Scalar", ints(5, dtype=torch.int8), 50)  # wraps
    case("aten::div.Tensor", floats(2, 3), floats(2, 3, low=1))
    case("aten::div.Tensor", ints(4), ints(4, low=1))
    case("aten::div.Scalar", ints(4), 4)
    case("aten::div.Scalar", floats(4, dtype=brain), 3.0)
    case("aten::pow.Tensor_Scalar", floats(5), 2.0)
    case("aten::pow.Tensor_Scalar", floats(5, low=0), 0.5)
    case("aten::pow.Tensor_Scalar", ints(5), 3)
    case("aten::pow.Tensor_Scalar", ints(5, low=1), 0.5)
    case("aten::pow.Tensor_Tensor", floats(4, low=0.5), floats(2, 4))
    case("aten::minimum", floats(2, 3), floats(3))
    case("aten::maximum", floats(2, 3), floats(3))
    nan = torch.tensor([1.0, float("nan"), 2.0])
    case("aten::maximum", nan, nan.flip(0))
    case("aten::minimum", nan, torch.tensor([float("nan"), 0.0, float("inf")]))
    wide = torch.tensor([-20.0, -4.0, -0.5, 0.0, 0.25, 3.0, 15.0, float("inf"), float("nan")])
    for op in ("neg", "abs", "exp", "sin", "cos", "tanh", "erf", "sigmoid", "relu", "silu", "gelu"):
        x = wide[:-2] if op in ("sin", "cos", "gelu") else wide  # gelu(inf) depends on the CPU
        case(f"aten::{op}", x)
        if op not in ("silu", "gelu"):
            case(f"aten::{op}", ints(4))
        case(f"aten::{op}", floats(6, dtype=half))
    case("aten::gelu", wide[:-2], approximate="tanh")
    case("aten::gelu", floats(6, dtype=brain), approximate="tanh")
    positive = torch.tensor([0.0, 1e-20, 0.25, 3.0, 1e10, float("inf")])
    for op in ("log", "sqrt", "rsqrt", "reciprocal"):
        case(f"aten::{op}", positive)
        case(f"aten::{op}", ints(4, low=1, high=9))
    case("aten::_to_copy", torch.tensor([-2.75, -0.5, 0.5, 2.75]), dtype=torch.int64)
    case("aten::_to_copy", torch.tensor([0.0, -0.0, 0.1, float("nan")]), dtype=torch.bool)
    case("aten::_to_copy", torch.tensor([1e-8, 65504.0, 65519.0, 65520.0, -1e9, 6e-5, 2049.0]),
         dtype=half)
    case("aten::_to_copy", torch.tensor([1.00390625, 1.01171875, 3.4e38, -1e-40]), dtype=brain)
    case("aten::_to_copy", torch.tensor([300, -1, 5]), dtype=torch.uint8)


def comparison():
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        case(f"aten::{op}.Tensor", ints(2, 8), ints(8))
        case(f"aten::{op}.Tensor", ints(8), floats(8))
        case(f"aten::{op}.Scalar", torch.tensor([0.1, 0.5, 1.0, -0.1]), 0.1)
        case(f"aten::{op}.Scalar", ints(8), 1)
        case(f"aten::{op}.Scalar", ints(8), 0.5)
    for op in ("and", "or"):
        case(f"aten::logical_{op}", bools(2, 1, 4), bools(3, 1))
        case(f"aten::logical_{op}", floats(4), ints(4))
    case("aten::logical_not", bools(4))
    case("aten::logical_not", ints(6, low=-1, high=2))
    case("aten::where.self", bools(2, 1, 3), floats(4, 1), floats(3))
    case("aten::where.self", bools(3), ints(3), floats(3, dtype=torch.float16))
    case("aten::masked_fill.Scalar", floats(2, 3), bools(3), -1.5)
    case("aten::masked_fill.Scalar", floats(2, 3), bools(2, 1), float("-inf"))


def reduction():
    for op in ("mean.dim", "sum.dim_IntList"):
        case(f"aten::{op}", floats(2, 3, 4), [1])
        case(f"aten::{op}", floats(2, 3, 4), [-1, 0], True)
        case(f"aten::{op}", floats(2, 3), None)
        case(f"aten::{op}", ints(2, 3), [1], dtype=torch.float32)
    case("aten::mean.dim", floats(2, 300, dtype=torch.float16), [1])
    case("aten::sum.dim_IntList", bools(2, 3), [0])
    case("aten::sum.dim_IntList", floats(0, 3), [0])
    for op in ("amax", "amin"):
        case(f"aten::{op}", floats(2, 3, 4), [1, 2])
        case(f"aten::{op}", floats(2, 3), [-1], True)
        case(f"aten::{op}", ints(2, 3))
        case(f"aten::{op}", torch.tensor([1.0, float("nan"), 3.0]), [0])
    case("aten::cumsum", floats(2, 3, 2), 1)
    case("aten::cumsum", ints(2, 4, dtype=torch.int32), -1)
    case("aten::cumsum", bools(2, 4), 1, dtype=torch.float32)
    case("aten::softmax.int", floats(2, 5), -1)
    case("aten::softmax.int", floats(2, 5, 3), 1)
    case("aten::softmax.int", floats(2, 5, dtype=torch.float16), 0)
    case("aten::softmax.int", floats(2, 5, dtype=torch.bfloat16), 1, torch.float32)
    case("aten::softmax.int", ints(2, 5), 1, torch.float32)
    case("aten::softmax.int", torch.tensor([[0.0, float("-inf")], [-3e38, -3e38]]), 1)


def shape():
    x = floats(2, 3, 4)
    for op in ("view", "reshape"):
        case(f"aten::{op}", x, [6, -1])
        case(f"aten::{op}", x, [2, 2, 6])
    case("aten::permute", x, [2, 0, -2])
    case("aten::transpose.int", x, 1, -1)
    case("aten::t", floats(2, 3))
    case("aten::t", floats(3))
    case("aten::unsqueeze", x, -1)
    case("aten::unsqueeze", x, 1)
    case("aten::squeeze.dim", floats(2, 1, 3), 1)
    case("aten::squeeze.dim", floats(2, 1, 3), -1)
    case("aten::expand", floats(3, 1), [2, -1, 4])
    case("aten::expand", floats(1), [0])
    case("aten::cat", [floats(2, 1, 2), floats(2, 3, 2), floats(2, 0, 2)], 1)
    case("aten::cat", [floats(2), ints(3)], -1)
    case("aten::slice.Tensor", x, 1, 1, 3)
    case("aten::slice.Tensor", x, -1, -3, 9223372036854775807, 2)
    case("aten::slice.Tensor", x, 2, None, -1)
    case("aten::slice.Tensor", x, 0, 5, 7)
    case("aten::slice.Tensor", x, 2, 3, 1)
    case("aten::slice.Tensor", x)
    case("aten::select.int", x, 1, 2)
    case("aten::select.int", x, -1, -4)


def creation_and_indexing():
    case("aten::full", [2, 2], 1.5)
    case("aten::full", [3], 7)
    case("aten::full", [], True)
    case("aten::full", [2], 1, dtype=torch.float16)
    case("aten::full", [2], float("-inf"), dtype=torch.float32)
    case("aten::arange.start_step", 2, 7)
    case("aten::arange.start_step", -3, 8, 3)
    case("aten::arange.start_step", 0, 4, dtype=torch.float32)
    case("aten::arange.start_step", 5, 5)
    case("aten::embedding", floats(5, 3), ints(2, 4, low=0))
    case("aten::embedding", floats(5, 3), ints(2, low=0, dtype=torch.int32), 1)
    case("aten::index_select", floats(2, 5, 3), 1, ints(4, low=0))
    case("aten::gather", floats(3, 5), -1, ints(2, 4, low=0))
    case("aten::gather", floats(5, 3), 0, ints(2, 3, low=0))


def linear_algebra():
    for a, b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)),
                 ((5, 2, 3), (3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((3,), (2, 3, 4)), ((2, 0), (0, 3))]:
        case("aten::matmul", floats(*a), floats(*b))
    case("aten::matmul", floats(2, 8, dtype=torch.float16), floats(8, 2, dtype=torch.float16))
    case("aten::linear", floats(2, 3, 4), floats(5, 4))
    case("aten::linear", floats(2, 4), floats(5, 4), floats(5))
    case("aten::linear", floats(4), floats(5, 4), floats(5))
    case("aten::layer_norm", floats(2, 3, 8), [8], floats(8), floats(8))
    case("aten::layer_norm", floats(2, 3, 4), [3, 4])
    case("aten::layer_norm", floats(2, 8), [8], floats(8), None, 0.1)
    case("aten::rms_norm", floats(2, 3, 8), [8], floats(8), 1e-6)
    case("aten::rms_norm", floats(2, 3, 4), [3, 4])
    case("aten::rms_norm", floats(2, 8, dtype=torch.float16) / 16, [8])


def rms_norm(x, weight, eps, unit_offset):
    wide = x.float()
    normed = wide / torch.sqrt((wide * wide).mean(-1, keepdim=True) + eps)
    if unit_offset:
        return (normed * (1 + weight.float())).to(x.dtype)
    return weight * normed.to(x.dtype)


def rotary(x, cos, sin, interleaved):
    half = cos.shape[-1]
    turn = torch.complex(cos, sin)[:, None]
    head, tail = x[..., :2 * half], x[..., 2 * half:]
    if interleaved:
        pairs = torch.complex(head[..., 0::2], head[..., 1::2]) * turn
        out = torch.stack([pairs.real, pairs.imag], -1).flatten(-2)
    else:
        pairs = torch.complex(head[..., :half], head[..., half:]) * turn
        out = torch.cat([pairs.real, pairs.imag], -1)
    return torch.cat([out, tail], -1)


def attention(q, k, v, mask, scale, softcap):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    if softcap == 0 and (mask is None or bool(mask.any(-1).all())):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    out = torch.zeros(*q.shape[:3], v.shape[-1])
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            for i in range(q.shape[2]):
                scores = (k[b, h] @ q[b, h, i]) * scale
                if softcap:
                    scores = softcap * torch.tanh(scores / softcap)
                seen = torch.ones(k.shape[2], dtype=torch.bool)
                if mask is not None:
                    seen = mask.expand(*q.shape[:3], k.shape[2])[b, h, i]
                if seen.any():
                    out[b, h, i] = torch.softmax(scores[seen], 0) @ v[b, h][seen]
                else:
                    out[b, h, i] = v[b, h].mean(0)
    return out


def causal_mask(padding, length, window):
    total = padding.shape[1]
    out = torch.zeros(padding.shape[0], 1, length, total, dtype=torch.bool)
    for b in range(padding.shape[0]):
        for i in range(length):
            slot = total - length + i
            for j in range(slot + 1):
                near = window is None or slot - j < window
                out[b, 0, i, j] = bool(padding[b, j]) and near
    return out


def composite():
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for unit in (False, True):
            x, w = floats(2, 3, 16, dtype=dtype), floats(16, dtype=dtype)
            case("slipway::rms_norm", x, w, 1e-5, unit, expect=rms_norm(x, w, 1e-5, unit))
    big = torch.full((1, 8), 300.0, dtype=torch.float16)  # its square does not fit in 16 bits
    ones = torch.ones(8, dtype=torch.float16)
    case("slipway::rms_norm", big, ones, 1e-6, expect=rms_norm(big, ones, 1e-6, False))

    for half in (4, 2, 1):
        for interleaved in (False, True):
            x, angle = floats(2, 3, 5, 8), floats(2, 5, half)
            cos, sin = angle.cos(), angle.sin()
            case("slipway::rotary_embedding", x, cos, sin, interleaved,
                 expect=rotary(x, cos, sin, interleaved))

    masked = bools(2, 1, 3, 5) | torch.eye(3, 5).bool()
    none_seen = masked.clone()
    none_seen[1, 0, 2] = False
    for heads, kv in ((4, 4), (4, 2), (6, 1)):
        q, k, v = floats(2, heads, 3, 4), floats(2, kv, 5, 4), floats(2, kv, 5, 6)
        for mask in (None, masked, none_seen, bools(2, heads, 3, 5) | torch.eye(3, 5).bool()):
            for softcap in (0.0, 1.5):
                case("slipway::attention", q, k, v, mask, 0.5, softcap,
                     expect=attention(q, k, v, mask, 0.5, softcap))

    padding = torch.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
    for length in (6, 2, 1):
        for window in (None, 1, 3):
            case("slipway::causal_mask", padding, length, window,
                 expect=causal_mask(padding, length, window))
    past, current = floats(2, 3, 4, 2), floats(2, 3, 1, 2)
    case("slipway::cache_append", past, current, expect=torch.cat([past, current], 2))
    empty = floats(2, 3, 0, 2)
    case("slipway::cache_append", empty, current, expect=current)


def writing():
    case("aten::index_copy", floats(2, 5, 3), 1, torch.tensor([3, 0]), floats(2, 2, 3))
    case("aten::index_copy", floats(4, 3), -2, torch.tensor([2]), floats(1, 3))
    cache, slots, current = floats(2, 3, 6, 2), torch.tensor([2, 3, 4]), floats(2, 3, 3, 2)
    written = cache.clone()
    written[:, :, 2:5] = current
    case("slipway::cache_write", cache, slots, current, expect=written)
    x = floats(2, 5, 3)
    for count in (0, 1, 3, 5):
        kept = count or 5
        case("slipway::keep_last", x, torch.tensor(count), kept, expect=x[:, 5 - kept:])


if __name__ == "__main__":
    for family in (pointwise, comparison, reduction, shape, creation_and_indexing, linear_algebra,
                   composite, writing):
        family()
    for family in more_cases.FAMILIES + index_cases.FAMILIES + quantized_cases.FAMILIES:
        family(sys.modules[__name__])
    target = pathlib.Path(__file__).with_name("cases.jsonl")
    target.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} cases, {target.stat().st_size} bytes")
