#!/usr/bin/env python3
"""Replaced modules as files with machine code: which kernels run for which calls and GPUs, by stand-ins; and
the launcher that stands in such a file, on the driver without a GPU.

    python3 tests/python/test_ahead.py HONE_BINARY [unittest's arguments]"""
import base64
import copy
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import zlib
from unittest import mock

import test_launch
from support import FOLDER, database, run_tests, setUpModule
from test_written import Case

import hone
import torch
from hone import _operator, _standalone


class Ahead(Case):
    def stand_ins(self, file, made):
        """Of each plan one that does by PyTorch what its candidate does, and counts its calls."""
        self.calls = []

        def launch(name, buffers):
            self.calls.append(name)
            candidate = next(c for c in made if c[len("run_") :] in self.of_plan.get(name, name))
            made[candidate]([b.data_ptr() for b in buffers], 0)

        file._hone_ready = lambda plans, device: True
        for name, plan in file._HONE_PLANS.items():
            plan.launch = lambda buffers, device, stream, n=name: launch(n, buffers)

    def setUp(self):
        super().setUp()
        self.of_plan = {}  # of a plan's name the candidate whose place it takes

    def test_shapes_and_gpus_are_told_apart(self):
        self.module.eval()
        examples = [torch.randn(4, 8), torch.randn(9, 8)]
        fast, made = [], {}
        for x in examples:
            one, functions = self.replaced(self.module, (x,))
            fast.append(one)
            made.update(functions)
        file = self.loaded(self.written(fast, cubins=["sm_90"]), made)
        self.stand_ins(file, made)
        optimized = file.Optimized(8).eval()
        optimized.load_state_dict(self.module.state_dict())
        names = []
        with torch.no_grad():
            for x in examples:
                torch.testing.assert_close(optimized(x), self.module(x))
                self.assertEqual(len(self.calls), 1)
                names.append(self.calls.pop())
            self.assertNotEqual(*names)
            self.assertTrue(all(name.endswith("_sm_90") for name in names))
            other = torch.randn(5, 8)
            torch.testing.assert_close(optimized(other), self.module(other))
            for self.capability in ((8, 9), (10, 0), None):
                torch.testing.assert_close(optimized(examples[0]), self.module(examples[0]))
        self.assertEqual(self.calls, [])

    def test_each_architecture_has_its_own_candidate(self):
        self.module.eval()
        fast, made = self.replaced(self.module, (self.x,))
        with self.assertRaisesRegex(hone.HoneError, "nothing on sm_80 .*; search there first"):
            self.written(fast, cubins=["sm_90", "sm_80"])
        hone.optimize(self.module, (self.x,), budget="4", device="emu:sm_80", db=database())
        path = self.written(fast, cubins=["sm_90", "sm_80"])
        file = self.loaded(path, made)
        self.assertEqual(sorted(name[-6:] for name in file._HONE_PLANS), ["_sm_80", "_sm_90"])
        machine_code = {n: plan._read()[3] for n, plan in file._HONE_PLANS.items()}
        self.assertTrue(all(code.startswith(b"\x7fELF") for code in machine_code.values()))
        older = next(name for name in file._HONE_PLANS if name.endswith("_sm_80"))
        self.of_plan[older] = hone.report(fast).candidates[0]
        self.stand_ins(file, made)
        optimized = file.Optimized(8).eval()
        optimized.load_state_dict(self.module.state_dict())
        with torch.no_grad():
            for self.capability in ((8, 0), (9, 0)):
                torch.testing.assert_close(optimized(self.x), self.module(self.x))
        self.assertEqual([name[-6:] for name in self.calls], ["_sm_80", "_sm_90"])

    def test_where_the_driver_refuses_pytorch_runs(self):
        fast, _ = self.replaced(self.module.eval(), (self.x,))
        file = self.loaded(self.written(fast, cubins=["sm_90"]), {})
        optimized = file.Optimized(8).eval()
        optimized.load_state_dict(self.module.state_dict())

        def refuses(function, *arguments):
            raise RuntimeError("the driver is too old")

        with torch.no_grad(), mock.patch.object(file, "_hone_cuda", refuses):
            with self.assertWarnsRegex(UserWarning, "PyTorch runs .*: the driver is too old") as warned:
                for _ in range(3):
                    torch.testing.assert_close(optimized(self.x), self.module(self.x))
        self.assertEqual(len(warned.warnings), 1)

    def test_buffers_that_are_written(self):
        """Batch norm in train mode."""
        fast, made = self.replaced(self.module.train(), (self.x,))
        file = self.loaded(self.written(fast, cubins=["sm_90"]), made)
        self.stand_ins(file, made)
        mine, theirs = file.Optimized(8), copy.deepcopy(self.module)
        mine.load_state_dict(self.module.state_dict())
        with torch.no_grad():
            torch.testing.assert_close(mine(self.x), theirs(self.x))
        self.assertEqual(len(self.calls), 1)
        torch.testing.assert_close(mine.state_dict(), theirs.state_dict())

    def test_a_file_needs_neither_hone_nor_a_gpu(self):
        fast, _ = self.replaced(self.module, (self.x,))
        path = self.written(fast, cubins=["sm_90"])
        code = (
            f"import sys, torch; sys.path.insert(0, {self.folder!r}); import out\n"
            "assert not any(m.split('.')[0] == 'hone' for m in sys.modules), 'imports hone'\n"
            "assert out._hone_driver is None\n"
            "with torch.no_grad(): print(out.Optimized(8)(torch.ones(4, 8))[0].shape)"
        )
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "HONE_LIBCUDA")}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd="/"
        )
        self.assertEqual((done.returncode, done.stdout), (0, "torch.Size([4, 6])\n"), done.stderr)
        self.assertNotIn("hone.", pathlib.Path(path).read_text(encoding="utf-8").replace("hone.optimize", ""))

    def test_what_cannot_be_written_is_refused(self):
        fast, _ = self.replaced(self.module, (self.x,))
        for cubins, words in (([], "no architecture is named"), (["9.0"], "'9.0' is no architecture")):
            with self.assertRaisesRegex(ValueError, words):
                self.written(fast, cubins=cubins)
        with self.assertRaisesRegex(hone.HoneError, "two of the modules are for the same calls"):
            self.written([fast, fast], cubins=["sm_90"])
        with self.assertRaisesRegex(TypeError, "was not replaced"):
            self.written([fast, self.module], cubins=["sm_90"])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out.py")))

    def test_source_is_written_for_several_examples_too(self):
        self.module.eval()
        examples = [torch.randn(4, 8), torch.randn(9, 8)]
        (one, made), (two, more) = (self.replaced(self.module, (x,)) for x in examples)
        file = self.loaded(self.written([one, two]), {**made, **more})
        optimized = file.Optimized(8).eval()
        optimized.load_state_dict(self.module.state_dict())
        with torch.no_grad(), mock.patch.object(self.two, "forward", None):
            found = [optimized(x) for x in examples]
        for mine, x in zip(found, examples):
            torch.testing.assert_close(mine, self.module(x))


class Launcher(unittest.TestCase):
    """A file's own launcher, by the driver without a GPU, whose kernels all compute y = 2 x."""

    @classmethod
    def setUpClass(cls):
        test_launch.setUpModule()
        cls.plan = _operator.plan_of(test_launch.reference_of(test_launch.TASK), None, ["--db", database()])
        driver = ctypes.CDLL(os.environ["HONE_LIBCUDA"])
        with mock.patch.object(ctypes, "CDLL", return_value=driver):
            _standalone._hone_cuda("cuInit", 0)
        cls.current = ctypes.c_void_p(0)
        driver.cuCtxGetCurrent(ctypes.byref(cls.current))
        cls.driver = driver

    def written(self, data=None):
        data = self.plan.bytes if data is None else data
        return _standalone._HonePlan(base64.b85encode(zlib.compress(data)).decode())

    def test_all_launches_run(self):
        plan, x, y = self.written(), torch.arange(64.0), torch.zeros(64)
        self.assertTrue(plan.is_loaded_on(torch.device("cpu")))
        with self.assertWarnsRegex(UserWarning, "cuDeviceGet: as the fake says"):
            self.assertFalse(plan.is_loaded_on(torch.device("cuda", 5)))
        for _ in range(2):
            plan.launch([x, y], torch.device("cpu"), 0)
        torch.testing.assert_close(y, 4 * x)
        after = ctypes.c_void_p(0)
        self.driver.cuCtxGetCurrent(ctypes.byref(after))
        self.assertEqual(after.value, self.current.value)

    def test_many_threads_at_once(self):
        plan, results = self.written(), {}

        def work(number):
            x = torch.full((64,), float(number))
            results[number] = torch.zeros(64)
            for _ in range(50):
                plan.launch([x, results[number]], torch.device("cpu"), 0)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(8):
            torch.testing.assert_close(results[number], torch.full((64,), 4.0 * number))

    def test_errors_are_the_drivers_words(self):
        x, y = torch.ones(64), torch.zeros(64)
        with self.assertRaisesRegex(RuntimeError, "^cuDeviceGet: as the fake says"):
            self.written().launch([x, y], torch.device("cuda", 5), 0)
        with self.assertRaisesRegex(RuntimeError, "no plan"):
            self.written(b"x" * 60).launch([x, y], torch.device("cpu"), 0)
        refusing = self.plan.bytes.replace(b"naive_two", b"refuse_it")
        with self.assertRaisesRegex(RuntimeError, "^cuLaunchKernel: "):
            self.written(refusing).launch([x, y], torch.device("cpu"), 0)


if __name__ == "__main__":
    run_tests()
