#!/usr/bin/env python3
"""Replaced modules as files of their own, and KernelBench's problems.

    python3 tests/python/test_written.py HONE_BINARY [unittest's arguments]"""
import copy
import ctypes
import importlib
import importlib.util
import json
import math
import operator
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

from support import (
    DEVICE,
    FOLDER,
    ROOT,
    database,
    operator_of,
    run_tests,
    setUpModule,
)

import hone
import torch
from hone import _graph, _optimize, _runtime, _source, _timing
from torch import nn
from torch.autograd import forward_ad


class Case(unittest.TestCase):
    """A module of a file, and what a GPU would do with it, by PyTorch."""

    MODULE = """
import torch
from torch import nn


class Two(nn.Module):
    '''The forward pass of two layers.'''

    def __init__(self, features):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, 6), nn.BatchNorm1d(6))

    def forward(self, x, scale=1.5):
        y = self.layers(x)
        return torch.relu(y) * scale, y.sum(dim=1)


class Turned(nn.Module):
    def forward(self, x):
        y = torch.relu(x.t() * 2)
        return y.as_strided((5,), (1,)), torch.linalg.svdvals(y)
"""

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=FOLDER.name)
        name = f"written_{os.path.basename(self.folder).replace('-', '_')}"
        pathlib.Path(self.folder, f"{name}.py").write_text(self.MODULE, encoding="utf-8")
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        self.two, self.turned = (getattr(importlib.import_module(name), c) for c in ("Two", "Turned"))
        torch.manual_seed(3)
        self.module, self.x = self.two(8), torch.randn(4, 8)
        self.capability = (9, 0)  # of the CPU, as if it were a GPU

    def replaced(self, module, args, kwargs=None):
        """As on a GPU; and functions that do by PyTorch what the kernels do."""
        made = {}

        def runner(imported, parts, db):
            kernels = []
            for part, found in zip(imported.parts, parts):
                operator, buffers = operator_of(imported, part), _graph.task_buffers(part.task)
                made[f"run_{found.candidate}"] = lambda p, s, o=operator, b=buffers: by_pointers(o, b, p)
                kernels.append(
                    _runtime.Kernel(operator, buffers, part, imported.program, found.candidate)
                )
            return _runtime.GraphRunner(imported, kernels)

        with mock.patch.object(_optimize, "operator_runner", runner), mock.patch.object(
            _optimize, "_why_eager", lambda report, where: None
        ), mock.patch.object(_optimize, "medians_ms", lambda *_: [2.0, 1.0]), mock.patch.object(
            _timing, "medians_ms", lambda *_: [2.0, 1.0]
        ):
            fast = hone.optimize(
                module, args, kwargs, budget="4", device=DEVICE, db=database(), inductor=False
            )
        self.assertTrue(hone.report(fast).replaced, str(hone.report(fast)))
        return fast, made

    def loaded(self, path, made):
        self.inline = {}

        def load_inline(**options):
            self.inline = options
            return types.SimpleNamespace(**{name: made[name] for name in options["functions"]})

        with mock.patch("torch.utils.cpp_extension.load_inline", load_inline):
            spec = importlib.util.spec_from_file_location("written", path)
            file = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(file)
        file._hone_capability = lambda device: self.capability
        return file

    def written(self, modules, **options):
        """The path of a file with the modules, as on an H100."""
        path = os.path.join(self.folder, "out.py")
        with mock.patch.object(_source, "architecture", lambda: "9.0a"):
            hone.write(modules, path, db=database(), **options)
        return path


class Written(Case):
    """Modules as files that need no hone. nvcc's part is done by PyTorch, but for one."""

    def test_a_file_runs_the_kernels_and_falls_back(self):
        fast, made = self.replaced(self.module, (self.x,))
        file = self.loaded(self.written(fast), made)
        optimized = file.Optimized(8)
        optimized.load_state_dict(self.module.state_dict())
        expected = copy.deepcopy(self.module)
        with torch.no_grad(), mock.patch.object(self.two, "forward", None):
            found = optimized(self.x)
        with torch.no_grad():
            torch.testing.assert_close(found, expected(self.x))
            torch.testing.assert_close(optimized.state_dict(), expected.state_dict())  # train mode
            torch.testing.assert_close(optimized(self.x[:3]), expected(self.x[:3]))
        self.assertTrue(optimized(self.x)[0].requires_grad)

    def test_a_file_runs_nothing_that_was_not_verified(self):
        fast, made = self.replaced(self.module.eval(), (self.x,))
        file = self.loaded(self.written(fast), made)

        def is_own(change, *args, **kwargs):
            optimized = file.Optimized(8).eval()
            optimized.load_state_dict(self.module.state_dict())
            change(optimized)
            with mock.patch.object(file.Optimized, "_hone_call_0") as call, torch.no_grad():
                optimized(*args, **kwargs)
            return not call.called

        self.assertFalse(is_own(lambda m: None, self.x))
        self.assertTrue(is_own(lambda m: m.train(), self.x))
        self.assertTrue(is_own(lambda m: m.double(), self.x.double()))
        self.assertTrue(is_own(lambda m: m.layers[0].register_forward_hook(lambda *_: None), self.x))
        self.assertTrue(is_own(lambda m: setattr(m.layers[1], "eps", 0.5), self.x))
        self.assertTrue(is_own(lambda m: m.layers.insert(1, nn.ReLU()), self.x))
        self.assertTrue(is_own(lambda m: None, self.x, 2.5))
        self.assertTrue(is_own(lambda m: None, x=self.x))
        self.capability = (8, 0)
        self.assertTrue(is_own(lambda m: None, self.x))
        self.capability = (9, 0)
        with torch.autocast("cpu"):
            self.assertTrue(is_own(lambda m: None, self.x))
        # What is remembered of one call is asked of the next one, too.
        optimized = file.Optimized(8).eval()
        optimized.load_state_dict(self.module.state_dict())
        sparse = self.x.to_sparse()
        with torch.no_grad(), mock.patch.object(file.Optimized, "_hone_call_0") as call, mock.patch.object(
            type(self.module), "forward", lambda *args, **kwargs: None
        ):
            for args, kwargs, runs in (
                ((self.x,), {}, True),
                ((), {"x": self.x}, False),
                ((self.x, 2.5), {}, False),
                ((sparse,), {}, False),
                ((self.x,), {}, True),
            ):
                call.reset_mock()
                optimized(*args, **kwargs)
                self.assertEqual(call.called, runs, (args, kwargs))
        # Elements at an odd place are copied first.
        optimized = file.Optimized(8).eval()
        optimized.load_state_dict(self.module.state_dict())
        odd = torch.randn(33)[1:].view(4, 8)
        with torch.no_grad():
            torch.testing.assert_close(optimized(odd), self.module(odd))
            # So are those that PyTorch negates only when it reads them.
            torch.testing.assert_close(optimized(torch._neg_view(self.x)), self.module(-self.x))
        self.module.train()
        with self.assertRaisesRegex(hone.HoneError, "was changed since"):
            self.written(fast)

    def test_compiled_a_file_still_runs_the_kernels(self):
        fast, made = self.replaced(self.module.eval(), (self.x,))
        file = self.loaded(self.written(fast), made)
        optimized = file.Optimized(8).eval()
        optimized.load_state_dict(self.module.state_dict())

        def around(x):
            return optimized(x + 1)[0] * 2

        traced = []  # what TorchDynamo saw: operations around the file's, none inside of it

        def backend(graph, inputs):
            traced.extend(n.target for n in graph.graph.nodes if n.op.startswith("call"))
            return graph.forward

        for function, wanted, outside in (
            (optimized, self.module, []),
            (around, lambda x: self.module(x + 1)[0] * 2, [operator.add, operator.mul]),
        ):
            traced.clear()
            compiled = torch.compile(function, backend=backend)
            as_imported = mock.patch.dict(sys.modules, {file.__name__: file})
            with torch.no_grad(), as_imported, mock.patch.object(self.two, "forward", None):
                found = compiled(self.x), compiled(self.x)
            with torch.no_grad():
                torch.testing.assert_close(found, (wanted(self.x), wanted(self.x)))
            self.assertEqual([t for t in traced if t is not operator.getitem], outside)

    def test_transformed_calls_are_the_classs_own(self):
        """vmap and grad give tensors without memory of their own; forward mode would lose its tangent."""
        fast, made = self.replaced(self.module.eval(), (self.x,))
        file = self.loaded(self.written(fast), made)
        optimized = file.Optimized(8).eval()
        optimized.load_state_dict(self.module.state_dict())
        along = torch.randn(4, 8)

        def forward_mode(module):
            with forward_ad.dual_level(), torch.no_grad():
                results = module(forward_ad.make_dual(self.x, along))
                return [forward_ad.unpack_dual(result).tangent for result in results]

        for way in (
            lambda m: torch.func.vmap(m)(torch.stack([self.x, along])),
            lambda m: torch.func.grad(lambda x: m(x)[0].sum())(self.x),
            lambda m: torch.func.jvp(m, (self.x,), (along,)),
            forward_mode,
            lambda m: torch.jit.trace(m, (self.x,), check_trace=False)(along),
        ):
            torch.testing.assert_close(way(optimized), way(self.module))

    def test_what_pytorch_reads_lies_in_memory_as_it_noted(self):
        x = torch.randn(3, 4)
        fast, made = self.replaced(self.turned(), (x,))
        file = self.loaded(self.written(fast), made)
        with torch.no_grad(), mock.patch.object(self.turned, "forward", None):
            found = file.Optimized()(x)
        torch.testing.assert_close(found, self.turned()(x))

    def test_what_nvcc_has_to_compile_compiles(self):
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        if not os.path.exists(nvcc):
            self.skipTest("no nvcc")
        fast, made = self.replaced(self.module, (self.x,))
        self.loaded(self.written(fast), made)
        source = os.path.join(self.folder, "kernels.cu")
        pathlib.Path(source).write_text(self.inline["cuda_sources"][0], encoding="utf-8")
        compiled = subprocess.run(
            [
                nvcc,
                *self.inline["extra_cuda_cflags"],
                "-gencode=arch=compute_90a,code=sm_90a",  # as PyTorch has it
                *("-c", source, "-o", source + ".o"),
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(compiled.returncode, 0, compiled.stdout + compiled.stderr)

    def test_a_module_that_was_not_replaced_is_no_file(self):
        with self.assertRaisesRegex(TypeError, "was not replaced"):
            hone.write(self.module, os.path.join(self.folder, "none.py"))

    def test_kernelbench_gets_a_model_new(self):
        from hone import kernelbench

        source = self.MODULE.replace("Two", "Model") + "\n\ndef get_inputs():\n    return [1]\n"
        names = {"__name__": "problem"}
        exec(source, names)
        module = names["Model"](8)
        fast, made = self.replaced(module, (self.x,))
        text = kernelbench.model_new(source, fast, "9.0a", database())
        # KernelBench's own static checks of CUDA solutions.
        code = re.sub(r"(#|//).*", "", text)
        for word in (r"\btry\s*:", r"\bexcept\b", r"\bpass\b", r"import\s+threading", "_make_subclass"):
            self.assertIsNone(re.search(word, code), word)
        self.assertIn("__global__", code)
        self.assertNotIn("get_inputs", code)
        path = os.path.join(self.folder, "model_new.py")
        pathlib.Path(path).write_text(text, encoding="utf-8")
        model = self.loaded(path, made).ModelNew(8)
        model.load_state_dict(module.state_dict())
        with torch.no_grad():
            torch.testing.assert_close(model(self.x), copy.deepcopy(module)(self.x))


def by_pointers(operator, buffers, pointers):
    """What a binding does, with memory of the CPU."""
    tensors = []
    for buffer, pointer in zip(buffers, pointers, strict=True):
        dtype = _graph.DTYPES[buffer.type]
        count = math.prod(buffer.shape)
        memory = (ctypes.c_byte * (count * dtype.itemsize)).from_address(pointer)
        tensors.append(torch.frombuffer(memory, dtype=dtype).view(buffer.shape))
    results = operator(*[t for t, b in zip(tensors, buffers) if b.role != "out"])
    results = results if isinstance(results, tuple) else (results,)
    outs = [t for t, b in zip(tensors, buffers) if b.role == "out"]
    for out, result in zip(outs, results, strict=True):
        out.copy_(result)


class KernelBench(unittest.TestCase):
    def run_on(self, files, *options):
        folder = tempfile.mkdtemp(dir=FOLDER.name)
        os.makedirs(os.path.join(folder, "level1"))
        for name, text in files.items():
            pathlib.Path(folder, "level1", name).write_text(text, encoding="utf-8")
        self.output = os.path.join(folder, "results")
        return subprocess.run(
            [sys.executable, "-m", "hone.kernelbench", folder, "--device", DEVICE, "--budget", "2",
             "--db", database(), "-o", self.output, *options],
            capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        )

    FILES = {
        "1_scaled.py": """
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
    def forward(self, x):
        return torch.relu(self.linear(x))
def get_inputs():
    return [torch.rand(16, 32)]
def get_init_inputs():
    return [32]
""",
        "2_one.py": """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x.sum(dim=1, keepdim=True), dim=1)
def get_inputs():
    return [torch.rand(8, 64)]
def get_init_inputs():
    return []
""",
    }

    def test_problems_are_judged_and_resumed(self):
        run = self.run_on(self.FILES)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        first, second = (
            json.loads(pathlib.Path(self.output, f"1_00{i}.json").read_text(encoding="utf-8"))
            for i in (1, 2)
        )
        self.assertTrue(first["right"] and first["kernelbench_right"])
        self.assertFalse(first["degenerate"])
        self.assertTrue(first["candidates"])
        self.assertTrue(second["right"] and second["degenerate"])
        self.assertRegex(run.stdout, r"problems +2 +1 +1\n")

    def test_several_problems_are_under_way_at_a_time(self):
        changed = lambda by: self.FILES["1_scaled.py"].replace("return [torch.rand(16, 32)]", by)
        broken, gone = changed("raise ValueError('no numbers')"), changed("import os; os._exit(9)")
        run = self.run_on({**self.FILES, "3_broken.py": broken, "4_gone.py": gone}, "--jobs", "2")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("1_003  FAILED: ValueError: no numbers\n", run.stdout)
        self.assertIn("1_004  FAILED: its process ended with 9\n", run.stdout)
        self.assertRegex(run.stdout, r"right +2 +1 +1\n")
        self.assertTrue(os.path.exists(os.path.join(self.output, "1_001.json")))

    def test_who_takes_times_is_alone(self):
        from hone import kernelbench

        with tempfile.NamedTemporaryFile(dir=FOLDER.name) as file:
            turns = kernelbench.Turns(file.name)
            entered, may_end, shared = (threading.Event() for _ in range(3))

            def take_times():
                with turns.alone():
                    entered.set()
                    may_end.wait(10)

            def judge():
                with turns.beside_others():
                    shared.set()

            timer, other = threading.Thread(target=take_times), threading.Thread(target=judge)
            with turns.beside_others(), turns.beside_others():
                timer.start()
                self.assertFalse(entered.wait(0.2))
            self.assertTrue(entered.wait(10))
            other.start()
            self.assertFalse(shared.wait(0.2))
            may_end.set()
            timer.join(10)
            self.assertTrue(shared.wait(10))
            other.join(10)

    def test_the_table_tells_convolutions_apart(self):
        from hone import kernelbench

        one = {"right": True, "eager_ms": 2.0, "hone_ms": 1.0, "has_convolutions": False}
        text = kernelbench.table([one, {**one, "hone_ms": 4.0, "has_convolutions": True}])
        self.assertRegex(text, r"problems +2 +2 +1\n")
        self.assertRegex(text, r"geometric mean, the best of PyTorch's three +1\.000 +1\.000 +2\.000\n")

    def test_a_problem_that_calls_a_convolution_has_convolutions(self):
        run = self.run_on({"1_called.py": """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(2, 2, 3, 3))
    def forward(self, x):
        return torch.nn.functional.conv2d(x, self.weight)
def get_inputs():
    return [torch.rand(1, 2, 6, 6)]
def get_init_inputs():
    return []
"""})
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        result = json.loads(pathlib.Path(self.output, "1_001.json").read_text(encoding="utf-8"))
        self.assertTrue(result["has_convolutions"])
        self.assertRegex(run.stdout, r"problems +1 +1 +0\n")

    def test_convolutions_are_seen_however_they_are_called(self):
        from hone import kernelbench

        class Calls(nn.Module):
            def __init__(self, function):
                super().__init__()
                self.function = function
                self.weight = nn.Parameter(torch.randn(4, 4, 3, 3))

            def forward(self, x):
                return self.function(x, self.weight)

        f = nn.functional
        x = (torch.randn(2, 4, 8, 8),)
        traced = torch.jit.trace(f.conv2d, (*x, torch.randn(4, 4, 3, 3)))
        for name, function in {
            "conv1d": lambda x, w: f.conv1d(x[:, :, 0], w[..., 0]),
            "conv2d": f.conv2d,
            "conv3d": lambda x, w: f.conv3d(x[:, None], w[:, :1, None]),
            "conv_transpose2d": f.conv_transpose2d,
            "torch.conv2d": torch.conv2d,
            "torch.ops": lambda x, w: torch.ops.aten.conv2d.padding(x, w, padding="same"),
            "a traced function": lambda x, w: traced(x, w),
        }.items():
            with self.subTest(name):
                self.assertTrue(kernelbench.has_convolutions(Calls(function), lambda: x))
        self.assertTrue(kernelbench.has_convolutions(nn.Sequential(nn.Conv2d(4, 4, 3)), lambda: x))
        for function in (lambda x, w: x @ x, lambda x, w: f.unfold(x, 3), lambda x, w: f.avg_pool2d(x, 3)):
            self.assertFalse(kernelbench.has_convolutions(Calls(function), lambda: x))

    def test_wrong_options_and_broken_problems_are_no_results(self):
        run = self.run_on(self.FILES, "--math", "sloppy")
        self.assertEqual(run.returncode, 1)
        self.assertIn("1_001  FAILED: HoneError", run.stdout)
        self.assertEqual(os.listdir(self.output), [])
        run = self.run_on({"1_bad.py": "raise OSError('no such\\nthing')", **self.FILES}, "--problems", "1")
        self.assertIn("1_001  FAILED: OSError: no such\n", run.stdout)

    def test_what_is_no_problem_is_one_line(self):
        for options in (["--level", "3"], ["--problems", "one"], ["--problems", "7"]):
            run = self.run_on(self.FILES, *options)
            self.assertEqual(run.returncode, 2)
            self.assertIn("error:", run.stderr.splitlines()[-1])


if __name__ == "__main__":
    run_tests()
