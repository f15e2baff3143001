"""Cases of the ops that torch's and torchao's quantizers write. Needs torchao 0.18."""

import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed
import torchao.quantization.quant_primitives  # defines torchao's affine ops

I8, U8 = torch.int8, torch.uint8
LIB = "quantized_decomposed::"


def numbers(g):
    case, x = g.case, g.floats(3, 5)
    halves = torch.arange(-12, 13).float() / 2  # quotients that end in one half
    n = {"x0": {0: "n"}}
    for scale, zero, low, high, dtype in ((0.023, 3, -128, 127, I8), (0.05, 60, 0, 255, U8), (0.4, 0, -8, 7, I8),
                                          (1.0, 0, -128, 127, I8)):
        q = torch.ops.quantized_decomposed.quantize_per_tensor.default(x, scale, zero, low, high, dtype)
        s, z = torch.tensor([scale], dtype=torch.float64), torch.tensor([zero])
        for value in (x, halves):
            case(f"{LIB}quantize_per_tensor", value, scale, zero, low, high, dtype)
            case(f"{LIB}quantize_per_tensor.tensor", value, s, z, low, high, dtype)
        case(f"{LIB}dequantize_per_tensor", q, scale, zero, low, high, dtype)
        case(f"{LIB}dequantize_per_tensor.tensor", q, s, z, low, high, dtype)
        case(f"{LIB}quantize_per_tensor", x, scale, zero, low, high, dtype, symbols=n)
    case(f"{LIB}quantize_per_tensor", x.half(), 0.25, 1, -128, 127, I8)
    case(f"{LIB}quantize_per_tensor.tensor", x, torch.tensor(0.02), torch.tensor(3), -128, 127, I8)
    for value in (x, x.abs() + 1, -x.abs() - 1, x * 1e-5, g.floats(2, 3, 4)):
        case(f"{LIB}choose_qparams.tensor", value, -128, 127, 2.0**-12, I8)
        case(f"{LIB}choose_qparams.tensor", value, 0, 255, 1.1920928955078125e-07, U8)
        case(f"{LIB}choose_qparams_symmetric.tensor", value, -127, 127, 2.0**-12, I8)
    case(f"{LIB}choose_qparams.tensor", x, -128, 127, 2.0**-12, I8, symbols=n)
    case(f"{LIB}choose_qparams_symmetric.tensor", x, 0, 255, 2.0**-12, U8)


def channels(g):
    case, x = g.case, g.floats(4, 6)
    for axis, count in ((0, 4), (1, 6)):
        scales, zeros = torch.arange(1, count + 1) / 50, g.ints(count)
        q = torch.ops.quantized_decomposed.quantize_per_channel.default(x, scales, zeros, axis, -128, 127, I8)
        case(f"{LIB}quantize_per_channel", x, scales, zeros, axis, -128, 127, I8)
        case(f"{LIB}quantize_per_channel", x, scales.double(), zeros, axis, -128, 127, I8)
        case(f"{LIB}dequantize_per_channel", q, scales, zeros, axis, -128, 127, I8)
        case(f"{LIB}dequantize_per_channel", q, scales, None, axis, -128, 127, I8)
        case(f"{LIB}dequantize_per_channel", q, scales, zeros.int(), axis, -128, 127, I8, out_dtype=torch.float16)
    scales, zeros = torch.rand(4, 3, generator=g.random) / 5 + 0.1, g.ints(4, 3, dtype=I8)
    q = torch.ops.quantized_decomposed.quantize_per_channel_group.default(x, scales, zeros, -8, 7, I8, 2)
    case(f"{LIB}quantize_per_channel_group", x, scales, zeros, -8, 7, I8, 2)
    case(f"{LIB}dequantize_per_channel_group", q, scales, zeros, -8, 7, I8, 2, torch.float32)
    case(f"{LIB}dequantize_per_channel_group", q, scales, None, -8, 7, I8, 2, torch.float32)
    case(f"{LIB}dequantize_per_channel_group", q, scales[:, :1], zeros[:, :1], -8, 7, I8, 128, torch.float32)


def rows(g):
    case = g.case
    for x in (g.floats(3, 5), g.floats(2, 3, 4), g.floats(3, 4).abs() + 0.5, torch.zeros(2, 3)):
        n = {"x0": {0: "n"}}
        case(f"{LIB}choose_qparams_per_token", x, I8)
        for name in ("choose_qparams_per_token_asymmetric", "_choose_qparams_per_token_asymmetric_impl"):
            case(f"{LIB}{name}", x, I8)
        case(f"{LIB}choose_qparams_per_token_asymmetric", x, I8, symbols=n)
        scales, zeros = torch.ops.quantized_decomposed.choose_qparams_per_token_asymmetric.default(x, I8)
        for s, z in ((scales, zeros), (scales.float(), zeros.int())):
            q = torch.ops.quantized_decomposed.quantize_per_token.default(x, s, z, -128, 127, I8)
            case(f"{LIB}quantize_per_token", x, s, z, -128, 127, I8)
            case(f"{LIB}dequantize_per_token", q, s, z, -128, 127, I8, torch.float32)
    case(f"{LIB}choose_qparams_per_token", g.floats(2, 5).half(), I8)
    case(f"{LIB}convert_element_type.no_fuse", g.floats(2, 3), torch.float16)


def blocks(g):
    case = g.case
    x = g.floats(4, 6)
    ops = torch.ops.torchao
    for size in ([1, 6], [1, 2], [2, 3], [4, 6]):
        for mapping, low, high in (("ASYMMETRIC", -128, 127), ("SYMMETRIC", -8, 7), ("SYMMETRIC_NO_CLIPPING_ERR", -8, 7)):
            scale, zero = ops.choose_qparams_affine(x, mapping, size, I8, low, high, None, None, torch.int32)
            case("torchao::choose_qparams_affine", x, mapping, size, I8, low, high, None, None, torch.int32)
            q = ops.quantize_affine(x, size, scale, zero, I8, low, high)
            case("torchao::quantize_affine", x, size, scale, zero, I8, low, high)
            case("torchao::dequantize_affine", q, size, scale, zero, I8, low, high)
    case("torchao::choose_qparams_affine", x, "ASYMMETRIC", [1, 6], I8)
    case("torchao::choose_qparams_affine", x, "SYMMETRIC", [1, 6], I8, -128, 127, 2.0**-23, torch.float32, I8, True)
    case("torchao::choose_qparams_affine", x, "ASYMMETRIC", [2, 3], I8, None, None, None, torch.float64, I8, True)
    case("torchao::choose_qparams_affine", x, "ASYMMETRIC", [1, 6], I8, -128, 127, None, None, I8, symbols={"x0": {0: "n"}})
    case("torchao::choose_qparams_affine", x.half() / 64, "ASYMMETRIC", [1, 6], I8, -128, 127)
    scale, zero = ops.choose_qparams_affine(x, "ASYMMETRIC", [1, 3], U8, 0, 15, None, None, U8)
    q = ops.quantize_affine(x, [1, 3], scale, zero, U8, 0, 15)
    case("torchao::quantize_affine", x, [1, 3], scale, zero, U8, 0, 15)
    case("torchao::dequantize_affine", q, [1, 3], scale, zero, U8, 0, 15, torch.float16)
    case("torchao::dequantize_affine", q, [1, 3], scale, None, U8)
    case("aten::_int_mm", g.ints(17, 16, low=-128, high=128, dtype=I8), g.ints(16, 8, low=-128, high=128, dtype=I8))


FAMILIES = (numbers, channels, rows, blocks)
