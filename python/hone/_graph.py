"""From a module to a task: torch.export, `hone import`, and which value of the graph is which buffer
of the task."""
import contextlib
import gc
import os
import warnings
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

from hone._binary import run
from hone._errors import HoneError, ImportRefused


@dataclass(frozen=True)
class Buffer:
    """A buffer of a task that its caller passes or receives, at the timed sizes."""

    name: str
    role: str  #: "in", "inout" or "out"
    shape: Tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """Some nodes of an exported graph, as one task or as what PyTorch runs."""

    task: Optional[str]  #: the task's file; None: PyTorch runs the nodes
    nodes: Tuple[str, ...]  #: names of nodes
    inputs: Tuple[Tuple[str, str], ...]  #: (value of the graph, buffer of the task)
    outputs: Tuple[Tuple[str, str], ...]  #: the same


@dataclass
class Task:
    """A task as `hone describe` tells it."""

    file: str
    hash: str
    buffers: List[Buffer]  #: in the order in which an exported operator takes and returns them


@dataclass
class Imported:
    """A module as hone sees it."""

    program: ExportedProgram
    file: str  #: the .pt2
    arguments: List[str]  #: of each leaf of the arguments its buffer; "" where it has none
    results: List[str]  #: of each leaf of the results
    draws: List[str]  #: buffers of what PyTorch would draw at random
    task_hash: str  #: of the task that is the whole graph
    parts: List[Part]


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
    program: ExportedProgram, folder: str, name: str, math: Optional[str]
) -> Imported:
    """Writes NAME.pt2 and its task into a folder. ImportRefused: hone has no such operation."""
    file = os.path.join(folder, f"{name}.pt2")
    for node in program.graph.nodes:  # which lines of Python it came from: slow to write
        for key in ("stack_trace", "source_fn_stack", "torch_fn", "from_node"):
            node.meta.pop(key, None)
    examples = program._example_inputs  # of no use in the file, and as large as the arguments
    program._example_inputs = None
    try:
        with _quick():
            torch.export.save(program, file)
    finally:
        program._example_inputs = examples
    task = os.path.join(folder, f"{name}.task.cu")
    options = [] if math is None else ["--math", math]
    try:
        document = run("import", file, "-o", task, "--force", *options)
    except HoneError as error:
        raise ImportRefused(str(error), error.status) from None
    part = _whole_graph(program, document, task)
    return Imported(
        program=program,
        file=file,
        arguments=document["arguments"],
        results=document["results"],
        draws=document["draws"],
        task_hash=document["task_hash"],
        parts=[part],
    )


def _whole_graph(program: ExportedProgram, document: Dict[str, Any], task: str) -> Part:
    """The one part that is the whole graph."""
    signature = program.graph_signature
    inputs: List[Tuple[str, str]] = []
    users = iter(document["arguments"])
    for spec in signature.input_specs:
        if spec.kind == InputKind.USER_INPUT:
            buffer = next(users)
        else:
            buffer = document["parameters"].get(spec.target, "")
        if buffer:
            inputs.append((spec.arg.name, buffer))
    outputs = [
        (spec.arg.name, buffer)
        for spec, buffer in zip(signature.output_specs, document["results"])
        if buffer
    ]
    nodes = tuple(n.name for n in program.graph.nodes if n.op == "call_function")
    return Part(task, nodes, tuple(inputs), tuple(outputs))


def describe(task: str) -> Task:
    """A task file's hash, and its caller's buffers. HoneError: the file is no task."""
    document = run("describe", task)
    buffers = [
        Buffer(b["name"], b["role"], tuple(b["shape"]))
        for b in document["buffers"]
        if b["role"] != "scratch"
    ]
    return Task(task, document["task_hash"], buffers)


def read_parts(document: Sequence[Dict[str, Any]], folder: str) -> List[Part]:
    """Parts as JSON: [{"task": FILE or null, "nodes": [NAME...], "inputs": [{"value": NAME,
    "buffer": NAME}...], "outputs": the same}...], in an order in which they can run."""

    def pairs(entries: Sequence[Dict[str, str]]) -> Tuple[Tuple[str, str], ...]:
        return tuple((entry["value"], entry.get("buffer") or "") for entry in entries)

    return [
        Part(
            os.path.join(folder, part["task"]) if part["task"] else None,
            tuple(part["nodes"]),
            pairs(part["inputs"]),
            pairs(part["outputs"]),
        )
        for part in document
    ]
