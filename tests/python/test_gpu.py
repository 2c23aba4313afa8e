#!/usr/bin/env python3
"""Operators and written files on a real GPU.

    python3 tests/python/test_gpu.py HONE_BINARY [unittest's arguments]"""
import copy
import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

from support import FOLDER, database, run_tests, setUpModule  # noqa: F401

import hone
import torch
from torch import nn

if not torch.cuda.is_available():
    print("skipped: no GPU")
    sys.exit(77)

MODULE = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear, self.norm = nn.Linear(width, width), nn.LayerNorm(width)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
"""


class Gpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(dir=FOLDER.name)
        pathlib.Path(folder, "gpu_block.py").write_text(MODULE, encoding="utf-8")
        sys.path.insert(0, folder)
        cls.folder = folder
        cls.block = importlib.import_module("gpu_block").Block

    def close(self, found, wanted):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)

    def optimized(self, module, x):
        return hone.optimize(module, (x,), budget="40", db=database())

    def test_an_operator_in_a_cuda_graph(self):
        module = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.LayerNorm(512)).cuda().eval()
        x = torch.randn(128, 256, device="cuda")
        candidate = hone.report(self.optimized(module, x)).candidates[0]
        operator = hone.load(candidate, db=database())
        inputs = [*module.parameters(), x]
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.no_grad(), torch.cuda.graph(graph, stream=stream):
            result = operator(*inputs)  # the first call: the code is loaded meanwhile
        with torch.no_grad():
            for _ in range(3):
                x.normal_()
                graph.replay()
                torch.cuda.synchronize()
                self.close(result, module(x))
            compiled = torch.compile(lambda *t: operator(*t) + 1, fullgraph=True)
            self.close(compiled(*inputs), module(x) + 1)
        with self.assertRaisesRegex(ValueError, "this candidate is for"):
            operator(*module.parameters(), x[:5])

    def test_operators_on_streams_of_their_own(self):
        module = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.LayerNorm(512)).cuda().eval()
        xs = [torch.randn(128, 256, device="cuda") for _ in range(4)]
        operator = hone.load(hone.report(self.optimized(module, xs[0])).candidates[0], db=database())
        streams, found = [torch.cuda.Stream() for _ in xs], []
        torch.cuda.synchronize()
        with torch.no_grad():
            for x, stream in zip(xs, streams):
                with torch.cuda.stream(stream):
                    found.append([operator.launch(*module.parameters(), x) for _ in range(20)][-1])
            torch.cuda.synchronize()
            for x, result in zip(xs, found):
                self.close(result, module(x))

    def test_a_file_with_machine_code(self):
        module = self.block(512).cuda().eval()
        examples = [torch.randn(rows, 512, device="cuda") for rows in (64, 256)]
        fast = [self.optimized(module, x) for x in examples]
        fast = [f for f in fast if hone.report(f).replaced]
        if not fast:
            self.skipTest("PyTorch's own kernels are as fast on this GPU")
        major, minor = torch.cuda.get_device_capability()
        path = os.path.join(self.folder, "out.py")
        hone.write(fast, path, cubins=[f"sm_{major}{minor}"], db=database())
        spec = importlib.util.spec_from_file_location("out", path)
        file = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(file)
        optimized = file.Optimized(512).cuda().eval()
        optimized.load_state_dict(copy.deepcopy(module.state_dict()))
        with torch.no_grad():
            for x in examples:
                self.close(optimized(x), module(x))
            loaded = [plan for plan in file._HONE_PLANS.values() if plan._loaded]
            self.assertEqual(len(loaded), len(file._HONE_PLANS), "PyTorch ran in place of a kernel")
            self.close(optimized(examples[0][:5]), module(examples[0][:5]))
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = optimized(examples[0])
            examples[0].normal_()
            graph.replay()
            torch.cuda.synchronize()
            self.close(result, module(examples[0]))


class Doors(unittest.TestCase):
    """Real operators, by all three doors."""

    def setUp(self):
        self.db = os.path.join(FOLDER.name, "gpu.db")
        self.module = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.LayerNorm(512)).cuda().eval()
        self.x = torch.randn(128, 256, device="cuda")

    def test_optimize_and_load(self):
        report = hone.report(fast := hone.optimize(self.module, (self.x,), budget="30", db=self.db))
        self.assertFalse(report.modelled)
        self.assertEqual(report.device, "cuda:0")
        self.assertLess(report.max_error, 1e-4)
        self.assertEqual(report.replaced, report.after_ms < report.before_ms)
        with torch.no_grad():
            torch.testing.assert_close(fast(self.x), self.module(self.x), rtol=1e-4, atol=1e-4)
            operator = hone.load(report.candidates[0], db=self.db)
            found = operator(*self.module.parameters(), self.x)
            torch.testing.assert_close(found, self.module(self.x), rtol=1e-4, atol=1e-4)
        self.assertEqual(report.replaced_calls, int(report.replaced))

    def test_compile(self):
        torch._dynamo.reset()
        compiled = torch.compile(self.module, backend=hone.backend, options={"budget": "30", "db": self.db})
        with torch.no_grad():
            for _ in range(2):
                torch.testing.assert_close(compiled(self.x), self.module(self.x), rtol=1e-4, atol=1e-4)
        report = hone.compile_reports()[-1]
        self.assertLess(report.max_error, 1e-4)
        self.assertEqual(report.replaced_calls, 2 if report.replaced else 0)


if __name__ == "__main__":
    run_tests()
