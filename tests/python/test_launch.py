#!/usr/bin/env python3
"""Operators by libhone_launch.so, on the driver without a GPU (tests/fakes): its memory is the CPU's, and
its kernels, chosen by name, all compute y = 2 x of (x, y, n).

    python3 tests/python/test_launch.py HONE_BINARY [unittest's arguments]"""
import contextlib
import os
import pathlib
import tempfile
import threading
import unittest
from unittest import mock

from support import DEVICE, FOLDER, ROOT, database, run_tests, setUpModule as set_up

import hone
import torch
from hone import _binary, _operator

#: y = 2 x, by way of scratch: its reference is a candidate, too.
TASK = """/* hone {
  "name": "fourfold", "sizes": {"N": 64, "K": 3}, "check_sizes": [{"N": 32, "K": 3}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "out"},
              {"name": "t", "type": "f32", "shape": ["N"], "role": "scratch"}],
  "launches": [{"kernel": "naive_one", "grid": [1], "block": [64], "args": ["x", "t", "N"]},
               {"kernel": "naive_two", "grid": [1], "block": [64], "args": ["t", "y", "N"]}] }
*/
__global__ void naive_one(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x];
}
__global__ void naive_two(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x];
}
"""
ADDS = """/* hone {
  "name": "adds", "sizes": {"N": 64}, "check_sizes": [{"N": 32}],
  "buffers": [{"name": "x", "type": "f32", "shape": ["N"]},
              {"name": "y", "type": "f32", "shape": ["N"], "role": "inout"}],
  "launches": [{"kernel": "naive_add", "grid": [1], "block": [64], "args": ["x", "y", "N"]}] }
*/
__global__ void naive_add(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] += x[threadIdx.x];
}
"""


def setUpModule():
    set_up()
    fake = pathlib.Path(os.environ["HONE_BINARY"]).resolve().parents[1] / "fakes/libcuda.so.1"
    if not fake.exists():
        raise unittest.SkipTest("the driver without a GPU was not built")
    # Whatever GPU there is, PyTorch sees none, and the library that driver.
    os.environ.update(HONE_LIBCUDA=str(fake), CUDA_VISIBLE_DEVICES="")


def reference_of(text):
    """The id of a task's reference, as a candidate."""
    with tempfile.NamedTemporaryFile("w", suffix=".cu", dir=FOLDER.name) as file:
        file.write(text)
        file.flush()
        document = _binary.run(
            "optimize", file.name, "--device", DEVICE, "--budget", "1", "--db", database(), "--quiet"
        )
    rows = _binary.run("leaderboard", "--db", database())["boards"]
    rows = next(b["rows"] for b in rows if b["task_hash"] == document["task_hash"])
    return next(row["candidate"] for row in rows if not row["recipe"])


@contextlib.contextmanager
def on_the_cpu():
    """As if the CPU were a GPU: its memory is the driver's, and there is one stream."""
    with mock.patch.object(_operator, "_stream_of", lambda device: 0), mock.patch.object(
        _operator, "arch_of", lambda device: "sm_90"
    ), mock.patch.object(
        _operator.Operator, "_check", lambda self, tensors: self._check_shapes(tensors)
    ):
        yield


class Launch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.operator = hone.load(reference_of(TASK), db=database())
        cls.x = torch.arange(64, dtype=torch.float32)

    def test_one_call_into_the_library_launches_all(self):
        loaded = self.operator._plans["sm_90"].loaded_on(0)
        calls = []
        call = loaded._call
        loaded._call = lambda *arguments: calls.append(1) or call(*arguments)
        with on_the_cpu(), mock.patch.dict(self.operator._loaded, {None: loaded}):
            torch.testing.assert_close(self.operator(self.x), 4 * self.x)
            torch.testing.assert_close(self.operator.launch(self.x), 4 * self.x)
        self.assertEqual(len(calls), 2)

    def test_tensors_at_odd_places_are_copied(self):
        odd = torch.arange(65, dtype=torch.float32)[1:]
        adds = hone.load(reference_of(ADDS), db=database())
        with on_the_cpu():
            torch.testing.assert_close(self.operator(odd), 4 * odd)
            y = torch.ones(65)[1:]
            self.assertIsNone(adds(odd, y))
            torch.testing.assert_close(y, odd + 1)

    def test_it_is_an_operator_of_pytorch(self):
        with on_the_cpu():
            # Autograd's test does not apply: there is no backward.
            tests = ("test_schema", "test_faketensor", "test_aot_dispatch_static")
            torch.library.opcheck(self.operator._operator, (self.x,), test_utils=tests)
            adds = hone.load(reference_of(ADDS), db=database())
            torch.library.opcheck(adds._operator, (self.x, torch.ones(64)), test_utils=tests)

        class Calls(torch.nn.Module):
            def forward(_, x):
                return self.operator(x, K=3) + 1

        graph = torch.export.export(Calls(), (self.x,), strict=True).graph
        self.assertEqual(sum("fourfold" in str(n.target) for n in graph.nodes), 1)

    def test_many_threads_at_once(self):
        results = {}

        def work(number):
            x = torch.full((64,), float(number))
            for _ in range(50):
                results[number] = self.operator.launch(x)

        with on_the_cpu():
            threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        for number in range(8):
            torch.testing.assert_close(results[number], torch.full((64,), 4.0 * number))

    def test_what_does_not_fit_is_refused(self):
        with self.assertRaisesRegex(ValueError, "x is on cpu; it must be on a CUDA device"):
            self.operator(self.x)
        with on_the_cpu():
            with self.assertRaisesRegex(ValueError, r"x has shape \(63,\); this candidate is for \(64,\)"):
                self.operator(self.x[:63])
            with self.assertRaisesRegex(TypeError, "it must be torch.float32"):
                self.operator(self.x.double())
            with self.assertRaisesRegex(ValueError, "was made for K = 3, not K = 4"):
                self.operator(self.x, K=4)
        with mock.patch.object(_operator, "arch_of", lambda device: "sm_80"), self.assertRaisesRegex(
            hone.HoneError, "was made for sm_90 and does not run on sm_80"
        ):
            hone.load(self.operator.candidate, db=database())._load_on(torch.device("cuda", 3))

    def test_the_drivers_words_are_the_error(self):
        plan = self.operator._plans["sm_90"]
        with self.assertRaisesRegex(hone.HoneError, "^cuDeviceGet: "):
            plan.loaded_on(7)
        with mock.patch.object(plan, "bytes", plan.bytes[:100]):
            with self.assertRaisesRegex(hone.HoneError, "this plan cannot be read: it is cut off"):
                plan.loaded_on(0)
        with self.assertRaisesRegex(hone.HoneError, "buffer 1 is not aligned"):
            plan.loaded_on(0).launch([256, 4], 256, 0)

    def test_a_program_without_its_library(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "bin"))
            program = os.path.join(folder, "bin/hone")
            pathlib.Path(program).write_bytes(b"\x7fELF")
            os.chmod(program, 0o755)
            with mock.patch.dict(os.environ, {"HONE_BINARY": program}):
                with self.assertRaisesRegex(hone.HoneError, "there is no .*/lib/libhone_launch.so"):
                    _binary.launch_library()


if __name__ == "__main__":
    run_tests()
