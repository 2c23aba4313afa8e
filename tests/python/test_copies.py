#!/usr/bin/env python3
"""Replaced modules are copied, pickled, saved and loaded.

    python3 tests/python/test_copies.py HONE_BINARY [unittest's arguments]"""
import copy
import functools
import io
import os
import pickle
import subprocess
import sys
import unittest
from unittest import mock

from support import (
    DEVICE,
    FOLDER,
    ROOT,
    Network,
    Small,
    StandIn,
    database,
    kernel_of,
    run_tests,
    setUpModule,
    small,
)

import hone
import torch
from hone import _graph, _optimize, _replaced, _runtime, _timing
from torch import nn


class Holds(nn.Module):
    """Has a tensor that is neither a parameter nor a buffer."""

    def __init__(self):
        super().__init__()
        self.linear, self.scale = nn.Linear(8, 8), torch.tensor([2.0] * 8)

    def forward(self, x):
        return self.linear(x) * self.scale


class OwnState(nn.Linear):
    """Says itself what a pickle has of it."""

    def __getstate__(self):
        return {**self.__dict__, "_told": True}


def replaced(module, args, kwargs=None, inductor=None):
    """As if the CPU were a GPU that has the operators, which PyTorch computes. inductor: a part that
    Inductor is the fastest for."""

    def runner(imported, parts, db):
        kernels = [kernel_of(imported, p, StandIn(imported, p)) for p in imported.parts]
        return _runtime.GraphRunner(imported, kernels)

    def choose(runner, owner, given, device, parts, by_inductor):
        for i, part in enumerate(parts):
            part.runs = "Inductor" if i == inductor else "hone"
        if inductor is not None:
            step = next(s for s in runner._steps if s.part == inductor)
            step.kernel, step.compiled = None, runner._compiled(step)
            runner.settle()

    with mock.patch.multiple(
        _optimize,
        operator_runner=runner,
        choose_parts=choose,
        _why_eager=lambda report, where: None,
        _times=lambda *_: (2.0, 1.0),
    ):
        return hone.optimize(module, args, kwargs, budget="3", device=DEVICE, db=database())


@functools.lru_cache(maxsize=None)
def small_one():
    """A replaced module, and what it was made from."""
    module, args, kwargs = small()
    return replaced(module, args, kwargs), module, args, kwargs


class Copies(unittest.TestCase):
    def runs_operators(self, fast, original, args, kwargs=None):
        kwargs = kwargs or {}
        report = hone.report(fast)
        before = report.replaced_calls
        with torch.no_grad():
            wanted = copy.deepcopy(original)(*args, **kwargs)
            torch.testing.assert_close(fast(*args, **kwargs), wanted, rtol=1e-3, atol=1e-3)
        self.assertEqual(report.replaced_calls, before + 1, report.last_eager_reason)

    def each_copy(self, fast):
        file = io.BytesIO()
        torch.save(fast, file)
        file.seek(0)
        yield "deepcopy", copy.deepcopy(fast)
        yield "copy", copy.copy(fast)
        yield "pickle", pickle.loads(pickle.dumps(fast))
        yield "torch.save", torch.load(file, weights_only=False)

    def test_a_copy_runs_the_operators(self):
        fast, module, args, kwargs = small_one()
        for how, other in self.each_copy(fast):
            with self.subTest(how):
                self.assertIsInstance(other, Small)
                self.assertIs(type(other), type(fast))
                self.assertEqual(list(other.state_dict()), list(module.state_dict()))
                self.assertEqual(hone.report(other).candidates, hone.report(fast).candidates)
                self.runs_operators(other, module, args, kwargs)
                if how == "copy":
                    continue
                with torch.no_grad():  # the copy has its own parameters
                    other.linear.weight.add_(1)
                    self.runs_operators(other, small_like(module, 1), args, kwargs)
                self.runs_operators(fast, module, args, kwargs)

    def test_a_state_goes_from_one_to_another(self):
        module, args, kwargs = small()
        fast, (other, _, _) = replaced(module, args, kwargs), small()
        file = io.BytesIO()
        torch.save(fast.state_dict(), file)
        file.seek(0)
        other.load_state_dict(torch.load(file))
        self.runs_operators(fast, other, args, kwargs)

    def test_a_network_of_parts(self):
        torch._dynamo.reset()
        module, args = Network().eval(), (torch.randn(96, 64),)
        fast = replaced(module, args, inductor=1)
        other = pickle.loads(pickle.dumps(fast))
        runner = other._hone_call.runner
        self.assertEqual(len([s for s in runner._steps if s.compiled is not None]), 1)
        self.runs_operators(other, module, args)

    def test_weights_are_in_it_once(self):
        class Big(nn.Sequential):
            pass

        globals()["Big"], Big.__qualname__ = Big, "Big"
        module = Big(nn.Linear(700, 700))
        weights = 700 * 701 * 4
        fast = replaced(module, (torch.randn(2, 700),))
        with mock.patch.object(StandIn, "__reduce__", lambda self: (int, ())):  # no operator of hone's
            self.assertLess(len(pickle.dumps(fast)), weights + 200_000)

    def test_tensors_that_are_no_parameters(self):
        module, args = Holds(), (torch.randn(4, 8),)
        fast = replaced(module, args)
        for how, other in self.each_copy(fast):
            with self.subTest(how):
                self.runs_operators(other, module, args)
        fast.scale = fast.scale * 3
        for how, other in self.each_copy(fast):
            with self.subTest(how), torch.no_grad():
                torch.testing.assert_close(other(*args), fast.linear(*args) * 6)
                self.assertIn("no parameter was changed", hone.report(other).last_eager_reason)

    def test_a_class_that_says_its_own_state(self):
        fast = replaced(OwnState(8, 6), (torch.randn(4, 8),))
        other = pickle.loads(pickle.dumps(fast))
        self.assertTrue(other._told)
        self.runs_operators(other, fast, (torch.randn(4, 8),))

    def test_another_process_loads_it(self):
        fast, module, args, kwargs = small_one()
        path = os.path.join(FOLDER.name, "fast.pt")
        torch.save((fast, args, kwargs, module(*args, **kwargs)), path)
        code = (
            "import sys, torch; sys.path[:0] = sys.argv[2:]\n"
            "fast, args, kwargs, wanted = torch.load(sys.argv[1], weights_only=False)\n"
            "with torch.no_grad(): torch.testing.assert_close(fast(*args, **kwargs), wanted)\n"
            "import hone; print(hone.report(fast).last_eager_reason)\n"
        )
        folders = [str(ROOT / f) for f in ("python", "tests/python", "tests/pytorch")]
        done = subprocess.run([sys.executable, "-c", code, path, *folders], capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "None", done.stderr)

    def test_on_another_gpu_pytorch_runs(self):
        fast, module, args, kwargs = small_one()
        fast = pickle.loads(pickle.dumps(fast))
        fast._hone_call._arch = "sm_90"
        with mock.patch.object(_replaced, "arch_of", lambda device: "sm_80"), torch.no_grad():
            fast(*args, **kwargs)
        self.assertIn("on a GPU of sm_90, and this one is sm_80", hone.report(fast).last_eager_reason)

    def test_what_cannot_be_saved_says_what_to_do(self):
        fast, *_ = small_one()
        with mock.patch.object(_graph.torch.export, "save", side_effect=TypeError("no such thing")):
            with self.assertRaisesRegex(hone.HoneError, "no such thing; pickle the module .*hone.write"):
                pickle.dumps(fast)

    def test_a_real_operator_is_the_same_one(self):
        options = {"budget": "4", "device": DEVICE, "db": database()}
        module = nn.Sequential(nn.Linear(8, 6), nn.ReLU())
        candidate = hone.report(hone.optimize(module, (torch.randn(4, 8),), **options)).candidates[0]
        operator = hone.load(candidate, db=database())
        self.assertIs(pickle.loads(pickle.dumps(operator)), operator)
        self.assertEqual(pickle.loads(pickle.dumps(operator.launch)), operator.launch)


def small_like(module, more):
    other = copy.deepcopy(module)
    with torch.no_grad():
        other.linear.weight.add_(more)
    return other


if __name__ == "__main__":
    run_tests()
