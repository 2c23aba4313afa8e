"""`torch.compile(module, backend="hone")`: the best operator that the database knows for a graph."""
import copy
import tempfile
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.utils import _pytree as pytree

from hone._binary import run
from hone._errors import HoneError
from hone._graph import Imported, Part
from hone._known import Choice, Known, state_of
from hone._load import database_options
from hone._math import exact_f32, levels_of
from hone._optimize import nothing_faster, operator_runner, part_report, search, tolerance_of
from hone._report import PartReport, Report
from hone._runtime import OPERATOR, GraphRunner
from hone._timing import WORTH_IT, choose_parts, medians_ms, part_seconds, shares
from hone._verify import error, levels_as_run, tensors_of
from hone._watch import _hone_gradient, _hone_mode

_OPTIONS = ("budget", "cache_only", "db", "device", "math")
_reports: List[Report] = []


def compile_reports() -> List[Report]:
    """What `torch.compile(..., backend="hone")` did in this process: one report for each graph, in
    the order in which they were compiled."""
    return list(_reports)


def backend(
    graph: torch.fx.GraphModule,
    inputs: Sequence[Any],
    *,
    options: Optional[Dict[str, Any]] = None,
) -> Callable[..., Any]:
    """Compiles one graph of TorchDynamo; what torch.compile calls.

    options, by `torch.compile(module, backend="hone", options={...})`:
    db: the database's file; None: hone's default one.
    budget: search for so long ("60s") or so many evaluations ("200") where the database has nothing.
    cache_only: never search; True unless a budget is given.
    device: where to search, and for which device to look; None: the inputs' GPU.
    math: as in `hone.optimize`.

    Where nothing is known, the graph runs as with `backend="eager"`; `hone.compile_reports` says
    why. ValueError: an unknown option."""
    options = dict(options or {})
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise ValueError(f"hone has no option {unknown[0]!r}; there are {', '.join(_OPTIONS)}")
    report = Report(f"graph {len(_reports)}", device=options.get("device") or "")
    _reports.append(report)
    try:
        found = _compiled(graph, inputs, options, report)
    except HoneError as error_:
        report.why_eager, found = str(error_), None
    except Exception as error_:  # a cache that cannot be written, a driver that is not there
        line = (str(error_).strip() or type(error_).__name__).splitlines()[0]
        report.why_eager, found = f"{type(error_).__name__}: {line}", None
    return found or graph.forward


def _compiled(
    graph: torch.fx.GraphModule, inputs: Sequence[Any], options: Dict[str, Any], report: Report
) -> Optional[Callable[..., Any]]:
    """What runs in the graph's place; None: the report says why nothing does."""
    if not all(isinstance(x, torch.Tensor) for x in inputs):
        report.why_eager = "its shapes are dynamic: hone's operators are for one shape"
        return None
    where = next((x.device for x in inputs if x.device.type == "cuda"), torch.device("cpu"))
    device = options.get("device")
    if device is None and where.type == "cuda":
        device = f"cuda:{where.index or 0}"
    if device is None:
        report.why_eager = "it is on the CPU, and hone's operators run on a GPU"
        return None
    report.device, report.modelled = device, device.startswith("emu:")
    db, math, budget = options.get("db"), options.get("math"), options.get("budget")
    may_search = budget is not None and not options.get("cache_only", False)
    look = ["--limit", "1", *_which_boards(device, where), *database_options(db)]
    best = best_of_all(look)
    if not may_search and not best:
        report.why_eager = "the database has nothing for this device"
        return None
    examples = tuple(x.detach() for x in inputs)
    levels = levels_of(math, device)
    known = Known(graph, inputs, torch.cuda.get_device_name(where) if where.type == "cuda" else device)
    if where.type == "cuda" and levels.may_round(graph.graph.nodes):
        known.at(levels, lambda: levels_as_run(levels, lambda: _leaves_of(graph, examples)))
    else:
        known.at(levels, lambda: levels)
    with tempfile.TemporaryDirectory(prefix="hone-") as folder:
        if known.tasks is None and known.refused is None:
            with report.timed("export and import"):
                known.learn(examples, folder)
        if known.refused is not None:
            report.why_eager = known.refused
            return None
        searched = _Searched(best)
        if may_search and not all(task in best for task in known.tasks or []):
            searched.search(known, examples, folder, where, (str(budget), device, db), report)
        candidates = {task: best[task][0]["candidate"] for task in known.tasks or [] if task in best}
        if not candidates:
            report.why_eager = next(
                iter(searched.refused.values()),
                "the database has nothing for this graph; hone searches with a budget",
            )
            return None
        choice = known.choice(candidates)
        if choice is not None:
            report.parts, report.left_out = choice.parts, choice.left_out
            report.before_ms, report.after_ms = choice.before_ms, choice.after_ms
            report.why_eager = choice.why_eager
            if report.why_eager:
                return None
        with report.timed("export and import"):
            imported = known.imported or known.learn(examples, folder)
        known.inputs = ()  # the process would hold this batch for good
        if choice is not None and [p.task_hash for p in choice.parts] != [p.task_hash for p in imported.parts]:
            choice, report.parts = None, []  # of a graph that only looks the same
        if choice is None:
            report.left_out = imported.left_out
            report.parts = [searched.report_of(part) for part in imported.parts]
        if not report.candidates:
            report.why_eager = nothing_faster(report)
        elif report.modelled:
            report.why_eager = f"{device} is an emulated device: it has no operators to call"
        elif where.type != "cuda":
            report.why_eager = "it is on the CPU, and hone's operators run on a GPU"
        if report.why_eager:
            return None
        with report.timed("load"):
            runner = operator_runner(imported, report.parts, db, chosen=choice is not None)

        def decided() -> None:
            times = (report.before_ms, report.after_ms)
            known.remember(candidates, Choice(report.parts, report.left_out, *times, report.why_eager))

        tolerance = tolerance_of(math, inputs)
        return _Checked(graph, runner, where, tolerance, report, decided if choice is None else None)


@dataclass
class _Searched:
    """What is known of tasks, from the database and from searches of this call."""

    best: Dict[str, Tuple[Dict[str, Any], float]]  #: as best_of_all() gives it
    refused: Dict[str, str] = field(default_factory=dict)  #: tasks that failed their checks, and why
    ended: Dict[str, Optional[str]] = field(default_factory=dict)  #: how what seemed faster ended

    def search(
        self,
        known: Known,
        examples: Tuple[torch.Tensor, ...],
        folder: str,
        where: torch.device,
        how: Tuple[str, str, Optional[str]],
        report: Report,
    ) -> None:
        """For the graph's tasks of which nothing is known. how: budget, device and database."""
        budget, device, db = how
        imported = known.imported or known.learn(examples, folder)
        missing = {p.task_hash: p.task for p in imported.parts if p.task_hash not in self.best}
        with report.timed("time the parts"):
            taken = _seconds_of(known.graph, imported, examples, where)
        usual = sum(taken.values()) / len(taken) if taken else 1.0
        budgets = shares(budget, [taken.get(task, usual) for task in missing])
        for (task_hash, task), share in zip(missing.items(), budgets):
            try:
                with report.timed("search"):
                    document = search(task, share, device, db, progress=False)
            except HoneError as error_:
                if error_.status != 1:  # 1: this task failed its checks
                    raise
                self.refused[task_hash] = str(error_)
                continue
            self.best[task_hash] = (document["best"], document["reference"]["time_us"])
            self.ended[task_hash] = document["seemed_faster"]["said"]

    def report_of(self, part: Part) -> PartReport:
        if part.task_hash in self.best:
            told = (*self.best[part.task_hash], self.ended.get(part.task_hash))
            return part_report(len(part.nodes), part.task_hash, *told)
        why = self.refused.get(part.task_hash, "the database has nothing for this part")
        return PartReport(len(part.nodes), part.task_hash, why_eager=why)


def _seconds_of(
    graph: torch.fx.GraphModule, imported: Imported, inputs: Sequence[torch.Tensor], where: torch.device
) -> Dict[str, float]:
    """What PyTorch takes for the parts of each task on a GPU, by the tasks' hashes; {} on the processor, and
    where it fails."""
    if where.type != "cuda":
        return {}
    seconds: Dict[str, float] = {}
    try:
        runner = GraphRunner(imported, [None] * len(imported.parts))
        called = copy.deepcopy(graph) if state_of(graph) else graph
        for place, taken in part_seconds(runner, called, [x.clone() for x in inputs], where).items():
            task = imported.parts[place].task_hash
            seconds[task] = seconds.get(task, 0.0) + taken
    except Exception:  # no memory for copies, say
        return {}
    return seconds


def _leaves_of(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor]) -> List[Any]:
    """A graph's results; its tensors stay as they are. One without any is not copied: that takes long."""
    called = copy.deepcopy(graph) if state_of(graph) else graph
    return pytree.tree_leaves(called.forward(*(x.clone() for x in inputs)))


def _which_boards(device: str, where: torch.device) -> List[str]:
    """Options of `hone leaderboard`: results for a device's architecture."""
    if device.startswith("emu:"):
        return ["--modelled", "--arch", device[len("emu:") :].split("/")[0]]
    number = device[len("cuda:") :] if device.startswith("cuda:") else ""
    index = int(number) if number.isdigit() else (where.index or 0)
    major, minor = torch.cuda.get_device_capability(index)
    return ["--measured", "--arch", f"sm_{major}{minor}"]


def best_of_all(look: Sequence[str]) -> Dict[str, Tuple[Dict[str, Any], float]]:
    """Of each task that the database has results of: the fastest candidate over the devices of an
    architecture, and the time of the reference beside it [us]. {} where there is no database yet."""
    try:
        boards = run("leaderboard", *look)["boards"]
    except HoneError as error_:
        if error_.status == 2:  # there is no such file
            return {}
        raise
    best: Dict[str, Tuple[Dict[str, Any], float]] = {}
    for board in boards:
        for row in board["rows"]:
            known = best.get(board["task_hash"])
            if known is None or row["speedup"] > known[0]["speedup"]:
                best[board["task_hash"]] = (row, board["reference"]["time_us"])
    return best


class _Checked:
    """A graph's operators, compared with the graph at the first call that runs them."""

    def __init__(
        self,
        graph: torch.fx.GraphModule,
        runner: GraphRunner,
        device: torch.device,
        tolerance: float,
        report: Report,
        decided: Optional[Callable[[], None]],
    ) -> None:
        """decided: is called once the report says what of the operators is faster; None: it says so already."""
        self._graph, self._device = graph, device
        self._runner: Optional[GraphRunner] = runner  # None: PyTorch runs all calls
        self._tolerance, self._report = tolerance, report
        self._compared = False
        self._decided = decided

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def __call__(self, *inputs: Any) -> Any:
        reason = self._why_eager(inputs)
        if reason is None and not self._compared:
            self._decide(inputs)
            reason = self._report.why_eager
        if reason is not None or self._runner is None:
            self._report.eager_calls += 1
            self._report.last_eager_reason = reason
            return self._graph.forward(*inputs)
        self._report.replaced_calls += 1
        return self._runner(self._graph, inputs, self._device)

    def _why_eager(self, inputs: Sequence[Any]) -> Optional[str]:
        if self._runner is None:
            return self._report.why_eager
        state = [tensor for _, tensor in state_of(self._graph)]
        return (
            _hone_mode()
            or _hone_gradient([*inputs, *state])
            or self._runner.why_eager(self._graph, inputs)
        )

    def _decide(self, inputs: Sequence[Any]) -> None:
        """Whether the operators run from now on; where they differ, are no faster or do not work, the graph
        stays PyTorch's."""
        report, runner = self._report, self._runner
        assert runner is not None
        self._compared = True
        try:
            with report.timed("compare"):
                report.max_error, allowed = self._error(runner, inputs)
            if report.max_error > allowed:
                report.why_eager = (
                    f"hone's operator differs from PyTorch: error {report.max_error:.1e}, "
                    f"tolerance {allowed:.1e}"
                )
                warnings.warn(f"hone: {report.module}: {report.why_eager}", stacklevel=3)
            elif self._device.type == "cuda" and self._decided is not None:
                with report.timed("time the parts"):
                    if not self._is_faster(runner, inputs):
                        report.why_eager = "hone is no faster than PyTorch's own kernels here"
                self._decided()
                self._decided = None
        except Exception as error_:  # no memory for copies, say
            line = (str(error_).strip() or type(error_).__name__).splitlines()[0]
            report.why_eager = f"hone's operators could not be tried: {type(error_).__name__}: {line}"
        report.replaced = report.why_eager is None
        if not report.replaced:
            self._runner = None

    def _error(self, runner: GraphRunner, inputs: Sequence[Any]) -> Tuple[float, float]:
        """How far copies of these inputs lead away from PyTorch's answer, and how far they may."""
        mine = pytree.tree_map(torch.clone, tuple(inputs))
        theirs = pytree.tree_map(torch.clone, tuple(inputs))
        found = tensors_of(runner(self._graph, mine, self._device))
        with exact_f32():
            wanted = tensors_of(self._graph.forward(*theirs))
        # What the graph writes in place is among its inputs.
        answers, correct = [*found, *mine], [*wanted, *theirs]
        off, allowed = max(map(error, answers, correct), default=0.0), self._tolerance
        if self._report.uses_tf32:
            given = pytree.tree_map(torch.clone, tuple(inputs))
            loose = [*tensors_of(self._graph.forward(*given)), *given]
            allowed = max(allowed, 2 * max(map(error, loose, correct), default=0.0))
        return off, allowed

    def _is_faster(self, runner: GraphRunner, inputs: Sequence[Any]) -> bool:
        """Leaves to PyTorch what is no faster, part by part and then as a whole, with all that a call does."""
        mine = pytree.tree_map(torch.clone, tuple(inputs))
        with torch.no_grad(), torch.cuda.device(self._device):
            choose_parts(runner, self._graph, mine, self._device, self._report.parts, inductor=False)
            if not any(part.runs == OPERATOR for part in self._report.parts):
                return False
            eager, replaced = medians_ms(
                [
                    lambda: self._graph.forward(*mine),
                    lambda: (self._why_eager(mine), runner(self._graph, mine, self._device)),
                ]
            )
        self._report.before_ms, self._report.after_ms = eager, replaced
        return replaced <= WORTH_IT * eager
