#!/usr/bin/env python3
"""torch.compile(backend="hone") on the emulator: what is looked up and searched, and what stays PyTorch's.

    python3 tests/python/test_compile.py HONE_BINARY [unittest's arguments]"""
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from support import (
    DEVICE,
    ENDED,
    FOLDER,
    NOTHING,
    database,
    imported_of,
    kernel_of,
    nothing_faster,
    operator_of,
    run_tests,
    setUpModule,  # noqa: F401
)

import hone
import torch
from hone import _backend, _graph, _known, _math, _operator, _optimize, _runtime
from torch import nn
from torch.export.graph_signature import InputKind


class Compile(unittest.TestCase):
    def compiled(self, module, **options):
        torch._dynamo.reset()
        options = {"device": DEVICE, "db": database(), **options}
        return torch.compile(module, backend=hone.backend, options=options)

    def run_once(self, module, x, **options):
        with torch.no_grad():
            torch.testing.assert_close(self.compiled(module, **options)(x), module(x))
        return hone.compile_reports()[-1]

    def test_looks_up_and_searches_only_with_a_budget(self):
        module, x = nn.Sequential(nn.Linear(8, 6), nn.GELU()), torch.randn(5, 8)
        db = os.path.join(FOLDER.name, "compile.db")
        self.assertIn("nothing for this device", self.run_once(module, x, db=db).why_eager)
        self.assertFalse(os.path.exists(db))
        self.run_once(nn.Tanh(), x, db=db, budget="3")
        with mock.patch.object(_known, "export", wraps=_known.export) as export:
            self.assertIn("nothing for this graph", self.run_once(module, x, db=db).why_eager)
            self.assertEqual(export.call_count, 1)
            self.assertIn("nothing for this graph", self.run_once(module, x, db=db).why_eager)
            self.assertEqual(export.call_count, 1, "what was learnt was not remembered")
        report = self.run_once(module, x, db=db, budget="3", cache_only=True)
        self.assertIn("nothing for this graph", report.why_eager)
        searched = self.run_once(module, x, db=db, budget="6")
        self.assertEqual(len(searched.candidates), 1)
        self.assertIn("emulated", searched.why_eager)
        with mock.patch.object(_backend, "search") as search:
            self.assertEqual(self.run_once(module, x, db=db).candidates, searched.candidates)
            self.assertEqual(self.run_once(module, x, db=db, budget="6").candidates, searched.candidates)
            search.assert_not_called()

    def test_weights_have_numbers_like_weights(self):
        # TorchDynamo passes them as arguments; a variance that is drawn like one of those is negative.
        module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
        report = self.run_once(module, torch.randn(2, 3, 8, 8), budget="3")
        self.assertIsNotNone(report.parts[0].speedup)
        self.assertNotIn("finite", str(report.why_eager))
        names = {
            "l_self_modules_0_modules_bn1_buffers_running_var_": "l_self_modules_0_modules_bn1.running_var",
            "l_self_parameters_weight_": "l_self.weight",
            "l_x_": "l_x_",
        }
        self.assertEqual({name: _known._weight_name(name) for name in names}, names)

    def test_weights_stand_beside_constants(self):
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(4, 3)

            def forward(self, x):
                return self.linear(x * torch.tensor([1.0, 2.0, 3.0, 4.0]))

        with mock.patch.object(_known, "import_program", wraps=_known.import_program) as importing:
            self.run_once(Scaled(), torch.randn(2, 4), budget="3")
        program, weights = importing.call_args.args[0], importing.call_args.args[4]
        written = _graph._with_weights(program, weights)
        values = {n.name: n.meta["val"] for n in program.graph.nodes if n.op == "placeholder"}
        kinds = {}
        for spec in written.graph_signature.input_specs:
            kinds.setdefault(spec.kind, []).append(spec.target)
            if spec.target in written.state_dict:
                self.assertEqual(written.state_dict[spec.target].shape, values[spec.arg.name].shape)
        self.assertEqual(len(kinds[InputKind.PARAMETER]), 2)
        self.assertEqual(len(kinds[InputKind.USER_INPUT]), 1)
        self.assertEqual(len(kinds[InputKind.CONSTANT_TENSOR]), 1)

    def test_machine_code_is_kept(self):
        documents = [
            {"candidate": "c", "name": name, "arch": "sm_90", "given": {}, "buffers": [],
             "scratch_bytes": 0, "plan": "00ff"}
            for name in ("first", "second", "third", "fourth")
        ]
        with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, XDG_CACHE_HOME=home):
            with mock.patch.object(_operator, "run", side_effect=documents) as run:
                names = [_operator.kept_plan_of("c", "task", "sm_90", []).name for _ in range(2)]
                self.assertEqual((names, run.call_count), (["first", "first"], 1))
                self.assertEqual(_operator.kept_plan_of("c", "another", "sm_90", []).name, "second")
                kept = next(pathlib.Path(home).rglob("plans"))
                for file in kept.iterdir():
                    file.write_text("[]")
                self.assertEqual(_operator.kept_plan_of("c", "task", "sm_90", []).name, "third")
                kept.chmod(0o777)  # somebody else may have written it
                self.assertEqual(_operator.kept_plan_of("c", "task", "sm_90", []).name, "fourth")
        with mock.patch.object(_operator, "cache_folder", side_effect=OSError), mock.patch.object(
            _operator, "run", side_effect=documents
        ):
            self.assertEqual(_operator.kept_plan_of("c", "task", "sm_90", []).name, "first")

    def test_a_graph_that_is_no_faster_as_a_whole_stays_pytorchs(self):
        for times, replaced in (([1.0, 0.5], True), ([1.0, 0.99], False)):
            call, module, inputs, report = self.checked()
            report.parts = [hone.PartReport(2, "task", candidate="c", runs="hone")]
            call._device = mock.Mock(type="cuda")
            with torch.no_grad(), mock.patch.object(_backend, "medians_ms", return_value=times), mock.patch.object(
                _backend, "choose_parts"
            ), mock.patch("torch.cuda.device"):
                torch.testing.assert_close(call(*inputs), module(*inputs))
            self.assertEqual((report.replaced, report.after_ms), (replaced, times[1]))
            self.assertEqual(call._runner is not None, replaced)

    def test_what_was_chosen_is_not_timed_again(self):
        for decided in (mock.Mock(), None):
            call, module, inputs, report = self.checked(decided=decided)
            call._device = mock.Mock(type="cuda")
            with torch.no_grad(), mock.patch.object(call, "_is_faster", return_value=True) as timed:
                for _ in range(2):
                    torch.testing.assert_close(call(*inputs), module(*inputs))
            self.assertEqual(timed.call_count, int(decided is not None))
            if decided is not None:
                decided.assert_called_once_with()
            self.assertEqual((report.replaced, report.replaced_calls), (True, 2))

    def test_a_choice_is_remembered_for_its_candidates(self):
        graph, inputs = torch.fx.symbolic_trace(nn.ReLU()), (torch.randn(5, 8),)
        part = hone.PartReport(1, "task", candidate="c", runs="hone", before_ms=2.0)
        choice = _known.Choice([part], [("mul", "no kernel")], 2.0, 1.0, None)
        with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, XDG_CACHE_HOME=home):

            def known(gpu="a GPU", usual=None):
                found = _known.Known(graph, inputs, gpu)
                found.at(_math.Levels(usual), lambda: _math.Levels(usual))
                return found

            known().remember({"task": "c"}, choice)
            again = known().choice({"task": "c"})
            self.assertEqual(again.parts, [part])
            self.assertEqual((again.before_ms, again.after_ms, again.why_eager), (2.0, 1.0, None))
            self.assertEqual([tuple(left) for left in again.left_out], choice.left_out)
            self.assertIsNone(known().choice({"task": "another candidate"}))
            self.assertIsNone(known(gpu="another GPU").choice({"task": "c"}))
            self.assertIsNone(known(usual="exact").choice({"task": "c"}))
            for file in pathlib.Path(home).rglob("choices/*"):
                file.write_text('{"parts": [{"of": "another version"}]}')
            self.assertIsNone(known().choice({"task": "c"}))
        with mock.patch.object(_known, "cache_folder", side_effect=OSError):
            known().remember({"task": "c"}, choice)
            self.assertIsNone(known().choice({"task": "c"}))

    def test_whether_pytorch_uses_tf32_is_asked_once(self):
        graph, inputs = torch.fx.symbolic_trace(nn.ReLU()), (torch.randn(5, 8),)
        tf32 = _math.Levels(products="tf32")
        strict = tf32.without_tf32
        # Whether zeros are rounded nobody can tell: only that TF32 is used is remembered.
        for gpu, found, levels, times in (
            ("a GPU with it", tf32, tf32, 1), ("one without", strict, strict, 2), ("no memory", None, tf32, 2)
        ):
            ask = mock.Mock(return_value=found)
            for _ in range(2):
                known = _known.Known(graph, inputs, gpu)
                known.at(tf32, ask)
                self.assertEqual(known._levels, levels)
            self.assertEqual(ask.call_count, times)
        with mock.patch.dict(os.environ, NVIDIA_TF32_OVERRIDE="0"):
            ask = mock.Mock(return_value=strict)
            _known.Known(graph, inputs, "a GPU with it").at(tf32, ask)
            ask.assert_called_once_with()

    def test_what_cannot_be_tried_stays_pytorchs(self):
        call, module, inputs, report = self.checked()
        with torch.no_grad(), mock.patch.object(call._runner, "_as_function", side_effect=MemoryError("none")):
            torch.testing.assert_close(call(*inputs), module(*inputs))
        self.assertIn("MemoryError: none", report.why_eager)

    def test_a_part_that_is_refused_leaves_the_others(self):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(8, 6), nn.Linear(5, 4)

            def forward(self, x):
                x = torch.linalg.qr(torch.relu(self.first(x))).Q
                return torch.tanh(self.second(x.T))

        tasks = []

        def search(task, *rest, **options):
            tasks.append(task)
            if len(tasks) == 1:
                raise hone.HoneError("the reference is not usable", 1)
            return _optimize.search(task, *rest, **options)

        with mock.patch.object(_backend, "search", search):
            report = self.run_once(Two(), torch.randn(5, 8), budget="6")
        self.assertEqual(len(tasks), 2)
        self.assertEqual([part.why_eager for part in report.parts][:1], ["the reference is not usable"])
        self.assertIsNotNone(report.parts[1].speedup)

    def test_how_what_seemed_faster_ended_is_said(self):
        db = os.path.join(FOLDER.name, "ended.db")
        with mock.patch.object(_backend, "search", nothing_faster(ENDED)):
            report = self.run_once(nn.Linear(8, 6), torch.randn(4, 8), db=db, budget="3")
        self.assertEqual(report.why_eager, f"{NOTHING}; {ENDED}")

    def test_what_hone_does_not_have_runs_eagerly(self):
        class Svd(nn.Module):
            def forward(self, x):
                return torch.linalg.svdvals(x)

        report = self.run_once(Svd(), torch.randn(5, 8), budget="3")
        self.assertIn("linalg_svd", report.why_eager)

    def test_on_the_cpu_without_a_device(self):
        self.assertIn("on the CPU", self.run_once(nn.ReLU(), torch.randn(3), device=None).why_eager)

    def test_unknown_options(self):
        with self.assertRaisesRegex(Exception, "no option 'budgit'"):
            self.compiled(nn.ReLU(), budgit="3")(torch.randn(3))

    def checked(self, wrong=0.0, decided=lambda: None):
        module = nn.Sequential(nn.Linear(8, 6), nn.ReLU())
        inputs = (torch.randn(5, 8),)
        graph = torch.fx.symbolic_trace(module)
        imported = imported_of(graph, inputs)
        real = operator_of(imported, imported.parts[0])
        kernel = kernel_of(imported, imported.parts[0], lambda *buffers: real(*buffers) + wrong)
        runner = _runtime.GraphRunner(imported, [kernel])
        report = hone.Report("graph")
        return _backend._Checked(graph, runner, torch.device("cpu"), 1e-5, report, decided), module, inputs, report

    def test_the_first_call_is_compared(self):
        call, module, inputs, report = self.checked()
        call(*inputs).sum().backward()  # by PyTorch: a gradient is needed
        self.assertIn("gradient", report.last_eager_reason)
        self.assertIsNone(report.max_error)
        with torch.no_grad():
            torch.testing.assert_close(call(*inputs), module(*inputs))
        self.assertTrue(report.replaced)
        self.assertEqual(report.replaced_calls, 1)

    def test_a_graph_that_differs_stays_pytorchs(self):
        call, module, inputs, report = self.checked(wrong=1e-3)
        with torch.no_grad(), self.assertWarnsRegex(UserWarning, "differs from PyTorch"):
            torch.testing.assert_close(call(*inputs), module(*inputs))
            torch.testing.assert_close(call(*inputs), module(*inputs))
        self.assertFalse(report.replaced)
        self.assertEqual((report.replaced_calls, report.eager_calls), (0, 2))


if __name__ == "__main__":
    run_tests()
