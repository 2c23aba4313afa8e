"""What the tests of the Python package share.

Exits with 77 where this Python has no PyTorch. What runs on a GPU only, the exported operators
themselves, is replaced by PyTorch here: `operator_of` stands for `hone.load`."""
import contextlib
import copy
import ctypes
import dataclasses
import importlib
import importlib.util
import io
import json
import math
import operator as operator_module
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
try:
    import torch
except ImportError:
    print("skipped: this Python has no PyTorch")
    sys.exit(77)

sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/pytorch")]
import hone  # noqa: E402
import modules  # noqa: E402
from hone import _backend, _binary, _graph, _optimize, _runtime, _source, _timing, _verify  # noqa: E402
from hone._math import Levels  # noqa: E402
from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

DEVICE = "emu:sm_90"
FOLDER = tempfile.TemporaryDirectory(prefix="hone-python-")


def setUpModule():
    os.environ.update(XDG_CACHE_HOME=FOLDER.name, XDG_DATA_HOME=FOLDER.name)
    os.environ.setdefault("HONE_BINARY", str(ROOT / "build/release/bin/hone"))
    torch.manual_seed(1)


def database():
    return os.path.join(FOLDER.name, "hone.db")


class Small(nn.Module):
    """A keyword argument, a number of no dimensions, a result that is no tensor."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 6), nn.BatchNorm1d(6)

    def forward(self, x, *, scale):
        return {"y": self.norm(torch.relu(self.linear(x))) * scale, "rows": x.shape[0]}


def small(train=False):
    return Small().train(train), (torch.randn(4, 8),), {"scale": torch.tensor(2.0)}


def imported_of(module, args, kwargs=None, folder=None, math=None):
    folder = folder or tempfile.mkdtemp(dir=FOLDER.name)
    program = _graph.export(module, args, kwargs or {})
    return _graph.import_program(program, folder, type(module).__name__, Levels(usual=math))


def operator_of(imported, part, buffers=None):
    """What an exported operator of a part does, by PyTorch: buffers in the task's order and shapes."""
    nodes = {n.name: n for n in imported.program.graph.nodes}
    taken = [u.name for n in part.nodes for u in nodes[n].users if u.target is operator_module.getitem]
    inside = [n for n in nodes.values() if n.name in (*part.nodes, *taken)]
    buffers = buffers or _graph.task_buffers(part.task)

    def operator(*tensors):
        given = iter(tensors)
        held = {b.name: next(given) for b in buffers if b.role != "out"}
        assert all(t.is_contiguous() and not t.is_neg() for t in held.values())
        assert all(t.shape == b.shape for b, t in zip((b for b in buffers if b.role != "out"), tensors))
        values = {}
        for border in part.inputs:
            meta = nodes[border.value].meta["val"]
            order = border.order or sorted(range(meta.dim()), key=lambda i: (-meta.stride()[i], i))
            back = [order.index(i) for i in range(meta.dim())]
            values[border.value] = held[border.buffer].view([meta.shape[i] for i in order]).permute(back)
        for node in inside:
            args = torch.fx.node.map_arg(node.args, lambda n: values[n.name])
            kwargs = torch.fx.node.map_arg(node.kwargs, lambda n: values[n.name])
            values[node.name] = node.target(*args, **kwargs)
        results = []
        for b in buffers:
            if b.role == "out":
                value = next(border.value for border in part.outputs if border.buffer == b.name)
                results.append(values[value].clone(memory_format=torch.contiguous_format).view(b.shape))
        return results[0] if len(results) == 1 else tuple(results)

    return operator


class StandIn:
    """The same, to be pickled; its task's file may be gone."""

    def __init__(self, imported, part):
        self.imported, self.part = imported, part
        self.buffers = _graph.task_buffers(part.task)

    def __call__(self, *tensors):
        return operator_of(self.imported, self.part, self.buffers)(*tensors)


def kernel_of(imported, part, operator=None):
    operator = operator or operator_of(imported, part)
    return _runtime.Kernel(operator, _graph.task_buffers(part.task), part, imported.program)


def runner_of(imported):
    return _runtime.GraphRunner(imported, [kernel_of(imported, part) for part in imported.parts])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(64, 64), nn.LayerNorm(64)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))


class Network(nn.Module):
    """Alike parts, one that writes into a buffer, and an operation that hone does not have."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*(Block() for _ in range(8)))
        self.norm = nn.BatchNorm1d(64)

    def forward(self, x):
        x = self.norm(self.blocks(x))
        values, places = torch.linalg.svdvals(x).sort()
        return x * values[-1], places


class Empty(nn.Module):
    """A cache that is empty at first, an argument and a slice that are empty."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)
        self.register_buffer("cache", torch.zeros(0, 64))

    def forward(self, x, mask):
        x = torch.cat([self.cache, torch.relu(self.linear(x))])
        return self.linear(x), x[:0], mask.sum()


class Complex(nn.Module):
    """Rotary positions by complex numbers; one result is complex."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)
        turns = torch.outer(torch.arange(96.0), torch.rand(32))
        self.register_buffer("turns", torch.polar(torch.ones_like(turns), turns))

    def forward(self, x):
        turned = torch.view_as_complex(self.linear(x).view(-1, 32, 2)) * self.turns
        return self.linear(torch.view_as_real(turned).flatten(1)), turned


class Float8(nn.Module):
    """A weight and an argument in eight bits, made wider before they are used."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)
        self.register_buffer("short", torch.randn(64, 64).to(torch.float8_e4m3fn))

    def forward(self, x, y):
        x = torch.relu(self.linear(x))
        return x @ self.short.float() + y.to(x.dtype), x.to(torch.float8_e5m2)


#: Modules with tensors that hone lacks, their arguments, and a word of the reason.
LACKING = {
    "empty": (Empty, (torch.randn(96, 64), torch.zeros(3, 0)), "an empty tensor"),
    "complex": (Complex, (torch.randn(96, 64),), "torch.complex64"),
    "float8": (
        Float8,
        (torch.randn(96, 64), torch.randn(64).to(torch.float8_e4m3fn)),
        "torch.float8_e4m3fn",
    ),
}


def run_tests():
    """The tests of the file that is run, with the program that its command names."""
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-") and os.sep in sys.argv[1]:
        os.environ["HONE_BINARY"] = os.path.abspath(sys.argv.pop(1))
    unittest.main()


NOTHING = "the search found nothing faster than one kernel for each operation"
ENDED = (
    "2 programs seemed faster (the best 2.31 times), and none was confirmed: 1 failed its "
    "checks: wrong_result (y[3] is 0 instead of 2); 1 was no faster when timed again"
)


def nothing_faster(ended):
    """A search whose finalists all came to nothing: `ended` is what it says of them."""
    real = _optimize.search

    def search(*args, **options):
        document = real(*args, **options)
        document["best"]["recipe"] = []
        document["seemed_faster"]["said"] = ended
        return document

    return search
