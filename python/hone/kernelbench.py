"""KernelBench's problems, as its authors run them, with hone's kernels in the modules' places.

    python -m hone.kernelbench PATH --level 1 [--problems 1-100] [--budget 15s] [--db F] [-o FOLDER] [--jobs 1]

PATH is a checkout of KernelBench, or its folder with level1, level2, level3. Each problem's file is
loaded as its harness does: the seed 42, the module in train mode, no gradients. Then `hone.optimize`;
then the answers are judged and the times taken. The example, with which times are taken, and the first trial
have the harness's own numbers where the inputs have less than 2^27 elements; the others are drawn on the GPU,
as drawing gigabytes on a CPU takes longer than all else:

- right: on five fresh inputs the error against the module in f64 is at most twice that of eager PyTorch,
  with PyTorch's TF32 off, and again with it as it is by default (on for convolutions); where hone uses
  TF32, as PyTorch's switches let it, the latter alone is asked;
- KernelBench's own test beside it: torch.allclose with 1e-4 against eager as it is by default, five times;
- times: eager, torch.compile, torch.compile(mode="max-autotune") and hone, in turns, with a cold L2
  cache, the median of each [ms].

With --jobs N so many problems are under way at a time: while one is searched or timed it has the GPU for
itself, and what takes no times, judging and PyTorch's compilers, several do at once.

Results lie in FOLDER, a file for each problem; what is there is not done again. Where hone's kernels
run there is a file with `ModelNew` beside it, named as KernelBench's scripts/eval_from_generations.py wants
it (level_1_problem_1_sample_0_kernel.py); scripts/run_and_check.py takes it too. At the end stands the
table. A problem whose answer does not depend on its input, at 1e-4, counts as degenerate: the table
has a column without these, and one that leaves out those with convolutions, too: where PyTorch rounds to TF32
unless told otherwise."""
import argparse
import ast
import concurrent.futures
import contextlib
import copy
import fcntl
import functools
import glob
import json
import multiprocessing
import os
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import torch
from torch.nn.modules.conv import _ConvNd
from torch.utils._python_dispatch import TorchDispatchMode

from hone._errors import HoneError, ImportDiffers, ImportRefused
from hone._math import convolutions_use_tf32, exact_f32, products_use_tf32, recurrent_use_tf32
from hone._optimize import optimize
from hone._report import Report, report
from hone._source import architecture, class_source
from hone._verify import error, tensors_of, widened

SEED = 42  # KernelBench's own
TRIALS = 5  # likewise
TOLERANCE = 1e-4  # likewise, of f32
FLUSHED = 256 << 20  # [B], more than any L2 cache holds
DRAWN_ON_CPU = 1 << 27  # of inputs' elements, as many as a CPU draws in a second
Function = Callable[[], Any]


@dataclass(frozen=True)
class Problem:
    """A file of KernelBench."""

    level: int
    number: int
    path: str

    @property
    def name(self) -> str:
        return f"{self.level}_{self.number:03d}"


def find_problems(path: str, level: int, numbers: Sequence[int]) -> List[Problem]:
    """The problems of a level, in their order. ValueError: PATH has no such level."""
    for root in (path, os.path.join(path, "KernelBench")):
        files = glob.glob(os.path.join(root, f"level{level}", "*.py"))
        if files:
            break
    else:
        raise ValueError(f"{path} has no folder level{level} with problems in it")
    found = []
    for file in files:
        match = re.match(r"(\d+)_", os.path.basename(file))
        if match and int(match[1]) in numbers:
            found.append(Problem(level, int(match[1]), file))
    return sorted(found, key=lambda problem: problem.number)


def numbers_of(text: str) -> List[int]:
    """ "1-3,7" -> [1, 2, 3, 7]. ValueError: anything else."""
    numbers: List[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise ValueError(f"'{text}' is no list of numbers such as 1-10,17")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


class Loaded:
    """A problem's module and inputs, as KernelBench's harness makes them."""

    def __init__(self, problem: Problem, device: torch.device) -> None:
        self.names: Dict[str, Any] = {"__name__": "problem"}
        with open(problem.path, encoding="utf-8") as file:
            self.source = file.read()
        exec(compile(self.source, problem.path, "exec"), self.names)
        self.device = device
        torch.manual_seed(SEED)
        self.init = self._moved(self.names["get_init_inputs"]())
        torch.manual_seed(SEED)
        with torch.no_grad():
            self.model: torch.nn.Module = self.names["Model"](*self.init).to(device)

    def _moved(self, values: Sequence[Any]) -> List[Any]:
        return [x.to(self.device) if isinstance(x, torch.Tensor) else x for x in values]

    def inputs(self, seed: int, draw_on: str = "cpu") -> Tuple[Any, ...]:
        """Fresh ones, on the device."""
        torch.manual_seed(seed)
        with torch.device(draw_on):
            return tuple(self._moved(self.names["get_inputs"]()))

    @functools.cached_property
    def _first_on(self) -> str:
        """Where the inputs are drawn that are to be the harness's own."""
        try:
            with torch.device("meta"):
                elements = sum(x.numel() for x in tensors_of(list(self.names["get_inputs"]())))
        except Exception:  # whatever the problem's own code raises without numbers
            return "cpu"
        return "cpu" if elements < DRAWN_ON_CPU else str(self.device)

    def example(self) -> Tuple[Any, ...]:
        """The inputs that the harness draws first."""
        return self.inputs(SEED, self._first_on)

    def trial(self, trial: int, seed: int) -> Tuple[Any, ...]:
        return self.inputs(seed, str(self.device) if trial else self._first_on)


def seeds() -> List[int]:
    """Those of the harness's trials."""
    torch.manual_seed(SEED)
    return [int(torch.randint(0, 2**32 - 1, (1,)).item()) for _ in range(TRIALS)]


def _called(module: torch.nn.Module, inputs: Tuple[Any, ...]) -> List[torch.Tensor]:
    """Each call finds the module's buffers as they were, and the same random numbers."""
    torch.manual_seed(SEED)
    return tensors_of(copy.deepcopy(module)(*copy.deepcopy(inputs)))


class _Convolutions(TorchDispatchMode):
    """Notes whether PyTorch runs a convolution, whoever calls it and by whatever name."""

    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Optional[Dict[str, Any]] = None
    ) -> Any:
        # aten::convolution, aten::conv2d, aten::cudnn_convolution and so on; not aten::_convert_weight_to_int4pack
        self.found = self.found or bool(re.search(r"conv(?!ert)", func.name()))
        return func(*args, **(kwargs or {}))


def has_convolutions(module: torch.nn.Module, inputs: Callable[[], Tuple[Any, ...]]) -> bool:
    """Has the module a layer that is a convolution, or does its forward call a function that runs one?
    `inputs` draws what it is called with: gigabytes, of some problems."""
    if any(isinstance(part, _ConvNd) for part in module.modules()):
        return True
    with torch.no_grad(), _Convolutions() as convolutions:
        _called(module, inputs())
    return bool(convolutions.found)


def _truth(
    module: torch.nn.Module, inputs: Tuple[Any, ...], like: List[torch.Tensor]
) -> Optional[List[torch.Tensor]]:
    """The module's results in f64, rounded to the types of `like`; None where it does not run in f64 or
    has no room for it."""
    try:
        torch.manual_seed(SEED)
        found = tensors_of(copy.deepcopy(module).double()(*map(widened, inputs)))
        return [t.to(x.dtype) for t, x in zip(found, like)]
    except Exception:  # whatever the problem's own code raises
        return None


def _errors(answers: List[torch.Tensor], truth: List[torch.Tensor]) -> List[float]:
    return [error(answer, t) for answer, t in zip(answers, truth)]


def _all_close(some: List[torch.Tensor], others: List[torch.Tensor]) -> bool:
    return len(some) == len(others) and all(
        a.shape == b.shape and torch.allclose(a, b, atol=TOLERANCE, rtol=TOLERANCE)
        for a, b in zip(some, others)
    )


def _sample(results: List[torch.Tensor]) -> List[torch.Tensor]:
    """Of each at most 2^21 elements, evenly spread."""
    return [x.flatten()[:: max(1, x.numel() >> 20)].clone() for x in results]


def _is_degenerate(loaded: Loaded) -> bool:
    """Do all trials have the same answer, but for the tolerance?"""
    first: Optional[List[torch.Tensor]] = None  # in the processor's memory
    for trial, seed in enumerate(seeds()):
        found = _called(loaded.model, loaded.trial(trial, seed))
        if first is None:
            first = [x.cpu() for x in found]
        elif not _all_close([x.to(loaded.device) for x in first], found):
            return False
    return True


def judge(loaded: Loaded, fast: torch.nn.Module, tf32: bool = False) -> Dict[str, Any]:
    """`fast` beside the problem's own module; tf32: hone's operators in it use TF32. Errors and
    verdicts, see the module's text; "error" and the like are max |difference| /
    max(|expected|, its root mean square), over all trials."""
    worst = {"error": 0.0, "eager_error": 0.0, "eager_error_default": 0.0}
    passed, right, same = 0, True, True
    # Arguments and results of some problems are a tenth of a GPU's memory, so what is not needed any
    # more goes at once.
    first: Optional[List[torch.Tensor]] = None  # a sample of what eager answers in the first trial
    with torch.no_grad():
        for trial, seed in enumerate(seeds()):
            inputs = loaded.trial(trial, seed)
            default = _called(loaded.model, inputs)
            truth = _truth(loaded.model, inputs, default)
            with exact_f32():
                truth = truth or _called(loaded.model, inputs)
                exact_errors = _errors(_called(loaded.model, inputs), truth)
                mine_errors = _errors(_called(fast, inputs), truth)
            default_errors = _errors(default, truth)
            own = _called(fast, inputs)
            del inputs
            own_errors = _errors(own, truth)
            del truth
            right = right and len(own) == len(default)
            floors = [4 * torch.finfo(x.dtype).eps if x.dtype.is_floating_point else 0.0 for x in own]
            for m, o, e, d, floor in zip(mine_errors, own_errors, exact_errors, default_errors, floors):
                worst["error"] = max(worst["error"], m, o)
                worst["eager_error"] = max(worst["eager_error"], e)
                worst["eager_error_default"] = max(worst["eager_error_default"], d)
                right = right and m <= max(2 * (d if tf32 else e), floor) and o <= max(2 * d, floor)
            passed += _all_close(own, default)
            del own
            sample = _sample(default)
            del default
            first = first or sample
            same = same and _all_close(first, sample)
        same = same and _is_degenerate(loaded)
    return {
        "right": right,
        "kernelbench_trials_passed": passed,
        "kernelbench_right": passed == TRIALS,
        "degenerate": same,
        **worst,
    }


def times_of(functions: Sequence[Function], seconds: float = 2.0) -> List[float]:
    """Medians [ms] on the GPU, taken in turns, each with a cold L2 cache."""
    flushed = torch.empty(FLUSHED, dtype=torch.uint8, device="cuda")
    times: List[List[float]] = [[] for _ in functions]
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for event in (begin, end):
        event.record()  # is made here, and not between a function's call and its end
    with torch.no_grad():
        for function in functions:
            function()
        torch.cuda.synchronize()
        begun = time.monotonic()
        while len(times[0]) < 5 or (len(times[0]) < 100 and time.monotonic() - begun < seconds):
            for function, taken in zip(functions, times):
                flushed.zero_()
                begin.record()
                function()
                end.record()
                torch.cuda.synchronize()
                taken.append(begin.elapsed_time(end))
    return [statistics.median(taken) for taken in times]


class Turns:
    """Of the processes that work on problems (--jobs): who takes times does so alone. file: theirs to lock;
    None: there is one process."""

    def __init__(self, file: Optional[str]) -> None:
        self._file = file

    @contextlib.contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        if self._file is None:
            yield
            return
        with open(self._file, "r+b") as held:
            fcntl.flock(held, how)
            try:
                yield
            finally:
                fcntl.flock(held, fcntl.LOCK_UN)  # also for a child that has the file open

    def alone(self) -> "contextlib.AbstractContextManager[None]":
        torch.cuda.empty_cache()  # a search needs the GPU's memory, in a process of its own
        return self._locked(fcntl.LOCK_EX)

    def beside_others(self) -> "contextlib.AbstractContextManager[None]":
        return self._locked(fcntl.LOCK_SH)


def measure(loaded: Loaded, fast: torch.nn.Module, turns: Turns) -> Dict[str, Any]:
    """Times [ms] of eager PyTorch, its two compilers and hone; None where a compiler fails."""
    said: Dict[str, Any] = {}
    torch._dynamo.reset()
    with turns.beside_others():
        begun = time.monotonic()
        inputs = loaded.example()
        names, functions = ["eager", "hone"], [lambda: loaded.model(*inputs), lambda: fast(*inputs)]
        for name, mode in (("compile", None), ("max_autotune", "max-autotune")):
            try:
                compiled = torch.compile(copy.deepcopy(loaded.model), mode=mode)
                with torch.no_grad():
                    for _ in range(3):  # a CUDA graph is recorded at the second call
                        compiled(*inputs)
                torch.cuda.synchronize()
            except Exception as failure:  # whatever a compiler raises
                said[f"{name}_failed"] = (str(failure) or type(failure).__name__).splitlines()[0][:200]
                continue
            names.append(name)
            functions.append(lambda f=compiled: f(*inputs))  # type: ignore[misc]
        said["compile_s"] = round(time.monotonic() - begun, 2)
    with turns.alone():
        result: Dict[str, Any] = dict(zip(names, times_of(functions)))
    return {f"{n}_ms": result.get(n) for n in ("eager", "compile", "max_autotune", "hone")} | said


def model_new(
    source: str, module: torch.nn.Module, architecture: str, db: Optional[str]
) -> str:
    """A file with `ModelNew`: the problem's classes and constants, without its docstrings, and a
    subclass of its Model that runs hone's kernels. HoneError: something has no text."""
    tree = ast.parse(source)
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.FunctionDef) and node.name in ("get_inputs", "get_init_inputs"))
    ]
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        kept = [n for n in body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
        if kept or isinstance(node, ast.Module):
            node.body = kept  # type: ignore[attr-defined]
    head, kernels, text = class_source([module], "Model", "ModelNew", architecture, db)
    return f"{head}{ast.unparse(tree)}\n\n\n{kernels}\n{text}"


def options_of(options: argparse.Namespace) -> Dict[str, Any]:
    """What a result depends on."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "budget": options.budget,
        "device": options.device,
        "math": options.math,
        "times": not options.no_times,
        "gpu": gpu,
        "torch": torch.__version__,
    }


def run_problem(problem: Problem, options: argparse.Namespace) -> Dict[str, Any]:
    """One problem's result, for a JSON file."""
    turns = Turns(options.turns)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    result: Dict[str, Any] = {
        "problem": os.path.basename(problem.path),
        "options": options_of(options),
        "tf32": {
            "matmul": products_use_tf32(),
            "convolutions": convolutions_use_tf32(),
            "recurrent": recurrent_use_tf32(),
        },
    }
    with turns.beside_others():
        loaded = Loaded(problem, device)
        example = loaded.example()
    begun = time.monotonic()
    try:
        with torch.no_grad(), turns.alone():
            begun = time.monotonic()
            fast = optimize(
                loaded.model,
                example,
                budget=options.budget,
                device=options.device,
                db=options.db,
                math=options.math,
                inductor=False,  # the question is what hone's kernels do
            )
        said = report(fast)
    except HoneError as failure:
        # What hone does not take, PyTorch runs. Wrong options are no result.
        if not isinstance(failure, (ImportRefused, ImportDiffers)) and failure.status != 1:
            raise
        with turns.beside_others():
            loaded = Loaded(problem, device)
        fast, said = None, Report("Model", why_eager=str(failure))
    del example  # gigabytes, of some problems
    result.update(
        replaced=said.replaced,
        why_eager=said.why_eager,
        candidates=said.candidates,
        math=sorted({part.math for part in said.parts if part.math and part.candidate}),
        import_error=said.import_error,
        search_device=said.device,
        modelled=said.modelled,
        optimize_s=round(time.monotonic() - begun, 2),
        steps_s={step: round(taken, 2) for step, taken in said.seconds.items()},
    )
    runs = fast if fast is not None else loaded.model
    if said.replaced:
        name = f"level_{problem.level}_problem_{problem.number}_sample_0_kernel.py"
        try:
            text = model_new(loaded.source, runs, architecture(), options.db)
            with open(os.path.join(options.output, name), "w", encoding="utf-8") as file:
                file.write(text)
            result["model_new"] = name
        except HoneError as failure:
            result["no_model_new"] = str(failure)
    with turns.beside_others():
        begun = time.monotonic()
        inputs = functools.partial(loaded.inputs, SEED, str(device))
        result["has_convolutions"] = has_convolutions(loaded.model, inputs)
        result.update(judge(loaded, runs, said.replaced and said.uses_tf32))
        result["judge_s"] = round(time.monotonic() - begun, 2)
    if device.type == "cuda" and not options.no_times:
        result.update(measure(loaded, runs, turns))
    return result


def outcome(problem: Problem, options: argparse.Namespace) -> "Dict[str, Any] | str":
    """A problem's result, which then lies in the folder; or why there is none, a line."""
    try:
        result = run_problem(problem, options)
        torch._dynamo.reset()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    except Exception as failure:  # whatever a problem's own code or PyTorch raises
        line = (str(failure).strip() or type(failure).__name__).splitlines()[0]
        return f"{type(failure).__name__}: {line}"
    file = os.path.join(options.output, f"{problem.name}.json")
    with open(file + ".part", "w", encoding="utf-8") as written:
        json.dump(result, written, indent=1)
    os.replace(file + ".part", file)
    return result


def _send_outcome(to: Any, problem: Problem, options: argparse.Namespace) -> None:
    to.send(outcome(problem, options))


def outcome_apart(problem: Problem, options: argparse.Namespace) -> "Dict[str, Any] | str":
    """The same by a process of its own: what ends it, or breaks its GPU context, ends no other."""
    context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_outcome, args=(sender, problem, options))
    process.start()
    sender.close()
    try:
        found: "Dict[str, Any] | str" = receiver.recv()
    except EOFError:
        process.join()
        return f"its process ended with {process.exitcode}"
    process.join()
    return found


def outcomes(
    problems: Sequence[Problem], options: argparse.Namespace
) -> "Iterator[Tuple[Problem, Dict[str, Any] | str]]":
    """Each problem's outcome as soon as it is there."""
    options.turns = None
    if options.jobs == 1 or len(problems) < 2:
        for problem in problems:
            yield problem, outcome(problem, options)
        return
    with tempfile.NamedTemporaryFile() as turns, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        options.turns = turns.name
        running = {pool.submit(outcome_apart, problem, options): problem for problem in problems}
        for done in concurrent.futures.as_completed(running):
            yield running[done], done.result()


def geometric_mean(values: Sequence[float]) -> float:
    return statistics.geometric_mean(values) if values else float("nan")


def table(results: Sequence[Dict[str, Any]]) -> str:
    """What KernelBench tells of a set of problems; without the degenerate ones; and without those that have
    convolutions, either."""
    meant = [r for r in results if not r.get("degenerate")]
    columns = [list(results), meant, [r for r in meant if r.get("has_convolutions") is False]]
    lines = [f"{'':46}{'all':>9}{'without the degenerate':>24}{'and without convolutions':>26}"]

    def row(name: str, value: Callable[[List[Dict[str, Any]]], Any]) -> None:
        cells = [value(column) for column in columns]
        texts = [f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells]
        lines.append(f"{name:46}{texts[0]:>9}{texts[1]:>24}{texts[2]:>26}")

    def ratios(against: Sequence[str], column: List[Dict[str, Any]]) -> List[float]:
        found: List[float] = []
        for r in column:
            theirs = [r[f"{n}_ms"] for n in against if r.get(f"{n}_ms")]
            if r.get("right") and r.get("hone_ms") and theirs:
                found.append(min(theirs) / r["hone_ms"])
        return found

    def share_above(bound: int, against: Sequence[str], column: List[Dict[str, Any]]) -> float:
        return sum(x > bound for x in ratios(against, column)) / max(1, len(column))

    def mean(against: Sequence[str], column: List[Dict[str, Any]]) -> float:
        return geometric_mean(ratios(against, column))

    def median(against: Sequence[str], column: List[Dict[str, Any]]) -> float:
        return statistics.median(ratios(against, column) or [float("nan")])

    best = ("eager", "compile", "max_autotune")
    row("problems", len)
    row("replaced", lambda c: sum(bool(r.get("replaced")) for r in c))
    row("right", lambda c: sum(bool(r.get("right")) for r in c))
    row("right by KernelBench's own test", lambda c: sum(bool(r.get("kernelbench_right")) for r in c))
    if any(r.get("hone_ms") for r in results):
        for name, against in (("eager", ("eager",)), ("the best of PyTorch's three", best)):
            for p in (1, 2):
                row(f"fast_{p} against {name}", functools.partial(share_above, p, against))
            row(f"geometric mean, {name}", functools.partial(mean, against))
            row(f"median, {name}", functools.partial(median, against))
    return "\n".join(lines)


def line_of(problem: Problem, result: Dict[str, Any]) -> str:
    words = [problem.name, "right" if result["right"] else "WRONG"]
    if result.get("degenerate"):
        words.append("degenerate")
    words.append(f"error {result['error']:.1e}, eager's {result['eager_error']:.1e}")
    times = [f"{n} {result[n + '_ms']:.4g}" for n in ("hone", "eager", "compile", "max_autotune") if result.get(n + "_ms")]
    if times:
        words.append(", ".join(times) + " ms")
    if not result["replaced"]:
        words.append(f"PyTorch's: {result['why_eager']}")
    return "  ".join(words)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m hone.kernelbench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path")
    parser.add_argument("--level", type=int, choices=(1, 2, 3, 4), default=1)
    parser.add_argument("--problems", default="1-1000", help="such as 1-10,17")
    parser.add_argument("--budget", default="15s", help="of each problem's search")
    parser.add_argument("--db", help="the results database; default: hone's own")
    parser.add_argument("--device", help="where to search; default: the GPU")
    parser.add_argument("--math", help="exact, reassociate, tf32x3, tf32 or reduced; default: as PyTorch's switches for TF32 say, see hone.optimize")
    parser.add_argument("--no-times", action="store_true", help="judge only")
    parser.add_argument("-o", "--output", default="kernelbench_results", metavar="FOLDER")
    parser.add_argument("--jobs", type=int, choices=range(1, 17), default=1, metavar="N",
                        help="problems under way at a time; each keeps its tensors on the GPU")
    options = parser.parse_args(arguments)
    try:
        problems = find_problems(options.path, options.level, numbers_of(options.problems))
    except ValueError as wrong:
        parser.error(str(wrong))
    if not problems:
        parser.error(f"{options.path} has none of the problems {options.problems}")
    if not torch.cuda.is_available() and not (options.device or "").startswith("emu:"):
        parser.error("there is no GPU; --device emu:sm_90 searches on an emulated one, without times")
    os.makedirs(options.output, exist_ok=True)
    results: Dict[str, Dict[str, Any]] = {}
    missing: List[Problem] = []
    for problem in problems:
        file = os.path.join(options.output, f"{problem.name}.json")
        if not os.path.exists(file):
            missing.append(problem)
            continue
        with open(file, encoding="utf-8") as known:
            results[problem.name] = json.load(known)
        if results[problem.name]["options"] != options_of(options):
            parser.error(f"{file} was made with other options or another GPU; take another folder")
        print(line_of(problem, results[problem.name]), flush=True)
    failed = 0
    for problem, found in outcomes(missing, options):
        if isinstance(found, str):
            print(f"{problem.name}  FAILED: {found}", flush=True)
            failed += 1
        else:
            results[problem.name] = found
            print(line_of(problem, found), flush=True)
    in_order = [results[p.name] for p in problems if p.name in results]
    tf32: Set[str] = {json.dumps(r["tf32"]) for r in in_order}
    print(table(in_order))
    print(f"PyTorch's TF32 while the times were taken: {', '.join(sorted(tf32))}")
    if failed:
        print(f"{failed} problems failed; they are tried again the next time")
    return 0 if not failed and all(r["right"] for r in in_order) else 1


if __name__ == "__main__":
    sys.exit(main())
