"""Replaced modules as a file of Python that needs no hone: the kernels as CUDA source, compiled by
`torch.utils.cpp_extension.load_inline` (nvcc), and a class that runs them where calls are like those
that were verified, else its base class."""
import re
from typing import Dict, List, Optional, Sequence, Tuple, Type, Union

import torch

from hone import _watch
from hone._binary import run
from hone._errors import HoneError
from hone._load import database_options
from hone._runtime import Kernel
from hone._written import HEAD, BodyWriter, Variant, class_text, runtime, variant_of

_IMPORTS = """import os

from torch.utils.cpp_extension import load_inline

"""

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


class _Kernels:
    """The kernels of a file, each candidate once, and what Python calls them by."""

    def __init__(self, db: Optional[str]) -> None:
        self._db = db
        self._sources: List[str] = []
        self._bindings: List[str] = []
        self._functions: Dict[str, str] = {}  # of a candidate: its binding

    def function(self, kernel: Kernel) -> str:
        function = self._functions.get(kernel.candidate)
        if function is None:
            launch = _Launch(kernel, self._db)
            function = f"run_{kernel.candidate}"
            self._functions[kernel.candidate] = function
            self._sources.append(launch.text)
            self._bindings.append(launch.binding(function))
        return function

    def text(self, architecture: str) -> str:
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
            f'    extra_cuda_cflags=["-std=c++20", "-O3", "--expt-relaxed-constexpr"],\n)\n\n\n'
            f"def _hone_ready(plans, device):\n    return True\n"
        )


class _Writer(BodyWriter):
    def __init__(self, module: torch.nn.Module, kernels: _Kernels) -> None:
        super().__init__(module.__dict__["_hone_call"].runner)
        self._kernels = kernels

    def launch(self, kernel: Kernel, tensors: Sequence[str]) -> str:
        pointers = ", ".join(f"{t}.data_ptr()" for t in tensors)
        return f"_hone.{self._kernels.function(kernel)}([{pointers}], stream)"


def class_source(
    modules: Sequence[torch.nn.Module], base: str, name: str, architecture: str, db: Optional[str]
) -> Tuple[str, str, str]:
    """(imports, kernels, class) of a file that has the class `base`: `name` is a subclass of it.

    modules: replaced ones, of that class. architecture: as in TORCH_CUDA_ARCH_LIST, such as "9.0a".
    HoneError: something of a graph has no text, or a module was changed since."""
    kernels = _Kernels(db)
    capability = tuple(int(x) for x in architecture.rstrip("a").split("."))
    plans = f"{{{capability!r}: ()}}"
    variants: List[Variant] = [variant_of(m, _Writer(m, kernels), plans) for m in modules]
    return HEAD + _IMPORTS + runtime(_watch) + "\n\n", kernels.text(architecture), class_text(name, base, variants)


def base_of(modules: Sequence[torch.nn.Module]) -> Type[torch.nn.Module]:
    """The class that was replaced. TypeError: a module was not, or they are of several classes.
    HoneError: the class is not to be imported from a module."""
    for module in modules:
        if getattr(module, "__dict__", {}).get("_hone_call") is None:
            raise TypeError(f"{type(module).__name__} was not replaced by hone.optimize")
    bases = {type(module).__mro__[1] for module in modules}
    if len(bases) != 1:
        raise TypeError(f"one class is written, not {len(bases)}")
    base = bases.pop()
    if base.__module__ == "__main__" or "<locals>" in base.__qualname__:
        raise HoneError(f"{base.__qualname__} is not to be imported: it lies in {base.__module__}")
    return base


def write(
    module: Union[torch.nn.Module, Sequence[torch.nn.Module]],
    path: str,
    *,
    cubins: Optional[Sequence[str]] = None,
    db: Optional[str] = None,
) -> None:
    """Writes what `hone.optimize` replaced as a file of Python that needs no hone: `Optimized`, a subclass
    of the module's class, to be made and loaded like it.

    module: one, or several of one class, each optimized with another example. The class's forward runs
    the kernels for calls of the shapes and types of an example, on a GPU of a kind for which they were
    compiled, where no gradient is needed; all others run the base class.

    cubins: None: the kernels are written as CUDA source, which nvcc compiles when the file is imported,
    for the GPU on which it was written. Else architectures such as ["sm_90", "sm_80"]: they are
    compiled now, for each of these, and the file needs NVIDIA's driver alone and neither compiler nor
    GPU to be imported. For an architecture on which the module was not optimized, the database's best
    candidates of the same tasks are taken, as they were measured there; whether they are faster than
    PyTorch was not measured. db: the database that the modules were optimized with.

    TypeError: a module was not replaced, or they are of several classes. HoneError: the class is not to
    be imported from a module, a graph has a constant that is too large to be text, or the database has
    nothing for an architecture."""
    modules = [module] if isinstance(module, torch.nn.Module) else list(module)
    base = base_of(modules)
    name = base.__qualname__
    imported = f"from {base.__module__} import {name.split('.')[0]}\n"
    if cubins is None:
        head, kernels, text = class_source(modules, name, "Optimized", architecture(), db)
    else:
        from hone._ahead import class_with_cubins

        head, kernels, text = class_with_cubins(modules, name, "Optimized", cubins, database_options(db))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{head}{imported}\n{kernels}\n{text}")


def architecture() -> str:
    """That of the present GPU, as TORCH_CUDA_ARCH_LIST has it. What a candidate for Hopper or later
    uses is the architecture's own ("9.0a")."""
    major, minor = torch.cuda.get_device_capability()
    return f"{major}.{minor}{'a' if major >= 9 else ''}"
