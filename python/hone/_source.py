"""A replaced module as a file of Python that needs no hone: the kernels as CUDA source, compiled by
`torch.utils.cpp_extension.load_inline` (nvcc), and a class that runs them where calls are like those
that were verified, else its base class."""
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from hone._binary import run
from hone._errors import HoneError
from hone._graph import DTYPES
from hone._load import database_options
from hone._runtime import GraphRunner, Kernel

#: Elements of a constant of the graph that are written into the file, at most.
MOST_CONSTANT = 4096

_HEAD = '''import hashlib
import os

import torch
from torch.utils import _pytree as _hone_pytree
from torch.utils.cpp_extension import load_inline

'''

_BINDINGS = r"""
#include <cstdint>
#include <stdexcept>
#include <vector>
namespace {
// A pointer of whatever type a launch takes.
struct hone_any_pointer {
  std::int64_t address;
  template <class T> operator T*() const { return reinterpret_cast<T*>(address); }
};
void hone_expect(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}
}  // namespace
"""

_STATE = '''
def _hone_state(module, name):
    for atom in name.split("."):
        module = getattr(module, atom)
    return module


def _hone_dense(tensor):
    tensor = tensor.contiguous()
    return tensor.clone() if tensor.data_ptr() % 16 else tensor


def _hone_of(value):
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), str(value.dtype), value.device.type)
    return (type(value).__name__, repr(value))


def _hone_facts(module, args, kwargs):
    leaves, spec = _hone_pytree.tree_flatten((args, kwargs))
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


def _hone_shared(tensors):
    places = [t.untyped_storage().data_ptr() for t in {id(t): t for t in tensors}.values()]
    return len(set(places)) < len(places)

'''


class _Launch:
    """The launch function of a candidate's `.cu` file."""

    def __init__(self, kernel: Kernel, db: Optional[str]) -> None:
        document = run("export", kernel.candidate, "--format", "cu", *database_options(db))
        self.text: str = document["text"]
        found = re.search(r"^cudaError_t (\w+_launch)\(([^)]*)\)", self.text, re.MULTILINE)
        if found is None:
            raise HoneError(f"{kernel.candidate}: its export has no launch function")
        self.function = found[1]
        parameters = [" ".join(p.split()) for p in found[2].split(",")]
        self.pointers = sum("*" in p for p in parameters)
        if self.pointers != len(kernel.buffers):
            raise HoneError(f"{kernel.candidate}: its export has {self.pointers} buffers")
        self.sizes: List[int] = []
        for parameter in parameters:
            if not parameter.startswith("long long "):
                continue
            name = parameter.split()[-1]
            value = re.search(rf"\b{name} == (-?\d+)LL", self.text)
            if value is None:
                raise HoneError(f"{kernel.candidate}: its export does not say what '{name}' is")
            self.sizes.append(int(value[1]))

    def binding(self, name: str) -> str:
        arguments = [f"hone_any_pointer{{pointers.at({i})}}" for i in range(self.pointers)]
        arguments += [f"{size}LL" for size in self.sizes]
        arguments.append("reinterpret_cast<cudaStream_t>(stream)")
        return (
            f"void {name}(std::vector<std::int64_t> pointers, std::int64_t stream) {{\n"
            f"  hone_expect({self.function}({', '.join(arguments)}));\n}}\n"
        )


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


class _Writer:
    def __init__(self, runner: GraphRunner, db: Optional[str]) -> None:
        self._runner = runner
        self._db = db
        self._lines: List[str] = []
        self._names: Dict[str, str] = {}
        self._sources: List[str] = []
        self._bindings: List[str] = []
        self._functions: Dict[str, str] = {}  # of a candidate: its binding
        self.writes = False  # whether a kernel writes one of its inputs

    def kernels(self, architecture: str) -> str:
        cuda = "".join(self._sources) + _BINDINGS + "".join(self._bindings)
        declared = "".join(
            f"void {name}(std::vector<std::int64_t> pointers, std::int64_t stream);\n"
            for name in self._functions.values()
        )
        cpp = "#include <torch/extension.h>\n#include <cstdint>\n#include <vector>\n" + declared
        if "'''" in cuda:
            raise HoneError("a kernel's text has three quotes in a row")
        unique = "_".join(sorted(self._functions))[:200]
        return (
            f"_HONE_CUDA = r'''\n{cuda}'''\n\n"
            f'_HONE_CPP = """\n{cpp}"""\n\n'
            f'os.environ["TORCH_CUDA_ARCH_LIST"] = "{architecture}"\n'
            f'_hone = load_inline(\n    name="hone_{unique}",\n    cpp_sources=[_HONE_CPP],\n'
            f"    cuda_sources=[_HONE_CUDA],\n    functions={sorted(self._functions.values())!r},\n"
            f"    no_implicit_headers=True,\n"
            f'    extra_cuda_cflags=["-std=c++20", "-O3", "--expt-relaxed-constexpr"],\n)\n'
        )

    def forward(self) -> str:
        """The body of the class's own call: leaves in, results out."""
        specs = self._runner._specs
        users = [s.arg.name for s in specs if s.kind == InputKind.USER_INPUT]
        for i, name in enumerate(users):
            self._value(name, f"leaves[{i}]")
        for spec in specs:
            if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
                self._value(spec.arg.name, f"_hone_state(self, {spec.target!r})")
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
        arguments = [_literal(a, self._names) for a in node.args]
        arguments += [f"{k}={_literal(v, self._names)}" for k, v in node.kwargs.items()]
        self._value(node.name, f"{function}({', '.join(arguments)})")

    def _kernel(self, kernel: Kernel) -> None:
        function = self._functions.get(kernel.candidate)
        if function is None:
            launch = _Launch(kernel, self._db)
            function = f"run_{kernel.candidate}"
            self._functions[kernel.candidate] = function
            self._sources.append(launch.text)
            self._bindings.append(launch.binding(function))
        number = len(self._lines)
        given = iter(enumerate(kernel.inputs))
        results: List[str] = []
        pointers: List[str] = []
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
            pointers.append(f"{name}.data_ptr()")
        self._lines.append(f"_hone.{function}([{', '.join(pointers)}], stream)")
        self._lines += back
        for value, i, shape in kernel.outputs:
            if value not in self._runner._placeholders:
                self._value(value, f"{results[i]}.view({tuple(shape)!r})")

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


def class_source(
    module: torch.nn.Module, base: str, name: str, architecture: str, db: Optional[str]
) -> Tuple[str, str, str]:
    """(imports, kernels, class) of a file that has the class `base`: `name` is a subclass of it.

    module: a replaced one. architecture: as in TORCH_CUDA_ARCH_LIST, such as "9.0a". HoneError:
    something of the graph has no text, or the module was changed since."""
    call = module.__dict__["_hone_call"]
    if not call.guard.is_as_verified(module):
        raise HoneError(f"{type(module).__name__} was changed since it was optimized")
    writer = _Writer(call.runner, db)
    body = writer.forward()
    args, kwargs = pytree.tree_unflatten(call.example, call.guard.spec)
    helpers: Dict[str, Any] = {}
    exec(_HEAD + _STATE, helpers)
    facts = helpers["_hone_facts"](module, args, kwargs)
    capability = tuple(int(x) for x in architecture.rstrip("a").split("."))
    shared = "_hone_shared([*state, *leaves])" if writer.writes else "False"
    text = (
        f"{_STATE}\nclass {name}({base}):\n"
        f'    """{base}, by kernels that were verified. They run where a call is like the example, all\n'
        f"    parameters, modes and numbers of the module are as they were, the GPU is of the kind for\n"
        f'    which they were compiled, and no gradient is needed. Else {base} itself runs."""\n\n'
        f"    def forward(self, *args, **kwargs):\n"
        f"        ordered = {{n: kwargs[n] for n in {list(kwargs)!r} if n in kwargs}}\n"
        f"        ordered.update(kwargs)\n"
        f"        leaves = [\n"
        f"            x for x in _hone_pytree.tree_leaves((args, ordered)) if isinstance(x, torch.Tensor)\n"
        f"        ]\n"
        f"        state = [*self.parameters(), *self.buffers()]\n"
        f"        device = next((x.device for x in [*leaves, *state] if x.is_cuda), torch.device('cpu'))\n"
        f"        if (\n"
        f"            (torch.is_grad_enabled() and any(x.requires_grad for x in [*leaves, *state]))\n"
        f"            or torch.is_autocast_enabled('cuda')\n"
        f"            or torch.is_autocast_enabled('cpu')\n"
        f"            or any(x.device != device for x in [*leaves, *state] if x.is_cuda)\n"
        f"            or (device.type == 'cuda' and torch.cuda.get_device_capability(device) != {capability!r})\n"
        f"            or _hone_facts(self, args, ordered) != '{facts}'\n"
        f"            or {shared}\n"
        f"        ):\n"
        f"            return super().forward(*args, **kwargs)\n"
        f"        leaves = _hone_pytree.tree_leaves((args, ordered))\n"
        f"        if device.type != 'cuda':\n"
        f"            return self._hone_call(leaves, device, 0)\n"
        f"        with torch.cuda.device(device):\n"
        f"            stream = torch.cuda.current_stream(device).cuda_stream\n"
        f"            return self._hone_call(leaves, device, stream)\n\n"
        f"    def _hone_call(self, leaves, device, stream):\n"
        f"{body}"
    )
    return _HEAD, writer.kernels(architecture), text


def write(module: torch.nn.Module, path: str, *, db: Optional[str] = None) -> None:
    """Writes a module that `hone.optimize` replaced as a file of Python that needs no hone: its kernels
    as CUDA source, and `Optimized`, a subclass of the module's class, to be made and loaded like it.

    Its forward runs the kernels for calls of the shapes, types and kind of device of the example, where
    no gradient is needed; all others run the base class. The kernels are compiled by nvcc when the file
    is imported, for the GPU on which it was written. db: the database that the module was optimized
    with. TypeError: the module was not replaced. HoneError: its class is not to be imported from a
    module, or its graph has a constant that is too large to be text."""
    call = getattr(module, "__dict__", {}).get("_hone_call")
    if call is None:
        raise TypeError(f"{type(module).__name__} was not replaced by hone.optimize")
    base = type(module).__mro__[1]
    if base.__module__ == "__main__" or "<locals>" in base.__qualname__:
        raise HoneError(f"{base.__qualname__} is not to be imported: it lies in {base.__module__}")
    head, kernels, text = class_source(module, base.__qualname__, "Optimized", architecture(), db)
    first = base.__qualname__.split(".")[0]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}from {base.__module__} import {first}\n\n{kernels}\n{text}")


def architecture() -> str:
    """That of the present GPU, as TORCH_CUDA_ARCH_LIST has it. What a candidate for Hopper or later
    uses is the architecture's own ("9.0a")."""
    major, minor = torch.cuda.get_device_capability()
    return f"{major}.{minor}{'a' if major >= 9 else ''}"
