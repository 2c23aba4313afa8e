"""`hone.optimize`: a module in, a faster one out."""
import contextlib
import copy
import os
import tempfile
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from torch.utils import _pytree as pytree

from hone._binary import run
from hone._errors import HoneError
from hone._graph import DTYPES, Imported, draws, export, import_program
from hone._load import database_options
from hone._math import TOLERANCES, levels_of
from hone._operator import kept_operators_of
from hone._report import PartReport, Report
from hone._replaced import Call, returned
from hone._runtime import EAGER, OPERATOR, GraphRunner, Guard, Kernel, flatten_call, has_hooks
from hone._timing import WORTH_IT, choose_parts, medians_ms, part_seconds, shares
from hone._verify import as_it_is, levels_as_run, verify_import, verify_replaced

HOOKS = "it has forward hooks of its own; optimize the module inside, or remove them"
CONSTANTS = "it writes into a tensor that is neither a parameter nor a buffer"
DRAWS = "it draws at random (dropout in train mode, say), as only PyTorch can"
#: Arguments [B] with which an import is still verified before the search, through files. With larger
#: ones, on a GPU, what replaces the module is verified alone.
MOST_RECORDED = 256 << 20


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
    inductor: bool = True,
) -> torch.nn.Module:
    """Searches for faster kernels for a module at the shapes of an example call; returns a module
    that runs them.

    module: in the mode, of the types and on the device in which it will be called; it is not
    changed. args, kwargs: an example call; hone's operators run calls of the same shapes, types and
    devices. budget: how long to search, a time ("60s", "5m") or a number of evaluations ("200"), for
    all parts of the module together; of several the slower ones in PyTorch get more of it.
    device: where to search, such as "cuda:0" or "emu:sm_90"; None: the module's GPU, else hone's
    default. db: the database's file; None: hone's default one. math: how far results may depart from
    the module's arithmetic, "exact", "reassociate", "tf32x3", "tf32" or "reduced"; None: "tf32" in
    parts where PyTorch's switches let it use TF32 on a GPU (torch.backends.cudnn.allow_tf32 for
    convolutions and recurrent networks, which is on by default, torch.backends.cuda.matmul.allow_tf32
    for products) and the example's results show that it does, "tf32x3" in other parts with one of
    these, else "reassociate". folder: keeps the .pt2, the task and the recorded answers; None: they are
    removed, and `hone verify` cannot read the weights again.
    progress: the search's progress goes to stderr. inductor: on a GPU each part that has an operator is
    timed by torch.compile's Inductor, too, and the fastest of the three runs; False: not by Inductor.

    The returned module is of the module's class or a subclass of it. It shares the module's parameters,
    buffers and submodules: `state_dict()` has the same names and tensors, `load_state_dict`,
    `to` and an optimizer's steps change both. It can be copied and pickled, with its operators. A call that is not like the example, or that needs a
    gradient, runs the module's own forward. `hone.report` says what was done.

    ImportRefused: PyTorch or hone cannot read the module. ImportDiffers: hone computes something
    else. HoneError: the search failed. Each has one line."""
    kwargs = dict(kwargs or {})
    args, kwargs = pytree.tree_map(_copied, (tuple(args), kwargs))
    name = type(module).__name__
    if has_hooks(module):
        # The export would hold them, and the module would run them once more.
        return returned(module, Report(name, device=device or "", why_eager=HOOKS), None)
    with _folder(folder) as work:
        begun = time.monotonic()
        program = export(module, args, kwargs)
        names = list(kwargs)
        leaves, spec = flatten_call(names, args, kwargs)
        where = _device_of([*leaves, *module.parameters(), *module.buffers()])
        if device is None and where.type == "cuda":
            device = f"cuda:{where.index or 0}"
        levels = levels_of(math, device)
        if where.type == "cuda" and levels.may_round(program.graph.nodes):
            example = (args, kwargs)
            as_run = levels_as_run(levels, lambda: as_it_is(module, lambda: copy.deepcopy(example))[0])
            levels = as_run or levels
        imported = import_program(program, work, name, levels)
        report = Report(name, device=device or "", left_out=imported.left_out)
        report.seconds["export and import"] = time.monotonic() - begun
        if imported.whole.draws if imported.whole else draws(program):
            report.why_eager = DRAWS
            return returned(module, report, None)
        generator = torch.Generator().manual_seed(torch.initial_seed() % 2**63)
        if imported.whole is not None and (where.type == "cpu" or _bytes(leaves) <= MOST_RECORDED):
            with report.timed("verify the import"):
                report.import_error, report.eager_error = verify_import(
                    module,
                    imported,
                    (args, kwargs),
                    lambda a, k: flatten_call(names, a, k)[0],
                    work,
                    device,
                    generator,
                )
        seconds: Dict[int, float] = {}
        if imported.whole is None:
            runner = GraphRunner(imported, [None] * len(imported.parts))
            seconds = part_seconds(runner, copy.deepcopy(module), copy.deepcopy(leaves), where)
        with report.timed("search"):
            _search_parts(imported, budget, seconds, device, db, progress, report)
        report.why_eager = _why_eager(report, where)
        if report.why_eager:
            return returned(module, report, None)
        with report.timed("load"):
            runner = operator_runner(imported, report.parts, db)
        if runner.writes_constants():
            report.why_eager = CONSTANTS
            return returned(module, report, None)
        guard = Guard(module, program, leaves, spec)
        call = Call(runner, guard, names, where, leaves)
        tolerance = tolerance_of(math, leaves)

        def verify() -> None:
            with report.timed("verify the replacement"):
                report.max_error = verify_replaced(
                    call.unguarded,
                    module,
                    (args, kwargs),
                    tolerance,
                    generator,
                    tf32=report.uses_tf32,
                )

        verify()
        with report.timed("time the parts"):
            given = copy.deepcopy(leaves)
            choose_parts(runner, copy.deepcopy(module), given, where, report.parts, inductor)
        if runner.dropped():
            verify()
        report.before_ms, report.after_ms = _times(module, call, args, kwargs)
        chosen = any(part.runs != EAGER for part in report.parts)
        if not chosen or report.after_ms > WORTH_IT * report.before_ms:
            report.why_eager = "PyTorch's own kernels are as fast"
            return returned(module, report, None)
        report.replaced = True
        return returned(module, report, call)


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


def _bytes(leaves: Sequence[Any]) -> int:
    return sum(x.numel() * x.element_size() for x in leaves if isinstance(x, torch.Tensor))


def _search_parts(
    imported: Imported,
    budget: str,
    seconds: Dict[int, float],
    device: Optional[str],
    db: Optional[str],
    progress: bool,
    report: Report,
) -> None:
    """Searches each task once, however many parts are alike, and adds the parts to the report.
    seconds: what each part takes in PyTorch, by its place; {}: there is one part."""
    searched: Dict[str, Dict[str, Any]] = {}
    of_task: Dict[str, float] = {}
    for i, part in enumerate(imported.parts):
        of_task[part.task_hash] = of_task.get(part.task_hash, 0.0) + seconds.get(i, 0.0)
    share = dict(zip(of_task, shares(budget, list(of_task.values()))))
    refusal: Optional[HoneError] = None
    for part in imported.parts:
        nodes = len(part.nodes)
        try:
            if part.task_hash not in searched:
                searched[part.task_hash] = search(part.task, share[part.task_hash], device, db, progress)
        except HoneError as error:
            if imported.whole is not None or error.status != 1:  # 1: this task failed its checks
                raise
            refusal = error
            report.parts.append(PartReport(nodes, part.task_hash, why_eager=str(error)))
            continue
        found = searched[part.task_hash]
        report.device, report.modelled = found["device"], found["modelled"]
        reference_us = found["reference"]["time_us"]
        ended = found["seemed_faster"]["said"]
        report.parts.append(part_report(nodes, part.task_hash, found["best"], reference_us, ended))
    if refusal is not None and not searched:
        raise refusal


def part_report(
    nodes: int,
    task_hash: str,
    best: Dict[str, Any],
    reference_us: float,
    ended: Optional[str] = None,
) -> PartReport:
    """A part whose best candidate is a row of a leaderboard or of a search's document. ended: the
    search's sentence on what seemed faster and is not, if any did."""
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
        if ended:
            part.why_eager += f"; {ended}"
    return part


def nothing_faster(report: Report) -> Optional[str]:
    """Why no part has a candidate."""
    if len(report.parts) == 1:
        return report.parts[0].why_eager
    reasons = {part.why_eager for part in report.parts}
    return reasons.pop() if len(reasons) == 1 else "no part has a faster program; report.parts says why"


def _why_eager(report: Report, where: torch.device) -> Optional[str]:
    if not report.candidates:
        return nothing_faster(report)
    if report.modelled:
        return f"the search was on {report.device}: an emulated device has no operators to call"
    if where.type != "cuda":
        return "the module is on the CPU, and hone's operators run on a GPU"
    return None


def operator_runner(
    imported: Imported, parts: Sequence[PartReport], db: Optional[str], chosen: bool = False
) -> GraphRunner:
    """The graph with the candidates of its parts. chosen: only of those parts that the report has hone run."""
    used = [p.candidate if not chosen or p.runs == OPERATOR else None for p in parts]
    tasks = {candidate: p.task_hash for candidate, p in zip(used, parts) if candidate is not None}
    operators = kept_operators_of(tasks, database_options(db))
    kernels: List[Optional[Kernel]] = []
    for part, candidate in zip(imported.parts, used):
        if candidate is None:
            kernels.append(None)
            continue
        operator = operators[candidate]
        kernels.append(Kernel(operator.launch, operator.buffers, part, imported.program, candidate))
    return GraphRunner(imported, kernels)


def tolerance_of(math: Optional[str], leaves: Sequence[Any]) -> float:
    """Beyond PyTorch's own error, which counts twice: that of one rounding of the narrowest type that
    hone computes in."""
    types = [x.dtype for x in leaves if isinstance(x, torch.Tensor) and x.dtype in DTYPES.values()]
    types = [x for x in types if x.is_floating_point]
    narrowest = max([torch.finfo(t).eps for t in types], default=torch.finfo(torch.float32).eps)
    return TOLERANCES.get(math or "", max(1e-5, 4 * narrowest))


def _times(
    module: torch.nn.Module, call: Call, args: Tuple[Any, ...], kwargs: Any
) -> Tuple[float, float]:
    """Milliseconds of a call in PyTorch and by hone's operators, with the guard before them."""
    copied = copy.deepcopy(module)

    def guarded() -> None:
        reason, _ = call.attempt(copied, args, kwargs)
        if reason is not None:  # to the guard, a copy with tensors of its own is another module
            call.unguarded(copied, args, kwargs)

    with torch.no_grad():
        eager, mine = medians_ms([lambda: copied(*args, **kwargs), guarded])
    return eager, mine
