"""`torch.compile(module, backend="hone")`: the best operator that the database knows for a graph."""
import json
import os
import tempfile
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.utils import _pytree as pytree

from hone._binary import binary, run
from hone._cache import cache_folder, digest, write_whole
from hone._errors import HoneError, ImportRefused
from hone._graph import describe, export, import_program
from hone._load import database_options, load
from hone._optimize import DRAWS, part_report, search, tolerance_of
from hone._report import PartReport, Report
from hone._runtime import GraphRunner, Kernel, tensor_facts, why_not_plain
from hone._verify import error, exact_f32, tensors_of

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
    if not may_search and not _boards(look):
        report.why_eager = "the database has nothing for this device"
        return None
    examples = tuple(x.detach() for x in inputs)
    known = _Known(graph, inputs, math)
    with tempfile.TemporaryDirectory(prefix="hone-") as folder:
        if known.task_hash is None and known.refused is None:
            known.learn(graph, examples, folder)
        if known.refused is not None:
            report.why_eager = known.refused
            return None
        assert known.task_hash is not None
        best, reference_us = _best(known.task_hash, look)
        if best is None and may_search:
            imported = known.imported or known.learn(graph, examples, folder)
            assert imported.parts[0].task is not None
            document = search(imported.parts[0].task, str(budget), device, db, progress=False)
            best, reference_us = document["best"], document["reference"]["time_us"]
        nodes = sum(n.op == "call_function" for n in graph.graph.nodes)
        if best is None:
            report.why_eager = "the database has nothing for this graph; hone searches with a budget"
            report.parts.append(PartReport(nodes, known.task_hash, why_eager=report.why_eager))
            return None
        part = part_report(nodes, known.task_hash, best, reference_us)
        report.parts.append(part)
        if part.candidate is None:
            report.why_eager = "the search found nothing faster"
        elif report.modelled:
            report.why_eager = f"{device} is an emulated device: it has no operators to call"
        elif where.type != "cuda":
            report.why_eager = "it is on the CPU, and hone's operators run on a GPU"
        if report.why_eager:
            return None
        imported = known.imported or known.learn(graph, examples, folder)
        assert part.candidate is not None and imported.parts[0].task is not None
        task = describe(imported.parts[0].task)
        kernel = Kernel(load(part.candidate, db=db), task.buffers, imported.parts[0], imported.program)
        runner = GraphRunner(imported.program, imported.parts, [kernel])
        return _Checked(graph, runner, where, tolerance_of(math, inputs), report)


def _which_boards(device: str, where: torch.device) -> List[str]:
    """Options of `hone leaderboard`: results for a device's architecture."""
    if device.startswith("emu:"):
        return ["--modelled", "--arch", device[len("emu:") :].split("/")[0]]
    number = device[len("cuda:") :] if device.startswith("cuda:") else ""
    index = int(number) if number.isdigit() else (where.index or 0)
    major, minor = torch.cuda.get_device_capability(index)
    return ["--measured", "--arch", f"sm_{major}{minor}"]


def _boards(look: Sequence[str], task_hash: Optional[str] = None) -> List[Dict[str, Any]]:
    """Boards with rows; none where there is no database yet."""
    try:
        found = run("leaderboard", *([task_hash] if task_hash else []), *look)["boards"]
    except HoneError as error_:
        if error_.status == 2:  # there is no such file
            return []
        raise
    return [board for board in found if board["rows"]]


def _best(task_hash: str, look: Sequence[str]) -> Tuple[Optional[Dict[str, Any]], float]:
    """The fastest candidate of a task over the devices of an architecture, and the time of the
    reference beside it [us]."""
    rows = [(b["rows"][0], b["reference"]["time_us"]) for b in _boards(look, task_hash)]
    return max(rows, key=lambda row: row[0]["speedup"], default=(None, 0.0))


class _Known:
    """What is remembered of a graph between processes: its task's hash, or why it has none."""

    def __init__(self, graph: torch.fx.GraphModule, inputs: Sequence[Any], math: Optional[str]) -> None:
        program = os.stat(binary())
        facts = [(str(tensor_facts(x)[1]), tuple(x.shape), x.stride()) for x in inputs]
        key = digest(
            torch.__version__,
            f"{program.st_size} {program.st_mtime_ns}",
            str(math),
            str(graph.graph),
            str(facts),
            str([(n, tuple(t.shape), t.stride(), str(t.dtype)) for n, t in _state(graph)]),
        )
        self._path = os.path.join(cache_folder("graphs"), f"{key}.json")
        self._math = math
        self.imported: Any = None
        self.task_hash: Optional[str] = None
        self.refused: Optional[str] = None
        try:
            with open(self._path, encoding="utf-8") as file:
                document = json.load(file)
            self.task_hash, self.refused = document["task_hash"], document["refused"]
        except (OSError, ValueError, KeyError):
            pass

    def learn(self, graph: torch.fx.GraphModule, inputs: Tuple[Any, ...], folder: str) -> Any:
        """Exports and imports the graph, and writes down what came of it. HoneError: it is refused,
        which it was not before."""
        try:
            with torch._guards.tracing(None):
                program = export(graph, inputs, {})
            self.imported = import_program(program, folder, "graph", self._math)
            self.task_hash = self.imported.task_hash
            if self.imported.draws:
                self.refused = DRAWS
        except ImportRefused as error_:
            self.refused = str(error_)
        document = {"task_hash": self.task_hash, "refused": self.refused}
        write_whole(self._path, json.dumps(document))
        return self.imported


def _state(graph: torch.fx.GraphModule) -> List[Tuple[str, torch.Tensor]]:
    return [*graph.named_parameters(), *graph.named_buffers()]


class _Checked:
    """A graph's operators, compared with the graph at the first call that runs them."""

    def __init__(
        self,
        graph: torch.fx.GraphModule,
        runner: GraphRunner,
        device: torch.device,
        tolerance: float,
        report: Report,
    ) -> None:
        self._graph, self._runner, self._device = graph, runner, device
        self._tolerance, self._report = tolerance, report
        self._state: Optional[bool] = None  # None: not compared yet; False: they differ

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def __call__(self, *inputs: Any) -> Any:
        state = [tensor for _, tensor in _state(self._graph)]
        reason = (
            self._report.why_eager
            or why_not_plain([*inputs, *state])
            or self._runner.why_eager(self._graph, inputs)
        )
        if reason is None and self._state is None:
            self._compare(inputs)
            reason = self._report.why_eager
        if reason is not None:
            self._report.eager_calls += 1
            self._report.last_eager_reason = reason
            return self._graph.forward(*inputs)
        self._report.replaced_calls += 1
        return self._runner(self._graph, inputs, self._device)

    def _compare(self, inputs: Sequence[Any]) -> None:
        """Both on copies of these inputs; a graph in which they differ stays PyTorch's."""
        mine = pytree.tree_map(torch.clone, tuple(inputs))
        theirs = pytree.tree_map(torch.clone, tuple(inputs))
        found = tensors_of(self._runner(self._graph, mine, self._device))
        with exact_f32():
            wanted = tensors_of(self._graph.forward(*theirs))
        # What the graph writes in place is among its inputs.
        pairs = [*zip(found, wanted), *zip(mine, theirs)]
        self._report.max_error = max([error(f, w) for f, w in pairs], default=0.0)
        self._state = self._report.max_error <= self._tolerance
        self._report.replaced = self._state
        if not self._state:
            self._report.why_eager = (
                f"hone's operator differs from PyTorch: error {self._report.max_error:.1e}, "
                f"tolerance {self._tolerance:.1e}"
            )
            warnings.warn(f"hone: {self._report.module}: {self._report.why_eager}", stacklevel=2)
