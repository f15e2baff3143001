"""Makes the .pt2 programs of this folder, with inputs and outputs, by torch.export: generate.py [NAME...].

Each case is a module whose forward uses something that a reader of programs must get right. It is traced at
its first inputs and run by PyTorch at all of them; N.safetensors holds inputs "K.in.NAME" and outputs
"K.out.NAME" of run K. Needs torch 2.12 and safetensors.
"""
import io
import pathlib
import sys
import zipfile

import torch
from safetensors.torch import save_file
from torch import nn
from torch.export import Dim

torch.manual_seed(7)
B = S = Dim.AUTO
CASES = {}


def case(*shapes, dynamic=None, dtypes=None, integers=None):
    """Registers a module with the shapes of its tensor inputs, one tuple of shapes a run."""
    def register(cls):
        CASES[cls.__name__] = (cls, shapes, dynamic, dtypes, integers)
        return cls
    return register


TWO = [((2, 6),), ((3, 4),)]


@case(*TWO, dynamic={"x": {0: B, 1: S}})
class slice_write(nn.Module):
    """A write through a slice of a view reaches the tensor and its other views."""
    def forward(self, x):
        y = x.clone()
        row = y[0]
        y[:, 1:3] = 5.0
        y[0, 0] += row[1]
        y.t()[2].mul_(2)
        return {"y": y, "row": row + 1, "last": y[-1]}


@case(*TWO, dynamic={"x": {0: B, 1: S}})
class in_place_ops(nn.Module):
    def forward(self, x):
        y = x * 1
        y.add_(x).mul_(0.5).clamp_(-0.5, 0.5)
        z = y.unsqueeze(1).expand(-1, 2, -1).contiguous()
        z[:, 1].copy_(y + 1)
        z[:, 0].masked_fill_(y > 0.25, -1.0)
        return {"y": y, "z": z}


@case(((2, 4, 6),), ((1, 4, 3),), dynamic={"x": {0: B, 2: S}})
class parts_written(nn.Module):
    """Outputs of chunk, split and unbind are views."""
    def forward(self, x):
        y = x.clone()
        a, b = y.chunk(2, dim=1)
        a.add_(10)
        c, d, e = y.split([1, 2, 1], dim=1)
        d.mul_(2)
        y.unbind(1)[3].zero_()
        return {"y": y, "b": b * 1, "c": c * 1, "e": e * 1}


@case(((2, 4, 3, 8), (1, 3, 4)), ((1, 4, 5, 8), (1, 5, 4)),
      dynamic={"x": {0: B, 2: S}, "angle": {1: S}})
class complex_rotation(nn.Module):
    """Pairs turned by complex numbers, as DeepSeek's models do, and other ops on those."""
    def forward(self, x, angle):
        turn = torch.polar(torch.ones_like(angle), angle) * 1.5
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        turned = pairs * turn.unsqueeze(-3)
        last = turned[:, :, -1:] - pairs[:, :, :1]
        return {"x": torch.view_as_real(turned).flatten(3), "last": torch.view_as_real(last * 2)}


@case(((2, 3), (2, 3)), ((5, 3), (5, 3)), dynamic={"x": {0: B}, "y": {0: B}})
class input_written(nn.Module):
    """An input that the program writes to is an output too."""
    def forward(self, x, y):
        x[:, 0] = y[:, 1]
        return {"sum": x + y}


@case(((4, 3, 2), (2, 3, 2)), dynamic=None, integers=None)
class index_write(nn.Module):
    def forward(self, x, y):
        z = x.clone()
        at = torch.tensor([3, 1])
        z[at] = y
        w = x.clone()
        w.index_copy_(0, at, y)
        return {"z": z, "w": w}


@case(((2, 3, 4), (4,)), ((5, 3, 4), (4,)), dynamic={"x": {0: B}, "y": None})
class mask_write(nn.Module):
    """Writes through masks: a number, a row for each, behind an axis, and as many values as are picked."""
    def forward(self, x, y):
        rows, places = x[:, :, 0] > 0, x > 0.5
        number, row, inner, add = x.clone(), x.clone(), x.clone(), x.clone()
        number[places] = -7.0
        row[rows] = y
        inner[:, torch.tensor([True, False, True])] = y
        add.index_put_((rows,), y, accumulate=True)
        chosen = y.clone()
        chosen[torch.tensor([True, False, False, True])] = x[0, 0, :2]
        return {"number": number, "row": row, "inner": inner, "add": add, "chosen": chosen}


@case(*TWO, dynamic={"x": {0: B, 1: S}})
class in_place_operators(nn.Module):
    """Python's operators that work in place, also through a view."""
    def forward(self, x):
        a, b, c = x > 0, x > -0.5, x > 0.25
        a[0] |= b[0]
        b &= c
        c ^= a
        windows = x.clone()
        pairs = windows.unfold(1, 2, 2)
        windows += 1
        return {"a": a, "b": b, "c": c, "pairs": pairs * 1}


@case(((2, 3, 4),), ((5, 3, 2),), dynamic={"x": {0: B, 2: S}})
class views_written(nn.Module):
    """Writes through views of other names, and to a copy."""
    def forward(self, x):
        y = x.clone()
        y.mT[:, 0] = 1.0
        y.movedim(1, 0)[1].mul_(3)
        y.movedim([0, 1], [1, 2])[0].add_(0.5)
        y.swapdims(1, 2)[:, 1, 2] = 9.0
        y.narrow(1, -1, 1).sub_(2)
        y.view_as(x)[0] *= 2
        copy = y.to(torch.float32, copy=True)
        copy += 100
        return {"y": y, "copy": copy}


@case(((3, 4), ()), ((2, 4), ()), dynamic={"x": {0: B}, "flag": None}, dtypes=(None, torch.bool))
class branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, flag):
        with torch.no_grad():
            y = self.linear(x)
        z = torch.cond(flag, lambda a, b: (a + b, a * 2), lambda a, b: (a - b, b * 3), (x, y))
        return {"first": z[0], "second": z[1]}


@case(((2, 6),), ((5, 9),), ((1, 1),), dynamic={"x": {0: B, 1: S}})
class size_arithmetic(nn.Module):
    def forward(self, x):
        b, s = x.shape
        half = (s + 1) // 2
        wide = torch.nn.functional.pad(x, (0, half))
        return {"wide": wide, "count": torch.full((b,), 2 * s + b % 3), "flat": x.reshape(b * s),
                "ramp": torch.arange(s + half) * b}


@case(((3, 5),), dynamic={"x": {0: B}})
class several_results(nn.Module):
    def forward(self, x):
        top, at = torch.topk(x, 2, dim=-1)
        ordered, order = torch.sort(x, dim=-1, descending=True)
        largest, where = x.max(dim=-1)
        return {"top": top, "at": at, "ordered": ordered, "order": order, "largest": largest, "where": where}


@case(*TWO, dynamic={"x": {0: B, 1: S}})
class nested_results(nn.Module):
    def forward(self, x):
        return {"a": [x + 1, (x * 2, None)], "b": {"c": x - 1}}


@case(((2, 3),), dynamic={"x": {0: B}})
class stored_tensors(nn.Module):
    """Tied, transposed, cut, half-precision and empty weights; constants; buffers."""
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 4))
        self.tied = self.weight
        self.turned = nn.Parameter(torch.randn(4, 3).t())
        self.cut = nn.Parameter(torch.randn(6, 4)[1:4])
        self.low = nn.Parameter(torch.randn(4).to(torch.bfloat16))
        self.register_buffer("empty", torch.zeros(0, 4))
        self.register_buffer("steps", torch.arange(4), persistent=False)
        self.offset = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, x):
        y = x @ self.weight + x @ self.turned + x @ self.cut + x @ self.tied
        return {"y": torch.cat([y * self.low.float() + self.steps, self.empty]) + self.offset}


@case(((2, 8),), ((3, 8),), dynamic={"x": {0: B}}, dtypes=(torch.int64,), integers=16)
class embedding_ids(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(16, 4)
        self.register_buffer("positions", torch.arange(8).expand((1, -1)), persistent=False)
        self.place = nn.Embedding(8, 4)

    def forward(self, x):
        return {"y": self.table(x) + self.place(self.positions[:, : x.shape[1]])}


@case(((2, 3), (2, 3)), dynamic={"x": {0: B}, "y": {0: B}})
class bare_result(nn.Module):
    def forward(self, x, y):
        return x - y


@case(((2, 6),), dynamic=None)
class constant_arguments(nn.Module):
    """Numbers and None in the call and in what it returns."""
    constants = {"k": 5, "flag": None}

    def forward(self, x, k=3, flag=None):
        return {"a": x * k, "none": None, "size": x.shape[1], "b": x + 1}


@case(((2, 3), (2, 3)), ((4, 3), (4, 3)), dynamic=({0: B}, {0: B}))
class by_position(nn.Module):
    """A call by position, with an input that is not read."""
    positional = True

    def forward(self, x, y):
        z = x.clone()
        z **= 2
        return z, z.shape[1]


def make_inputs(shapes, dtypes, integers):
    result = []
    for i, shape in enumerate(shapes):
        dtype = dtypes[i] if dtypes else None
        if dtype == torch.bool:
            result.append(torch.tensor(len(result) % 2 == 1))
        elif dtype == torch.int64:
            result.append(torch.randint(integers, shape))
        else:
            result.append(torch.randn(shape))
    return result


def flat(value, prefix=""):
    """Leaves by dotted path, in order of a tree spec."""
    if isinstance(value, torch.Tensor):
        return {prefix or "output": value.clone()}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    leaves = {}
    for key, item in items:
        leaves |= flat(item, f"{prefix}.{key}" if prefix else str(key))
    return leaves


def drop_traces(value):
    """Takes stack traces out of nodes, those of sub-graphs too."""
    if isinstance(value, dict):
        value.pop("stack_trace", None)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        drop_traces(item)


def repack(data):
    """The same entries without stack traces, at a fixed time: equal modules give equal bytes."""
    import json
    source = zipfile.ZipFile(io.BytesIO(data))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in source.namelist():
            content = source.read(name)
            if "/models/" in name:
                program = json.loads(content)
                drop_traces(program)
                content = json.dumps(program).encode()
            archive.writestr(zipfile.ZipInfo(name), content)
    return target.getvalue()


def main():
    folder = pathlib.Path(__file__).parent
    for name, (cls, runs, dynamic, dtypes, integers) in CASES.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        torch.manual_seed(len(name))
        module = cls().eval()
        names = list(cls.forward.__code__.co_varnames[1: 1 + len(runs[0])])
        tensors = {}
        for k, shapes in enumerate(runs):
            inputs = dict(zip(names, make_inputs(shapes, dtypes, integers)))
            if k == 0:
                given = {n: t.clone() for n, t in inputs.items()}
                positional = getattr(cls, "positional", False)
                program = torch.export.export(module, tuple(given.values()) if positional else (),
                                              {} if positional else given | getattr(cls, "constants", {}),
                                              dynamic_shapes=dynamic, strict=False)
                buffer = io.BytesIO()
                torch.export.save(program, buffer)
                (folder / f"{name}.pt2").write_bytes(repack(buffer.getvalue()))
            given = {n: t.clone() for n, t in inputs.items()}
            with torch.no_grad():
                outputs = flat(module(**given, **getattr(cls, "constants", {})))
            for n, t in inputs.items():
                tensors[f"{k}.in.{n}"] = t
                if not torch.equal(t, given[n]):
                    outputs[n] = given[n]
            tensors |= {f"{k}.out.{n}": t for n, t in outputs.items()}
        save_file(tensors, folder / f"{name}.safetensors")
        (folder / f"{name}.safetensors").chmod(0o644)
        print(name, len(runs))


if __name__ == "__main__":
    main()
