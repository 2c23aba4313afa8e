"""From a module to a task: torch.export, `hone import`, and which value of the graph is which buffer
of the task."""
import contextlib
import copy
import gc
import io
import os
import warnings
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import torch
from torch._export.serde import serialize
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec, OutputKind

from hone._binary import run
from hone._errors import HoneError, ImportRefused
from hone._math import Levels


#: hone's element types.
DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i8": torch.int8,
    "u8": torch.uint8,
    "i32": torch.int32,
    "i64": torch.int64,
    "u32": torch.uint32,
    "u64": torch.uint64,
    "bool": torch.bool,
}


@dataclass(frozen=True)
class Buffer:
    """A buffer of a task that its caller passes or receives, at the timed sizes."""

    name: str
    role: str  #: "in", "inout" or "out"
    shape: Tuple[int, ...]
    type: str  #: "f32", "i64", ..., see DTYPES


@dataclass(frozen=True)
class Border:
    """A value of the graph that is a buffer of a part's task."""

    value: str
    buffer: str
    order: Optional[Tuple[int, ...]] = None  #: dimensions as they lie in memory; None: see the graph


@dataclass(frozen=True)
class Part:
    """Some nodes of an exported graph, as one task."""

    task: str  #: the task's file
    task_hash: str
    math: str  #: the task's level of arithmetic, "reassociate" say
    nodes: Tuple[str, ...]  #: names of nodes
    inputs: Tuple[Border, ...]
    outputs: Tuple[Border, ...]


#: What is done next: a part, by its place, or a node by PyTorch, by its name.
Step = Union[int, str]


@dataclass
class Whole:
    """What `hone import` tells of a module that is one task."""

    arguments: List[str]  #: of each leaf of the arguments its buffer; "" where it has none
    results: List[str]  #: of each leaf of the results
    draws: List[str]  #: buffers of what PyTorch would draw at random


@dataclass
class Imported:
    """A module as hone sees it."""

    program: ExportedProgram
    file: str  #: the .pt2
    parts: List[Part]
    steps: List[Step]
    left_out: List[Tuple[str, str]]  #: nodes that PyTorch computes, and why
    dropped: List[str]  #: nodes of no step: nobody sees what they do
    whole: Optional[Whole]  #: where its one part is the whole graph

    def __getstate__(self) -> Dict[str, Any]:
        return {**vars(self), "program": _without_weights(self.program)}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        with _quick():
            program = torch.export.load(io.BytesIO(state["program"]))
        vars(self).update(state, program=program)


@contextlib.contextmanager
def _quick() -> Iterator[None]:
    """No warnings, and no garbage collection: among the many small objects that PyTorch's exporter
    makes it takes half of the time (measured with ResNet-50)."""
    collects = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if collects:
            gc.enable()


def export(module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> ExportedProgram:
    """The module's graph of ATen operations at the shapes of the arguments. ImportRefused: PyTorch
    does not export it, with PyTorch's first line."""
    try:
        with torch.no_grad(), _quick():
            program = torch.export.export(module, args, kwargs, strict=False)
    except Exception as error:  # whatever the module's own code raises
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ImportRefused(f"torch.export does not export {type(module).__name__}: {line}") from error
    for spec in program.graph_signature.output_specs:
        if spec.kind != OutputKind.USER_OUTPUT:
            raise ImportRefused(f"{type(module).__name__}: a result of the kind {spec.kind.name}")
    return program


def import_program(
    program: ExportedProgram,
    folder: str,
    name: str,
    levels: Levels = Levels(),
    weights: Optional[Dict[int, Tuple[str, torch.Tensor]]] = None,
) -> Imported:
    """Writes NAME.pt2 and its tasks into a folder: one task for the whole graph, if hone takes all of
    it and would not cut it; else a task for each part, and the other nodes are PyTorch's.

    weights: of the graph's arguments, by their places, those that are a module's parameters and buffers,
    and what they are called. Their numbers are not written; tasks have such as these usually have.

    ImportRefused: there is nothing in the graph that hone takes; names the first node. HoneError: the
    options are wrong, or the program cannot work."""
    file = os.path.join(folder, f"{name}.pt2")
    written = _with_weights(program, weights) if weights else program
    try:
        _save(written, file)
    except Exception as error:  # whatever PyTorch's writer does not know, a named tuple say
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ImportRefused(f"torch.export.save does not save {name}: {line}") from error
    options = levels.options
    cut: Dict[str, Any] = {"parts": []}
    refused: Optional[HoneError] = None
    try:
        cut = run("import", file, "--parts", os.path.join(folder, name), "--force", *options)
    except HoneError as error:
        refused = _about(file, error)
    if len(cut["parts"]) <= 1:
        task = os.path.join(folder, f"{name}.task.cu")
        try:
            whole = run("import", file, "-o", task, "--force", *options)
            names = Whole(whole["arguments"], whole["results"], whole["draws"])
            return Imported(program, file, [_whole_graph(written, whole, task)], [0], [], [], names)
        except HoneError as error:
            refused = _about(file, error)
    if refused is not None and not cut["parts"]:
        raise ImportRefused(str(refused), refused.status)
    return Imported(
        program=program,
        file=file,
        parts=[_read_part(part, os.path.join(folder, name)) for part in cut["parts"]],
        steps=[step["part"] if "part" in step else step["node"] for step in cut["steps"]],
        left_out=[(node["node"], node["why"]) for node in cut["left_out"]],
        dropped=cut["dropped"],
        whole=None,
    )


def _about(file: str, error: HoneError) -> HoneError:
    """What the program says of a file, without the file, which is gone soon; any other error is raised."""
    if not str(error).startswith(file):
        raise error
    return HoneError(str(error)[len(file) :].lstrip(": "), error.status)


def _save(program: ExportedProgram, file: Union[str, io.BytesIO]) -> None:
    for node in program.graph.nodes:  # which lines of Python it came from: slow to write
        for key in ("stack_trace", "source_fn_stack", "torch_fn", "from_node"):
            node.meta.pop(key, None)
    # PyTorch's writer tries on a copy of the whole graph whether it could be brought into another form, which
    # it then does not use: half of its time (measured with ResNet-50).
    tried = getattr(serialize, "canonicalize", None)
    examples = program._example_inputs  # of no use in the file, and as large as the arguments
    program._example_inputs = None
    try:
        if tried is not None:
            setattr(serialize, "canonicalize", lambda *_: None)
        with _quick():
            torch.export.save(program, file)
    finally:
        program._example_inputs = examples
        if tried is not None:
            setattr(serialize, "canonicalize", tried)


def _with_weights(
    program: ExportedProgram, weights: Dict[int, Tuple[str, torch.Tensor]]
) -> ExportedProgram:
    """The program with these arguments as parameters and buffers, on the meta device."""
    specs = list(program.graph_signature.input_specs)
    arguments = [i for i, spec in enumerate(specs) if spec.kind == InputKind.USER_INPUT]
    state = dict(program.state_dict)
    for argument, (name, tensor) in weights.items():
        place = arguments[argument]
        parameter = isinstance(tensor, torch.nn.Parameter)
        if parameter:
            specs[place] = InputSpec(InputKind.PARAMETER, specs[place].arg, name)
        else:
            specs[place] = InputSpec(InputKind.BUFFER, specs[place].arg, name, persistent=True)
        bare = tensor.detach().to("meta")
        state[name] = torch.nn.Parameter(bare, requires_grad=False) if parameter else bare
    made = copy.copy(program)
    made._graph_signature = ExportGraphSignature(specs, program.graph_signature.output_specs)
    made._state_dict = state
    return made


def _without_weights(program: ExportedProgram) -> bytes:
    """An exported program as a file, with one element for each weight. HoneError: PyTorch's first line."""

    def short(tensor: torch.Tensor) -> torch.Tensor:
        one = torch.zeros((), dtype=tensor.dtype, device=tensor.device).expand(tensor.shape)
        if not isinstance(tensor, torch.nn.Parameter):
            return one
        return torch.nn.Parameter(one, requires_grad=tensor.requires_grad)

    held, file = program._state_dict, io.BytesIO()
    program._state_dict = {name: short(tensor) for name, tensor in held.items()}
    try:
        _save(program, file)
    except Exception as error:  # whatever PyTorch's writer does not know
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise HoneError(
            f"torch.export.save does not save the graph: {line}; pickle the module that hone.optimize was "
            "given, or write this one as a file (hone.write)"
        ) from error
    finally:
        program._state_dict = held
    return file.getvalue()


def _whole_graph(program: ExportedProgram, document: Dict[str, Any], task: str) -> Part:
    """The one part that is the whole graph."""
    signature = program.graph_signature
    inputs: List[Border] = []
    users = iter(document["arguments"])
    for spec in signature.input_specs:
        if spec.kind == InputKind.USER_INPUT:
            buffer = next(users)
        else:
            buffer = document["parameters"].get(spec.target, "")
        if buffer:
            inputs.append(Border(spec.arg.name, buffer))
    outputs = [
        Border(spec.arg.name, buffer)
        for spec, buffer in zip(signature.output_specs, document["results"])
        if buffer
    ]
    nodes = tuple(n.name for n in program.graph.nodes if n.op == "call_function")
    return Part(
        task, document["task_hash"], document["math"], nodes, tuple(inputs), tuple(outputs)
    )


def _read_part(document: Dict[str, Any], folder: str) -> Part:
    """A part as `hone import --parts` tells it."""

    def borders(entries: Sequence[Dict[str, Any]]) -> Tuple[Border, ...]:
        return tuple(Border(e["value"], e["buffer"], tuple(e["order"])) for e in entries)

    return Part(
        os.path.join(folder, document["task"]),
        document["task_hash"],
        document["math"],
        tuple(document["nodes"]),
        borders(document["inputs"]),
        borders(document["outputs"]),
    )


def task_buffers(task: str) -> List[Buffer]:
    """The buffers that a task's caller passes and receives, in the order in which an exported
    operator takes and returns them. HoneError: the file is no task."""
    return [
        Buffer(b["name"], b["role"], tuple(b["shape"]), b["type"])
        for b in run("describe", task)["buffers"]
        if b["role"] != "scratch"
    ]


def draws(program: ExportedProgram) -> bool:
    """Does the graph draw at random? Dropout that is switched off does not."""
    for node in program.graph.nodes:
        tags = getattr(node.target, "tags", ())
        if node.op != "call_function" or torch.Tag.nondeterministic_seeded not in tags:
            continue
        schema = node.target._schema.arguments
        bound = {a.name: a.default_value for a in schema if a.has_default_value()}
        bound.update(zip([a.name for a in schema], node.args), **node.kwargs)
        off = bound.get("train", bound.get("training")) is False
        for name in ("p", "dropout", "dropout_p"):
            off = off or (name in bound and bound[name] == 0)
        if not off:
            return True
    return False
