#!/usr/bin/env python3
"""The level `tf32`: which tasks get it, and how far their answers may be off.

    python3 tests/python/test_tf32.py HONE_BINARY [unittest's arguments]"""
import tempfile
import types
import unittest

from support import FOLDER, database, run_tests, setUpModule

import hone
import torch
from hone import _binary, _graph, kernelbench
from hone._math import (
    Levels,
    convolutions_use_tf32,
    exact_f32,
    levels_of,
    products_use_tf32,
    recurrent_use_tf32,
)
from hone._verify import levels_as_run, verify_replaced
from torch import nn


class ConvolutionAndLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.linear = nn.Conv2d(3, 4, 3), nn.Linear(144, 5)

    def forward(self, x):
        return self.linear(self.convolution(x).flatten(1))


def rounded_linear(linear, x, dropped):
    """The operands rounded to nearest, ties away, without so many of their last bits."""
    if dropped == 0:
        return nn.functional.linear(x, linear.weight, linear.bias)

    def short(t):
        bits = t.contiguous().view(torch.int32) + (1 << (dropped - 1))
        return (bits >> dropped << dropped).view(torch.float32)

    return nn.functional.linear(short(x), short(linear.weight), linear.bias)


class Switched(nn.Linear):
    """On the CPU what a convolution is on a GPU: in TF32 where PyTorch's switch says so."""

    def forward(self, x):
        on = convolutions_use_tf32() and x.dtype == torch.float32
        return rounded_linear(self, x, 13 if on else 0)


class Always(nn.Linear):
    def __init__(self, inputs, outputs, dropped):
        super().__init__(inputs, outputs)
        self.dropped = dropped

    def forward(self, x):
        return rounded_linear(self, x, self.dropped)


class Tf32(unittest.TestCase):
    """PyTorch's switches decide where the caller does not."""

    X = (torch.randn(2, 3, 8, 8),)

    def setUp(self):
        self.addCleanup(self.switches, True, False)  # PyTorch's defaults

    def switches(self, convolutions, products):
        torch.backends.cudnn.allow_tf32 = convolutions
        torch.backends.cuda.matmul.allow_tf32 = products

    def test_levels_follow_the_switches(self):
        default = Levels(convolutions="tf32", products="tf32x3", recurrent="tf32")
        for device in ("cuda:0", "emu:sm_90"):
            self.assertEqual(levels_of(None, device), default)
            self.assertEqual(levels_of("exact", device), Levels(usual="exact"))
        self.assertEqual(levels_of(None, None), Levels())  # a module on the CPU
        self.switches(False, False)
        self.assertEqual(levels_of(None, "cuda:0"), Levels(convolutions="tf32x3", products="tf32x3", recurrent="tf32x3"))
        torch.set_float32_matmul_precision("high")
        self.addCleanup(torch.set_float32_matmul_precision, "highest")
        self.assertEqual(
            levels_of(None, "cuda:0"),
            Levels(convolutions="tf32x3", products="tf32", recurrent="tf32x3"),
        )

    def test_tasks_get_the_level_of_what_is_in_them(self):
        cases = [
            (nn.Conv2d(3, 4, 3), self.X, (True, False), "tf32"),
            (nn.Conv2d(3, 4, 3), self.X, (False, True), "tf32x3"),
            (nn.Conv2d(3, 4, 3).double(), (self.X[0].double(),), (True, True), "reassociate"),
            (nn.Linear(8, 4), self.X, (True, False), "tf32x3"),
            (nn.Linear(8, 4), self.X, (False, True), "tf32"),
            (nn.LSTM(8, 4), (torch.randn(3, 2, 8),), (True, False), "tf32"),
            (nn.GRU(8, 4), (torch.randn(3, 2, 8),), (False, True), "tf32x3"),
            (nn.LSTMCell(8, 4), (torch.randn(2, 8),), (False, True), "tf32"),
            (nn.LSTM(8, 4).double(), (torch.randn(3, 2, 8).double(),), (True, True), "reassociate"),
            (nn.ReLU(), self.X, (True, True), "reassociate"),
            (ConvolutionAndLinear(), self.X, (True, False), "tf32"),
        ]
        for module, args, switches, level in cases:
            self.switches(*switches)
            with tempfile.TemporaryDirectory(dir=FOLDER.name) as folder:
                program = _graph.export(module, args, {})
                levels = levels_of(None, "emu:sm_90")
                imported = _graph.import_program(program, folder, "module", levels)
                found = {part.math for part in imported.parts}
                self.assertEqual(found, {level}, (module, switches))
                task = _binary.run("describe", imported.parts[0].task)
                self.assertEqual(task["math"], level)

    def test_a_network_has_a_level_for_each_part(self):
        network = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(2048, 64),
            nn.LayerNorm(64), nn.Linear(64, 64), nn.Softmax(-1), nn.LayerNorm(64),
        )
        program = _graph.export(network, (torch.randn(2, 3, 20, 20),), {})
        with tempfile.TemporaryDirectory(dir=FOLDER.name) as folder:
            imported = _graph.import_program(program, folder, "network", Levels(convolutions="tf32"))
        self.assertGreater(len(imported.parts), 1)
        for part in imported.parts:
            convolves = any(node.startswith("conv") for node in part.nodes)
            self.assertEqual(part.math, "tf32" if convolves else "reassociate", part.nodes)

    def test_the_search_takes_tf32_where_it_may(self):
        module, x = nn.Conv2d(16, 32, 3, bias=False).eval(), torch.randn(2, 16, 18, 18)
        for switch in (True, False):
            self.switches(switch, False)
            fast = hone.optimize(module, (x,), budget="20", device="emu:sm_90", db=database())
            (part,) = hone.report(fast).parts
            self.assertEqual(part.math == "tf32", switch, part.math)
            self.assertEqual(part.max_error > 1e-5, switch)

    def test_an_answer_may_be_off_by_twice_what_pytorchs_is(self):
        module, args = Switched(64, 8).eval(), (torch.randn(4, 64),)

        def verified(dropped, tf32):
            generator = torch.Generator().manual_seed(3)

            def call(m, given, _):
                return rounded_linear(m, given[0], dropped)

            return verify_replaced(call, module, (args, {}), 1e-5, generator, tf32=tf32)

        self.assertLess(verified(0, tf32=False), 1e-5)
        self.assertGreater(verified(13, tf32=True), 1e-5)
        with self.assertRaises(hone.ImportDiffers):  # the level does not let it
            verified(13, tf32=False)
        with self.assertRaises(hone.ImportDiffers):  # as bf16: eight times as far off
            verified(16, tf32=True)
        self.switches(False, False)
        with self.assertRaises(hone.ImportDiffers):  # nor does PyTorch
            verified(13, tf32=True)

    def test_what_does_not_round_gets_no_tf32(self):
        levels = Levels(convolutions="tf32", products="tf32x3", recurrent="tf32")
        x = torch.randn(64, 32)
        switched, exact = Switched(32, 16), nn.Linear(32, 16)
        calls = []

        def run(module):
            calls.append(convolutions_use_tf32())
            return [module(x), 3]

        self.assertEqual(levels_as_run(levels, lambda: run(switched)), levels)
        strict = Levels(convolutions="tf32x3", products="tf32x3", recurrent="tf32x3")
        self.assertEqual(levels_as_run(levels, lambda: run(exact)), strict)
        self.assertEqual(calls, [True, False] * 2)
        # A module that raises is the search's to report.
        self.assertIsNone(levels_as_run(levels, lambda: 1 / 0))

    def test_only_what_may_round_is_asked(self):
        def nodes(module, *shape):
            return torch.export.export(module, (torch.randn(*shape),)).graph.nodes

        default = Levels(convolutions="tf32", products="tf32x3", recurrent="tf32")
        products = Levels(convolutions="tf32x3", products="tf32", recurrent="tf32x3")
        for module, shape, expected in (
            (nn.Conv2d(3, 4, 3), (1, 3, 8, 8), (True, False)),
            (nn.LSTM(3, 4), (2, 1, 3), (True, False)),
            (nn.Linear(3, 4), (2, 3), (False, True)),
            (nn.ReLU(), (2, 3), (False, False)),
        ):
            found = tuple(levels.may_round(nodes(module, *shape)) for levels in (default, products))
            self.assertEqual(found, expected, module)
        self.assertFalse(Levels(usual="tf32").may_round(nodes(nn.Conv2d(3, 4, 3), 1, 3, 8, 8)))
        traced = torch.fx.symbolic_trace(nn.Sequential(nn.Conv2d(3, 4, 3)))
        self.assertTrue(default.may_round(traced.graph.nodes))  # it calls a module

    def test_kernelbench_asks_what_pytorch_is_off_by(self):
        loaded = types.SimpleNamespace(model=Switched(64, 8).eval(), device=torch.device("cpu"))
        loaded.trial = lambda trial, seed: (
            torch.randn(4, 64, generator=torch.Generator().manual_seed(seed)),
        )

        def right(dropped, tf32):
            fast = Always(64, 8, dropped)
            fast.load_state_dict(loaded.model.state_dict())
            return kernelbench.judge(loaded, fast, tf32)["right"]

        self.assertTrue(right(0, False))
        self.assertTrue(right(13, True))
        self.assertFalse(right(13, False))
        self.assertFalse(right(16, True))

    def test_both_names_of_the_switches_count(self):
        conv, product = torch.backends.cudnn.conv, torch.backends.cuda.matmul
        kept = [(s, s.fp32_precision) for s in (conv, torch.backends.cudnn.rnn, product)]
        self.addCleanup(lambda: [setattr(s, "fp32_precision", value) for s, value in kept])
        self.assertTrue(convolutions_use_tf32())
        with exact_f32():
            self.assertFalse(convolutions_use_tf32())
        self.assertTrue(convolutions_use_tf32())
        self.assertTrue(recurrent_use_tf32())
        torch.backends.cudnn.rnn.fp32_precision = "ieee"
        self.assertFalse(recurrent_use_tf32())
        conv.fp32_precision, product.fp32_precision = "ieee", "tf32"
        with self.assertRaises(RuntimeError):  # which is why the older names are not read
            torch.backends.cuda.matmul.allow_tf32
        self.assertFalse(convolutions_use_tf32())
        self.assertTrue(products_use_tf32())
        with exact_f32():
            self.assertFalse(products_use_tf32())
        self.assertTrue(products_use_tf32())


if __name__ == "__main__":
    run_tests()
