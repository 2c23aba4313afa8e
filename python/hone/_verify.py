"""Is the imported module the module? Both answer fresh random inputs; the module in f64 is the
yardstick."""
import copy
import os
from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch
from torch.utils import _pytree as pytree

from hone._binary import run
from hone._errors import HoneError, ImportDiffers
from hone._graph import Imported
from hone._math import Levels, exact_f32

Answer = List[torch.Tensor]
#: Arguments and keyword arguments of a call: the same numbers in other memory at each time.
Draw = Callable[[], Tuple[Tuple[Any, ...], Any]]


#: Elements of a tensor that are put into another order; of larger ones copies are shifted.
MOST_PERMUTED = 1 << 20
#: Elements that are compared at once, in f64.
CHUNK = 1 << 26
#: An error from which on operands were rounded to TF32: that puts results off by some 3e-4 of what was
#: summed up, and another order of f32 sums by some 1e-6.
ROUNDED = 2e-5


def fresh(value: Any, generator: torch.Generator) -> Any:
    """Another argument like this one: shape, type and range are the same, so that indices stay
    indices and probabilities stay probabilities. What is no tensor stays. generator: the CPU's. Beside
    the new argument a few chunks of memory are used: it may be a fifth of a GPU's."""
    if not isinstance(value, torch.Tensor) or value.numel() == 0:
        return value
    if value.dtype.is_floating_point and value.element_size() == 1:  # float8 has no arithmetic
        return fresh(value.detach().view(torch.uint8), generator).view(value.dtype)
    flat = value.detach().flatten()
    seed = int(torch.randint(2**62, (), generator=generator))
    own, count = torch.Generator(flat.device).manual_seed(seed), flat.numel()

    def shuffled() -> Callable[[int], torch.Tensor]:
        """The elements in another order: a chunk of them from its start."""
        if count <= MOST_PERMUTED:
            permuted = flat[torch.randperm(count, generator=own, device=flat.device)]
            return lambda start: permuted[start : start + CHUNK]
        shift = int(torch.randint(count, (), generator=generator))

        def moved(start: int) -> torch.Tensor:
            start, stop = start + shift, min(start + CHUNK, count) + shift
            around = flat[max(start - count, 0) : max(stop - count, 0)]
            return torch.cat([flat[start:stop], around])

        return moved

    first = shuffled()
    one = torch.empty_like(flat)
    for start in range(0, count, CHUNK):
        one[start : start + CHUNK] = first(start)
    pieces = flat.split(CHUNK)
    if value.dtype.is_floating_point and all(bool(torch.isfinite(piece).all()) for piece in pieces):
        # Zeros for an initial state, say: numbers around it.
        constant = all(bool((piece == flat[0]).all()) for piece in pieces)
        other = None if constant else shuffled()
        for start in range(0, count, CHUNK):
            piece = one[start : start + CHUNK]
            where = torch.rand(piece.shape, generator=own, device=flat.device, dtype=torch.float32)
            where = where.to(flat.dtype)
            if other is None:
                piece += where - 0.5
            else:
                piece.lerp_(other(start), where)
    return one.reshape(value.shape)


def fresh_call(example: Tuple[Tuple[Any, ...], Any], generator: torch.Generator) -> Draw:
    """Fresh arguments for a call like the example, the same at each time that they are drawn."""
    seed = int(torch.randint(2**62, (), generator=generator))

    def draw_leaf(own: torch.Generator) -> Callable[[Any], Any]:
        # What `fresh` leaves as it is would be the caller's own, which a call may change.
        return lambda x: copy.deepcopy(x) if (one := fresh(x, own)) is x else one

    def draw() -> Tuple[Tuple[Any, ...], Any]:
        own = torch.Generator().manual_seed(seed)
        drawn: Tuple[Tuple[Any, ...], Any] = pytree.tree_map(draw_leaf(own), example)
        return drawn

    return draw


def error(answer: torch.Tensor, truth: torch.Tensor) -> float:
    """max |answer - truth| / max(|truth|, rms(truth)), as hone's own comparison has it; infinite
    where one is finite and the other is not. Of integers the share that differs."""
    answer, truth = answer.detach(), truth.detach().to(answer.device)
    if answer.shape != truth.shape:
        return float("inf")
    if answer.is_complex():
        answer, truth = (torch.view_as_real(x.resolve_conj()) for x in (answer, truth))
    if answer.dtype.is_floating_point and answer.element_size() == 1:  # float8 has no arithmetic
        answer, truth = answer.float(), truth.float()
    if not answer.dtype.is_floating_point:
        return float((answer != truth).double().mean()) if answer.numel() else 0.0
    answers, truths = answer.flatten().split(CHUNK), truth.flatten().split(CHUNK)
    squares, count = 0.0, 0
    for part in truths:
        finite = part[torch.isfinite(part)].double()
        squares, count = squares + float(finite.pow(2).sum()), count + finite.numel()
    rms = (squares / count) ** 0.5 if count else 0.0
    return max([_error(a, t, rms) for a, t in zip(answers, truths)], default=0.0)


def _error(answer: torch.Tensor, truth: torch.Tensor, rms: float) -> float:
    answer, truth = answer.double(), truth.double()
    finite = torch.isfinite(truth)
    if bool((torch.isfinite(answer) != finite).any()):
        return float("inf")
    if not bool(finite.all()):
        if not bool((answer[~finite].nan_to_num() == truth[~finite].nan_to_num()).all()):
            return float("inf")
        answer, truth = answer[finite], truth[finite]
    difference = (answer - truth).abs()
    # Zero by zero is no difference.
    ratio = torch.where(difference > 0, difference / truth.abs().clamp_min(rms), 0)
    return float(ratio.max()) if ratio.numel() else 0.0


def tensors_of(result: Any) -> Answer:
    """The tensors of a result, flat, in their order."""
    return [x for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor)]


def widened(value: Any) -> Any:
    """A copy, in f64 where it is a tensor of floats."""
    if not isinstance(value, torch.Tensor):
        return copy.deepcopy(value)
    return value.to(torch.float64 if value.dtype.is_floating_point else value.dtype, copy=True)


def answers(module: torch.nn.Module, draw: Draw) -> Tuple[List[Any], List[Any]]:
    """(PyTorch's leaves, the truth's leaves): the module's results as it is, and in f64 where it runs
    in f64, rounded to the results' types. Both draw the same random numbers. The module itself is not
    changed. `draw` is called for each of the two, so that no more arguments are held than are used."""
    with torch.no_grad(), exact_f32():
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
        with torch.random.fork_rng(devices):
            args, kwargs = draw()
            own = pytree.tree_leaves(copy.deepcopy(module)(*args, **kwargs))
        try:
            wide = copy.deepcopy(module).double()
            args, kwargs = pytree.tree_map(widened, draw())
            truth = pytree.tree_leaves(wide(*args, **kwargs))
        except Exception:  # a module that names types itself does not run in f64, or there is no room
            truth = own
        del args, kwargs
    rounded = [
        t.to(o.dtype) if isinstance(o, torch.Tensor) and isinstance(t, torch.Tensor) else o
        for o, t in zip(own, truth)
    ]
    return own, rounded


def as_it_is(module: torch.nn.Module, draw: Draw) -> Tuple[List[Any], Any, torch.nn.Module]:
    """(The leaves of the module's results, its arguments and itself as the call left them) with
    PyTorch's switches for TF32 as they are. It is a copy of the module that is called."""
    copied, given = copy.deepcopy(module), draw()
    with torch.no_grad():
        leaves = pytree.tree_leaves(copied(*given[0], **given[1]))
    return leaves, given, copied


def levels_as_run(levels: Levels, run: Callable[[], Sequence[Any]]) -> Optional[Levels]:
    """The levels of a call's tasks. PyTorch's switches let it use TF32, but cuDNN has no such kernels for
    some convolutions, those of three dimensions among them: where a call's results are the same with the
    switches off, but for the rounding of f32, a task in TF32 would be less precise than PyTorch.

    run: calls PyTorch, with the same arguments each time; returns the results' leaves. Both calls draw
    the same random numbers. None: it failed."""

    def leaves() -> Sequence[Any]:
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
        with torch.random.fork_rng(devices):
            return run()

    try:
        with torch.no_grad():
            default = leaves()
            with exact_f32():
                exact = leaves()
    except Exception:  # whatever the module raises, such as that there is no room
        return None
    return levels if max(_errors(default, exact), default=0.0) > ROUNDED else levels.without_tf32


def eager_error(own: Sequence[Any], truth: Sequence[Any]) -> float:
    """PyTorch's own error, the largest of all results."""
    return max(_errors(own, truth), default=0.0)


def raw(tensor: torch.Tensor) -> bytes:
    """Row-major little-endian elements."""
    return tensor.detach().contiguous().cpu().flatten().view(torch.uint8).numpy().tobytes()


def write_recorded(folder: str, kind: str, leaves: Sequence[Any]) -> None:
    """FOLDER/KIND/N.bin of each leaf that is a tensor."""
    os.makedirs(os.path.join(folder, kind), exist_ok=True)
    for i, value in enumerate(leaves):
        if isinstance(value, torch.Tensor):
            with open(os.path.join(folder, kind, f"{i}.bin"), "wb") as file:
                file.write(raw(value))


def verify_import(
    module: torch.nn.Module,
    imported: Imported,
    example: Tuple[Tuple[Any, ...], Any],
    flatten: Callable[[Tuple[Any, ...], Any], Sequence[Any]],
    folder: str,
    device: Optional[str],
    generator: torch.Generator,
) -> Tuple[float, float]:
    """Runs the task of a whole graph on fresh inputs on hone's device: (its error, PyTorch's own).

    ImportDiffers: it is beyond the task's tolerance and twice PyTorch's own error. HoneError: it did
    not run."""
    draw = fresh_call(example, generator)
    own, truth = answers(module, draw)
    args, kwargs = draw()
    recorded = os.path.join(folder, "recorded")
    write_recorded(recorded, "inputs", flatten(args, kwargs))
    write_recorded(recorded, "outputs", truth)
    task = imported.parts[0].task
    options = [] if device is None else ["--device", device]
    verdict = run(
        "import", imported.file, "-o", task + ".verified", "--force", "--verify", recorded, *options
    )
    theirs = eager_error(own, truth)
    found = verdict["max_rel_error"]
    found = float("inf") if found is None else float(found)
    if verdict["verdict"] == "ok" or (verdict["verdict"] == "wrong_result" and found <= 2 * theirs):
        return found, theirs
    if verdict["verdict"] == "wrong_result":
        raise ImportDiffers(
            f"{type(module).__name__}: the imported module differs from PyTorch's: "
            f"{verdict['detail']} (PyTorch's own error {theirs:.1e})",
            1,
        )
    raise HoneError(f"{type(module).__name__}: the import was not verified: {verdict['detail']}", 1)


def verify_replaced(
    call: Callable[[torch.nn.Module, Tuple[Any, ...], Any], Any],
    module: torch.nn.Module,
    example: Tuple[Tuple[Any, ...], Any],
    tolerance: float,
    generator: torch.Generator,
    times: int = 3,
    tf32: bool = False,
) -> float:
    """Calls what stands in a module's place on fresh inputs: its largest error.

    call(module, args, kwargs): the results, which may write into that module's parameters and buffers
    and into the arguments; these are compared, too. tf32: it may be off by as much as PyTorch is with
    its switches for TF32 as they are; else PyTorch's own error is that with TF32 off. ImportDiffers: an
    error is above the tolerance and twice PyTorch's own.

    Arguments and results may be most of a GPU's memory: what is not needed any more goes at once."""
    worst = 0.0

    def compare(answers: Sequence[Any], truths: Sequence[Any], errors: Sequence[float]) -> None:
        nonlocal worst
        for answer, truth, theirs in zip(answers, truths, errors):
            if not isinstance(truth, torch.Tensor):
                continue
            mine = error(answer, truth)
            worst = max(worst, mine)
            if mine > max(tolerance, 2 * theirs):
                raise ImportDiffers(
                    f"{type(module).__name__}: hone's operator differs from PyTorch: error "
                    f"{mine:.1e}, PyTorch's own {theirs:.1e}, tolerance {tolerance:.1e}",
                    1,
                )

    for _ in range(times):
        draw = fresh_call(example, generator)
        own, truth = answers(module, draw)
        own_errors = _errors(own, truth)
        del own
        with exact_f32():
            wanted = _Left(module, draw)
        wanted_errors = [0.0] * len(wanted.state)
        if tf32:
            loose, given, copied = as_it_is(module, draw)
            own_errors = list(map(max, own_errors, _errors(loose, truth)))
            del loose
            wanted_errors = [
                error(a, w) if w is not None else 0.0
                for a, w in zip(_state_of(copied, given), wanted.state)
            ]
            del given, copied
        changed, mine = copy.deepcopy(module), draw()
        with torch.no_grad(), exact_f32():
            found = pytree.tree_leaves(call(changed, mine[0], mine[1]))
        compare(found, truth, own_errors)
        del found, truth
        compare(_state_of(changed, mine), wanted.with_arguments(tensors_of(draw())), wanted_errors)
        del changed, mine, wanted
    return worst


def _errors(own: Sequence[Any], truth: Sequence[Any]) -> List[float]:
    """PyTorch's own, of each result; 0 of what is no tensor."""
    return [error(o, t) if isinstance(o, torch.Tensor) else 0.0 for o, t in zip(own, truth)]


def _state_of(module: torch.nn.Module, given: Any) -> Answer:
    """The tensors that a call of a module can write: its parameters and buffers, and the arguments."""
    return [*module.parameters(), *module.buffers(), *tensors_of(given)]


class _Left:
    """What a call of a module leaves in the tensors that it can write. Of arguments that it does not
    change nothing is kept."""

    def __init__(self, module: torch.nn.Module, draw: Draw) -> None:
        _, given, called = as_it_is(module, draw)
        arguments: List[Optional[torch.Tensor]] = [
            after if error(after, before) > 0 else None
            for after, before in zip(tensors_of(given), tensors_of(draw()))
        ]
        #: As `_state_of` has them; None: an argument that stays as it is.
        self.state = [*called.parameters(), *called.buffers(), *arguments]

    def with_arguments(self, unchanged: Sequence[torch.Tensor]) -> Answer:
        """The same with what unchanged arguments hold in the place of None."""
        first = len(self.state) - len(unchanged)
        return [x if x is not None else unchanged[i - first] for i, x in enumerate(self.state)]
