"""A candidate as an operator of PyTorch: its plan (machine code and launches, `candidates/launch/README.md`), put
into the current stream by one call of `libhone_launch.so`."""
import concurrent.futures
import contextlib
import ctypes
import json
import os
import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from hone._binary import binary, launch_library, run
from hone._cache import cache_folder, digest, only_ours, write_whole
from hone._errors import HoneError
from hone._graph import DTYPES, Buffer

#: What a plan's kernels expect of a pointer [B].
ALIGNED = 16

_lock = threading.RLock()
_library: Optional[ctypes.CDLL] = None


def _launcher() -> ctypes.CDLL:
    """The C library, opened once. HoneError: there is none, or it reads another format of plans."""
    global _library
    with _lock:
        if _library is None:
            library = ctypes.CDLL(launch_library())
            pointer, size = ctypes.c_void_p, ctypes.c_size_t
            library.hone_plan_load.argtypes = [
                ctypes.c_char_p, size, ctypes.c_int, ctypes.POINTER(pointer)
            ]
            library.hone_plan_launch.argtypes = [pointer, pointer, size, ctypes.c_uint64, pointer]
            library.hone_launch_error.restype = ctypes.c_char_p
            _library = library
        return _library


def _failed(library: ctypes.CDLL) -> HoneError:
    return HoneError(library.hone_launch_error().decode(errors="replace"))


def arch_of(device: torch.device) -> str:
    """A GPU's architecture, "sm_90"."""
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}"


#: What Triton's launchers ask, too; torch.cuda.current_stream makes an object first.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def _stream_of(device: torch.device) -> int:
    if _raw_stream is not None and device.index is not None:
        return int(_raw_stream(device.index))
    return torch.cuda.current_stream(device).cuda_stream


class Plan:
    """Machine code and launches of a candidate, for one architecture and the candidate's sizes."""

    def __init__(self, document: Dict[str, Any]) -> None:
        """document: what `hone export --format plan` gives."""
        self.candidate: str = document["candidate"]
        self.name: str = document["name"]
        self.arch: str = document["arch"]
        #: Sizes that no input's shape tells.
        self.given: Dict[str, int] = document["given"]
        self.buffers = tuple(
            Buffer(b["name"], b["role"], tuple(b["shape"]), b["type"]) for b in document["buffers"]
        )
        self.scratch_bytes: int = document["scratch_bytes"]
        self.bytes = bytes.fromhex(document["plan"])

    def loaded_on(self, index: int) -> "LoadedPlan":
        return LoadedPlan(self, index)


class LoadedPlan:
    """A plan on one GPU; stays loaded as long as the process runs. Any thread may launch it."""

    def __init__(self, plan: Plan, index: int) -> None:
        """index: the GPU's number, as PyTorch has it. HoneError: the driver's words."""
        self.scratch_bytes = plan.scratch_bytes
        self._library = _launcher()
        handle = ctypes.c_void_p()
        if self._library.hone_plan_load(plan.bytes, len(plan.bytes), index, ctypes.byref(handle)):
            raise _failed(self._library)
        self._handle = handle
        self._call = self._library.hone_plan_launch
        self._count = len(plan.buffers)
        self._addresses = ctypes.c_uint64 * self._count

    def launch(self, addresses: Sequence[int], scratch: int, stream: int) -> None:
        """Puts all launches into a stream. addresses: of the plan's buffers, aligned to 16 bytes.
        scratch: memory of `scratch_bytes`, aligned likewise. HoneError: the driver's words."""
        if self._call(self._handle, self._addresses(*addresses), self._count, scratch, stream):
            raise _failed(self._library)


class Operator:
    """A candidate's function: the task's `in` and `inout` tensors in the task's order, at the sizes that
    the candidate was made for; returns its `out` tensors: one, a tuple, or None. Keyword arguments are
    sizes that no shape tells; they may be left out.

    Called as a function it is a custom operator of PyTorch, which torch.compile takes as one node; it
    checks its arguments: contiguous, on one CUDA device. ValueError, TypeError: they do not fit.
    HoneError: the candidate does not run on this GPU, or the driver's words."""

    def __init__(self, plan: Plan, db: Sequence[str]) -> None:
        """db: options that name the database, for GPUs of other architectures."""
        self._plans = {plan.arch: plan}
        self._db = tuple(db)
        self._loaded: Dict[Optional[int], LoadedPlan] = {}
        self.candidate, self.__name__, self.given = plan.candidate, plan.name, plan.given
        self.buffers = plan.buffers
        self._inputs = [b for b in plan.buffers if b.role != "out"]
        self._outputs = [(b.shape, DTYPES[b.type]) for b in plan.buffers if b.role == "out"]
        # Of each buffer: which one it is of the inputs and, behind them, the outputs.
        inputs, outputs = iter(range(len(self._inputs))), iter(range(len(self._inputs), 1 << 30))
        self._order = [next(outputs if b.role == "out" else inputs) for b in plan.buffers]
        self._operator = self._registered(plan)

    def _registered(self, plan: Plan) -> Any:
        arguments, written = [], []
        for i, buffer in enumerate(self._inputs):
            if buffer.role == "inout":
                written.append(f"t{i}")
            arguments.append(f"Tensor(a{i}!) t{i}" if buffer.role == "inout" else f"Tensor t{i}")
        returned = ", ".join(["Tensor"] * len(self._outputs))
        returned = returned if len(self._outputs) == 1 else f"({returned})"
        unique = digest(plan.candidate, plan.arch, plan.bytes.hex())[:12]
        made = torch.library.custom_op(
            f"hone::{plan.name}_{plan.candidate}_{unique}",
            self._run,
            mutates_args=tuple(written),
            schema=f"({', '.join(arguments)}) -> {returned}",
        )
        made.register_fake(self._fake)
        return made

    def __reduce__(self) -> Any:
        return _kept, (tuple(self._plans.values()), self._db)

    def __call__(self, *tensors: torch.Tensor, **sizes: int) -> Any:
        for name, value in sizes.items():
            if self.given.get(name) != value:
                raise ValueError(f"{self.__name__} was made for {self._sizes_text()}, not {name} = {value}")
        return self._operator(*tensors)

    def _sizes_text(self) -> str:
        return ", ".join(f"{n} = {v}" for n, v in self.given.items()) or "sizes that shapes tell"

    def launch(self, *tensors: torch.Tensor) -> Any:
        """The same without checks and without PyTorch's dispatcher, for a caller that knows its tensors."""
        device = tensors[0].device if tensors else torch.device("cuda", torch.cuda.current_device())
        outputs = [torch.empty(s, dtype=t, device=device) for s, t in self._outputs]
        every = [*tensors, *outputs]
        addresses = [every[i].data_ptr() for i in self._order]
        for address in addresses:
            if address % ALIGNED:
                return self._launch_copies(tensors)
        plan = self._loaded.get(device.index)
        if plan is None:
            plan = self._load_on(device)
        scratch = None
        if plan.scratch_bytes:
            scratch = torch.empty(plan.scratch_bytes, dtype=torch.uint8, device=device)
        plan.launch(addresses, scratch.data_ptr() if scratch is not None else 0, _stream_of(device))
        if len(outputs) == 1:
            return outputs[0]
        return tuple(outputs) if outputs else None

    def _launch_copies(self, tensors: Sequence[torch.Tensor]) -> Any:
        """For tensors that begin where the kernels cannot read several elements at once."""
        copies = [t.clone() if t.data_ptr() % ALIGNED else t for t in tensors]
        results = self.launch(*copies)
        for buffer, tensor, copy in zip(self._inputs, tensors, copies):
            if buffer.role == "inout" and copy is not tensor:
                tensor.copy_(copy)
        return results

    def _load_on(self, device: torch.device) -> LoadedPlan:
        with _lock:
            if device.index not in self._loaded:
                arch = arch_of(device)
                if arch not in self._plans:
                    self._plans[arch] = plan_of(self.candidate, arch, self._db)
                self._loaded[device.index] = self._plans[arch].loaded_on(device.index or 0)
            return self._loaded[device.index]

    def _run(self, *tensors: torch.Tensor) -> Any:
        self._check(tensors)
        return self.launch(*tensors)

    def _fake(self, *tensors: torch.Tensor) -> Any:
        self._check_shapes(tensors)
        device = tensors[0].device if tensors else torch.device("cuda")
        outputs = [torch.empty(s, dtype=t, device=device) for s, t in self._outputs]
        if len(outputs) == 1:
            return outputs[0]
        return tuple(outputs) if outputs else None

    def _check_shapes(self, tensors: Sequence[torch.Tensor]) -> None:
        for buffer, tensor in zip(self._inputs, tensors):
            if tuple(tensor.shape) != buffer.shape:
                raise ValueError(
                    f"{buffer.name} has shape {tuple(tensor.shape)}; this candidate is for {buffer.shape}"
                )
            if tensor.dtype != DTYPES[buffer.type]:
                raise TypeError(f"{buffer.name} is of {tensor.dtype}; it must be {DTYPES[buffer.type]}")

    def _check(self, tensors: Sequence[torch.Tensor]) -> None:
        self._check_shapes(tensors)
        ranges: List[Tuple[Buffer, int, int]] = []
        for buffer, tensor in zip(self._inputs, tensors):
            if tensor.device.type != "cuda":
                raise ValueError(f"{buffer.name} is on {tensor.device}; it must be on a CUDA device")
            if tensor.device != tensors[0].device:
                raise ValueError(
                    f"{buffer.name} is on {tensor.device}, {self._inputs[0].name} on {tensors[0].device}"
                )
            if not tensor.is_contiguous():
                raise ValueError(f"{buffer.name} is not contiguous: call .contiguous() first")
            begin = tensor.data_ptr()
            ranges.append((buffer, begin, begin + tensor.numel() * tensor.element_size()))
        for i, (buffer, begin, end) in enumerate(ranges):
            for other, other_begin, other_end in ranges[:i]:
                written = "inout" in (buffer.role, other.role)
                if written and begin < other_end and other_begin < end:
                    raise ValueError(f"{buffer.name} and {other.name} overlap in memory")


def plan_of(candidate: str, arch: Optional[str], db: Sequence[str]) -> Plan:
    """A candidate compiled for an architecture ("sm_90"; None: that where it was found). HoneError:
    there is no such candidate, it is not for use, or not for that architecture."""
    options = [] if arch is None else ["--arch", arch]
    return Plan(run("export", candidate, "--format", "plan", *options, *db))


def kept_plan_of(candidate: str, task_hash: str, arch: str, db: Sequence[str]) -> Plan:
    """The same, and a file that keeps it for other processes. For candidates that the database has
    just named: nobody asks it again whether they are for use. task_hash: of the candidate's task; in another
    database its id may be another task's."""
    program = os.stat(binary())
    key = digest(candidate, task_hash, arch, f"{program.st_size} {program.st_mtime_ns}")
    path = None
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        path = os.path.join(cache_folder("plans"), f"{key}.json")
        if only_ours(path):  # machine code
            with open(path, encoding="utf-8") as file:
                return Plan(json.load(file))
    document = run("export", candidate, "--format", "plan", "--arch", arch, *db)
    if path is not None:
        with contextlib.suppress(OSError):
            write_whole(path, json.dumps(document))
    return Plan(document)


_operators: Dict[str, Operator] = {}


def operator_of(candidate: str, db: Sequence[str]) -> Operator:
    """A candidate's operator; the same one for the same candidate and machine code."""
    arch = arch_of(torch.device("cuda", torch.cuda.current_device())) if torch.cuda.is_available() else None
    return _kept((plan_of(candidate, arch, db),), db)


def kept_operators_of(tasks: Dict[str, str], db: Sequence[str]) -> Dict[str, Operator]:
    """Operators of candidates that the database has just named, compiled side by side. tasks: of each
    candidate its task's hash."""
    if not torch.cuda.is_available():
        return {candidate: operator_of(candidate, db) for candidate in tasks}
    arch = arch_of(torch.device("cuda", torch.cuda.current_device()))
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        plans = pool.map(lambda candidate: kept_plan_of(candidate, tasks[candidate], arch, db), tasks)
        return {candidate: _kept((plan,), db) for candidate, plan in zip(tasks, plans)}


def _kept(plans: Sequence[Plan], db: Sequence[str]) -> Operator:
    """The operator of a candidate's machine code, for one or more architectures."""
    key = digest(plans[0].candidate, plans[0].arch, plans[0].bytes.hex())
    with _lock:
        if key not in _operators:
            _operators[key] = Operator(plans[0], db)
        for plan in plans[1:]:
            _operators[key]._plans.setdefault(plan.arch, plan)
        return _operators[key]
