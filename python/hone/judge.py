"""Is a candidate right? A file with `ModelNew` against a file of KernelBench's form.

    python -m hone.judge PROBLEM.py CANDIDATE.py [--trials 6] [--seed N] [--device D] [--json FILE|-]

PROBLEM.py has `Model`, `get_inputs` and `get_init_inputs`, CANDIDATE.py has `ModelNew`. Both modules are
made by the same seed, in train mode and without gradients; then ModelNew gets Model's state_dict. Each
trial has new inputs of seeds that nobody can know: in turns those of `get_inputs`, and others of
the same shapes and ranges. A candidate is right where in every trial

- its results have the types and shapes of Model's, and their error against Model in f64 is at most the
  tolerance: twice eager PyTorch's own error with its switches for TF32 as they are, and at least four
  roundings of the results' type. Errors are max |difference| / max(|expected|, its root mean square);
- it leaves its arguments as Model leaves its own, and what both have of parameters and buffers by the same
  name; the line `state` says what is not compared;
- the results of earlier calls stay as they were. All trials come in the same memory, so that answers which
  are kept by address are found out.

A Model whose own error is above 0.1, or 0.25 where a type is shorter than f32, cannot be judged.

The answers of Model are computed before the candidate's file is read. All of it runs in a second process,
whose prints go to stderr: a candidate that ends it is wrong. Inside it its code can do what you can. Without
a GPU both run on the CPU. Exit status: 0 right, 1 wrong, 2 nothing was judged, as where a file does not
load."""
import argparse
import copy
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import torch
from torch.utils import _pytree as pytree

from hone._errors import HoneError
from hone._verify import answers, as_it_is, error, fresh, tensors_of

SEED = 42  # KernelBench's own, of the modules
#: The largest error of Model's own that can be judged, and that where a type is shorter than f32. Twice it
#: is below 1, the error of zeros.
MOST, MOST_OF_SHORT = 0.1, 0.25
#: In the place of a buffer that a call removes.
NONE = torch.empty(0)


@dataclass
class Trial:
    """Inputs, and what Model makes of them."""

    inputs: Tuple[Any, ...]
    results: List[torch.Tensor]  #: in f64, rounded to their types
    held: List[bool]  #: which results are memory of Model's parameters and buffers
    arguments: List[torch.Tensor]  #: as Model leaves them
    state: Dict[str, torch.Tensor]  #: parameters and buffers as Model leaves them
    eager_error: float
    most: float  #: of eager_error


def _line(failure: BaseException) -> str:
    return (str(failure).strip() or type(failure).__name__).splitlines()[0]


def loaded(path: str, *names: str) -> List[Any]:
    """What a file of Python calls so. HoneError: it does not load, or has no such name."""
    try:
        spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return [getattr(module, name) for name in names]
    except Exception as failure:  # whatever the file's own code raises
        raise HoneError(f"{path}: does not load: {_line(failure)}", 2) from failure


def _moved(values: Sequence[Any], device: torch.device) -> Tuple[Any, ...]:
    return tuple(x.to(device) if isinstance(x, torch.Tensor) else x for x in values)


def _own(values: Sequence[Any], device: torch.device) -> Tuple[Any, ...]:
    """Each tensor in memory of its own on the device."""

    def own(x: Any) -> Any:
        return x.detach().to(device, copy=True) if isinstance(x, torch.Tensor) else x

    return tuple(pytree.tree_map(own, list(values)))


def _made(kind: Any, init: Sequence[Any], device: torch.device) -> torch.nn.Module:
    torch.manual_seed(SEED)
    module: torch.nn.Module = kind(*copy.deepcopy(list(init))).to(device)
    return module


def _state(module: torch.nn.Module) -> Dict[str, torch.Tensor]:
    """Parameters and buffers, also those that a state_dict leaves out."""
    state = dict(module.named_parameters(remove_duplicate=False))
    return {**state, **dict(module.named_buffers(remove_duplicate=False))}


def _places(tensors: Sequence[torch.Tensor]) -> Set[int]:
    return {x.untyped_storage().data_ptr() for x in tensors}


def _is_short(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point and tensor.element_size() < 4


def trials_of(
    model: torch.nn.Module, get_inputs: Any, count: int, device: torch.device, generator: torch.Generator
) -> List[Trial]:
    """HoneError: Model's own error is too large, or no result is a tensor."""
    trials = []
    for i in range(count):
        torch.manual_seed(int(torch.randint(2**62, (), generator=generator)))
        inputs = _own(get_inputs(), device)
        if i % 2:
            inputs = pytree.tree_map(lambda x: fresh(x, generator), inputs)

        def draw() -> Tuple[Tuple[Any, ...], Any]:
            return tuple(copy.deepcopy(inputs)), {}

        torch.manual_seed(SEED)
        _, truth = answers(model, draw)
        torch.manual_seed(SEED)
        default, (given, _), written = as_it_is(model, draw)
        found = tensors_of(default)
        state = _state(written)
        held = [bool(_places([x]) & _places(list(state.values()))) for x in found]
        pairs = [(d, t) for d, t in zip(default, truth) if isinstance(t, torch.Tensor)]
        if not pairs:
            raise HoneError("Model's results have no tensor: cannot be judged", 2)
        results = [t for _, t in pairs]
        short = any(map(_is_short, [*results, *model.parameters(), *tensors_of(inputs)]))
        most = MOST_OF_SHORT if short else MOST
        errors = [error(d, t) for d, t in pairs]
        for own in errors:
            if not own <= most:
                raise HoneError(f"Model's own answers differ by {own:.1e}: cannot be judged", 2)
        trials.append(Trial(inputs, results, held, tensors_of(given), state, max(errors), most))
    return trials


def difference(
    trial: Trial, found: List[torch.Tensor], arguments: List[torch.Tensor], state: Dict[str, torch.Tensor]
) -> Dict[str, Any]:
    """A trial's row: its error, its tolerance and what is wrong, or None. arguments, state: what the
    candidate may have written."""
    epsilon = max([torch.finfo(t.dtype).eps for t in trial.results if t.is_floating_point()], default=0.0)
    tolerance = min(max(2 * trial.eager_error, 4 * epsilon), 2 * trial.most)
    row: Dict[str, Any] = {"error": 0.0, "tolerance": tolerance, "wrong": None}
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
    if not row["error"] <= tolerance:
        row["wrong"] = f"error {row['error']:.1e}, tolerance {tolerance:.1e}"
        return row
    left = [(f"argument {i}", x, y) for i, (x, y) in enumerate(zip(arguments, trial.arguments))]
    left += [(name, x, trial.state.get(name, NONE)) for name, x in state.items()]
    for name, x, y in left:
        if not error(x, y) <= tolerance:
            row["wrong"] = f"its arguments, parameters or buffers are not left as Model leaves them: {name}"
            break
    return row


def _copied(fast: torch.nn.Module, model: torch.nn.Module) -> str:
    """Gives fast the weights of model where names and shapes are the same: the report's line of it."""
    mine, theirs = fast.state_dict(), model.state_dict()
    for name in [*theirs, *mine]:
        why = None
        if name not in mine or name not in theirs:
            why = f"only {'Model' if name in theirs else 'ModelNew'} has {name}"
        elif getattr(mine[name], "shape", None) != getattr(theirs[name], "shape", None):
            why = f"{name} is {list(mine[name].shape)}, not {list(theirs[name].shape)}"
        if why is not None:
            return f"not copied, made by the same seed: {why}"
    fast.load_state_dict(theirs)
    return "copied"


def _alike(fast: torch.nn.Module, model: torch.nn.Module) -> Tuple[List[str], str]:
    """(The names of parameters and buffers that both begin with alike, the report's line of it)"""
    mine, theirs = _state(fast), _state(model)
    both = [name for name, x in theirs.items() if _fits(mine.get(name), x) and _same(mine[name], x)]
    other = [
        f"{whose}'s {', '.join(names)}"
        for whose, names in (
            ("Model", [name for name in theirs if name not in both]),
            ("ModelNew", [name for name in mine if name not in both]),
        )
        if names
    ]
    return both, "compared" + (f", but not {' and '.join(other)}" if other else "")


def _restore(module: torch.nn.Module, before: Dict[str, torch.Tensor]) -> None:
    """Parameters and buffers, in their memory where they still have it."""
    for name, value in before.items():
        owner, _, leaf = name.rpartition(".")
        part = module.get_submodule(owner)
        among: Any = part._parameters if leaf in part._parameters else part._buffers
        if _fits(among.get(leaf), value):
            among[leaf].copy_(value)
        else:
            among[leaf] = copy.deepcopy(value)


def _fits(mine: Any, theirs: Any) -> bool:
    return (
        isinstance(mine, torch.Tensor)
        and isinstance(theirs, torch.Tensor)
        and (mine.dtype, mine.shape, mine.device) == (theirs.dtype, theirs.shape, theirs.device)
    )


def _renewed(given: Tuple[Any, ...], inputs: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """The inputs; a tensor is in the memory of the last at its place if that has its shape and type."""
    leaves, form = pytree.tree_flatten(inputs)
    last = pytree.tree_leaves(given)
    for i, (mine, theirs) in enumerate(zip(last, leaves)):
        if _fits(mine, theirs):
            leaves[i] = mine.copy_(theirs)
    renewed: Tuple[Any, ...] = pytree.tree_unflatten(leaves, form)
    return renewed


def judge(
    problem: str,
    candidate: str,
    count: int = 6,
    seed: Optional[int] = None,
    device: Optional[str] = None,
    begun: Callable[[Dict[str, Any]], None] = lambda report: None,
) -> Dict[str, Any]:
    """The report, as --json has it. begun gets it, without trials, before the candidate's file is read.
    HoneError: nothing was judged."""
    if count < 1:
        raise HoneError(f"--trials {count}: one is the least", 2)
    seed = int.from_bytes(os.urandom(7), "little") if seed is None else seed
    try:
        generator = torch.Generator().manual_seed(seed)
    except Exception as failure:
        raise HoneError(f"--seed {seed}: {_line(failure)}", 2) from failure
    try:
        where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.zeros(1, device=where)
    except Exception as failure:
        raise HoneError(f"--device {device}: {_line(failure)}", 2) from failure
    try:
        kind, get_inputs, get_init_inputs = loaded(problem, "Model", "get_inputs", "get_init_inputs")
        torch.manual_seed(SEED)
        init = _moved(get_init_inputs(), where)
        model = _made(kind, init, where)
        trials = trials_of(model, get_inputs, count, where, generator)
    except HoneError:
        raise
    except (Exception, SystemExit) as failure:  # whatever the problem's own code raises
        raise HoneError(f"{problem}: {type(failure).__name__}: {_line(failure)}", 2) from failure
    report: Dict[str, Any] = {"device": str(where), "seed": seed}
    report.update(weights="not copied", state="not compared")
    report.update(tf32=torch.backends.cudnn.allow_tf32 if where.type == "cuda" else None)
    report.update(right=False, trials=[])
    begun(report)
    try:
        (new,) = loaded(candidate, "ModelNew")
    except SystemExit as failure:
        report["trials"].append({"wrong": f"SystemExit: {_line(failure)}"})
        return report
    try:
        with torch.no_grad():
            _try(new, init, model, trials, where, report)
    except (Exception, SystemExit) as failure:  # whatever the candidate's own code raises
        report["trials"].append({"wrong": f"{type(failure).__name__}: {_line(failure)}"})
    report["right"] = all(row["wrong"] is None for row in report["trials"])
    return report


def _try(
    new: Any,
    init: Sequence[Any],
    model: torch.nn.Module,
    trials: List[Trial],
    where: torch.device,
    report: Dict[str, Any],
) -> None:
    """Adds the trials of ModelNew to the report."""
    with torch.enable_grad():
        fast = _made(new, init, where)
    report["weights"] = _copied(fast, model)
    names, report["state"] = _alike(fast, model)
    before = copy.deepcopy(_state(fast))
    kept: List[Tuple[torch.Tensor, torch.Tensor]] = []
    given: Tuple[Any, ...] = ()
    for trial in trials:
        given = _renewed(given, trial.inputs)
        arguments = tensors_of(given)
        places = _places(arguments)
        _restore(fast, before)
        torch.manual_seed(SEED)
        found = tensors_of(fast(*given))
        state = _state(fast)
        row = difference(trial, found, arguments, {name: state.get(name, NONE) for name in names})
        if row["wrong"] is None and any(not _same(x, then) for x, then in kept):
            row["wrong"] = "it changed the result of an earlier call"
        # A result in the memory of an argument changes with it.
        kept += [
            (x, x.clone())
            for x, held in zip(found, trial.held)
            if not held and not _places([x]) & places
        ]
        report["trials"].append(row)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    one, other = (x.detach().resolve_conj().contiguous().flatten().view(torch.uint8) for x in (one, other))
    return bool(torch.equal(one, other))


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
    parser.add_argument("--child", metavar="FILE", help=argparse.SUPPRESS)
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    try:
        if options.child is not None:
            return _child(options)
        report = _by_a_child(given)
        print(json.dumps(report, indent=1) if options.json == "-" else text_of(report))
        if options.json and options.json != "-":
            _write(options.json, report)
    except HoneError as failure:
        print(f"hone: {failure}", file=sys.stderr)
        return 2
    return 0 if report["right"] else 1


def _write(path: str, report: Dict[str, Any]) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    except OSError as failure:
        raise HoneError(f"--json {path}: {failure.strerror}", 2) from failure


def _child(options: argparse.Namespace) -> int:
    """Leaves the report in a file; the one that `begun` has stays there if the candidate ends the process."""

    def write(report: Dict[str, Any]) -> None:
        _write(options.child + ".new", report)
        os.replace(options.child + ".new", options.child)

    def begun(report: Dict[str, Any]) -> None:
        write({**report, "begun": True})

    files = options.problem, options.candidate
    try:
        report = judge(*files, options.trials, options.seed, options.device, begun)
    except HoneError as failure:
        write({"failure": str(failure)})
        return 2
    write(report)
    return 0 if report["right"] else 1


def _by_a_child(arguments: Sequence[str]) -> Dict[str, Any]:
    """The report of a second process, whose prints go to stderr. HoneError: nothing was judged."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory(prefix="hone-judge-") as folder:
        file = os.path.join(folder, "report.json")
        command = [sys.executable, "-m", "hone.judge", "--child", file, *arguments]
        sys.stdout.flush()
        status = subprocess.run(command, stdout=2, env={**os.environ, "PYTHONPATH": path}).returncode
        try:
            with open(file, encoding="utf-8") as opened:
                report: Dict[str, Any] = json.load(opened)
        except (OSError, ValueError):
            raise HoneError(f"Model ended the process with status {status}: nothing was judged", 2) from None
    if "failure" in report:
        raise HoneError(report["failure"], 2)
    if report.pop("begun", False):
        report["trials"] = [{"wrong": f"it ended the process with status {status}"}]
    return report


def text_of(report: Dict[str, Any]) -> str:
    lines = [f"{'right' if report['right'] else 'WRONG'} on {report['device']}, seed {report['seed']}"]
    lines += [f"weights: {report['weights']}", f"state: {report['state']}"]
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
