#!/usr/bin/env python3
"""Writes what ExecuTorch's own exporter makes: plans.json and foreign.pte.

Needs a Python with executorch 1.5.1 and the torch release that it wants. plans.json has lifetimes and the arena that
ExecuTorch's planner needs for them: those of small exported models, and random ones of several kinds. A row is
{"name", "lifetimes": [[first, last, bytes], ...], "reference": bytes}. foreign.pte is a program with a delegate, dynamic
sizes, a mutable buffer and an input that is updated in place, with all memory of inputs and outputs the caller's;
foreign.json says what its runs give.
"""
import json
import pathlib
import random

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy
from executorch.exir.passes import MemoryPlanningPass


class Spec:
    """What the planner asks of a TensorSpec."""

    mem_id = None
    storage_base = None

    def __init__(self, first, last, size):
        self.lifetime, self.size, self.allocated_memory = [first, last], size, size

    def realign(self, alignment):
        self.allocated_memory = (self.size + alignment - 1) // alignment * alignment
        return self.allocated_memory


def row(name, lifetimes):
    module = torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph())
    result = greedy(16, [Spec(*life) for life in lifetimes], module, None)
    return {"name": name, "lifetimes": lifetimes, "reference": sum(result.bufsizes)}


def of_model(name, model, inputs, dynamic_shapes=None):
    seen = []

    def record(alignment, specs, module, signature, padding):
        seen.append(sorted([*spec.lifetime, spec.nbytes()] for spec in specs))
        return greedy(alignment, specs, module, signature, padding)

    planning = MemoryPlanningPass(memory_planning_algo=MemoryPlanningAlgorithmSuite(algo_list=[record]))
    program = to_edge(torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic_shapes))
    program.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    return row(name, seen[-1])


class Foreign(torch.nn.Module):
    """y = sigmoid(x @ w + b) * scale; cache[:, 1] = y's first row; count += 1."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.scale = torch.nn.Parameter(torch.tensor([1.0, 2.0, -1.0]))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x, cache):
        y = torch.sigmoid(self.linear(x)) * self.scale
        cache[1] = y[0]
        self.count += 1
        return {"y": y, "calls": self.count + 0}


def foreign(folder):
    model = Foreign().eval().requires_grad_(False)
    rows = torch.export.Dim("rows", min=1, max=8)
    inputs = {"x": torch.randn(3, 4), "cache": torch.zeros(2, 3)}
    program = torch.export.export(model, (), inputs, dynamic_shapes={"x": {0: rows}, "cache": None})
    planning = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    lowered = lowered.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    (folder / "foreign.pte").write_bytes(lowered.buffer)
    runs = []
    for rows in (3, 8, 1):
        x, cache = torch.arange(rows * 4.0).reshape(rows, 4) / 8, torch.zeros(2, 3)
        result = model(x, cache)
        runs.append({"rows": rows, "y": result["y"].flatten().tolist(), "cache": cache.flatten().tolist()})
    (folder / "foreign.json").write_text(json.dumps(runs) + "\n")


def main():
    torch.manual_seed(0)
    folder = pathlib.Path(__file__).parent
    foreign(folder)
    rows = [
        of_model("encoder", torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(32, 4, 64), 3),
                 (torch.randn(7, 2, 32),)),
        of_model("decoder", torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(32, 4, 64), 2),
                 (torch.randn(5, 1, 32), torch.randn(9, 1, 32))),
        of_model("convolutions", torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                                                     torch.nn.Conv2d(8, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                                                     torch.nn.Linear(16 * 13 * 13, 10)), (torch.randn(2, 3, 32, 32),)),
    ]
    random.seed(0)
    for number in range(8):
        lives = []
        for at in range(200):
            long = random.random() < 0.1
            last = at + random.randint(20, 150) if long else at + random.randint(0, 6)
            lives.append([at, min(last, 200), random.choice((4, 64, 1000, 4096, 5000, 65536, 100000))])
        rows.append(row(f"random {number}", lives))
    text = ",\n".join(json.dumps(one) for one in rows)
    (folder / "plans.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
