"""How far hone may depart from a module's arithmetic where the caller does not say: as far as PyTorch
does itself, by its switches for TF32."""
import contextlib
import re
from dataclasses import dataclass
from typing import Any, Iterable, Iterator, List, Optional, Union

import torch

#: Of a result's error, beyond PyTorch's own: where the level is given and PyTorch's switches are not
#: asked. That of TF32 is the default tolerance of a task with f32 results.
TOLERANCES = {"reduced": 1e-2, "tf32": 2e-3, "tf32x3": 1e-4}


@dataclass(frozen=True)
class Levels:
    """Levels of arithmetic, as in a task; None: the default of tasks, "reassociate"."""

    usual: Optional[str] = None
    convolutions: Optional[str] = None  #: of tasks with convolutions of f32
    products: Optional[str] = None  #: of tasks with products of matrices, attention or cells of f32
    recurrent: Optional[str] = None  #: of tasks with an LSTM, a GRU or a plain recurrent network of f32

    def may_round(self, nodes: Iterable[torch.fx.Node]) -> bool:
        """May one of these nodes be computed in TF32 at these levels? A module that is called, as a
        node may be, may hold any operation."""
        kinds = {
            "conv": self.convolutions,
            "lstm|gru|rnn": self.recurrent,
            "mm|linear|matmul|einsum|attention|cell": self.products,
        }
        pattern = "|".join(words for words, level in kinds.items() if level == "tf32")
        return bool(pattern) and any(
            node.op == "call_module" or re.search(pattern, str(node.target)) for node in nodes
        )

    @property
    def without_tf32(self) -> "Levels":
        """The same with f32's precision, on tensor cores, too, in the place of TF32."""
        kinds = (self.convolutions, self.products, self.recurrent)
        return Levels(self.usual, *("tf32x3" if level == "tf32" else level for level in kinds))

    @property
    def options(self) -> List[str]:
        """Options of `hone import`."""
        named = {
            "--math": self.usual,
            "--convolution-math": self.convolutions,
            "--product-math": self.products,
            "--recurrent-math": self.recurrent,
        }
        return [word for name, level in named.items() if level for word in (name, level)]


def convolutions_use_tf32() -> bool:
    """PyTorch's switch for cuDNN's convolutions, which is on by default."""
    return _is_on(getattr(torch.backends.cudnn, "conv", None), torch.backends.cudnn)


def recurrent_use_tf32() -> bool:
    """PyTorch's switch for cuDNN's LSTM, GRU and plain recurrent networks, which is on by default."""
    return _is_on(getattr(torch.backends.cudnn, "rnn", None), torch.backends.cudnn)


def products_use_tf32() -> bool:
    """PyTorch's switch for cuBLAS, which is off by default; `torch.set_float32_matmul_precision`
    turns it, too."""
    return _is_on(torch.backends.cuda.matmul, torch.backends.cuda.matmul)


def _is_on(named: Any, older: Any) -> bool:
    """PyTorch has two names for a switch: `fp32_precision`, which follows the other, and the older
    `allow_tf32`, which cannot be read where the first was used."""
    precision = getattr(named, "fp32_precision", None)
    return bool(older.allow_tf32) if precision is None else precision == "tf32"


@contextlib.contextmanager
def exact_f32() -> Iterator[None]:
    """PyTorch's own products in f32, not in TF32."""
    name: str = "allow_tf32"
    off: Union[bool, str] = False
    cudnn: Any = torch.backends.cudnn  # its type hints lack conv and rnn
    switches: List[Any] = [torch.backends.cuda.matmul, cudnn]
    try:
        before = [getattr(switch, name) for switch in switches]
    except RuntimeError:  # somebody used the newer names
        name, off = "fp32_precision", "ieee"
        switches = [torch.backends.cuda.matmul, cudnn.conv, cudnn.rnn]
        before = [getattr(switch, name) for switch in switches]
    try:
        for switch in switches:
            setattr(switch, name, off)
        yield
    finally:
        for switch, value in zip(switches, before):
            setattr(switch, name, value)


def levels_of(math: Optional[str], device: Optional[str]) -> Levels:
    """The levels of a module's tasks. math: what the caller said; None: as PyTorch computes on a GPU
    with its switches as they are now, where TF32 is off by three products in TF32 for one of f32, which
    are as precise. device: where hone searches. On an emulated GPU the switches count, too; elsewhere
    PyTorch has no TF32."""
    if math is not None or not (device or "").startswith(("cuda", "emu:")):
        return Levels(usual=math)
    return Levels(
        convolutions="tf32" if convolutions_use_tf32() else "tf32x3",
        products="tf32" if products_use_tf32() else "tf32x3",
        recurrent="tf32" if recurrent_use_tf32() else "tf32x3",
    )
