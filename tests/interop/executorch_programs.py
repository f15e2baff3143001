#!/usr/bin/env python3
"""Runs the hand-made programs of the writer's tests in Python's executorch.runtime: executorch_programs.py FOLDER.

FOLDER holds what `SLIPWAY_PTE_OUT=FOLDER core_tests --gtest_filter=ExecutorchWrite.SameProgramSameBytes` wrote. Needs
a Python with executorch 1.5.1 and the torch release that it wants.
"""
import pathlib
import sys

import torch
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.runtime import Runtime, Verification

W = torch.arange(4.0) / 8


def close(name, got, expected):
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-6, msg=lambda text: f"{name}: {text}")


def add(program):
    forward = program.load_method("forward")
    for rows in (1, 7, 16):
        x = torch.randn(rows, 4)
        close("add", forward.execute([x])[0], x + W)


def flatten(program):
    forward = program.load_method("forward")
    w = torch.arange(12.0).reshape(4, 3) / 8
    for rows in (3, 16, 1):
        x = torch.randn(rows, 4)
        close("flatten", forward.execute([x])[0], ((x @ w) * 2).reshape(-1))


def buffer(program):
    forward = program.load_method("forward")
    total = W.clone()
    for step in range(1, 4):
        x = torch.randn(4)
        total += x
        got, count = forward.execute([x])
        close("buffer", got, total)
        assert count.tolist() == [step], count


def shared(program):
    assert {"forward", "look_up", "get_max_seq_len", "get_eos_ids", "use_kv_cache"} <= set(program.method_names)
    weight = torch.arange(24.0).reshape(3, 8) / 8
    forward = program.load_method("forward")
    for rows in (2, 16, 1):
        x = torch.randn(rows, 8)
        close("shared", forward.execute([x])[0], torch.relu(x @ weight.T + torch.tensor([1.0, -50, 2])))
    look_up = program.load_method("look_up")
    ids = torch.tensor([2, 0, 1, 2])
    close("look_up", look_up.execute([ids])[0], weight[ids])
    assert program.load_method("get_max_seq_len").execute([]) == [128]
    assert program.load_method("get_eos_ids").execute([]) == [1, 2]
    assert program.load_method("use_kv_cache").execute([]) == [True]


def methods(program):
    weight, table = torch.arange(24.0).reshape(3, 8) / 8, -torch.arange(1.0, 41).reshape(5, 8)
    assert set(program.method_names) == {"prefill", "decode"}, program.method_names
    loaded = {name: program.load_method(name) for name in ("decode", "prefill")}
    for name, sizes in (("prefill", (16, 3, 1)), ("decode", (2, 1))):
        for rows in sizes:
            x, ids = torch.randn(rows, 8), torch.randint(5, (rows,))
            y, found = loaded[name].execute([x, ids])
            close(name, y, torch.relu(x @ weight.T + torch.tensor([1.0, -50, 2])))
            close(name, found, table[ids])


def branch(program):
    forward = program.load_method("forward")
    x = torch.randn(4)
    close("branch", forward.execute([torch.tensor(True), x])[0], x + x)
    close("branch", forward.execute([torch.tensor(False), x])[0], x * x)


def scale(program):
    forward = program.load_method("forward")
    s, w, t = torch.arange(8.0) / 8, torch.arange(24.0).reshape(3, 8) / 8, torch.tensor([1.0, -1, 2])
    for rows in (5, 16, 1):
        x = torch.randn(rows, 8)
        close("scale", forward.execute([x])[0], ((x * s) @ w.T) * t)


def main():
    folder = pathlib.Path(sys.argv[1])
    for check in (add, flatten, buffer, shared, branch, scale, methods):
        path = folder / f"{check.__name__}.pte"
        deserialize_pte_binary(path.read_bytes())  # ExecuTorch's own reader takes it apart
        for _ in range(2):  # a program that is loaded again begins anew
            check(Runtime.get().load_program(path, verification=Verification.InternalConsistency))
    print("[interop] hand-made programs run in executorch.runtime")


if __name__ == "__main__":
    main()
