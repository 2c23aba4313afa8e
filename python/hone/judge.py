"""Is a candidate right? A file with `ModelNew` against a file of KernelBench's form.

    python -m hone.judge PROBLEM.py CANDIDATE.py [--trials 6] [--seed N] [--device D] [--json FILE|-]

PROBLEM.py has `Model`, `get_inputs` and `get_init_inputs`, CANDIDATE.py has `ModelNew`. Both modules are
made by the same seed, in train mode and without gradients; then ModelNew gets Model's state_dict. Each
trial has new inputs of seeds that nobody can know: in turns those of `get_inputs`, and others of
the same shapes and ranges. A candidate is right where in every trial

- its results have the types and shapes of Model's, and their error against Model in f64 is at most the
  tolerance: twice eager PyTorch's own error with its switches for TF32 as they are, and at least four
  roundings of the results' type. Errors are max |difference| / max(|expected|, its root mean square);
- it leaves its arguments, its parameters and buffers as Model leaves its own;
- the results of earlier calls stay as they were. All trials come in the same memory, so that answers which
  are kept by address are found out.

The answers of Model are computed before the candidate's file is read. Its code runs in this process: it
can do what you can. Without a GPU both run on the CPU. Exit status: 0 right, 1 wrong, 2 a file that does not
load."""
import argparse
import copy
import importlib.util
import json
import os
import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from hone._errors import HoneError
from hone._verify import answers, as_it_is, error, fresh, state_of, tensors_of

SEED = 42  # KernelBench's own, of the modules


@dataclass
class Trial:
    """Inputs, and what Model makes of them."""

    inputs: Tuple[Any, ...]
    results: List[torch.Tensor]  #: in f64, rounded to their types
    state: List[torch.Tensor]  #: what Model may have written: parameters, buffers, arguments
    eager_error: float


def loaded(path: str, *names: str) -> List[Any]:
    """What a file of Python calls so. HoneError: it does not load, or has no such name."""
    try:
        spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return [getattr(module, name) for name in names]
    except Exception as failure:  # whatever the file's own code raises
        line = (str(failure).strip() or type(failure).__name__).splitlines()[0]
        raise HoneError(f"{path}: does not load: {line}", 2) from failure


def _moved(values: Sequence[Any], device: torch.device) -> Tuple[Any, ...]:
    return tuple(x.to(device) if isinstance(x, torch.Tensor) else x for x in values)


def _made(kind: Any, init: Sequence[Any], device: torch.device) -> torch.nn.Module:
    torch.manual_seed(SEED)
    module: torch.nn.Module = kind(*copy.deepcopy(list(init))).to(device)
    return module


def trials_of(
    model: torch.nn.Module, get_inputs: Any, count: int, device: torch.device, generator: torch.Generator
) -> List[Trial]:
    trials = []
    for i in range(count):
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
        inputs = _moved(get_inputs(), device)
        if i % 2:
            inputs = tuple(fresh(x, generator) for x in inputs)
        torch.manual_seed(SEED)
        own, truth = answers(model, inputs, {})
        torch.manual_seed(SEED)
        default, _ = as_it_is(model, inputs, {})
        written = copy.deepcopy(model), copy.deepcopy(inputs)
        torch.manual_seed(SEED)
        with torch.no_grad():
            written[0](*written[1])
        pairs = [(d, t) for d, t in zip(default, truth) if isinstance(t, torch.Tensor)]
        eager = max([error(d, t) for d, t in pairs], default=0.0)
        trials.append(Trial(inputs, [t for _, t in pairs], state_of(*written), eager))
    return trials


def difference(trial: Trial, found: List[torch.Tensor], state: List[torch.Tensor]) -> Dict[str, Any]:
    """A trial's row: its error, its tolerance and what is wrong, or None. state: what the candidate may have
    written, or the last of it."""
    epsilon = max([torch.finfo(t.dtype).eps for t in trial.results if t.is_floating_point()], default=0.0)
    row: Dict[str, Any] = {"error": 0.0, "tolerance": max(2 * trial.eager_error, 4 * epsilon), "wrong": None}
    row["eager_error"] = trial.eager_error
    if len(found) != len(trial.results):
        row["wrong"] = f"{len(found)} results, not {len(trial.results)}"
        return row
    for i, (mine, theirs) in enumerate(zip(found, trial.results)):
        if (mine.dtype, mine.shape) != (theirs.dtype, theirs.shape):
            row["wrong"] = (
                f"result {i} is {mine.dtype} {list(mine.shape)}, not {theirs.dtype} {list(theirs.shape)}"
            )
            return row
        row["error"] = max(row["error"], error(mine, theirs))
    if row["error"] > row["tolerance"]:
        row["wrong"] = f"error {row['error']:.1e}, tolerance {row['tolerance']:.1e}"
    elif max(map(error, state, trial.state[-len(state) :]), default=0.0) > row["tolerance"]:
        row["wrong"] = "its arguments, parameters or buffers are not left as Model leaves them"
    return row


def judge(
    problem: str, candidate: str, count: int = 6, seed: Optional[int] = None, device: Optional[str] = None
) -> Dict[str, Any]:
    """The report, as --json has it. HoneError: a file does not load."""
    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    seed = int.from_bytes(os.urandom(7), "little") if seed is None else seed
    generator = torch.Generator().manual_seed(seed)
    kind, get_inputs, get_init_inputs = loaded(problem, "Model", "get_inputs", "get_init_inputs")
    torch.manual_seed(SEED)
    init = _moved(get_init_inputs(), where)
    model = _made(kind, init, where)
    trials = trials_of(model, get_inputs, count, where, generator)
    (new,) = loaded(candidate, "ModelNew")
    report: Dict[str, Any] = {"device": str(where), "seed": seed, "weights": "copied", "trials": []}
    report.update(tf32=torch.backends.cudnn.allow_tf32 if where.type == "cuda" else None, right=False)
    kept: List[Tuple[torch.Tensor, torch.Tensor]] = []
    given = copy.deepcopy(trials[0].inputs)
    try:
        fast = _made(new, init, where)
        try:
            fast.load_state_dict(model.state_dict())
        except RuntimeError as failure:
            report["weights"] = "not copied, made by the same seed: " + str(failure).splitlines()[-1].strip()
        before = copy.deepcopy(fast.state_dict())
        for trial in trials:
            pairs = list(zip(tensors_of(given), tensors_of(trial.inputs)))
            if any(mine.shape != theirs.shape for mine, theirs in pairs):
                given = copy.deepcopy(trial.inputs)
            for mine, theirs in pairs:
                mine.copy_(theirs)
            fast.load_state_dict(before)
            torch.manual_seed(SEED)
            with torch.no_grad():
                found = tensors_of(fast(*given))
            state = state_of(fast, given)
            if report["weights"] != "copied" or len(state) != len(trial.state):
                state = tensors_of(given)
            row = difference(trial, found, state)
            if row["wrong"] is None and any(not _same(x, then) for x, then in kept):
                row["wrong"] = "it changed the result of an earlier call"
            kept += [(x, x.clone()) for x in found]
            report["trials"].append(row)
    except Exception as failure:  # whatever the candidate's own code raises
        line = (str(failure).strip() or type(failure).__name__).splitlines()[0]
        report["trials"].append({"wrong": f"{type(failure).__name__}: {line}"})
    report["right"] = all(row["wrong"] is None for row in report["trials"])
    return report


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8)))


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m hone.judge",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("problem")
    parser.add_argument("candidate")
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--seed", type=int, help="repeats the inputs of a report; default: one of the system")
    parser.add_argument("--device", help="default: the GPU, else the CPU")
    parser.add_argument("--json", metavar="FILE|-")
    options = parser.parse_args(arguments)
    try:
        report = judge(options.problem, options.candidate, options.trials, options.seed, options.device)
    except HoneError as failure:
        print(f"hone: {failure}", file=sys.stderr)
        return 2
    if options.json and options.json != "-":
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    print(json.dumps(report, indent=1) if options.json == "-" else text_of(report))
    return 0 if report["right"] else 1


def text_of(report: Dict[str, Any]) -> str:
    lines = [f"{'right' if report['right'] else 'WRONG'} on {report['device']}, seed {report['seed']}"]
    lines.append(f"weights: {report['weights']}")
    for i, row in enumerate(report["trials"]):
        numbers = ""
        if "error" in row:
            numbers = (
                f"error {row['error']:.1e}, eager PyTorch's {row['eager_error']:.1e}, "
                f"tolerance {row['tolerance']:.1e}"
            )
        lines.append(f"trial {i}: {numbers}" + (f"  WRONG: {row['wrong']}" if row["wrong"] else ""))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
