#!/usr/bin/env python3
"""What of a module is noticed when it changes, and that nothing else is.

    python3 tests/python/test_watch.py HONE_BINARY [unittest's arguments]"""
import copy
import gc
import unittest
import weakref

from support import run_tests, setUpModule  # noqa: F401

import torch
from hone import _watch
from torch import nn


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU())
        self.scale, self.one, self.other = 1, 0.5, 0.5
        self.sizes = [1, 2]

    def forward(self, x):
        return self.layers(x) * self.scale


def tie(module):
    module.layers[0].bias.data = module.layers[1].bias.data


def rename(module):
    value = module.__dict__.pop("sizes")
    module.heights = value


class Watch(unittest.TestCase):
    def test_changes_are_noticed(self):
        changes = {
            "a mode": lambda m: m.eval(),
            "a submodule's mode": lambda m: m.layers[1].eval(),
            "a number": lambda m: setattr(m, "scale", 2),
            "its type": lambda m: setattr(m, "scale", 1.0),
            "its name": rename,
            "a new attribute": lambda m: setattr(m, "more", None),
            "one fewer": lambda m: delattr(m, "other"),
            "a submodule": lambda m: m.layers.__setitem__(2, nn.GELU()),
            "one more": lambda m: m.layers.append(nn.ReLU()),
            "its class": lambda m: setattr(m.layers[2], "__class__", nn.SiLU),
            "a parameter": lambda m: setattr(m.layers[0], "weight", nn.Parameter(torch.zeros(4, 4))),
            "its memory": tie,
            "its type by data": lambda m: m.half(),
            "its strides": lambda m: setattr(m.layers[0].weight, "data", m.layers[0].weight.data.t()),
            "a buffer": lambda m: m.layers[1].register_buffer("running_mean", torch.ones(4)),
            "a first buffer": lambda m: m.layers[0].register_buffer("more", torch.ones(4)),
            "a hook": lambda m: m.layers[0].register_forward_hook(lambda *_: None),
            "a hook before": lambda m: m.register_forward_pre_hook(lambda *_: None),
        }
        for name, change in changes.items():
            module = Module()
            watch = _watch._HoneWatch(module)
            self.assertTrue(watch.is_unchanged())
            change(module)
            self.assertFalse(watch.is_unchanged(), name)
            self.assertTrue(_watch._HoneWatch(module).is_unchanged(), name)

    def test_what_a_call_does_is_no_change(self):
        module = Module()
        watch = _watch._HoneWatch(module)
        module(torch.randn(3, 4)).sum().backward()  # running means, gradients
        torch.optim.SGD(module.parameters(), 0.1).step()
        module.load_state_dict(Module().state_dict())
        module.to("cpu").float().train()
        self.assertTrue(watch.is_unchanged())

    def test_tensors_by_all_their_names(self):
        module = Module()
        module.layers[1].bias = module.layers[0].bias
        watch = _watch._HoneWatch(module)
        self.assertIs(watch.state["layers.0.bias"], watch.state["layers.1.bias"])
        self.assertIn("layers.1.running_var", watch.state)
        self.assertEqual(len(watch.tensors), len(watch.state) - 1)

    def test_what_is_known_is_of_one_module_and_goes_with_it(self):
        memory, module = _watch._HoneMemory(), Module()
        watch, known = memory.of(module)
        known["a"] = 1
        self.assertEqual(memory.of(module), (watch, {"a": 1}))
        self.assertIs(memory.last(module), watch)
        self.assertEqual(memory.of(copy.deepcopy(module))[1], {})
        module.eval()
        self.assertEqual(memory.of(module)[1], {})
        gone = weakref.ref(module)
        del module, watch, known
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    run_tests()
