"""How long parts of a module take, by PyTorch and by hone, and what follows from it: which of the two
runs, and where a search spends its time."""
import re
import time
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch

from hone._report import PartReport
from hone._runtime import EAGER, INDUCTOR, OPERATOR, GraphRunner, Run

#: What takes PyTorch's place takes at most this fraction of its time.
WORTH_IT = 0.98
#: Of a budget, what is divided evenly; the rest goes where the time is.
EVENLY = 0.2


def shares(budget: str, seconds: Sequence[float]) -> List[str]:
    """A budget's shares for several searches of tasks that take so long in PyTorch: each at least a
    second or an evaluation. What is no budget stays, for the program to refuse."""
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)(s|m|h)?", budget)
    if found is None or len(seconds) <= 1:
        return [budget] * len(seconds)
    whole = float(found[1]) * {"s": 1, "m": 60, "h": 3600}.get(found[2], 1)
    total = sum(seconds)
    result = []
    for taken in seconds:
        part = taken / total if total > 0 else 1 / len(seconds)
        share = max(1.0, whole * (EVENLY / len(seconds) + (1 - EVENLY) * part))
        result.append(str(int(share)) if found[2] is None else f"{share:.10g}s")
    return result


def part_seconds(
    runner: GraphRunner, owner: torch.nn.Module, leaves: Sequence[Any], device: torch.device
) -> Dict[int, float]:
    """What each part takes by its place, the second of two calls. May write into `owner`'s buffers
    and the leaves."""
    seconds: Dict[int, float] = {}

    def wait() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.monotonic()

    def timed(part: int, run: Run) -> Dict[str, Any]:
        begun = wait()
        made = run()
        seconds[part] = wait() - begun
        return made

    with torch.no_grad():
        for _ in range(2):
            runner(owner, leaves, device, around=timed)
    return seconds


def medians_ms(functions: Sequence[Callable[[], Any]]) -> List[float]:
    """Milliseconds of a call of each function among others, as in a model: while the GPU runs one, the
    processor prepares the next. Medians of 20 runs of five calls in turns, after three that compile and
    warm up."""
    calls = 5
    times: List[List[float]] = [[] for _ in functions]
    for repeat in range(23):
        for which, function in enumerate(functions):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(calls):
                function()
            end.record()
            torch.cuda.synchronize()
            if repeat >= 3:
                times[which].append(begin.elapsed_time(end) / calls)
    return [sorted(t)[len(t) // 2] for t in times]


def choose_parts(
    runner: GraphRunner,
    owner: torch.nn.Module,
    leaves: Sequence[Any],
    device: torch.device,
    parts: Sequence[PartReport],
    inductor: bool,
) -> None:
    """Has each part run by what is fastest on the GPU: its operator, PyTorch, or, where `inductor`
    says so, Inductor; by PyTorch where the others are not faster by 2 %. Of parts that are alike one is
    timed. May write into `owner`'s buffers and the leaves."""
    timed: Dict[str, PartReport] = {}

    def fastest(index: int, ways: Dict[str, Run]) -> str:
        part = parts[index]
        like = timed.setdefault(part.task_hash, part)
        if like is part:
            names = [EAGER, OPERATOR]
            if inductor:
                part.inductor_failed = _failure(ways[INDUCTOR])
                names += [INDUCTOR] if part.inductor_failed is None else []
            times = dict(zip(names, medians_ms([ways[name] for name in names])))
            part.before_ms, part.after_ms = times[EAGER], times[OPERATOR]
            part.inductor_ms = times.get(INDUCTOR)
            best = min(times, key=lambda name: times[name])
            part.runs = best if times[best] <= WORTH_IT * times[EAGER] else EAGER
        part.before_ms, part.after_ms = like.before_ms, like.after_ms
        part.inductor_ms, part.inductor_failed = like.inductor_ms, like.inductor_failed
        part.runs = like.runs
        return part.runs

    with torch.no_grad():
        runner(owner, leaves, device, choose=fastest)
    runner.settle()
    for index in runner.dropped():
        parts[index].why_eager = f"{parts[index].runs} is as fast"


def _failure(run: Run) -> Optional[str]:
    try:
        run()
    except Exception as failure:  # whatever a compiler raises
        return (str(failure).strip() or type(failure).__name__).splitlines()[0][:200]
    return None
