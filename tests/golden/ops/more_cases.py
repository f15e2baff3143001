"""Cases of spellings, rounding, activations and statistics, as traced programs use them."""

import torch


def spellings(g):
    case, floats, ints, bools, Size = g.case, g.floats, g.ints, g.bools, g.Size
    half = torch.float16
    x = floats(2, 3, 4)
    for op in ("contiguous", "clone", "detach", "alias", "lift_fresh_copy"):
        case(f"aten::{op}", x)
    for op in ("dropout", "feature_dropout", "alpha_dropout"):
        case(f"aten::{op}", x, 0.5, False)
    case("aten::to.device", x, None, half, expect=x.half())
    case("aten::to.dtype", x, torch.float64)
    case("aten::to.dtype", ints(3), torch.int64)
    case("aten::to.dtype_layout", x, dtype=half)
    case("aten::to.dtype_layout", x, expect=x)
    for op in ("to.other", "type_as"):
        case(f"aten::{op}", x, ints(2))
    case("aten::copy", x, floats(3, 1))
    case("aten::copy", x, ints(4))
    case("aten::fill.Scalar", x, 2)
    case("aten::fill.Tensor", x, torch.tensor(2))
    for op in ("new_ones", "new_zeros"):
        case(f"aten::{op}", x, [2, 3])
        case(f"aten::{op}", ints(3), [2], dtype=torch.bool)
        case(f"aten::{op}", ints(3), [Size(3, "n"), 2], symbols={"x0": {0: "n"}})
    case("aten::zero", ints(2, 3))
    case("aten::new_empty", x, [2, 0])
    case("aten::new_full", x, [2], 3)
    case("aten::new_full", ints(3), [2], 3, dtype=half)
    for op in ("ones", "zeros"):
        case(f"aten::{op}", [2, 3])
        case(f"aten::{op}", [2], dtype=torch.int32)
    case("aten::empty.memory_format", [0, 2])
    for op in ("ones_like", "zeros_like"):
        case(f"aten::{op}", x)
        case(f"aten::{op}", ints(2, 3), dtype=half)
        case(f"aten::{op}", bools(4), symbols={"x0": {0: "n"}})
    case("aten::empty_like", floats(2, 0))
    case("aten::full_like", x, 1.5)
    case("aten::full_like", ints(3), 2)
    case("aten::scalar_tensor", 1.5)
    case("aten::scalar_tensor", 2, dtype=torch.int64)
    case("aten::arange", 5)
    case("aten::arange", 4, dtype=torch.float32)
    case("aten::arange", 2.5)
    case("aten::arange.start", 2, 6)
    case("aten::arange.start", 1, 3.5)
    case("aten::arange.start_step", 5, -4, -2)
    case("aten::arange.start_step", 0, 1, 0.25)
    case("aten::eye", 3)
    case("aten::eye", 2, dtype=torch.int64)
    case("aten::eye.m", 2, 4)
    case("aten::eye.m", 3, 2, dtype=torch.bool)


def spelled_shapes(g):
    case, floats, ints, Size = g.case, g.floats, g.ints, g.Size
    x, b = floats(2, 3, 4), {"x0": {0: "b", 1: "s"}}
    case("aten::numpy_T", x)
    case("aten::numpy_T", floats(3))
    case("aten::mT", x)
    case("aten::swapaxes", x, 0, -1)
    case("aten::swapdims", x, 1, 0)
    case("aten::movedim.int", x, 0, -1)
    case("aten::movedim.intlist", x, [0, 1], [-1, 0])
    case("aten::flatten.using_ints", x)
    case("aten::flatten.using_ints", x, 0, 1, symbols=b)
    case("aten::flatten.using_ints", x, -2)
    case("aten::flatten.using_ints", torch.tensor(2.0))
    case("aten::unflatten.int", x, -1, [2, -1])
    case("aten::unflatten.int", x, 2, [2, 2], symbols=b)
    case("aten::view_as", x, floats(6, 4))
    case("aten::reshape_as", x, floats(24))
    case("aten::_unsafe_view", x, [6, -1])
    case("aten::expand_as", floats(3, 1), x)
    case("aten::squeeze", floats(1, 2, 1))
    case("aten::squeeze.dims", floats(1, 2, 1, 1), [0, -1])
    case("aten::narrow", x, 1, 1, 2)
    case("aten::narrow", x, -1, -3, 2)
    case("aten::narrow", x, 1, 0, Size(2, "s - 1"), symbols=b)
    case("aten::cat", [torch.zeros(0), x], -2, symbols={"x1": {0: "b"}})
    case("aten::cat", [torch.zeros(0), floats(3)])
    case("aten::stack", [x, x + 1], 1)
    case("aten::stack", [floats(2), ints(2)], -1)
    case("aten::hstack", [floats(2), floats(3)])
    case("aten::hstack", [floats(2, 1), floats(2, 3)])
    for op in ("concat", "concatenate"):
        case(f"aten::{op}", [floats(2, 1), floats(2, 3)], -1)
    case("aten::view", x, [Size(6, "b*s"), -1], symbols=b)
    case("aten::view", x, [Size(2, "b"), -1], symbols=b)
    case("aten::reshape", x, [-1, 2], symbols=b)
    case("aten::expand", floats(2, 1, 3), [-1, 4, -1], symbols={"x0": {0: "b"}})


def pieces(g):
    case, floats, Size = g.case, g.floats, g.Size
    x, b = floats(2, 7, 4), {"x0": {0: "b"}}
    case("aten::chunk", x, 3, 1)
    case("aten::chunk", x, 2, -1, symbols=b)
    case("aten::chunk", floats(2, 5), 4, 1)
    case("aten::split.Tensor", x, 3, 1)
    case("aten::split.Tensor", x, 2, -1, symbols=b)
    case("aten::unsafe_split.Tensor", x, 4, 1)
    case("aten::split_with_sizes", x, [1, 2, 4], 1)
    case("aten::split_with_sizes", x, [0, 4], -1)
    case("aten::split.sizes", x, [3, 1], 2)
    case("aten::unbind.int", x)
    case("aten::unbind.int", x, -1, symbols={"x0": {1: "s"}})
    case("aten::tensor_split.sections", x, 3, 1)
    case("aten::repeat", floats(2, 3), [2, 1])
    case("aten::repeat", floats(2, 3), [2, 1, 2])
    case("aten::repeat", floats(2, 3), [Size(2, "b"), 1], symbols=b)
    case("aten::repeat", floats(3), [1])
    case("aten::repeat_interleave.self_int", floats(2, 3), 2, 1)
    case("aten::repeat_interleave.self_int", floats(2, 3), 3)
    case("aten::repeat_interleave.self_int", floats(2, 3), 2, 0, symbols=b)
    case("aten::roll", floats(5), [2])
    case("aten::roll", floats(2, 5), [-1], [1])
    case("aten::roll", floats(3, 5), [1, 2], [0, 1])
    case("aten::roll", floats(3, 5), [7])
    case("aten::roll", floats(2, 5), [1], [0], symbols=b)
    case("aten::pixel_shuffle", floats(2, 8, 3, 2), 2)
    case("aten::pixel_shuffle", floats(9, 2, 2), 3, symbols={"x0": {1: "h", 2: "w"}})
    for order in ("ij", "xy"):
        case("aten::meshgrid.indexing", [floats(2), floats(3)], indexing=order)
    case("aten::meshgrid.indexing", [floats(2), floats(3), floats(1)], indexing="xy")
    mask = torch.tensor([[False, True, True], [True, False, True]])
    case("aten::masked_scatter", floats(2, 3), mask, floats(5))
    case("aten::masked_scatter", floats(2, 3, 2), mask[:, :, None], floats(6, 2),
         symbols={"x0": {0: "b", 1: "s"}, "x1": {0: "b", 1: "s"}, "x2": {0: "n"}})
    case("aten::slice_scatter", x, floats(2, 2, 4), 1, 1, 3)
    case("aten::slice_scatter", x, floats(2, 3, 4), 1, -3)
    case("aten::slice_scatter", x, floats(2, 7, 4))
    case("aten::select_scatter", x, floats(2, 4), 1, 2)
    case("aten::select_scatter", x, floats(7, 4), 0, -1)


def spelled_math(g):
    case, floats, ints, bools = g.case, g.floats, g.ints, g.bools
    half = torch.float16
    case("aten::square", floats(5))
    case("aten::square", ints(5))
    case("aten::addmm", floats(4), floats(2, 3), floats(3, 4))
    case("aten::addmm", floats(2, 4), floats(2, 3), floats(3, 4), beta=0.5, alpha=2)
    case("aten::addmm", floats(4), floats(2, 3), floats(3, 4), beta=0)
    case("aten::baddbmm", floats(2, 1, 5), floats(2, 3, 4), floats(2, 4, 5), alpha=0.5)
    case("aten::baddbmm", floats(2, 3, 5), floats(2, 3, 4), floats(2, 4, 5))
    case("aten::bmm", floats(2, 3, 4), floats(2, 4, 5), symbols={"x0": {0: "b"}, "x1": {0: "b"}})
    case("aten::mm", floats(2, 3), floats(3, 4))
    case("aten::mv", floats(2, 3), floats(3))
    case("aten::dot", floats(3), floats(3))
    case("aten::outer", floats(3), floats(2))
    case("aten::rsub.Tensor", floats(3), floats(3), alpha=2)
    case("aten::addcmul", floats(3), floats(3), floats(3), value=0.5)
    case("aten::addcdiv", floats(3), floats(3), floats(3, low=1), value=2)
    case("aten::lerp.Scalar", floats(3), floats(3), 0.25)
    case("aten::pow.Scalar", 2, floats(4))
    case("aten::pow.Scalar", 1.5, ints(4))
    case("aten::pow.Scalar", 2, ints(4, low=0))
    case("aten::max.other", floats(2, 3), floats(3))
    case("aten::min.other", ints(2, 3), ints(3))
    case("aten::min.other", floats(2, 3), torch.tensor(1))
    case("aten::where.ScalarOther", bools(2, 3), floats(3), 2)
    case("aten::where.ScalarOther", bools(3), ints(3), 0.5)
    case("aten::where.ScalarOther", bools(3), floats(3, dtype=half), float("-inf"))
    case("aten::where.ScalarSelf", bools(2, 3), 1.5, floats(3))
    case("aten::where.Scalar", bools(3), 1.0, 0.0)
    case("aten::where.Scalar", bools(3), 1, 0)
    case("aten::masked_fill.Tensor", floats(2, 3), bools(3), torch.tensor(-1.5))
    for op in ("and", "or", "xor"):
        for name in (f"__{op}__.Tensor", f"bitwise_{op}.Tensor"):
            case(f"aten::{name}", bools(2, 4), bools(4))
            case(f"aten::{name}", ints(4), ints(4))
    for op in ("__and__", "__or__", "bitwise_and", "bitwise_or", "bitwise_xor"):
        case(f"aten::{op}.Scalar", ints(4), 3)
    case("aten::bitwise_and.Scalar", bools(4), True)
    case("aten::bitwise_not", ints(4))
    case("aten::bitwise_not", bools(4))
    case("aten::logical_xor", bools(4), bools(4))
    case("aten::logical_xor", floats(4), ints(4))
    case("aten::negative", floats(3))
    case("aten::absolute", floats(3))
    case("aten::clip", floats(5), -1, 1)
    for op in ("subtract.Tensor", "multiply.Tensor", "not_equal.Tensor", "greater.Tensor",
               "greater_equal.Tensor", "less.Tensor", "less_equal.Tensor"):
        case(f"aten::{op}", ints(6), ints(6))
    case("aten::divide.Tensor", floats(3), floats(3, low=1))
    case("aten::true_divide.Tensor", floats(3), floats(3, low=1))
    case("aten::multiply.Scalar", floats(3), 2)
    case("aten::divide.Scalar", floats(3), 2)
    for op in ("mean", "sum"):
        case(f"aten::{op}", floats(2, 3))
        case(f"aten::{op}", ints(2, 3), dtype=torch.float32)
    # A tensor without dimensions yields to one with dimensions; a symbolic number is a number.
    for op in ("add", "sub", "mul", "div"):
        case(f"aten::{op}.Tensor", floats(3, dtype=half), torch.tensor(1.5))
        case(f"aten::{op}.Tensor", ints(3), torch.tensor(1.5))
        case(f"aten::{op}.Scalar", floats(3), g.Size(3, "n"), symbols={"x0": {0: "n"}})
    for op in ("remainder", "fmod", "floor_divide", "pow.Tensor_Scalar", "rsub", "ge", "lt", "eq"):
        name = op if "." in op else f"{op}.Scalar"
        case(f"aten::{name}", ints(3, low=0, high=9), g.Size(3, "n"), symbols={"x0": {0: "n"}})
    case("aten::mul.Tensor", bools(4), bools(4))
    case("aten::add.Tensor", bools(4), bools(4))
    case("aten::maximum", bools(4), bools(4))
    case("aten::minimum", bools(4), bools(4))
    case("aten::lt.Tensor", bools(6), bools(6))
    case("aten::eq.Tensor", bools(6), bools(6))
    case("aten::gt.Tensor", ints(6, dtype=torch.int32), torch.tensor(1))


def rounding(g):
    case, floats, ints = g.case, g.floats, g.ints
    odd = torch.tensor([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, float("inf"), float("nan")])
    for op in ("ceil", "floor", "round", "trunc"):
        case(f"aten::{op}", odd[:-1])
        case(f"aten::{op}", ints(4))
    case("aten::sign", odd[:-1])
    case("aten::sign", ints(5))
    for op in ("isnan", "isinf", "isfinite"):
        case(f"aten::{op}", odd)
        case(f"aten::{op}", ints(3))
    case("aten::isnan", odd.half())
    case("aten::nan_to_num", torch.cat([odd, -odd]))
    case("aten::nan_to_num", torch.cat([odd, -odd]), 1.0, 2.0, -3.0)
    case("aten::nan_to_num", ints(3))
    a, b = ints(12, low=-9, high=9), torch.tensor([-3, -2, -1, 1, 2, 3] * 2)
    for op in ("div.Tensor_mode", "div.Scalar_mode"):
        for mode in ("floor", "trunc", None):
            other = (lambda t: t) if op.startswith("div.T") else (lambda t: t.reshape(-1)[0].item())
            case(f"aten::{op}", a, other(b), rounding_mode=mode)
            case(f"aten::{op}", floats(5), other(floats(5, low=1)), rounding_mode=mode)
            case(f"aten::{op}", a, other(floats(12, low=1)), rounding_mode=mode)
    case("aten::floor_divide", a, b)
    case("aten::floor_divide", floats(4), floats(4, low=1))
    case("aten::floor_divide.Scalar", a, -4)
    case("aten::floor_divide.Scalar", floats(4), 0.75)
    for op in ("remainder", "fmod"):
        case(f"aten::{op}.Tensor", a, b)
        case(f"aten::{op}.Tensor", floats(5), torch.tensor([-0.75, 0.5, 1.0, -1.5, 2.0]))
        case(f"aten::{op}.Scalar", a, -4)
        case(f"aten::{op}.Scalar", floats(5), 0.75)
        case(f"aten::{op}.Scalar", ints(5), 1.5)
    case("aten::clamp", floats(6), -1, 1)
    case("aten::clamp", floats(6), None, 0.5)
    case("aten::clamp", floats(6), 0.25)
    case("aten::clamp", ints(6), -1, 2)
    case("aten::clamp", ints(6), 0.5)
    case("aten::clamp", odd, -1.0, 1.0)
    case("aten::clamp", floats(6, dtype=torch.float16), -1.5, float("inf"))
    case("aten::clamp", ints(3), 0, g.Size(3, "n"), symbols={"x0": {0: "n"}})
    case("aten::clamp_min", floats(4), 0)
    case("aten::clamp_max", ints(4), 1)
    case("aten::clamp.Tensor", floats(2, 3), floats(3, high=0), floats(2, 1, low=0))
    case("aten::clamp.Tensor", floats(2, 3), None, floats(3))
    case("aten::clamp_min.Tensor", floats(3), floats(3))
    case("aten::clamp_max.Tensor", floats(3), floats(3))
    for op in ("tan", "atan", "expm1", "exp2", "erfc"):
        case(f"aten::{op}", floats(6, high=1.5, low=-1.5))
        case(f"aten::{op}", ints(4, low=-1, high=2))
    for op in ("log1p", "log2"):
        case(f"aten::{op}", floats(6, low=0.5))


def activations(g):
    case, floats = g.case, g.floats
    x = torch.tensor([-30.0, -4.0, -1.0, -0.25, 0.0, 0.25, 1.0, 4.0, 19.0, 30.0])
    case("aten::softplus", x)
    case("aten::softplus", x, 2, 3)
    case("aten::softplus", floats(5, dtype=torch.float16))
    for op in ("log_sigmoid", "mish", "selu", "relu6", "hardsigmoid", "hardswish"):
        case(f"aten::{op}", x)
    case("aten::leaky_relu", x, 0.1)
    case("aten::elu", x)
    case("aten::elu", x, 0.5, 2, 1)
    case("aten::celu", x, 0.5)
    case("aten::hardtanh", x)
    case("aten::hardtanh", x, -2, 3)
    case("aten::threshold", x, 0.5, 2)
    case("aten::glu", floats(2, 6))
    case("aten::glu", floats(4, 3), 0)
    case("aten::prelu", floats(2, 3, 2), floats(3))
    case("aten::prelu", floats(2, 3), floats(1))


def statistics(g):
    case, floats, ints, bools = g.case, g.floats, g.ints, g.bools
    x, n = floats(2, 3, 4), {"x0": {0: "b", 1: "s"}}
    for op in ("any", "all"):
        case(f"aten::{op}", bools(3, 2))
        case(f"aten::{op}", ints(5, low=0, high=2))
        case(f"aten::{op}", torch.zeros(0, 3).bool())
        case(f"aten::{op}.dim", bools(3, 2), 1)
        case(f"aten::{op}.dim", bools(3, 2, 2), -2, True, symbols={"x0": {0: "b"}})
        case(f"aten::{op}.dims", bools(3, 2, 2), [0, -1])
        case(f"aten::{op}.dims", bools(3, 2), None, True)
    case("aten::logsumexp", x, [1])
    case("aten::logsumexp", x, [-1, 0], True)
    case("aten::logsumexp", torch.tensor([[0.0, float("-inf")], [float("-inf")] * 2]), [1])
    case("aten::logsumexp", x, [1], symbols=n)
    case("aten::log_softmax.int", x, 1)
    case("aten::log_softmax.int", floats(2, 5, dtype=torch.float16), -1, torch.float32)
    case("aten::prod.dim_int", x, 1)
    case("aten::prod.dim_int", ints(2, 3), -1, True)
    case("aten::norm.Scalar", x)
    case("aten::norm.ScalarOpt_dim", x, 1, [1])
    case("aten::norm.ScalarOpt_dim", x, None, [-1], True)
    for order in (0, 1, 2, 3, float("inf"), float("-inf")):
        case("aten::linalg_vector_norm", x, order, [-1], True)
    case("aten::linalg_vector_norm", x)
    case("aten::linalg_vector_norm", x, 2, [1], dtype=torch.float64)
    for op in ("var", "std"):
        case(f"aten::{op}.correction", x, [1])
        case(f"aten::{op}.correction", x, [-1, 0], correction=0, keepdim=True)
        case(f"aten::{op}.correction", x, [1], correction=1, symbols=n)
        case(f"aten::{op}.correction", x)
        case(f"aten::{op}.dim", x, [1], False, True)
    experts = torch.tensor([0, 3, 3, 1, 0, 2, 3, 3])
    case("aten::histc", experts.float(), 4, 0, 3)
    case("aten::histc", floats(40), 6, -2, 2)
    case("aten::histc", floats(4, 5, dtype=torch.float64), 3, -1, 1.5)
    case("aten::histc", experts.float(), 4, 0, 3, symbols={"x0": {0: "n"}})
    for bins in (7, 60, 256):
        case("aten::histc", torch.arange(bins).repeat(2).float(), bins, 0, bins - 1)
    for op in ("tril", "triu"):
        for diagonal in (0, 1, -2):
            case(f"aten::{op}", floats(4, 3), diagonal)
        case(f"aten::{op}", floats(2, 3, 3))
        case(f"aten::{op}", ints(3, 3))
        case(f"aten::{op}", bools(3, 4), 1)
        case(f"aten::{op}", floats(3, 4), symbols={"x0": {0: "m", 1: "n"}})
    for op in ("max", "min"):
        case(f"aten::{op}", x)
        case(f"aten::{op}.dim", x, 1)
        case(f"aten::{op}.dim", ints(3, 5), -1, True)
    for op in ("argmax", "argmin"):
        case(f"aten::{op}", x)
        case(f"aten::{op}", x, 1)
        case(f"aten::{op}", ints(3, 5), -1, True)
        case(f"aten::{op}", x, None, True)


FAMILIES = (spellings, spelled_shapes, pieces, spelled_math, rounding, activations, statistics)
