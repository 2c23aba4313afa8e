#!/usr/bin/env python3
"""Modules in, faster ones out: the Python package on the emulator, and its page's examples.

    python3 tests/python/test_package.py HONE_BINARY [unittest's arguments]"""
import contextlib
import copy
import io
import os
import re
import tempfile
import unittest
from unittest import mock

from support import (
    DEVICE,
    ENDED,
    FOLDER,
    LACKING,
    NOTHING,
    ROOT,
    Network,
    Small,
    database,
    imported_of,
    kernel_of,
    nothing_faster,
    operator_of,
    run_tests,
    setUpModule,  # noqa: F401
    small,
)

import hone
import torch
from hone._graph import DTYPES
from hone import _binary, _optimize, _runtime, _timing, _verify
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.flop_counter import FlopCounterMode


class Optimize(unittest.TestCase):
    def optimized(self, module, args, kwargs=None, **options):
        options = {"budget": "4", "device": DEVICE, "db": database(), "inductor": False, **options}
        return hone.optimize(module, args, kwargs, **options)

    @contextlib.contextmanager
    def on_a_gpu(self, times=(2.0, 1.0, 1.5), wrong=0.0):
        """As if the CPU were a GPU that has the operators. times: by PyTorch, hone and Inductor."""
        def runner(imported, parts, db):
            self.calls = 0

            def counted(operator):
                def call(*buffers):
                    self.calls += 1
                    result = operator(*buffers)
                    return result + wrong if isinstance(result, torch.Tensor) else result

                return call

            return _runtime.GraphRunner(
                imported,
                [
                    kernel_of(imported, part, counted(operator_of(imported, part)))
                    if found.candidate
                    else None
                    for part, found in zip(imported.parts, parts)
                ],
            )

        with mock.patch.object(_optimize, "operator_runner", runner), mock.patch.object(
            _optimize, "_why_eager", lambda report, where: None
        ), contextlib.ExitStack() as stack:
            for place in (_optimize, _timing):
                stack.enter_context(
                    mock.patch.object(place, "medians_ms", lambda functions: list(times[: len(functions)]))
                )
            yield

    def test_what_a_call_may_depend_on_is_guarded(self):
        class Attributes(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear, self.act, self.alpha = nn.Linear(8, 6), nn.ReLU(), 1.5

            def forward(self, x):
                return self.act(self.linear(x)) * self.alpha

        x = torch.randn(4, 8)
        for change in (
            lambda m: setattr(m, "alpha", 2.0),
            lambda m: setattr(m, "act", nn.GELU()),
            lambda m: m.linear.register_forward_hook(lambda *_: None),
        ):
            module = Attributes()
            with self.on_a_gpu():
                fast = self.optimized(module, (x,))
            with torch.no_grad():
                fast(x)
                self.assertEqual(hone.report(fast).replaced_calls, 1)
                change(fast)
                torch.testing.assert_close(fast(x), fast.act(fast.linear(x)) * fast.alpha)
            self.assertEqual(hone.report(fast).replaced_calls, 1)

    def test_hooks_and_tensors_of_the_modules_own_stay_pytorchs(self):
        module, x = nn.Linear(8, 6), torch.randn(4, 8)
        module.register_forward_hook(lambda m, a, out: out * 2)
        with self.on_a_gpu(), torch.no_grad():
            fast = self.optimized(module, (x,))
            torch.testing.assert_close(fast(x), module(x))
        self.assertIn("hooks", hone.report(fast).why_eager)

        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.total = torch.zeros(4, 8)

            def forward(self, x):
                self.total.add_(x)
                return self.total.exp()

        module = Counts()
        with self.on_a_gpu():
            fast = self.optimized(module, (x,))
        self.assertFalse(hone.report(fast).replaced)
        self.assertEqual(float(module.total.abs().max()), 0)

    def test_on_the_emulator_it_is_searched_and_stays_eager(self):
        module, args, kwargs = small()
        fast = self.optimized(module, args, kwargs)
        report = hone.report(fast)
        self.assertFalse(report.replaced)
        self.assertTrue(report.modelled)
        self.assertIn("emulated", report.why_eager)
        self.assertEqual(len(report.candidates), 1)
        self.assertLess(report.parts[0].best_ms, report.parts[0].reference_ms)
        self.assertLess(report.import_error, 1e-4)
        self.assertIn(report.candidates[0], str(report))
        torch.testing.assert_close(fast(*args, **kwargs), module(*args, **kwargs))
        with self.assertRaisesRegex(TypeError, "no module"):
            hone.report(module)

    def test_state_is_shared(self):
        module, args, kwargs = small()
        with self.on_a_gpu():
            fast = self.optimized(module, args, kwargs)
        self.assertIsInstance(fast, Small)
        mine, theirs = fast.state_dict(keep_vars=True), module.state_dict(keep_vars=True)
        self.assertEqual(list(mine), list(theirs))
        self.assertTrue(all(mine[name] is theirs[name] for name in mine))
        other, _, _ = small()
        fast.load_state_dict(other.state_dict())
        with torch.no_grad():
            found = fast(*args, **kwargs)
            self.assertEqual(hone.report(fast).replaced_calls, 1)
            torch.testing.assert_close(found, other(*args, **kwargs))
            torch.testing.assert_close(copy.deepcopy(fast)(*args, **kwargs), found)

    def test_other_calls_are_pytorchs(self):
        module, (x,), kwargs = small()
        with self.on_a_gpu():
            fast = self.optimized(module, (x,), kwargs)
        report = hone.report(fast)

        def eager(reason, *args, **more):
            calls = self.calls
            found = fast(*args, **more)
            self.assertEqual(self.calls, calls, "the operator ran")
            self.assertRegex(report.last_eager_reason, reason)
            torch.testing.assert_close(found, module(*args, **more))
            return found

        eager("gradient", x, **kwargs)["y"].sum().backward()
        self.assertIsNotNone(module.linear.weight.grad)
        with torch.no_grad():
            eager("shape", torch.randn(5, 8), **kwargs)
            eager("structure", scale=kwargs["scale"], x=x)
            with torch.autocast("cpu"):
                eager("autocast", x, **kwargs)
            hook = fast.linear.register_forward_hook(lambda *_: None)
            eager("hook", x, **kwargs)
            hook.remove()
            fast.train()
            self.assertTrue(fast.training and fast.norm.training)
            module.train()
            calls = self.calls
            fast(x, **kwargs)
            self.assertEqual(self.calls, calls)
            self.assertRegex(report.last_eager_reason, "mode")
            fast.eval()
            fast(x, **kwargs)
            self.assertEqual(self.calls, calls + 1)
            module.double()
            kwargs["scale"] = kwargs["scale"].double()
            module.eval()
            eager("type", x.double(), **kwargs)

    def test_what_transforms_or_records_a_call_gets_pytorchs(self):
        """Kernels have no batching rule and no derivatives, and are seen by no tracer."""
        module = nn.Sequential(nn.Linear(8, 6), nn.GELU()).eval().requires_grad_(False)
        x, along = torch.randn(4, 8), torch.randn(4, 8)
        with self.on_a_gpu():
            fast = self.optimized(module, (x,))
        self.assertTrue(hone.report(fast).replaced, str(hone.report(fast)))
        parameters = dict(module.named_parameters())
        ways = {
            "torch.func": [
                lambda m: torch.func.vmap(m)(torch.stack([x, along])),
                lambda m: torch.func.grad(lambda v: m(v).sum())(x),
                lambda m: torch.func.jvp(m, (x,), (along,)),
                lambda m: torch.func.vjp(m, x)[1](torch.ones(4, 6)),
                lambda m: torch.func.functionalize(m)(x),
                lambda m: torch.func.grad(lambda p: torch.func.functional_call(m, p, (x,)).sum())(parameters),
                lambda m: torch.func.vmap(lambda p: torch.func.functional_call(m, p, (x,)))(
                    {name: torch.stack([p, 2 * p]) for name, p in parameters.items()}
                ),
            ],
            "forward mode": [lambda m: self.forward_mode(m, x, along)],
            "TorchDispatchMode": [
                lambda m: make_fx(m)(x)(along),
                lambda m: torch.export.export(m, (x,), strict=False).module()(along),
                lambda m: self.counted(m, x),
            ],
            "jit.trace": [lambda m: torch.jit.trace(m, (x,), check_trace=False)(along)],
        }
        for reason, calls in ways.items():
            for way in calls:
                hone.report(fast).last_eager_reason = None
                torch.testing.assert_close(way(fast), way(module))
                self.assertIn(reason, hone.report(fast).last_eager_reason)
        calls = self.calls
        fast(x)
        # Elements that PyTorch negates only when it reads them are negated for a kernel.
        torch.testing.assert_close(fast(torch._neg_view(x)), module(-x))
        self.assertEqual(self.calls, calls + 2)

    @staticmethod
    def forward_mode(module, x, along):
        with forward_ad.dual_level():
            found = forward_ad.unpack_dual(module(forward_ad.make_dual(x, along)))
            return found.primal, found.tangent

    @staticmethod
    def counted(module, x):
        with FlopCounterMode(display=False) as counter:
            module(x)
        return counter.get_total_flops()

    def test_train_mode(self):
        module, args, kwargs = small(train=True)
        before = module.norm.running_mean.clone()
        with self.on_a_gpu():
            fast = self.optimized(module, args, kwargs)
        self.assertTrue(torch.equal(module.norm.running_mean, before), "the search changed a buffer")
        other = copy.deepcopy(module)
        with torch.no_grad():
            torch.testing.assert_close(fast(*args, **kwargs), other(*args, **kwargs))
        self.assertEqual(hone.report(fast).replaced_calls, 1)
        torch.testing.assert_close(fast.state_dict(), other.state_dict())

    def test_parameters_that_are_no_longer_shared(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.one, self.two = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
                self.two.weight = self.one.weight

            def forward(self, x):
                return self.two(torch.relu(self.one(x)))

        module, x = Tied(), torch.randn(3, 4)
        with self.on_a_gpu():
            fast = self.optimized(module, (x,))
        with torch.no_grad():
            fast(x)
            self.assertEqual(hone.report(fast).replaced_calls, 1)
            module.two.weight = nn.Parameter(torch.randn(4, 4))
            torch.testing.assert_close(fast(x), module(x))
        self.assertIn("shared", hone.report(fast).last_eager_reason)

    def test_a_slower_operator_is_not_used(self):
        with self.on_a_gpu(times=(1.0, 1.5)):
            fast = self.optimized(nn.Linear(4, 4), (torch.randn(3, 4),))
        report = hone.report(fast)
        self.assertFalse(report.replaced)
        self.assertEqual((report.before_ms, report.after_ms), (1.0, 1.5))
        self.assertIn("as fast", report.why_eager)

    def test_an_operator_that_differs_is_refused(self):
        with self.on_a_gpu(wrong=1e-3), self.assertRaisesRegex(hone.ImportDiffers, "operator differs"):
            self.optimized(nn.Linear(4, 4), (torch.randn(3, 4),))

    def test_an_import_that_differs_is_refused(self):
        class TwoFaced(nn.Module):
            def forward(self, x):
                return x * 2.0 if torch.compiler.is_exporting() else x * 2.001

        with self.assertRaisesRegex(hone.ImportDiffers, "TwoFaced.*differs from PyTorch's"):
            self.optimized(TwoFaced(), (torch.randn(3, 4),))

    def test_random_draws_stay_pytorchs(self):
        module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).train()
        report = hone.report(self.optimized(module, (torch.randn(3, 4),)))
        self.assertIn("draws at random", report.why_eager)
        self.assertEqual(report.parts, [])

    def test_refusals_are_one_line(self):
        class Svd(nn.Module):
            def forward(self, x):
                return torch.linalg.svdvals(x)

        class Raises(nn.Module):
            def forward(self, x):
                raise ValueError("not today\nat all")

        for module, words in ((Svd(), "linalg_svd"), (Raises(), "does not export Raises: not today")):
            with self.assertRaisesRegex(hone.ImportRefused, words) as caught:
                self.optimized(module, (torch.randn(3, 4),))
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(hone.HoneError, "budget"):
            self.optimized(nn.Linear(4, 4), (torch.randn(3, 4),), budget="much")

    def test_a_network_in_parts(self):
        module, args = Network().eval(), (torch.randn(96, 64),)
        with self.on_a_gpu():
            fast = self.optimized(module, args, budget="12")
        report = hone.report(fast)
        self.assertTrue(report.replaced)
        of_task = {}
        for part in report.parts:
            of_task.setdefault(part.task_hash, set()).add(part.candidate)
            self.assertEqual(part.after_ms, 1.0 if part.candidate else None)
        self.assertLess(len(of_task), len(report.parts))
        self.assertTrue(all(len(found) == 1 for found in of_task.values()), of_task)
        self.assertIn("linalg_svd", str(report.left_out))
        with torch.no_grad():
            torch.testing.assert_close(fast(*args), module(*args))
        self.assertEqual(report.replaced_calls, 1)
        with self.on_a_gpu(times=(1.0, 2.0)):
            report = hone.report(self.optimized(module, args, budget="12"))
        self.assertTrue(all("as fast" in p.why_eager for p in report.parts if p.candidate))
        self.assertFalse(report.replaced)

    def test_tensors_that_hone_lacks_are_left_to_pytorch_and_told(self):
        for name, (make, args, why) in LACKING.items():
            with self.subTest(name), self.on_a_gpu():
                module = make()
                fast = self.optimized(module, args, budget="6")
                report = hone.report(fast)
                self.assertTrue(report.replaced, report.why_eager)
                self.assertIn(why, str(report))
                self.assertIn(report.left_out[0][0], str(report))
                with torch.no_grad():
                    torch.testing.assert_close(fast(*args), module(*args))
                self.assertEqual(report.replaced_calls, 1)

    def test_the_fastest_of_three_runs(self):
        module, args = Network().eval(), (torch.randn(96, 64),)
        torch._dynamo.reset()
        with self.on_a_gpu(times=(2.0, 1.5, 1.0)):
            # The whole call is timed twice.
            fast = self.optimized(module, args, budget="12", inductor=True)
        report = hone.report(fast)
        taken = [part for part in report.parts if part.candidate]
        self.assertEqual({part.runs for part in taken}, {"Inductor"})
        self.assertEqual({(p.before_ms, p.inductor_ms, p.after_ms) for p in taken}, {(2.0, 1.0, 1.5)})
        self.assertIn("by Inductor 1", str(report))
        self.assertTrue(report.replaced)
        calls = self.calls
        with torch.no_grad():
            torch.testing.assert_close(fast(*args), module(*args), rtol=1e-3, atol=1e-2)
        self.assertEqual((report.replaced_calls, self.calls), (1, calls))

    def test_an_inductor_that_fails_is_not_used(self):
        def failing(*_, **__):
            def call(*_):
                raise RuntimeError("no compiler\nat all")

            return call

        with self.on_a_gpu(), mock.patch.object(torch, "compile", failing):
            report = hone.report(self.optimized(nn.Linear(4, 4), (torch.randn(3, 4),), inductor=True))
        self.assertEqual([(p.runs, p.inductor_failed) for p in report.parts], [("hone", "no compiler")])

    def test_budgets(self):
        of_four = {"60s": "15s", "1m": "15s", "0.5h": "450s", "3s": "1s", "200": "50", "2": "1"}
        for budget, share in {**of_four, "much": "much"}.items():
            self.assertEqual(_timing.shares(budget, [0.5] * 4), [share] * 4)
        self.assertEqual(_timing.shares("60s", [0.5]), ["60s"])
        # A fifth is divided evenly, the rest by the time.
        self.assertEqual(_timing.shares("100s", [3.0, 1.0]), ["70s", "30s"])
        self.assertEqual(_timing.shares("100", [1.0, 0.0]), ["90", "10"])
        self.assertEqual(_timing.shares("100", [0.0, 0.0]), ["50", "50"])

    def test_the_search_goes_where_the_time_is(self):
        asked = {}

        def search(task, budget, *_, **__):
            asked[task] = float(budget.rstrip("s"))
            raise hone.HoneError("not searched", 1)

        times = {0: 4.0}
        with mock.patch.object(_optimize, "search", search), mock.patch.object(
            _optimize, "part_seconds", lambda *_: times
        ), self.assertRaisesRegex(hone.HoneError, "not searched"):
            self.optimized(Network().eval(), (torch.randn(96, 64),), budget="100s")
        shares = list(asked.values())
        self.assertGreater(len(shares), 2)
        even = 20 / len(shares)
        for share, part in zip(shares, (80, *[0] * len(shares))):
            self.assertAlmostEqual(share, even + part, places=4)

    def test_how_what_seemed_faster_ended_is_said(self):
        module, x = nn.Linear(8, 6), torch.randn(4, 8)
        for ended in (ENDED, None):
            with mock.patch.object(_optimize, "search", nothing_faster(ended)):
                report = hone.report(self.optimized(module, (x,)))
            self.assertEqual(report.why_eager, report.parts[0].why_eager)
            self.assertEqual(report.why_eager, NOTHING + (f"; {ended}" if ended else ""))

    def test_one_function_does_what_the_steps_do(self):
        class Several(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.norm = nn.Linear(8, 6), nn.BatchNorm1d(6)

            def forward(self, x):
                y = torch.relu(self.norm(self.first(x)))
                x.add_(1)
                q, r = torch.linalg.qr(y)
                return {"sum": torch.tanh(q @ r), "same": x, "none": None, "both": (y, r)}

        module, x = Several().train(), torch.randn(5, 8)
        imported = imported_of(module, (x,))
        for kernels in ([None] * len(imported.parts), [kernel_of(imported, part) for part in imported.parts]):
            runner = _runtime.GraphRunner(imported, kernels)
            found = []
            for how in ({"around": lambda part, run: run()}, {}):
                owner, given = copy.deepcopy(module), x.clone()
                found.append((runner(owner, [given], torch.device("cpu"), **how), given, owner.state_dict()))
            torch.testing.assert_close(found[1], found[0])
            self.assertEqual(*(result["same"] is given for result, given, _ in found))
            self.assertIsNone(found[1][0]["none"])

    def test_seconds_of_parts(self):
        imported = imported_of(Network(), (torch.randn(96, 64),))
        runner = _runtime.GraphRunner(imported, [None] * len(imported.parts))
        seconds = _timing.part_seconds(
            runner, Network(), [torch.randn(96, 64)], torch.device("cpu")
        )
        self.assertEqual(sorted(seconds), list(range(len(imported.parts))))
        self.assertTrue(all(0 < taken < 10 for taken in seconds.values()))

    def test_math_and_folder(self):
        folder = os.path.join(FOLDER.name, "kept")
        self.optimized(nn.Linear(4, 4), (torch.randn(3, 4),), math="exact", folder=folder)
        document = _binary.run("describe", os.path.join(folder, "Linear.task.cu"))
        self.assertEqual(document["math"], "exact")
        self.assertTrue(os.path.exists(os.path.join(folder, "Linear.pt2")))


class Fresh(unittest.TestCase):
    def test_arguments_keep_their_range(self):
        generator = torch.Generator().manual_seed(3)
        for value in (torch.rand(50), torch.randint(2, 9, (50,)), torch.tensor([0.0, -torch.inf] * 25)):
            other = _verify.fresh(value, generator)
            self.assertEqual((other.dtype, other.shape), (value.dtype, value.shape))
            self.assertFalse(torch.equal(other, value))
            self.assertGreaterEqual(other.min(), value.min())
            self.assertLessEqual(other.max(), value.max())
        self.assertGreater(_verify.fresh(torch.zeros(9), generator).abs().max(), 0)
        self.assertEqual(_verify.fresh(3, generator), 3)
        short = torch.randn(50).to(torch.float8_e4m3fn)
        other = _verify.fresh(short, generator)
        self.assertEqual(other.dtype, short.dtype)
        self.assertEqual(sorted(other.float().tolist()), sorted(short.float().tolist()))

    def test_large_arguments_are_made_by_chunks(self):
        for most, chunk in ((1 << 20, 1 << 26), (1 << 20, 7), (0, 3), (0, 50), (0, 64)):
            with mock.patch.multiple(_verify, MOST_PERMUTED=most, CHUNK=chunk):
                value = torch.arange(50)
                draw = _verify.fresh_call(((value, value.float()), {}), torch.Generator().manual_seed(3))
                (order, between), _ = draw()
                self.assertEqual(sorted(order.tolist()), value.tolist(), (most, chunk))
                self.assertFalse(torch.equal(order, value))
                self.assertGreaterEqual(between.min(), 0)
                self.assertLessEqual(between.max(), 49)
                self.assertGreater((between % 1 > 0).sum(), 40)
                self.assertTrue(torch.equal(draw()[0][1], between))

    def test_each_call_has_arguments_of_its_own(self):
        class Counter:
            n = 0

        class Counts(torch.nn.Module):
            def forward(self, x, counter):
                counter.n += 1
                return x * counter.n

        counter, generator = Counter(), torch.Generator().manual_seed(3)
        example = ((torch.randn(9), counter), {})
        call = lambda module, args, kwargs: module(*args)  # noqa: E731
        self.assertLess(_verify.verify_replaced(call, Counts(), example, 1e-5, generator), 1e-6)
        self.assertEqual(counter.n, 0)
        with self.assertRaises(hone.ImportDiffers):
            twice = lambda module, args, kwargs: 2 * module(*args)  # noqa: E731
            _verify.verify_replaced(twice, Counts(), example, 1e-5, generator)

    def test_what_is_written_in_place_is_compared(self):
        class Adds(torch.nn.Module):
            def forward(self, x, y):
                return x.add_(1).sum() + y.sum()

        torch.manual_seed(1)  # sums that cancel have a larger error
        example = ((torch.randn(9), torch.randn(9)), {})

        def verify(call):
            generator = torch.Generator().manual_seed(3)
            return _verify.verify_replaced(call, Adds(), example, 1e-5, generator)

        self.assertLess(verify(lambda module, args, kwargs: module(*args)), 1e-6)
        with self.assertRaises(hone.ImportDiffers):  # it leaves the first as it is
            verify(lambda module, args, kwargs: module(args[0].clone(), args[1]))

        def more(module, args, kwargs):
            result = module(*args)
            args[1][0] += 1  # and this one writes into the second
            return result

        with self.assertRaises(hone.ImportDiffers):
            verify(more)

    def test_errors(self):
        t = torch.tensor
        self.assertEqual(_verify.error(t([1.0, 2.0]), t([1.0, 2.0])), 0)
        self.assertAlmostEqual(_verify.error(t([3.0, 2.0]), t([4.0, 2.0])), 0.25)
        self.assertEqual(_verify.error(t([torch.inf]), t([1.0])), torch.inf)
        self.assertEqual(_verify.error(t([torch.inf]), t([-torch.inf])), torch.inf)
        self.assertEqual(_verify.error(t([torch.nan, 1.0]), t([torch.nan, 1.0])), 0)
        self.assertEqual(_verify.error(t([1, 2]), t([1, 3])), 0.5)
        self.assertAlmostEqual(_verify.error(t([2 + 2j, 3j]), t([2 + 2j, 4j])), 0.25)
        short = t([3.0, 2.0]).to(torch.float8_e5m2)
        self.assertAlmostEqual(_verify.error(short, t([4.0, 2.0]).to(torch.float8_e5m2)), 0.25)

    def test_the_tolerance_is_that_of_a_type_that_hone_computes_in(self):
        leaves = [torch.zeros(2), torch.zeros(2).to(torch.float8_e4m3fn), torch.zeros(2, dtype=torch.cfloat)]
        self.assertEqual(_optimize.tolerance_of(None, leaves), 1e-5)


class Load(unittest.TestCase):
    def test_an_operator_is_loaded_once(self):
        options = {"budget": "4", "device": DEVICE, "db": database()}
        module = nn.Sequential(nn.Linear(8, 6), nn.ReLU())
        candidate = hone.report(hone.optimize(module, (torch.randn(4, 8),), **options)).candidates[0]
        operator = hone.load(candidate, db=database())
        self.assertIs(hone.load(candidate[:8], db=database()), operator)
        self.assertEqual((operator.__name__, operator.candidate), ("Sequential", candidate))
        with self.assertRaisesRegex(ValueError, "must be on a CUDA device"):
            operator(*[torch.zeros(s) for s in ((6, 8), (6,), (4, 8))])
        with self.assertRaises(hone.HoneError):
            hone.load("ffffffffffff", db=database())

    def test_real_operators_take_and_return_what_the_graph_has(self):
        """On tensors without data: what an operator's registration checks and says of its results."""
        for train in (False, True):
            module, args, kwargs = small(train)
            imported = imported_of(module, args, kwargs)
            part = imported.parts[0]
            found = _optimize.search(part.task, "4", DEVICE, database(), progress=False)
            self.assertTrue(found["best"]["recipe"])
            operator = hone.load(found["best"]["candidate"], db=database())
            runner = _runtime.GraphRunner(imported, [kernel_of(imported, part, operator)])
            leaves, _ = _runtime.flatten_call(list(kwargs), args, kwargs)
            with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():

                def on_a_gpu(tensor):
                    return mode.from_tensor(tensor).to("cuda")

                state = {n: on_a_gpu(t) for n, t in [*module.named_parameters(), *module.named_buffers()]}
                with mock.patch.object(_runtime, "state_tensor", lambda _, name: state[name]):
                    result = runner(module, [on_a_gpu(x) for x in leaves], torch.device("cuda"))
            self.assertEqual(result["rows"], 4)
            self.assertEqual((result["y"].shape, result["y"].device.type), ((4, 6), "cuda"))


    def test_the_custom_operator_is_as_pytorch_wants_it(self):
        """Its schema, what it says of results without data, and its place in autograd."""
        for train in (False, True):  # in train mode it writes into its arguments
            module, args, kwargs = small(train)
            imported = imported_of(module, args, kwargs)
            part = imported.parts[0]
            found = _optimize.search(part.task, "4", DEVICE, database(), progress=False)
            operator = hone.load(found["best"]["candidate"], db=database())
            inputs = [b for b in operator.buffers if b.role != "out"]
            self.assertEqual(any(b.role == "inout" for b in inputs), train)

            def launch(*tensors):
                """On the CPU: what it returns are new tensors, and what it may write is written."""
                for buffer, tensor in zip(inputs, tensors):
                    if buffer.role == "inout":
                        tensor.add_(1)
                made = [torch.full(s, float(tensors[0].sum()), dtype=t) for s, t in operator._outputs]
                return made[0] if len(made) == 1 else tuple(made)

            given = [torch.rand(b.shape).to(DTYPES[b.type]) for b in inputs]
            plain, grads = [t.clone() for t in given], [t.clone() for t in given]
            for buffer, tensor in zip(inputs, grads):
                if buffer.role == "in" and tensor.is_floating_point():
                    tensor.requires_grad_()
            with mock.patch.multiple(operator, launch=launch, _check=operator._check_shapes):
                torch.library.opcheck(operator._operator, tuple(plain))
                # All but that which runs a backward pass.
                some = ("test_schema", "test_autograd_registration", "test_faketensor")
                torch.library.opcheck(operator._operator, tuple(grads), test_utils=some)
                result = operator(*grads)
                with self.assertRaisesRegex(RuntimeError, "no autograd formula"):
                    (result if isinstance(result, torch.Tensor) else result[0]).sum().backward()


class Page(unittest.TestCase):
    def test_examples(self):
        pages = sorted((ROOT / "python").glob("*.md"), key=lambda page: (page.name != "README.md", page.name))
        blocks = []
        for page in pages:
            text = page.read_text()
            for block in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S):
                blocks.append((f"python/{page.name}", "\n" * text[: block.start(1)].count("\n") + block[1]))
        self.assertGreater(len({name for name, _ in blocks}), 3)
        names, before, out = {}, os.getcwd(), io.StringIO()
        torch._dynamo.reset()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
            os.chdir(folder)
            try:
                for name, code in blocks:
                    exec(compile(code, name, "exec"), names)
            finally:
                os.chdir(before)
        self.assertIn("linalg_svd", out.getvalue())


if __name__ == "__main__":
    run_tests()
