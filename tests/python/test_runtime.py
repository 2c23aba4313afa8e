#!/usr/bin/env python3
"""A graph of which parts are operators: run, chosen, timed.

    python3 tests/python/test_runtime.py HONE_BINARY [unittest's arguments]"""
import copy
import dataclasses
import functools
import importlib
import unittest
from unittest import mock

from support import (
    LACKING,
    Network,
    imported_of,
    kernel_of,
    run_tests,
    runner_of,
    setUpModule,
    small,
)

import hone
import modules
import torch
from hone import _graph, _runtime
from torch import nn


class Runtime(unittest.TestCase):
    """The graph with stand-ins for operators against the module."""

    def agrees(self, module, args, kwargs=None, imported=None, exactly=True):
        kwargs = kwargs or {}
        imported = imported or imported_of(module, args, kwargs)
        runner = runner_of(imported)
        mine, theirs = copy.deepcopy(module), copy.deepcopy(module)
        leaves, _ = _runtime.flatten_call(list(kwargs), *copy.deepcopy((args, kwargs)))
        with torch.no_grad():
            found = runner(mine, leaves, torch.device("cpu"))
            wanted = theirs(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        much = {"rtol": 0, "atol": 0} if exactly else {}
        torch.testing.assert_close(found, wanted, equal_nan=True, check_stride=False, **much)
        for (name, a), (_, b) in zip(mine.named_buffers(), theirs.named_buffers()):
            torch.testing.assert_close(a, b, rtol=0, atol=0, msg=name)

    def test_saving_tries_no_other_form_of_the_graph(self):
        """PyTorch's writer makes a copy of the graph for it, and drops it: half of the time of a large one."""
        serialize = importlib.import_module("torch._export.serde.serialize")
        with mock.patch.object(serialize, "canonicalize") as tried:
            module, args, kwargs = small()
            self.agrees(module, args, kwargs)
            self.assertIs(serialize.canonicalize, tried)
        tried.assert_not_called()

    def test_structure_of_arguments_and_results(self):
        self.agrees(*small())

    def test_batch_norm_in_train_mode_updates_its_buffers(self):
        module, args, kwargs = small(train=True)
        before = module.norm.running_mean.clone()
        self.agrees(module, args, kwargs)
        self.assertTrue(torch.equal(module.norm.running_mean, before))

    def test_weights_in_another_memory_order(self):
        conv = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        self.agrees(conv, (torch.randn(2, 3, 5, 6),))

    def test_constants_and_results_that_are_arguments(self):
        class Module(nn.Module):
            def forward(self, x):
                return x, x + torch.tensor([1.0, 2.0, 3.0]), x.sum()

        x = torch.randn(2, 3)
        self.agrees(Module(), (x,))
        found = runner_of(imported_of(Module(), (x,)))(None, [x], torch.device("cpu"))
        self.assertIs(found[0], x)

    def test_arguments_in_another_memory_order(self):
        module, args = nn.Linear(3, 5), (torch.randn(4, 3),)
        runner = runner_of(imported_of(module, args))
        x = torch.randn(3, 4).t()
        with torch.no_grad():
            found = runner(module, [x], torch.device("cpu"))
            torch.testing.assert_close(found, module(x))

    def test_writes_into_arguments(self):
        class Adds(nn.Module):
            def forward(self, x, y):
                x.add_(y)
                return x * 2

        runner = runner_of(imported_of(Adds(), (torch.randn(4, 3), torch.randn(3))))
        x, y = torch.randn(3, 4).t(), torch.randn(3)  # another order in memory: by way of a copy
        expected = x + y
        found = runner(None, [x, y], torch.device("cpu"))
        torch.testing.assert_close(x, expected)
        torch.testing.assert_close(found, expected * 2)
        self.assertIsNone(runner.why_eager(None, [x, y]))
        both = torch.randn(15)
        self.assertIn("share memory", runner.why_eager(None, [both[:12].view(4, 3), both[12:]]))

    def test_every_recorded_module(self):
        """The modules of tests/pytorch: every operation that hone has."""
        for name, make in modules.ALL.items():
            torch.manual_seed(len(name))
            module, args = make()
            imported = imported_of(module, args)
            draws = _graph.draws(imported.program)
            if imported.whole is not None:
                self.assertEqual(draws, bool(imported.whole.draws), name)
            if not draws:
                with self.subTest(name):
                    self.agrees(module, args, imported=imported, exactly=False)

    def test_a_network_in_parts(self):
        for train in (False, True):
            module, args = Network().train(train), (torch.randn(96, 64),)
            imported = imported_of(module, args)
            self.assertIsNone(imported.whole)
            self.assertGreater(len(imported.parts), 3)
            self.assertLess(len({part.task_hash for part in imported.parts}), len(imported.parts))
            self.assertIn("linalg_svd", " ".join(name for name, _ in imported.left_out))
            self.agrees(module, args, imported=imported)
            # Only some parts have an operator.
            kernels = [kernel_of(imported, p) if i % 2 else None for i, p in enumerate(imported.parts)]
            some = _runtime.GraphRunner(imported, kernels)
            with torch.no_grad():
                found = some(copy.deepcopy(module), args, torch.device("cpu"))
                torch.testing.assert_close(found, copy.deepcopy(module)(*args))

    def test_tensors_that_hone_lacks(self):
        for name, (make, args, why) in LACKING.items():
            with self.subTest(name):
                module = make()
                imported = imported_of(module, args)
                self.assertIsNone(imported.whole)
                self.assertGreater(sum(len(part.nodes) for part in imported.parts), 0)
                self.assertIn(why, str(imported.left_out))
                self.agrees(module, args, imported=imported)

    def test_steps_that_cannot_run(self):
        imported = imported_of(Network(), (torch.randn(96, 64),))
        backwards = dataclasses.replace(imported, steps=imported.steps[::-1])
        with self.assertRaisesRegex(hone.HoneError, "is not known where it is read"):
            runner_of(backwards)
        steps = [step for step in imported.steps if step != len(imported.parts) - 1]
        with self.assertRaisesRegex(hone.HoneError, "no step|is not known"):
            runner_of(dataclasses.replace(imported, steps=steps))

    def test_a_choice_of_parts(self):
        module, args = Network().train(), (torch.randn(96, 64),)
        imported = imported_of(module, args)
        runner, asked = runner_of(imported), []

        def choose(index, ways):
            for _ in range(3):
                theirs = ways[_runtime.EAGER]()
                for name, value in ways[_runtime.OPERATOR]().items():
                    torch.testing.assert_close(value, theirs[name])
            asked.append(index)
            return _runtime.EAGER if index == 1 else _runtime.OPERATOR

        own, other = copy.deepcopy(module), copy.deepcopy(module)
        with torch.no_grad():
            found = runner(own, args, torch.device("cpu"), choose=choose)
            torch.testing.assert_close(found, other(*args))
            torch.testing.assert_close(own.state_dict(), other.state_dict())
            runner.settle()
            self.assertEqual(sorted(asked), list(range(len(imported.parts))))
            self.assertEqual(runner.dropped(), [1])
            torch.testing.assert_close(runner(own, args, torch.device("cpu")), other(*args))

    def test_parts_by_inductor(self):
        torch._dynamo.reset()
        module, args = Network().train(), (torch.randn(96, 64),)
        imported = imported_of(module, args)
        runner, made = runner_of(imported), []

        def choose(index, ways):
            if index > 1:
                return _runtime.OPERATOR
            compiled = ways[_runtime.INDUCTOR]()
            theirs = ways[_runtime.EAGER]()
            made.append(sorted(compiled))
            self.assertTrue(compiled)
            for name, value in compiled.items():
                torch.testing.assert_close(value, theirs[name])
                self.assertEqual(value.stride(), theirs[name].stride())
            return _runtime.INDUCTOR

        own, other = copy.deepcopy(module), copy.deepcopy(module)
        with torch.no_grad():
            close = functools.partial(torch.testing.assert_close, rtol=1e-3, atol=1e-2)
            close(runner(own, args, torch.device("cpu"), choose=choose), other(*args))
            runner.settle()
            self.assertEqual(runner.dropped(), [0, 1])
            close(own.state_dict(), other.state_dict())
            for _ in range(2):
                close(runner(own, args, torch.device("cpu")), other(*args))
        close(own.state_dict(), other.state_dict())
        self.assertEqual(len(made), 2)


if __name__ == "__main__":
    run_tests()
