#!/usr/bin/env python3
"""Candidates of KernelBench's form, right ones and wrong ones.

    python3 tests/python/test_judge.py HONE_BINARY [unittest's arguments]"""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import unittest

from support import FOLDER, run_tests, setUpModule

import torch
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
#: What get_inputs gives stands in {inputs}.
SIMPLE = """
import torch
from torch import nn

class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, *given):
        {forward}

def get_inputs():
    {inputs}

def get_init_inputs():
    return []
"""


def simple(forward, inputs="return [torch.randn(16, 8)]", init="pass", name="Model"):
    return SIMPLE.format(name=name, init=init, forward=forward, inputs=inputs)


def simple_new(forward, init="pass"):
    return simple(forward, init=init, name="ModelNew")


class Judge(unittest.TestCase):
    def files(self, text, problem):
        folder = pathlib.Path(FOLDER.name)
        (folder / "problem.py").write_text(problem)
        (folder / "candidate.py").write_text(text)
        return [str(folder / "problem.py"), str(folder / "candidate.py"), "--device", "cpu"]

    def judged(self, text, *options, problem=PROBLEM):
        """(exit status, report) in this process; of status 2 the report is the message"""
        path = os.path.join(FOLDER.name, "report.json")
        status = judge.main([*self.files(text, problem), "--child", path, *options])
        with open(path) as file:
            report = json.load(file)
        return status, report["failure"] if status == 2 else report

    def command(self, text, *options, problem=PROBLEM):
        """The whole command, in a process of its own."""
        command = [sys.executable, "-m", "hone.judge", *self.files(text, problem), *options]
        path = str(pathlib.Path(judge.__file__).parents[1])
        return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)

    def right(self, text, problem):
        status, report = self.judged(text, problem=problem)
        self.assertEqual(status, 0, report)
        self.assertTrue(report["right"])
        return report

    def wrong_of(self, text, problem, reason):
        status, report = self.judged(text, problem=problem)
        self.assertEqual(status, 1, report)
        self.assertRegex("; ".join(str(row["wrong"]) for row in report["trials"]), reason)

    def unjudged(self, text, problem, reason, *options):
        status, message = self.judged(text, *options, problem=problem)
        self.assertEqual(status, 2, message)
        self.assertRegex(message, reason)
        self.assertNotIn("\n", message)

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
        self.assertIn("not copied, made by the same seed: only Model has linear.weight", report["weights"])
        self.assertEqual(
            report["state"],
            "compared, but not Model's linear.weight, linear.bias and ModelNew's other.weight, other.bias",
        )
        self.assertEqual(self.judged(text.replace("state.add_(1)", "state = state + 1"))[0], 1)
        spoilt = text.replace("y = ", "").replace(
            "return self.answer", "self.norm.running_mean.add_(1); return self.answer"
        )
        self.assertEqual(self.judged(spoilt)[0], 1)

    def test_one_more_buffer(self):
        more = "self.known = {}; self.register_buffer('scratch', torch.zeros(3), persistent=False)"
        text = CANDIDATE.format("y = self.answer(x, state); self.scratch.add_(1); return y")
        text = text.replace("self.known = {}", more)
        status, report = self.judged(text)
        self.assertEqual(status, 0, report)
        self.assertEqual(report["weights"], "copied")
        self.assertEqual(report["state"], "compared, but not ModelNew's scratch")
        status, report = self.judged(text.replace("self.scratch.add_(1)", "self.norm.running_mean.add_(1)"))
        self.assertEqual(status, 1, report)
        self.assertIn("norm.running_mean", report["trials"][0]["wrong"])

    def test_a_buffer_that_a_state_dict_lacks_begins_anew(self):
        init = "self.register_buffer('calls', torch.zeros(()), persistent=False)"
        forward = "self.calls += 1; return given[0] + self.calls"
        report = self.right(simple_new(forward, init), simple(forward, init=init))
        self.assertEqual(report["state"], "compared")
        unchanged = simple_new("return given[0] + self.calls + 1", init)
        self.wrong_of(unchanged, simple(forward, init=init), "calls")

    def test_a_buffer_that_grows(self):
        init = "self.register_buffer('cache', torch.zeros(1, 8))"
        forward = "self.cache = torch.cat([self.cache, given[0]]); return self.cache.sum(0)"
        self.right(simple_new(forward, init), simple(forward, init=init))

    def test_weights_are_copied_all_or_none(self):
        init = "self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 4)"
        other = "self.b, self.a = nn.Linear(8, 3), nn.Linear(8, 8)"
        problem = simple("return self.a(given[0])", init=init)
        status, report = self.judged(simple_new("return self.a(given[0])", other), problem=problem)
        self.assertIn("not copied, made by the same seed: b.weight is [3, 8], not [4, 8]", report["weights"])
        self.assertEqual(status, 1, report)

    def test_random_numbers_are_drawn_alike(self):
        init = "self.drop = nn.Dropout(0.5)"
        problem = simple("return self.drop(given[0])", init=init)
        report = self.right(simple_new("return self.drop(given[0])", init), problem)
        self.assertLess(report["trials"][0]["tolerance"], 1e-5)
        self.wrong_of(simple_new("return torch.zeros_like(given[0])"), problem, "error .*, tolerance")

    def test_a_model_that_cannot_be_judged(self):
        zeros = simple_new("return torch.zeros_like(given[0])")
        wide = "given[0].dtype == torch.float64"
        for forward, reason in (
            (f"return given[0] * (1 if {wide} else 1.2)", "differ by 2.0e-01: cannot be judged"),
            (f"return given[0] * (1 if {wide} else float('nan'))", "differ by inf: cannot be judged"),
            ("return given[0].tolist()", "no tensor: cannot be judged"),
        ):
            with self.subTest(forward):
                self.unjudged(zeros, simple(forward), reason)
        half = "return [torch.randn(16, 8, dtype=torch.bfloat16)]"
        loose = f"return given[0] * (1 if {wide} else 1.2)"
        self.wrong_of(zeros, simple(loose, half), r"error 1.0e\+00, tolerance [34]")
        self.right(simple_new("return given[0]"), simple(loose, half))
        self.unjudged(zeros, simple(loose.replace("1.2", "1.3"), half), "cannot be judged")
        short = "return [torch.randn(16, 8).to(torch.float8_e5m2)]"
        forward = "return given[0].float().to(torch.float8_e5m2)"
        none = forward.replace("float()", "float().mul(0)")
        self.right(simple_new(forward), simple(forward, short))
        self.wrong_of(simple_new(none), simple(forward, short), "tolerance 5.0e-01")

    def test_the_state_has_the_same_tolerance(self):
        init = "self.register_buffer('mean', torch.ones(8))"
        model = "self.mean.mul_(2); return given[0] * (1 if given[0].dtype == torch.float64 else 1.05)"
        problem = simple(model, init=init)
        self.right(simple_new("self.mean.mul_(2.1); return given[0]", init), problem)
        self.wrong_of(simple_new("self.mean.mul_(0); return given[0]", init), problem, "mean")

    def test_candidates_that_end_the_process(self):
        problem = simple("return given[0] + 1")
        self.wrong_of(simple_new("import sys; sys.exit(0)"), problem, "SystemExit: 0")
        self.wrong_of("import sys; sys.exit(0)", problem, "SystemExit: 0")
        for text in (simple_new("import os; os._exit(0)"), "import os; os._exit(0)"):
            done = self.command(text, "--json", "-", problem=problem)
            self.assertEqual(done.returncode, 1, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual(report["trials"], [{"wrong": "it ended the process with status 0"}])
            self.assertIs(report["right"], False)
        done = self.command(simple_new("return given[0] + 1"), problem="import os; os._exit(0)")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "hone: Model ended the process with status 0: nothing was judged\n")

    def test_the_command(self):
        text = simple_new("print('said'); import os; os.system('echo echoed'); return given[0] + 1")
        done = self.command(text, "--json", "-", problem=simple("return given[0] + 1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIs(json.loads(done.stdout)["right"], True)
        self.assertIn("said", done.stderr)
        self.assertIn("echoed", done.stderr)
        done = self.command(text, "--json", "/nowhere/report.json", problem=simple("return given[0] + 1"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"hone: --json /nowhere/report.json: No such file or directory\n$")
        self.assertNotIn("Traceback", done.stderr)
        self.assertRegex(done.stdout, "^right on cpu, seed .*\nweights: copied\nstate: compared\ntrial 0: ")

    def test_inputs_are_renewed(self):
        shapes = "n = int(torch.randint(2, 99, ())); return [torch.randn(n, 8), n, [torch.randn(n)]]"
        forward = "x, n, y = given; return (x * n).sum(1) + y[0]"
        self.right(simple_new(forward), simple(forward, shapes))
        types = "t = [torch.float32, torch.float64][int(torch.randint(2, ()))]; return [torch.randn(8).to(t)]"
        self.right(simple_new("return given[0] * 2"), simple("return given[0] + given[0]", types))
        for inputs in (
            "x = torch.randn(8); return [x, x]",
            "return [torch.randn(1).expand(8), torch.randn(8)]",
            "return [nn.Linear(8, 8)(torch.ones(8)), nn.Parameter(torch.ones(8))]",
        ):
            with self.subTest(inputs):
                problem = simple("return 2 * given[0] + given[1]", inputs)
                self.right(simple_new("return given[0] * 2 + given[1]"), problem)

    def test_inputs_come_in_the_same_memory(self):
        by_place = "y = given[0] + given[1]; return self.__dict__.setdefault(str(given[0].data_ptr()), y)"
        changing = "n = int(torch.randint(2**20, ())); return [*torch.randn(2, 8), torch.randn(n)]"
        problem = simple("return given[0] + given[1]", changing)
        self.wrong_of(simple_new(by_place), problem, "error .*, tolerance")

    def test_results_that_are_the_arguments(self):
        for forward in ("return given[0]", "return given[0].relu_()", "return given[0].t()[2:]"):
            with self.subTest(forward):
                self.right(simple_new(forward), simple(forward))
        init = "self.register_buffer('calls', torch.zeros(4))"
        forward = "self.calls += given[0].sum(); return self.calls"
        self.right(simple_new(forward, init), simple(forward, init=init))
        fresh = simple(forward + " + 0", init=init)
        self.wrong_of(simple_new(forward, init), fresh, "changed the result of an earlier call")

    def test_a_result_without_dimensions(self):
        self.right(simple_new("return given[0].sum()"), simple("return given[0].sum()"))

    def test_nothing_was_judged(self):
        text = simple_new("return given[0] + 1")
        problem = simple("return given[0] + 1")
        self.unjudged(text, simple("raise ValueError('not today')"), "problem.py: ValueError: not today")
        self.unjudged(text, simple("pass", "raise ValueError('none')"), "problem.py: ValueError: none")
        self.unjudged(text, simple("pass", init="import sys; sys.exit(0)"), "problem.py: SystemExit: 0")
        self.unjudged(text, problem, "--trials 0: one is the least", "--trials", "0")
        self.unjudged(text, problem, "--device nonsense: ", "--device", "nonsense")
        self.unjudged(text, problem, "--seed 9{30}: ", "--seed", "9" * 30)

    def test_files_that_do_not_load(self):
        path = os.path.join(FOLDER.name, "none.py")
        said, out = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(out):
            self.assertEqual(judge.main([path, path]), 2)
        self.assertRegex(said.getvalue(), r"^hone: .*none.py: does not load: .*\n$")
        self.assertEqual(out.getvalue(), "")
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(out):
            files = self.files("class Other: pass", PROBLEM)
            self.assertEqual(judge.main([*files, "--json", "-"]), 2)
        no_name = r"^hone: .*candidate.py: does not load: module 'candidate' has no attribute .*\n$"
        self.assertRegex(said.getvalue(), no_name)
        self.assertEqual(out.getvalue(), "")

    def test_the_text_names_the_tolerance(self):
        row = {"error": 1e-3, "eager_error": 1e-6, "tolerance": 2e-6, "wrong": "error"}
        report = {"right": False, "device": "cpu", "seed": 7, "weights": "copied", "state": "compared"}
        report["trials"] = [row]
        text = judge.text_of(report)
        self.assertIn("WRONG on cpu, seed 7\nweights: copied\nstate: compared\n", text)
        self.assertIn("error 1.0e-03, eager PyTorch's 1.0e-06, tolerance 2.0e-06  WRONG: error", text)


if __name__ == "__main__":
    run_tests()
