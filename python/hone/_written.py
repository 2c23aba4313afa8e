"""What all written files share: a replaced module's graph as a class, whose calls run kernels where they
are like those that were verified."""
import pathlib
import re
import types
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Tuple

import torch
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from hone import _watch
from hone._errors import HoneError
from hone._graph import DTYPES
from hone._runtime import GraphRunner, Kernel

#: Elements of a constant of the graph that are written into the file, at most.
MOST_CONSTANT = 4096


def runtime(module: types.ModuleType) -> str:
    """The text of a module of this package that stands in a file as it is."""
    text = pathlib.Path(str(module.__file__)).read_text(encoding="utf-8")
    return re.split(r"^# -+\n", text, maxsplit=1, flags=re.MULTILINE)[1]


#: The imports that STATE needs.
HEAD = '''import hashlib

import torch
from torch.utils import _pytree as _hone_pytree

'''

STATE = '''
_HONE_MEMORY = _HoneMemory()


def _hone_dense(tensor):
    tensor = tensor.contiguous().resolve_neg()
    return tensor.clone() if tensor.data_ptr() % 16 else tensor


def _hone_of(value):
    if isinstance(value, torch.Tensor):
        plain = type(value) in (torch.Tensor, torch.nn.Parameter)
        return (plain, tuple(value.shape), str(value.dtype), value.device.type, str(value.layout))
    return (type(value).__name__, repr(value))


def _hone_like(value):
    """What of an argument a call depends on, cheaply."""
    if type(value) is torch.Tensor:
        return (value.shape, value.dtype, value.device.type, value.layout)
    return _hone_of(value)


def _hone_plain(args):
    """Are these tensors alone, which need no taking apart?"""
    for value in args:
        if type(value) is not torch.Tensor:
            return False
    return True


def _hone_facts(module, leaves, spec):
    """A hash of what a call must have in common with an example."""
    state = [
        (name, _hone_of(t), t.stride())
        for name, t in (*module.named_parameters(), *module.named_buffers())
    ]
    modules = []
    for part in module.modules():
        own = part is module
        plain = [
            (name, repr(value))
            for name, value in sorted(vars(part).items())
            if isinstance(value, (bool, int, float, str, type(None))) and not name.startswith("_")
        ]
        hooks = 0 if own else len(part._forward_hooks) + len(part._forward_pre_hooks)
        modules.append(("" if own else type(part).__name__, hooks, plain))
    facts = repr((str(spec), [_hone_of(x) for x in leaves], state, modules))
    return hashlib.sha256(facts.encode()).hexdigest()


def _hone_capability(device):
    return torch.cuda.get_device_capability(device) if device.type == "cuda" else None


# What Triton's launchers ask, too; torch.cuda.current_stream makes an object first.
_hone_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def _hone_stream(device):
    if _hone_raw_stream is not None and device.index is not None:
        return _hone_raw_stream(device.index)
    return torch.cuda.current_stream(device).cuda_stream


def _hone_shared(tensors):
    places = [t.untyped_storage().data_ptr() for t in {id(t): t for t in tensors}.values()]
    return len(set(places)) < len(places)

'''


def _literal(value: Any, names: Dict[str, str]) -> str:
    """An argument of a node, as Python."""
    if isinstance(value, torch.fx.Node):
        return names[value.name]
    if isinstance(value, (list, tuple)):
        inside = ", ".join(_literal(v, names) for v in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    if isinstance(value, slice):
        return f"slice({value.start!r}, {value.stop!r}, {value.step!r})"
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return f"float({str(value)!r})"
    return repr(value)


class BodyWriter:
    """Writes a graph's calls as the body of a method (self, leaves, state, device, stream, plans)."""

    def __init__(self, runner: GraphRunner) -> None:
        self._runner = runner
        self._lines: List[str] = []
        self._names: Dict[str, str] = {}
        self.writes = False  # whether an input may be written

    def launch(self, kernel: Kernel, tensors: Sequence[str]) -> str:
        """A line that runs a kernel on tensors, the buffers of its task in their order, on `device` and
        `stream`."""
        raise NotImplementedError

    def forward(self) -> str:
        """The body of the class's own call: leaves in, results out."""
        specs = self._runner._specs
        users = [s.arg.name for s in specs if s.kind == InputKind.USER_INPUT]
        for i, name in enumerate(users):
            self._value(name, f"leaves[{i}]")
        for spec in specs:
            if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
                self._value(spec.arg.name, f"state[{spec.target!r}]")
            elif spec.kind != InputKind.USER_INPUT:
                self._value(spec.arg.name, self._constant(spec.target))
        for step in self._runner._steps:
            if step.kernel is not None:
                self._kernel(step.kernel)
            else:
                for node in step.nodes:
                    self._node(node)
        results = self._runner._output.args[0]
        return "".join(f"        {line}\n" for line in self._lines) + self._returned(results)

    def _value(self, name: str, text: str) -> None:
        self._names[name] = f"v_{name}"
        self._lines.append(f"v_{name} = {text}")

    def _constant(self, target: str) -> str:
        constant = self._runner._program.constants[target]
        if not isinstance(constant, torch.Tensor):
            raise HoneError(f"the module's constant '{target}' is no tensor")
        if constant.numel() > MOST_CONSTANT:
            raise HoneError(f"the module's constant '{target}' is too large to be written as text")
        values = _literal(constant.cpu().tolist(), {})
        return f"torch.tensor({values}, dtype={constant.dtype}, device=device)"

    def _node(self, node: torch.fx.Node) -> None:
        if node.op == "get_attr":
            raise HoneError(f"the graph's node '{node.name}' is a graph of its own")
        if isinstance(node.target, torch._ops.OpOverload):
            function = f"torch.ops.{node.target}"
        elif getattr(node.target, "__name__", "") == "getitem":
            container, index = node.args
            self._value(node.name, f"{_literal(container, self._names)}[{index!r}]")
            return
        else:
            raise HoneError(f"the graph's node '{node.name}' is no operator of PyTorch")
        # Of what PyTorch writes nobody says here which input it is.
        self.writes = self.writes or node.target._schema.is_mutable
        arguments = [_literal(a, self._names) for a in node.args]
        arguments += [f"{k}={_literal(v, self._names)}" for k, v in node.kwargs.items()]
        self._value(node.name, f"{function}({', '.join(arguments)})")

    def _kernel(self, kernel: Kernel) -> None:
        number = len(self._lines)
        given = iter(enumerate(kernel.inputs))
        results: List[str] = []
        tensors: List[str] = []
        back: List[str] = []
        for buffer in kernel.buffers:
            if buffer.role == "out":
                name = f"o{number}_{len(results)}"
                dtype = DTYPES[buffer.type]
                self._lines.append(
                    f"{name} = torch.empty({tuple(buffer.shape)!r}, dtype={dtype}, device=device)"
                )
                results.append(name)
            else:
                i, (value, order, shape, written) = next(given)
                name = f"i{number}_{i}"
                tensor = f"{self._names[value]}.detach()" + (f".permute({order!r})" if order else "")
                self._lines.append(f"{name} = _hone_dense({tensor}).view({tuple(shape)!r})")
                self.writes = self.writes or written
                if written:
                    back.append(f"if {name}.data_ptr() != {tensor}.data_ptr():")
                    back.append(f"    {tensor}.copy_({name}.view_as({tensor}))")
            tensors.append(name)
        self._lines.append(self.launch(kernel, tensors))
        self._lines += back
        for value, i, shape in kernel.outputs:
            if value not in self._runner._placeholders:
                self._value(value, self._laid_out(value, results[i], tuple(shape)))

    def _laid_out(self, value: str, result: str, shape: Tuple[int, ...]) -> str:
        """A kernel's result as PyTorch's nodes want it: some ask for strides."""
        text = f"{result}.view({shape!r})"
        strides = self._runner.strides.get(value)
        dense = torch.empty(shape, device="meta").stride()
        if strides is None or strides == dense or len(strides) != len(shape):
            return text
        return (
            f"torch.empty_strided({shape!r}, {strides!r}, dtype={result}.dtype, device=device).copy_({text})"
        )

    def _returned(self, results: Sequence[Any]) -> str:
        spec = self._runner._out_spec
        leaves = [_literal(r, self._names) for r in results]
        plain = pytree.tree_unflatten(list(leaves), spec)
        if isinstance(plain, str):
            return f"        return {plain}\n"
        if isinstance(plain, (tuple, list)) and all(isinstance(x, str) for x in plain):
            inside = ", ".join(plain) + ("," if len(plain) == 1 else "")
            both = ("[", "]") if isinstance(plain, list) else ("(", ")")
            return f"        return {both[0]}{inside}{both[1]}\n"
        text = pytree.treespec_dumps(spec)
        return (
            f"        spec = _hone_pytree.treespec_loads({text!r})\n"
            f"        return _hone_pytree.tree_unflatten([{', '.join(leaves)}], spec)\n"
        )


@dataclass
class Variant:
    """Calls of one kind, by the body of one method."""

    facts: str  #: a hash of what must be as in the example
    keywords: Tuple[str, ...]  #: keyword arguments in the order in which the body has them
    body: str
    writes: bool  #: whether an input may be written
    plans: str  #: a Python expression: what the body's `plans` is, by compute capability


def variant_of(module: torch.nn.Module, writer: BodyWriter, plans: str) -> Variant:
    """Of a replaced module. HoneError: something of the graph has no text, or the module was changed
    since."""
    call = module.__dict__["_hone_call"]
    if not call.guard.is_as_verified(module):
        raise HoneError(f"{type(module).__name__} was changed since it was optimized")
    body = writer.forward()
    _, kwargs = pytree.tree_unflatten(call.example, call.guard.spec)
    helpers: Dict[str, Any] = {}
    exec(HEAD + runtime(_watch) + STATE, helpers)
    facts = helpers["_hone_facts"](module, call.example, call.guard.spec)
    return Variant(facts, tuple(kwargs), body, writer.writes, plans)


def _in_one_order(variants: Sequence[Variant]) -> List[str]:
    """The keyword arguments of all variants, so that each has its own in its order."""
    names: List[str] = []
    for variant in variants:
        names += [name for name in variant.keywords if name not in names]
    for variant in variants:
        if [name for name in names if name in variant.keywords] != list(variant.keywords):
            raise HoneError("the modules' examples have their keyword arguments in different orders")
    return names


def class_text(name: str, base: str, variants: Sequence[Variant]) -> str:
    """The class `name`, a subclass of `base`, and the functions that it needs, but for
    `_hone_ready(plans, device)`: whether the kernels can run there. HoneError: two variants
    are for the same calls."""
    keywords = _in_one_order(variants)
    if len({variant.facts for variant in variants}) < len(variants):
        raise HoneError("two of the modules are for the same calls")
    calls = "".join(
        f"        '{v.facts}': (\n            '_hone_call_{i}', {v.writes},\n            {v.plans},\n        ),\n"
        for i, v in enumerate(variants)
    )
    bodies = "".join(
        f"\n    def _hone_call_{i}(self, leaves, state, device, stream, plans):\n{v.body}"
        for i, v in enumerate(variants)
    )
    return (
        f"{STATE}\nclass {name}({base}):\n"
        f'    """{base}, by kernels that were verified. They run where a call is like an example, all\n'
        f"    parameters, modes and numbers of the module are as they were, the GPU is of a kind for\n"
        f'    which they were compiled, and no gradient is needed. Else {base} itself runs."""\n\n'
        f"    # What a call is like: its method, whether that writes into what is given, and the kernels for\n"
        f"    # each compute capability.\n"
        f"    _hone_calls = {{\n{calls}    }}\n\n"
        f"    @torch.compiler.disable  # kernels are launched by address, which no graph holds\n"
        f"    def forward(self, *args, **kwargs):\n"
        f"        if _hone_mode() is not None:\n"
        f"            return super().forward(*args, **kwargs)\n"
        f"        if kwargs or not _hone_plain(args):\n"
        f"            ordered = {{n: kwargs[n] for n in {keywords!r} if n in kwargs}}\n"
        f"            ordered.update(kwargs)\n"
        f"            leaves, spec = _hone_pytree.tree_flatten((args, ordered))\n"
        f"        else:\n"
        f"            leaves, spec = args, None\n"
        f"        watch, known = _HONE_MEMORY.of(self)\n"
        f"        tensors = [*watch.tensors, *(x for x in leaves if isinstance(x, torch.Tensor))]\n"
        f"        gpus = {{x.device for x in leaves if isinstance(x, torch.Tensor) and x.is_cuda}}\n"
        f"        gpus.update(d for d in watch.devices if d.type == 'cuda')\n"
        f"        device = next(iter(gpus), torch.device('cpu'))\n"
        f"        method, writes, plans = None, False, None\n"
        f"        if len(gpus) <= 1 and _hone_gradient(tensors) is None:\n"
        f"            like = (spec, *map(_hone_like, leaves))\n"
        f"            if len(known) > 1000:\n"
        f"                known.clear()\n"
        f"            if like not in known:\n"
        f"                if spec is None:\n"
        f"                    spec = _hone_pytree.tree_flatten((args, {{}}))[1]\n"
        f"                known[like] = _hone_facts(self, leaves, spec)\n"
        f"            method, writes, plans = self._hone_calls.get(known[like], (None, False, {{}}))\n"
        f"            plans = plans.get(_hone_capability(device))\n"
        f"        if plans is None or (writes and _hone_shared(tensors)) or not _hone_ready(plans, device):\n"
        f"            return super().forward(*args, **kwargs)\n"
        f"        call = getattr(self, method)\n"
        f"        if device.type != 'cuda':\n"
        f"            return call(leaves, watch.state, device, 0, plans)\n"
        f"        if device.index == torch.cuda.current_device():\n"
        f"            return call(leaves, watch.state, device, _hone_stream(device), plans)\n"
        f"        with torch.cuda.device(device):\n"
        f"            return call(leaves, watch.state, device, _hone_stream(device), plans)\n"
        f"{bodies}"
    )
