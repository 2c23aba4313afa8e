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
from hone._math import exact_f32

Answer = List[torch.Tensor]


#: Elements of a tensor that are put into another order; of larger ones copies are shifted.
MOST_PERMUTED = 1 << 20
#: Elements that are compared at once, in f64.
CHUNK = 1 << 26


def fresh(value: Any, generator: torch.Generator) -> Any:
    """Another argument like this one: shape, type and range are the same, so that indices stay
    indices and probabilities stay probabilities. What is no tensor stays. generator: the CPU's."""
    if not isinstance(value, torch.Tensor) or value.numel() == 0:
        return value
    if value.dtype.is_floating_point and value.element_size() == 1:  # float8 has no arithmetic
        return fresh(value.detach().view(torch.uint8), generator).view(value.dtype)
    flat = value.detach().flatten()
    seed = int(torch.randint(2**62, (), generator=generator))
    own = torch.Generator(flat.device).manual_seed(seed)

    def shuffled() -> torch.Tensor:
        if flat.numel() <= MOST_PERMUTED:
            return flat[torch.randperm(flat.numel(), generator=own, device=flat.device)]
        return flat.roll(int(torch.randint(flat.numel(), (), generator=generator)))

    one = shuffled()
    if value.dtype.is_floating_point and bool(torch.isfinite(flat).all()):
        where = torch.rand(flat.shape, generator=own, device=flat.device, dtype=torch.float32)
        where = where.to(flat.dtype)
        if bool((flat == flat[0]).all()):  # zeros for an initial state, say: numbers around it
            one = one + where - 0.5
        else:
            one = torch.lerp(one, shuffled(), where)
    return one.reshape(value.shape).clone()


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


def answers(
    module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Any
) -> Tuple[List[Any], List[Any]]:
    """(PyTorch's leaves, the truth's leaves): the module's results as it is, and in f64 where it runs
    in f64, rounded to the results' types. Both draw the same random numbers. The module itself is not
    changed."""

    def widened(x: Any) -> Any:
        return x.double() if isinstance(x, torch.Tensor) and x.dtype.is_floating_point else x

    with torch.no_grad(), exact_f32():
        given = copy.deepcopy((args, kwargs))
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
        with torch.random.fork_rng(devices):
            own = pytree.tree_leaves(copy.deepcopy(module)(*given[0], **given[1]))
        try:
            wide = copy.deepcopy(module).double()
            given = pytree.tree_map(widened, copy.deepcopy((args, kwargs)))
            truth = pytree.tree_leaves(wide(*given[0], **given[1]))
        except Exception:  # a module that names types itself does not run in f64
            truth = own
    rounded = [
        t.to(o.dtype) if isinstance(o, torch.Tensor) and isinstance(t, torch.Tensor) else o
        for o, t in zip(own, truth)
    ]
    return own, rounded


def as_it_is(
    module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Any
) -> Tuple[List[Any], Answer]:
    """(The leaves of the module's results, what it may have written) with PyTorch's switches for TF32
    as they are. The module itself is not changed."""
    copied, given = copy.deepcopy(module), copy.deepcopy((args, kwargs))
    with torch.no_grad():
        leaves = pytree.tree_leaves(copied(*given[0], **given[1]))
    return leaves, state_of(copied, given)


def eager_error(own: Sequence[Any], truth: Sequence[Any]) -> float:
    """PyTorch's own error, the largest of all results."""
    return max(
        [error(o, t) for o, t in zip(own, truth) if isinstance(o, torch.Tensor)], default=0.0
    )


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
    args, kwargs = pytree.tree_map(lambda x: fresh(x, generator), example)
    own, truth = answers(module, args, kwargs)
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


def state_of(module: torch.nn.Module, given: Any) -> Answer:
    """The tensors that a call of a module can write: its parameters and buffers, and the arguments."""
    return [*module.parameters(), *module.buffers(), *tensors_of(given)]


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

    call(module, args, kwargs): the results, which may write into that module's buffers; these are
    compared, too. tf32: it may be off by as much as PyTorch is with its switches for TF32 as they
    are; else PyTorch's own error is that with TF32 off. ImportDiffers: an error is above the tolerance and twice PyTorch's own."""
    worst = 0.0
    for _ in range(times):
        args, kwargs = pytree.tree_map(lambda x: fresh(x, generator), example)
        own, truth = answers(module, args, kwargs)
        changed, expected = copy.deepcopy(module), copy.deepcopy(module)
        with torch.no_grad(), exact_f32():
            mine_given, their_given = copy.deepcopy((args, kwargs)), copy.deepcopy((args, kwargs))
            found = pytree.tree_leaves(call(changed, mine_given[0], mine_given[1]))
            expected(*their_given[0], **their_given[1])
        before, after = state_of(changed, mine_given), state_of(expected, their_given)
        loose, loosely = as_it_is(module, args, kwargs) if tf32 else (own, after)
        pairs = [
            (f, (o, d), t)
            for f, o, d, t in zip(found, own, loose, truth)
            if isinstance(o, torch.Tensor)
        ]
        # What was written in place: buffers, parameters and arguments.
        pairs += [(b, (a, d), a) for b, a, d in zip(before, after, loosely)]
        for answer, plain, correct in pairs:
            mine, theirs = error(answer, correct), max(error(p, correct) for p in plain)
            worst = max(worst, mine)
            if mine > max(tolerance, 2 * theirs):
                raise ImportDiffers(
                    f"{type(module).__name__}: hone's operator differs from PyTorch: error "
                    f"{mine:.1e}, PyTorch's own {theirs:.1e}, tolerance {tolerance:.1e}",
                    1,
                )
    return worst
