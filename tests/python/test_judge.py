#!/usr/bin/env python3
"""Candidates of KernelBench's form, right ones and wrong ones.

    python3 tests/python/test_judge.py HONE_BINARY [unittest's arguments]"""
import contextlib
import io
import json
import os
import pathlib
import unittest

from support import FOLDER, run_tests, setUpModule

from hone import judge

PROBLEM = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear, self.norm = nn.Linear(width, 4), nn.BatchNorm1d(4)

    def forward(self, x, state):
        state.add_(1)
        return self.norm(torch.relu(self.linear(x))) + state

def get_inputs():
    return [torch.randn(16, 8), torch.zeros(4)]

def get_init_inputs():
    return [8]
"""
#: Its forward's text stands in {}.
CANDIDATE = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear, self.norm = nn.Linear(width, 4), nn.BatchNorm1d(4)
        self.known = {{}}

    def answer(self, x, state):
        state.add_(1)
        return self.norm((x @ self.linear.weight.t() + self.linear.bias).clamp_min(0)) + state

    def forward(self, x, state):
        {}
"""


class Judge(unittest.TestCase):
    def judged(self, text, *options):
        """(exit status, report)"""
        folder = pathlib.Path(FOLDER.name)
        (folder / "problem.py").write_text(PROBLEM)
        (folder / "candidate.py").write_text(text)
        files, out = [str(folder / "problem.py"), str(folder / "candidate.py")], io.StringIO()
        with contextlib.redirect_stdout(out):
            status = judge.main([*files, "--device", "cpu", "--json", "-", *options])
        return status, json.loads(out.getvalue())

    def wrong(self, forward, reason):
        status, report = self.judged(CANDIDATE.format(forward))
        self.assertEqual((status, report["right"]), (1, False), report)
        self.assertRegex("; ".join(str(row["wrong"]) for row in report["trials"]), reason)

    def test_a_right_one(self):
        status, report = self.judged(CANDIDATE.format("return self.answer(x, state)"))
        self.assertEqual((status, report["right"], report["weights"]), (0, True, "copied"), report)
        self.assertEqual((report["device"], len(report["trials"])), ("cpu", 6))
        for row in report["trials"]:
            self.assertLessEqual(row["error"], row["tolerance"])
            self.assertEqual(row["tolerance"], max(2 * row["eager_error"], 4 * 2.0**-23))

    def test_a_seed_repeats_the_inputs(self):
        text = CANDIDATE.format("return self.answer(x, state) * 1.001")
        first, second = self.judged(text)[1], self.judged(text)[1]
        self.assertNotEqual(first["trials"], second["trials"])
        again = self.judged(text, "--seed", str(first["seed"]))[1]
        self.assertEqual(again["trials"], first["trials"])

    def test_wrong_numbers(self):
        self.wrong("return self.answer(x, state) * (1 + 1e-5)", "error 1.0e-05, tolerance")
        self.wrong("y = self.answer(x, state); y[3, 2] += 0.01; return y", "error .*, tolerance")
        self.wrong("return self.answer(x, state).half()", "is torch.float16 .*not torch.float32")
        self.wrong("return self.answer(x, state)[:8]", r"\[8, 4\], not torch.float32 \[16, 4\]")
        self.wrong("y = self.answer(x, state); return y, y", "2 results, not 1")
        self.wrong("raise ValueError('not today')", "ValueError: not today")

    def test_what_it_writes(self):
        self.wrong("y = self.answer(x, state); x.zero_(); return y", "not left as Model leaves them")
        self.wrong("return self.answer(x, state.clone())", "not left as Model leaves them")
        self.wrong("y = self.answer(x, state); self.norm.running_mean.add_(1); return y", "not left")

    def test_answers_that_are_kept(self):
        by_place = "k = x.data_ptr(); y = self.known.setdefault(k, self.answer(x, state)); return y"
        self.wrong(by_place, "error .*, tolerance")
        one_buffer = "y = self.answer(x, state); return self.known.setdefault(0, y).copy_(y)"
        self.wrong(one_buffer, "changed the result of an earlier call")

    def test_other_names_of_weights(self):
        text = CANDIDATE.format("return self.answer(x, state)").replace("self.linear", "self.other")
        status, report = self.judged(text)
        self.assertEqual(status, 0, report)
        self.assertIn("not copied", report["weights"])
        self.assertEqual(self.judged(text.replace("state.add_(1)", "state = state + 1"))[0], 1)

    def test_files_that_do_not_load(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            path = os.path.join(FOLDER.name, "none.py")
            self.assertEqual(judge.main([path, path]), 2)
        self.assertRegex(said.getvalue(), r"^hone: .*none.py: does not load: .*\n$")
        with contextlib.redirect_stderr(said), self.assertRaises(json.JSONDecodeError):
            self.judged("class Other: pass")
        self.assertIn("candidate.py: does not load: module 'candidate' has no attribute", said.getvalue())

    def test_the_text_names_the_tolerance(self):
        row = {"error": 1e-3, "eager_error": 1e-6, "tolerance": 2e-6, "wrong": "error"}
        report = {"right": False, "device": "cpu", "seed": 7, "weights": "copied", "trials": [row]}
        text = judge.text_of(report)
        self.assertIn("WRONG on cpu, seed 7", text)
        self.assertIn("error 1.0e-03, eager PyTorch's 1.0e-06, tolerance 2.0e-06  WRONG: error", text)


if __name__ == "__main__":
    run_tests()
