"""Cases of indexing, sorting, windows and products, as traced programs use them."""

import torch


def distinct(*shape):
    """Values without ties, in no order."""
    count = 1
    for size in shape:
        count *= size
    return ((torch.arange(count) * 7 + 3) % (count + (1 if count % 7 == 0 else 0))).reshape(shape)


def sorting(g):
    case, Size = g.case, g.Size
    x = distinct(3, 5).float()
    case("aten::topk", x, 2)
    case("aten::topk", x, 2, 0, False)
    case("aten::topk", distinct(11), 3)
    case("aten::topk", x, 2, -1, True, True, symbols={"x0": {0: "n"}})
    case("aten::topk", x, Size(3, "n"), symbols={"x0": {0: "n"}})
    case("aten::topk", x.half(), 1)
    case("aten::sort", x)
    case("aten::sort", x, 0, True)
    case("aten::sort", distinct(9).int())
    case("aten::sort", torch.tensor([1, 0, 1, 0, 0, 2]), expect=torch.sort(
        torch.tensor([1, 0, 1, 0, 0, 2]), stable=True))
    case("aten::sort", distinct(9), symbols={"x0": {0: "n"}})
    ties = torch.tensor([[2.0, 1.0, 2.0, 1.0], [0.0, 0.0, -1.0, 5.0]])
    case("aten::sort.stable", ties, stable=True)
    case("aten::sort.stable", ties, stable=True, descending=True)
    case("aten::argsort", x, 1, True)
    case("aten::argsort.stable", ties, stable=True, dim=1)


def indexing(g):
    case, floats, ints, Size = g.case, g.floats, g.ints, g.Size
    x, n = floats(4, 5, 3), {"x0": {0: "n"}}
    i, j, k = torch.tensor([0, 3, -1]), torch.tensor([4, 0, -2]), torch.tensor([[2], [-1]])
    cases = [[i], [None, i], [None, None, k], [i, j], [i, None, k], [None, j, k], [k, None, j.clamp(0, 2)],
             [i, j, k], [i.int()], [torch.tensor(1), None, i.clamp(-1, 2)], [torch.tensor(2)]]
    for indices in cases:
        case("aten::index.Tensor", x, indices)
    case("aten::index.Tensor", x, [i, j], symbols=n)
    case("aten::index.Tensor", x, [None, i], symbols={"x0": {0: "n"}, "x1": {0: "m"}})
    case("aten::index.Tensor", g.bools(4, 5), [ints(2, 1, 1, low=0, high=4), ints(1, 3, low=0)])
    case("aten::index.Tensor", ints(6), [ints(2, 2, low=0, high=6)])
    case("aten::index.Tensor", x.half(), [i, j])
    unique = torch.tensor([0, 3, 1])
    for indices in ([unique], [None, unique], [unique, j], [unique, None, torch.tensor([[1]])],
                    [None, torch.tensor([[0], [1]]), torch.tensor([2, 0])]):
        shape = torch.ops.aten.index.Tensor(x, indices).shape
        case("aten::index_put", x, indices, floats(*shape))
        case("aten::index_put", x, indices, floats(1))
        case("aten::index_put", x, indices, torch.tensor(0.5), True)
    again = torch.tensor([1, 1, 2])
    case("aten::index_put", x, [again], floats(3, 5, 3), True)
    case("aten::index_put", ints(5), [torch.tensor([4, 0])], torch.tensor([7, 8]))
    case("aten::index_put", x, [unique], torch.tensor(2.0), symbols=n)
    case("aten::index_put", floats(5, dtype=torch.float16), [again], floats(3, dtype=torch.float16))
    case("aten::index_add", x, 1, again, floats(4, 3, 3))
    case("aten::index_add", x, 0, again, floats(3, 5, 3), alpha=2)
    at = torch.tensor([[0, 2], [3, 1]])
    case("aten::scatter.value", floats(4, 2), 0, at, 1.5)
    case("aten::scatter.value", floats(2, 4), 1, at, 1)
    case("aten::scatter.value", ints(2, 4), -1, at, 1, symbols={"x0": {0: "n"}, "x1": {0: "n"}})
    case("aten::scatter.src", floats(2, 4), 1, at, floats(2, 2))
    case("aten::scatter.src", floats(4, 3), 0, at, floats(3, 3))
    case("aten::scatter_add", floats(2, 4), 1, torch.tensor([[0, 0], [3, 1]]), floats(2, 3))


def windows(g):
    case, floats, ints = g.case, g.floats, g.ints
    length = {"x0": {0: "b", 2: "n"}}
    case("aten::conv1d", floats(2, 4, 9), floats(6, 4, 3), floats(6))
    case("aten::conv1d", floats(2, 4, 9), floats(4, 1, 4), None, [1], [3], [1], 4)
    case("aten::conv1d", floats(2, 4, 9), floats(6, 2, 3), floats(6), [2], [1], [2], 2)
    case("aten::conv1d", floats(2, 4, 9), floats(6, 4, 3), floats(6), [2], [1], symbols=length)
    case("aten::conv1d", floats(4, 9), floats(6, 4, 3))
    case("aten::conv2d", floats(2, 3, 6, 7), floats(4, 3, 3, 2), floats(4))
    case("aten::conv2d", floats(1, 4, 6, 6), floats(4, 2, 3, 3), None, [2, 1], [1, 0], [1, 2], 2)
    case("aten::conv2d", floats(1, 3, 8, 8), floats(5, 3, 4, 4), floats(5), [4, 4],
         symbols={"x0": {0: "b"}})
    case("aten::conv3d", floats(1, 2, 4, 5, 4), floats(3, 2, 2, 3, 2), floats(3))
    for padding in ("valid", "same"):
        case("aten::conv1d.padding", floats(1, 2, 7), floats(3, 2, 3), None, [1], padding)
        case("aten::conv2d.padding", floats(1, 2, 5, 6), floats(3, 2, 3, 5), floats(3), [1, 1],
             padding)
        case("aten::conv3d.padding", floats(1, 1, 3, 4, 4), floats(1, 1, 3, 1, 3), None, [1, 1, 1],
             padding)
    case("aten::conv_transpose1d", floats(1, 3, 5), floats(3, 2, 4), floats(2), [2], [1], [1])
    case("aten::conv_transpose1d", floats(1, 4, 5), floats(4, 2, 3), None, [1], [0], [0], 2, [2])
    case("aten::conv_transpose2d.input", floats(1, 3, 4, 5), floats(3, 2, 2, 2), floats(2), [2, 2])
    case("aten::convolution", floats(1, 2, 5, 5), floats(3, 2, 3, 3), floats(3), [1, 1], [1, 1],
         [1, 1], False, [0, 0], 1)
    case("aten::convolution", floats(1, 2, 5), floats(2, 3, 3), None, [2], [1], [1], True, [1], 1)
    case("aten::max_pool1d", floats(2, 3, 8), [2])
    case("aten::max_pool2d", floats(2, 3, 6, 7), [2, 3])
    case("aten::max_pool2d", floats(1, 2, 7, 7), [3, 3], [2, 2], [1, 1])
    case("aten::max_pool2d", floats(1, 2, 7, 7), [2, 2], [1, 1], [0, 0], [2, 2])
    case("aten::max_pool2d", floats(1, 2, 7, 7), [3, 3], [2, 2], [1, 1],
         symbols={"x0": {2: "h", 3: "w"}})
    case("aten::avg_pool1d", floats(2, 3, 8), [3], [2], [1])
    case("aten::avg_pool2d", floats(2, 3, 6, 7), [2, 2])
    case("aten::avg_pool2d", floats(1, 2, 7, 7), [3, 3], [2, 2], [1, 1])
    case("aten::avg_pool2d", floats(1, 2, 7, 7), [3, 3], [2, 2], [1, 1], False, False)
    case("aten::avg_pool2d", floats(1, 2, 7, 7), [3, 3], [2, 2], [1, 1], False, True, 4)
    case("aten::adaptive_avg_pool1d", floats(2, 3, 8), [3])
    case("aten::adaptive_avg_pool2d", floats(2, 3, 6, 7), [1, 1])
    case("aten::adaptive_avg_pool2d", floats(2, 3, 6, 7), [4, 3])
    case("aten::adaptive_avg_pool2d", floats(2, 3, 6, 7), [1, 1], symbols={"x0": {2: "h", 3: "w"}})
    x = floats(2, 3, 4, 5)
    case("aten::pad", x, [1, 2])
    case("aten::pad", x, [1, 0, 2, 1], "constant", 0.5)
    case("aten::pad", x, [-1, 2, 0, 0, 1, -1])
    case("aten::pad", x, [1, 2, 2, 1], "reflect")
    case("aten::pad", x, [1, 2, 2, 1], "replicate")
    case("aten::pad", ints(2, 3), [1, 1])
    case("aten::pad", g.bools(2, 3), [0, 2])
    case("aten::pad", x, [0, 0, 0, g.Size(3, "(-n) % 7")], symbols={"x0": {2: "n"}})
    case("aten::constant_pad_nd", x, [0, 1, 1, 0], 2)
    case("aten::flip", x, [-1])
    case("aten::flip", x, [0, 2], symbols={"x0": {0: "b"}})
    case("aten::flip", ints(4), [0])
    case("aten::upsample_nearest1d.vec", floats(1, 2, 5), [8], None)
    case("aten::upsample_nearest2d.vec", floats(1, 2, 4, 5), None, [2.0, 2.0],
         symbols={"x0": {2: "h", 3: "w"}})
    case("aten::upsample_nearest2d.vec", floats(1, 2, 4, 5), [7, 3], None)
    case("aten::upsample_linear1d.vec", floats(1, 2, 5), [8], False, None)
    for op in ("bilinear", "bicubic"):
        case(f"aten::upsample_{op}2d.vec", floats(1, 2, 4, 5), [7, 8], False, None)
        case(f"aten::upsample_{op}2d.vec", floats(1, 2, 4, 5), [7, 8], True, None)
        case(f"aten::upsample_{op}2d.vec", floats(1, 2, 4, 5), None, False, [2.0, 1.5])
        case(f"aten::upsample_{op}2d.vec", floats(1, 2, 4, 5), [3, 2], False, None)


def products(g):
    case, floats, bools = g.case, g.floats, g.bools
    sizes = dict(b=2, c=3, h=2, l=4, s=5, n=3, p=2, z=3, i=3, j=4, k=2)
    for equation in ("bclhn,bcshn->bclsh", "bclsh,bcshp->bclhp", "bclhn,bclhp->bchpn",
                     "bzch,bzhpn->bchpn", "bclhn,bchpn->bclhp", "ij,jk->ik", "ij,jk", "i,j->ij",
                     "ij->ji", "ij->i", "bij,bjk->bik", "ij,ij->", "bi,ij,bj->b", "ij,kj->ikj"):
        terms = equation.split("->")[0].split(",")
        case("aten::einsum", equation, [floats(*[sizes[c] for c in t]) for t in terms])
    case("aten::einsum", "bij,bjk->bik", [floats(2, 3, 4), floats(2, 4, 2)],
         symbols={"x0": {0: "b", 1: "s"}, "x1": {0: "b"}})
    x = floats(2, 6, 3, 4)
    case("aten::group_norm", x, 3, floats(6), floats(6))
    case("aten::group_norm", x, 2)
    case("aten::group_norm", x, 3, floats(6), floats(6), symbols={"x0": {0: "b", 2: "h", 3: "w"}})
    case("aten::batch_norm", x, floats(6), floats(6), floats(6), floats(6, low=0.5), False, 0.1,
         1e-5, False)
    case("aten::batch_norm", floats(3, 4), None, None, floats(4), floats(4, low=0.5), False, 0.1,
         1e-3, False)
    case("aten::instance_norm", x, floats(6), floats(6), None, None, True, 0.1, 1e-5, False)

    q, k, v = floats(2, 4, 3, 8), floats(2, 4, 5, 8), floats(2, 4, 5, 6)
    some = bools(2, 1, 3, 5) | torch.eye(3, 5).bool()
    none_seen = some.clone()
    none_seen[1, 0, 2] = False
    sdpa = "aten::scaled_dot_product_attention"
    names = {"x0": {0: "b", 2: "q"}, "x1": {0: "b", 2: "k"}, "x2": {0: "b", 2: "k"}}
    case(sdpa, q, k, v)
    case(sdpa, q, k, v, symbols=names)
    case(sdpa, q, k, v, None, 0.0, True)
    case(sdpa, q, k, v, None, 0.0, True, symbols=names)
    case(sdpa, floats(2, 4, 6, 8), k, v, None, 0.0, True)
    case(sdpa, q, k, v, some, scale=0.25)
    case(sdpa, q, k, v, none_seen)
    case(sdpa, q, k, v, torch.eye(3, 5).bool())
    additive = floats(2, 4, 3, 5)
    case(sdpa, q, k, v, additive)
    additive = additive.masked_fill(~none_seen, float("-inf"))
    case(sdpa, q, k, v, additive)
    grouped = (floats(2, 2, 5, 8), floats(2, 2, 5, 6))
    for mask in (none_seen, additive, None):
        case(sdpa, q, *grouped, mask, enable_gqa=True)
    case(sdpa, q[0], k[0], v[0])
    case(sdpa, q[0], k[0], v[0], none_seen[1])
    case(sdpa, q.half(), k.half(), v.half(), some)

    rows, weight = floats(7, 4), floats(3, 4, 5)
    for ends in ([2, 2, 7], [3, 4, 5], [0, 0, 0], [7, 7, 7]):
        out, start = torch.zeros(7, 5), 0
        for group, end in enumerate(ends):
            out[start:end] = rows[start:end] @ weight[group]
            start = end
        for dtype in (torch.int32, torch.int64):
            case("slipway::grouped_mm", rows, weight, torch.tensor(ends, dtype=dtype), expect=out,
                 symbols={"x0": {0: "n"}})
    a, b = floats(2, 3, 2), floats(3, 2)
    product = torch.view_as_complex(a) * torch.view_as_complex(b)
    case("slipway::complex_mul", a, b, expect=torch.view_as_real(product))
    size, angle = floats(2, 3, low=0), floats(2, 3)
    case("slipway::polar", size, angle, expect=torch.view_as_real(torch.polar(size, angle)))
    rows, weight = floats(7, 4), floats(3, 4, 8)
    for ends in ([2, 2, 7], [7, 7, 7]):
        case("aten::_grouped_mm", rows, weight, torch.tensor(ends, dtype=torch.int32),
             symbols={"x0": {0: "n"}})


def searching(g):
    case, floats, ints, bools = g.case, g.floats, g.ints, g.bools
    edges = torch.tensor([-2.0, 0.0, 0.0, 1.5])
    x = torch.cat([edges, torch.tensor([-5.0, 0.5, 9.0, float("nan"), float("inf")])]).reshape(3, 3)
    n = {"x0": {0: "n"}}
    for right in (False, True):
        case("aten::bucketize.Tensor", x, edges, right=right)
        case("aten::searchsorted.Tensor", edges, x, right=right)
    case("aten::bucketize.Tensor", ints(2, 3), torch.tensor([-1, 2]), out_int32=True)
    case("aten::bucketize.Tensor", x, torch.tensor([]), symbols=n)
    case("aten::bucketize.Tensor", torch.tensor(0.25), edges, symbols={"x1": {0: "n"}})
    rows = distinct(3, 5).float().sort()[0]
    case("aten::searchsorted.Tensor", rows, distinct(3, 4).float() + 0.5, symbols=
         {"x0": {0: "n"}, "x1": {0: "n"}})
    case("aten::searchsorted.Tensor", rows, rows[:, :2], side="right", out_int32=True)
    mixed = distinct(3, 5)
    case("aten::searchsorted.Tensor", mixed, ints(3, 2), sorter=mixed.argsort())
    case("aten::isin.Tensor_Tensor", ints(3, 4), torch.tensor([[1, 3], [0, -2]]))
    case("aten::isin.Tensor_Tensor", floats(5), edges, invert=True)
    case("aten::isin.Tensor_Tensor", ints(5), torch.tensor([], dtype=torch.int64), symbols=n)
    case("aten::isin.Tensor_Tensor", ints(3, 4), ints(2), assume_unique=True,
         symbols={"x0": {0: "n"}, "x1": {0: "m"}})
    case("aten::isin.Tensor_Scalar", ints(3, 4), 2)
    case("aten::isin.Tensor_Scalar", ints(3, 4), 2, invert=True, symbols=n)
    case("aten::cumprod", floats(2, 5, low=0.5, high=1.5), 1)
    case("aten::cumprod", floats(3, 2, 2, low=0.5, high=1.5), 0, symbols={"x0": {0: "n", 2: "m"}})
    case("aten::cumprod", ints(6), 0)
    case("aten::cumprod", ints(2, 4), -1, symbols={"x0": {1: "n"}})
    case("aten::cumprod", ints(1, 4), 0, dtype=torch.float32)
    case("aten::prod", floats(2, 3))
    case("aten::prod", ints(4), dtype=torch.float32, symbols=n)
    for op in ("all", "any"):
        case(f"aten::_is_{op}_true", bools(2, 3))
        case(f"aten::_is_{op}_true", torch.ones(2).bool(), symbols=n)
    at = torch.tensor([[0, 2, 0], [3, 1, 3], [0, 1, 1]])
    for how in ("sum", "prod", "amax", "amin"):
        for include in (True, False):
            case("aten::scatter_reduce.two", floats(3, 4), 1, at, floats(3, 3), how,
                 include_self=include)
        case("aten::scatter_reduce.two", ints(4, 3), 0, at, ints(3, 3), how, include_self=False)
        case("aten::scatter_reduce.two", floats(4, 3), 0, at[:2], floats(3, 3), how)
    case("aten::scatter_reduce.two", ints(3, 4), -1, at, ints(3, 3), "amax",
         symbols={"x0": {0: "n"}, "x1": {0: "n"}, "x2": {0: "n"}})


def unfolding(g):
    case, floats, ints = g.case, g.floats, g.ints
    x, sizes = floats(2, 7, 3), {"x0": {0: "b", 1: "n"}}
    case("aten::unfold", x, 1, 3, 2)
    case("aten::unfold", x, 1, 3, 3)
    case("aten::unfold", x, -2, 2, 1, symbols=sizes)
    case("aten::unfold", x, 1, 3, 3, symbols=sizes)
    case("aten::unfold", x, 0, 2, 2)
    case("aten::unfold", ints(5), 0, 2, 3)
    case("aten::unfold", floats(6, dtype=torch.float16), 0, 1, 1)
    image, moving = floats(2, 3, 5, 6), {"x0": {0: "b", 2: "h", 3: "w"}}
    for settings in (([2, 3], [1, 1], [0, 0], [1, 1]), ([2, 2], [2, 1], [1, 2], [2, 3]),
                     ([1, 1], [1, 1], [0, 0], [1, 1])):
        case("aten::im2col", image, *settings)
        case("aten::im2col", image, *settings, symbols=moving)
        columns = torch.ops.aten.im2col(image, *settings)
        case("aten::col2im", columns, [5, 6], *settings)
        case("aten::col2im", columns, [5, 6], *settings, symbols={"x0": {0: "b"}})
    case("aten::im2col", image[0], [3, 3], [1, 1], [1, 1], [1, 1])
    case("aten::col2im", floats(8, 4), [4, 4], [2, 2], [1, 1], [0, 0], [2, 2])
    v = floats(4, 3, 5)
    for dim in (0, 1, 2):
        shape = [v.shape[i] if i == dim else 1 for i in range(3)]
        case("aten::_weight_norm", v, floats(*shape), dim)
    case("aten::_weight_norm", v, torch.tensor(1.5), -1)


FAMILIES = (sorting, indexing, windows, products, searching, unfolding)
