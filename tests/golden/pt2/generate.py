#!/usr/bin/env python3
"""Makes the small .pt2 programs of tests/host/dynamo_programs_test.cpp: generate.py OUT. Needs torch.

Each program is OUT/<name>.pt2 with OUT/<name>.safetensors: `in.<call>.<input>` and `out.<call>.<output>` for calls
that are made one after the other, at sizes other than those of the trace. Inputs that a program updates in place have
their new values as `out.<call>.<input>`.
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file
from torch.export import Dim, export, save

AUTO = Dim.AUTO


class Sizes(torch.nn.Module):  # arithmetic on sizes, several results, a number as a tensor
    def forward(self, x):
        rows, columns = x.shape
        half = columns // 2
        values, indices = torch.topk(x, min(2, columns), dim=-1)
        low, high = x[:, :half], x[:, half:]
        return {"values": values, "indices": indices, "scaled": x * (rows * columns + 1) / 2.0,
                "rest": torch.ones(rows, columns % 5 + 2) * -rows, "cat": torch.cat([high, low], 1)}


class Numbers(torch.nn.Module):  # the other operators on sizes
    def forward(self, x):
        rows, columns = x.shape
        larger, smaller = torch.sym_max(rows, columns), torch.sym_min(rows, columns)
        ratio = torch.sym_float(rows) / columns
        chosen = torch.sym_ite(rows > 4, rows + 2, columns + 3)
        return {"larger": x * larger, "smaller": x - smaller, "ratio": x * ratio, "power": x * rows ** 2,
                "whole": torch.zeros(rows + torch.sym_int(columns / 2)), "chosen": torch.zeros(chosen)}


class Views(torch.nn.Module):  # writes through views, of a tensor of its own
    def forward(self, x):
        y = x.clone()
        y[:, 1:].mul_(2)
        first = y.select(1, 0)
        first.add_(10)
        return y, x + 1


class Cache(torch.nn.Module):  # inputs that are updated in place, one through a view
    def forward(self, keys, position, new):
        places = position + torch.arange(new.shape[1])
        keys.index_copy_(1, places, new)
        position.add_(new.shape[1])
        return keys.sum(-1)


class Counter(torch.nn.Module):  # buffers that are updated
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.total.add_(x)
        self.calls.add_(1)
        return self.total * 2, self.calls + 0


class Branch(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: v.sin() + 1, lambda v: v.cos() - 1, (x,))


class Constants(torch.nn.Module):  # constants of the trace; strided, tied and offset weights
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        base = torch.randn(6, 4)
        self.turned = torch.nn.Parameter(base.t())
        self.part = torch.nn.Parameter(base[2:, :])
        self.tied = self.part
        self.narrow = torch.nn.Parameter(torch.randn(4, 3).to(torch.bfloat16))
        self.none = torch.nn.Parameter(torch.zeros(0, 4))

    def forward(self, x):
        table = torch.tensor([0.5, 1.5, 2.5, 3.5])
        y = x @ self.turned
        z = torch.nn.functional.linear(x + table, self.part) + x @ self.tied.t()
        w = (x.to(torch.bfloat16) @ self.narrow).float()
        return y, z, w, torch.cat([self.none, x], 0), x[:0]


class Kinds(torch.nn.Module):  # kinds of arguments: dtypes, formats, layouts, devices, complex, texts, lists
    def forward(self, x):
        a = torch.zeros(x.shape, dtype=torch.float64, device="cpu", layout=torch.strided).to(torch.float32)
        b = x.contiguous(memory_format=torch.contiguous_format).to(torch.int32).to(torch.bool)
        c = torch.div(x, 0.7, rounding_mode="floor")
        d = torch.view_as_real(torch.complex(x, x) * (1 + 2j))
        e = x[:, torch.tensor([2, 0])]
        f = torch.nn.functional.pad(x, (1, 2), value=float("inf"))
        g = torch.einsum("ij,kj->ik", x, x)
        h = torch.nn.functional.layer_norm(x, [4], None, None, 1e-5)
        return a, b, c, d, e, f, g, h, torch.add(x, x, alpha=2), x.sum(dim=[0, 1]), x.mean(-1, keepdim=True)


def numbers(*shape, dtype=torch.float32):
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count, dtype=torch.float32).reshape(shape) * 0.7 - 3).to(dtype)


# name: (module, keyword arguments of the trace, dynamic axes, keyword arguments of each call)
PROGRAMS = {
    "sizes": (Sizes(), {"x": numbers(3, 6)}, {"x": {0: AUTO, 1: AUTO}},
              [{"x": numbers(5, 8)}, {"x": numbers(2, 7)}]),
    "numbers": (Numbers(), {"x": numbers(3, 6)}, {"x": {0: AUTO, 1: AUTO}},
                [{"x": numbers(5, 8)}, {"x": numbers(3, 7)}]),
    "views": (Views(), {"x": numbers(3, 4)}, {"x": {0: AUTO}}, [{"x": numbers(5, 4)}]),
    "cache": (Cache(), {"keys": numbers(2, 8, 3), "position": torch.tensor(2), "new": numbers(2, 2, 3)},
              {"keys": {0: AUTO, 1: AUTO}, "position": None, "new": {0: AUTO, 1: AUTO}},
              [{"keys": numbers(3, 9, 3), "position": torch.tensor(4), "new": -numbers(3, 3, 3)}]),
    "counter": (Counter(), {"x": numbers(3)}, None, [{"x": numbers(3)}, {"x": -numbers(3) * 2}]),
    "branch": (Branch(), {"x": numbers(3, 4)}, {"x": {0: AUTO}},
               [{"x": numbers(5, 4)}, {"x": -numbers(5, 4)}]),
    "constants": (Constants(), {"x": numbers(3, 4)}, {"x": {0: AUTO}}, [{"x": numbers(5, 4)}]),
    "kinds": (Kinds(), {"x": numbers(3, 4)}, {"x": {0: AUTO}}, [{"x": numbers(5, 4)}]),
}


def leaves(value):
    if isinstance(value, torch.Tensor):
        return {"output": value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return {str(key): item for key, item in items}


def main():
    out = pathlib.Path(sys.argv[1])
    for name, (module, kwargs, shapes, calls) in PROGRAMS.items():
        module.eval()
        program = export(module, (), {key: value.clone() for key, value in kwargs.items()}, dynamic_shapes=shapes)
        for graph in [program.graph_module, *program.graph_module.children()]:
            for node in getattr(graph, "graph", torch.fx.Graph()).nodes:
                node.meta.pop("stack_trace", None)  # has the paths of this machine
        save(program, out / f"{name}.pt2")
        tensors = {}
        runner = program.module()
        for number, call in enumerate(calls):
            given = {key: value.clone() for key, value in call.items()}
            with torch.no_grad():
                got = leaves(runner(**given))
            tensors |= {f"in.{number}.{key}": value for key, value in call.items()}
            tensors |= {f"out.{number}.{key}": value for key, value in got.items()}
            tensors |= {f"out.{number}.{key}": given[key] for key in call if not torch.equal(given[key], call[key])}
        save_file({key: value.detach().clone().contiguous() for key, value in tensors.items()},
                  out / f"{name}.safetensors")


if __name__ == "__main__":
    main()
