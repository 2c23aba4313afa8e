"""`hone.optimize`: a module in, a faster one out."""
import contextlib
import copy
import os
import re
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Type

import torch
from torch.utils import _pytree as pytree

from hone._binary import run
from hone._errors import HoneError
from hone._graph import Imported, draws, export, import_program, task_buffers
from hone._load import database_options, load
from hone._math import TOLERANCES, levels_of
from hone._report import PartReport, Report
from hone._runtime import GraphRunner, Guard, Kernel, flatten_call, has_hooks
from hone._verify import verify_import, verify_replaced

HOOKS = "it has forward hooks of its own; optimize the module inside, or remove them"
CONSTANTS = "it writes into a tensor that is neither a parameter nor a buffer"
DRAWS = "it draws at random (dropout in train mode, say), as only PyTorch can"


def optimize(
    module: torch.nn.Module,
    args: Tuple[Any, ...],
    kwargs: Optional[Dict[str, Any]] = None,
    *,
    budget: str = "60s",
    device: Optional[str] = None,
    db: Optional[str] = None,
    math: Optional[str] = None,
    folder: Optional[str] = None,
    progress: bool = False,
) -> torch.nn.Module:
    """Searches for faster kernels for a module at the shapes of an example call; returns a module
    that runs them.

    module: in the mode, of the types and on the device in which it will be called; it is not
    changed. args, kwargs: an example call; hone's operators run calls of the same shapes, types and
    devices. budget: how long to search, a time ("60s", "5m") or a number of evaluations ("200"), for
    all parts of the module together.
    device: where to search, such as "cuda:0" or "emu:sm_90"; None: the module's GPU, else hone's
    default. db: the database's file; None: hone's default one. math: how far results may depart from
    the module's arithmetic, "exact", "reassociate", "tf32x3", "tf32" or "reduced"; None: "tf32" in
    parts where PyTorch's switches let it use TF32 on a GPU (torch.backends.cudnn.allow_tf32 for
    convolutions, which is on by default, torch.backends.cuda.matmul.allow_tf32 for products),
    "reassociate" elsewhere. folder: keeps
    the .pt2, the task and the recorded answers; None: they are removed, and `hone verify` cannot
    read the weights again. progress: the search's progress goes to stderr.

    The returned module is of the module's class or a subclass of it. It shares the module's parameters,
    buffers and submodules: `state_dict()` has the same names and tensors, `load_state_dict`,
    `to` and an optimizer's steps change both. A call that is not like the example, or that needs a
    gradient, runs the module's own forward. `hone.report` says what was done.

    ImportRefused: PyTorch or hone cannot read the module. ImportDiffers: hone computes something
    else. HoneError: the search failed. Each has one line."""
    kwargs = dict(kwargs or {})
    args, kwargs = pytree.tree_map(_copied, (tuple(args), kwargs))
    name = type(module).__name__
    if has_hooks(module):
        # The export would hold them, and the module would run them once more.
        return _returned(module, Report(name, device=device or "", why_eager=HOOKS), None)
    with _folder(folder) as work:
        program = export(module, args, kwargs)
        names = list(kwargs)
        leaves, spec = flatten_call(names, args, kwargs)
        where = _device_of([*leaves, *module.parameters(), *module.buffers()])
        if device is None and where.type == "cuda":
            device = f"cuda:{where.index or 0}"
        imported = import_program(program, work, name, levels_of(math, device))
        report = Report(name, device=device or "", left_out=imported.left_out)
        if imported.whole.draws if imported.whole else draws(program):
            report.why_eager = DRAWS
            return _returned(module, report, None)
        generator = torch.Generator().manual_seed(torch.initial_seed() % 2**63)
        if imported.whole is not None:
            report.import_error, report.eager_error = verify_import(
                module,
                imported,
                (args, kwargs),
                lambda a, k: flatten_call(names, a, k)[0],
                work,
                device,
                generator,
            )
        _search_parts(imported, budget, device, db, progress, report)
        report.why_eager = _why_eager(report, where)
        if report.why_eager:
            return _returned(module, report, None)
        runner = operator_runner(imported, report.parts, db)
        if runner.writes_constants():
            report.why_eager = CONSTANTS
            return _returned(module, report, None)
        guard = Guard(module, program, leaves, spec)
        call = _Call(runner, guard, names, where, leaves)
        tolerance = tolerance_of(math, leaves)
        report.max_error = verify_replaced(
            call.unguarded, module, (args, kwargs), tolerance, generator, tf32=report.uses_tf32
        )
        if imported.whole is None:
            given = copy.deepcopy(leaves)
            choose_parts(runner, copy.deepcopy(module), given, where, report.parts)
            report.max_error = verify_replaced(
                call.unguarded, module, (args, kwargs), tolerance, generator, tf32=report.uses_tf32
            )
        report.before_ms, report.after_ms = _times(module, call, args, kwargs)
        if report.after_ms >= report.before_ms:
            report.why_eager = "PyTorch's own kernels are as fast"
            return _returned(module, report, None)
        report.replaced = True
        return _returned(module, report, call)


def _copied(value: Any) -> Any:
    """A tensor's copy, row-major: the module may write into its arguments."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone(memory_format=torch.contiguous_format)


@contextlib.contextmanager
def _folder(folder: Optional[str]) -> Iterator[str]:
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
        yield os.path.abspath(folder)
        return
    with tempfile.TemporaryDirectory(prefix="hone-") as temporary:
        yield temporary


def _device_of(values: Sequence[Any]) -> torch.device:
    """The GPU, if a tensor is on one; else the CPU."""
    devices = [x.device for x in values if isinstance(x, torch.Tensor)]
    return next((d for d in devices if d.type == "cuda"), torch.device("cpu"))


def search(
    task: str, budget: str, device: Optional[str], db: Optional[str], progress: bool
) -> Dict[str, Any]:
    """The document of `hone optimize`."""
    options = ["--budget", budget, *database_options(db)]
    if device is not None:
        options += ["--device", device]
    if not progress:
        options.append("--quiet")
    return run("optimize", task, *options, progress=progress)


def divided(budget: str, count: int) -> str:
    """A budget's share for each of several searches: at least a second or an evaluation. What is no
    budget stays, for the program to refuse."""
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)(s|m|h)?", budget)
    if found is None or count <= 1:
        return budget
    if found[2] is None:
        return str(max(1, int(float(found[1])) // count))
    seconds = float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]
    return f"{max(1.0, seconds / count):.10g}s"


def _search_parts(
    imported: Imported,
    budget: str,
    device: Optional[str],
    db: Optional[str],
    progress: bool,
    report: Report,
) -> None:
    """Searches each task once, however many parts are alike, and adds the parts to the report."""
    searched: Dict[str, Dict[str, Any]] = {}
    share = divided(budget, len({part.task_hash for part in imported.parts}))
    refusal: Optional[HoneError] = None
    for part in imported.parts:
        nodes = len(part.nodes)
        try:
            if part.task_hash not in searched:
                searched[part.task_hash] = search(part.task, share, device, db, progress)
        except HoneError as error:
            if imported.whole is not None or error.status != 1:  # 1: this task failed its checks
                raise
            refusal = error
            report.parts.append(PartReport(nodes, part.task_hash, why_eager=str(error)))
            continue
        found = searched[part.task_hash]
        report.device, report.modelled = found["device"], found["modelled"]
        reference_us = found["reference"]["time_us"]
        report.parts.append(part_report(nodes, part.task_hash, found["best"], reference_us))
    if refusal is not None and not searched:
        raise refusal


def part_report(nodes: int, task_hash: str, best: Dict[str, Any], reference_us: float) -> PartReport:
    """A part whose best candidate is a row of a leaderboard or of a search's document."""
    measured = best.get("reference_time_us") or reference_us
    part = PartReport(
        nodes=nodes,
        task_hash=task_hash,
        reference_ms=measured / 1e3,
        best_ms=best["time_us"] / 1e3,
        speedup=best["speedup"],
        max_error=best["max_rel_error"],
        roof_fraction=best["roof_fraction"],
        math=best["math"],
        bound=best["bound"],
        origin=best["origin"],
    )
    if best["recipe"]:
        part.candidate = best["candidate"]
    else:
        part.why_eager = "the search found nothing faster than one kernel for each operation"
    return part


def _why_eager(report: Report, where: torch.device) -> Optional[str]:
    if not report.candidates:
        return "the search found nothing faster"
    if report.modelled:
        return f"the search was on {report.device}: an emulated device has no operators to call"
    if where.type != "cuda":
        return "the module is on the CPU, and hone's operators run on a GPU"
    return None


def operator_runner(imported: Imported, parts: Sequence[PartReport], db: Optional[str]) -> GraphRunner:
    kernels: List[Optional[Kernel]] = []
    for part, found in zip(imported.parts, parts):
        if found.candidate is None:
            kernels.append(None)
        else:
            operator = load(found.candidate, db=db)
            buffers = task_buffers(part.task)
            kernels.append(Kernel(operator, buffers, part, imported.program, found.candidate))
    return GraphRunner(imported, kernels)


def choose_parts(
    runner: GraphRunner,
    owner: torch.nn.Module,
    leaves: Sequence[Any],
    device: torch.device,
    parts: Sequence[PartReport],
) -> None:
    """Leaves to PyTorch the parts in which its own kernels are as fast: each is timed both ways on
    the GPU. May write into `owner`'s buffers and the leaves."""

    def faster(index: int, mine: Callable[[], Any], eager: Callable[[], Any]) -> bool:
        part = parts[index]
        part.before_ms, part.after_ms = medians_ms([eager, mine])
        return part.after_ms < part.before_ms

    with torch.no_grad():
        runner(owner, leaves, device, choose=faster)
    runner.settle()
    for index in runner.dropped():
        parts[index].why_eager = "PyTorch's own kernels are as fast"


def tolerance_of(math: Optional[str], leaves: Sequence[Any]) -> float:
    """Beyond PyTorch's own error, which counts twice: that of one rounding of the narrowest type."""
    types = [x.dtype for x in leaves if isinstance(x, torch.Tensor) and x.dtype.is_floating_point]
    narrowest = max([torch.finfo(t).eps for t in types], default=torch.finfo(torch.float32).eps)
    return TOLERANCES.get(math or "", max(1e-5, 4 * narrowest))


class _Call:
    """A module's call by hone's operators."""

    def __init__(
        self,
        runner: GraphRunner,
        guard: Guard,
        names: Sequence[str],
        device: torch.device,
        example: Sequence[Any],
    ) -> None:
        """`example`: the leaves of the call that was verified."""
        self.runner, self.guard, self._names, self._device = runner, guard, names, device
        # Of the tensors shapes and types alone are kept, in memory of no size.
        self.example = [
            torch.empty((), dtype=x.dtype, device=x.device).expand(x.shape)
            if isinstance(x, torch.Tensor)
            else x
            for x in example
        ]

    def __deepcopy__(self, memo: Any) -> "_Call":
        return self  # knows no module: a copy of the module may share it

    def unguarded(self, module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Any) -> Any:
        leaves, _ = flatten_call(self._names, args, kwargs)
        return self.runner(module, leaves, self._device)

    def why_eager(self, module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Any) -> Optional[str]:
        leaves, spec = flatten_call(self._names, args, kwargs)
        reason = self.guard.why_eager(module, leaves, spec)
        return reason or self.runner.why_eager(module, leaves)


def medians_ms(functions: Sequence[Callable[[], Any]]) -> List[float]:
    """Milliseconds that each function takes on the GPU: medians of 20 runs in turns, after three that
    compile and warm up."""
    times: List[List[float]] = [[] for _ in functions]
    for repeat in range(23):
        for which, function in enumerate(functions):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
            begin.record()
            function()
            end.record()
            torch.cuda.synchronize()
            if repeat >= 3:
                times[which].append(begin.elapsed_time(end))
    return [sorted(t)[len(t) // 2] for t in times]


def _times(
    module: torch.nn.Module, call: _Call, args: Tuple[Any, ...], kwargs: Any
) -> Tuple[float, float]:
    """Milliseconds of a call in PyTorch and by hone's operators."""
    copied = copy.deepcopy(module)
    with torch.no_grad():
        eager, mine = medians_ms(
            [lambda: copied(*args, **kwargs), lambda: call.unguarded(copied, args, kwargs)]
        )
    return eager, mine


def _returned(module: torch.nn.Module, report: Report, call: Optional[_Call]) -> torch.nn.Module:
    """A module that shares all with another, and calls the operators where there are some."""
    shared = copy.copy(module)
    shared.__dict__["_hone_report"] = report
    if call is not None:
        shared.__class__ = _subclass(type(module))
        # One that somebody set on the instance would hide the subclass's.
        shared.__dict__["_hone_forward"] = shared.__dict__.pop("forward", None)
        shared.__dict__["_hone_call"] = call
    return shared


_subclasses: Dict[Type[torch.nn.Module], Type[torch.nn.Module]] = {}


def _subclass(original: Type[torch.nn.Module]) -> Type[torch.nn.Module]:
    """A class whose forward runs the operators for calls that are like the example."""
    if original not in _subclasses:

        @torch.compiler.disable  # type: ignore[untyped-decorator]
        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            report = self._hone_report
            reason = self._hone_call.why_eager(self, args, kwargs)
            if reason is None:
                report.replaced_calls += 1
                return self._hone_call.unguarded(self, args, kwargs)
            report.eager_calls += 1
            report.last_eager_reason = reason
            own = self._hone_forward
            return own(*args, **kwargs) if own else original.forward(self, *args, **kwargs)

        _subclasses[original] = type(
            original.__name__,
            (original,),
            {"forward": forward, "__module__": original.__module__, "__doc__": original.__doc__},
        )
    return _subclasses[original]
