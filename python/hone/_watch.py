"""Notices that a module was changed, and which of PyTorch's modes are on. The text of this file, after the
line of dashes, stands in each file that `hone.write` makes: it imports nothing of hone."""
# ------------------------------------------------------------------------------------------------
import operator
import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch.autograd import forward_ad as _hone_forward_ad


def _hone_mode() -> Optional[str]:
    """What of PyTorch's modes is on that kernels take no part in: they read and write memory, and some
    tensors only stand for others and have none. None: nothing is. Asked before anything else."""
    if torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu"):
        return "autocast is on"
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "torch.func transforms the call (vmap, grad, jvp or another)"
    if _hone_forward_ad._current_level >= 0:
        return "derivatives are computed in forward mode, and hone's operators have none"
    if torch._C._len_torch_dispatch_stack() > 0:
        return "a TorchDispatchMode is on, which would not see hone's operators"
    if torch._C._get_tracing_state() is not None:
        return "torch.jit.trace records the call, and would not see hone's operators"
    return None


def _hone_gradient(tensors: Sequence[torch.Tensor]) -> Optional[str]:
    """Why kernels may not run on these arguments, parameters and buffers; None: they may."""
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return "a gradient is needed, and hone's operators have no backward"
    return None


def _hone_place(tensor: torch.Tensor) -> Any:
    """What of a tensor may change while it is the same object (by `.data`, say): cheap to tell."""
    return (tensor.data_ptr(), tensor.dtype, tensor.device, tensor.shape, tensor.stride())


class _HoneWatch:
    """Remembers a module as it is: its attributes, parameters, buffers and hooks as objects, those of each
    submodule and its class, and where its tensors lie. An attribute that is another object counts
    as changed, equal or not; what is inside of a list is not seen, nor are a tensor's values."""

    def __init__(self, module: torch.nn.Module) -> None:
        parts = list(module.modules())
        self._parts = parts[1:]  # without the module, which would never be freed
        self._kinds = list(map(type, self._parts))
        self._full: List[Tuple[Dict[str, Any], Tuple[Any, ...], Tuple[Any, ...]]] = []
        self._empty: List[Dict[Any, Any]] = []
        for part in parts:
            hooks: Any = (part._forward_hooks, part._forward_pre_hooks)
            for held in (vars(part), part._parameters, part._buffers, part._modules, *hooks):
                if held:
                    self._full.append((held, tuple(held), tuple(held.values())))
                else:
                    self._empty.append(held)
        #: Parameters and buffers by name; what has several names under each.
        self.state: Dict[str, torch.Tensor] = dict(module.named_parameters(remove_duplicate=False))
        self.state.update(module.named_buffers(remove_duplicate=False))
        self.tensors = list({id(t): t for t in self.state.values()}.values())
        self.devices = {t.device for t in self.tensors}
        self._places = [(t, _hone_place(t)) for t in self.tensors]

    def is_unchanged(self) -> bool:
        same = operator.is_
        if any(self._empty) or not all(map(same, map(type, self._parts), self._kinds)):
            return False
        for held, names, values in self._full:
            if len(held) != len(names):
                return False
            if not (all(map(same, held, names)) and all(map(same, held.values(), values))):
                return False
        return all(_hone_place(tensor) == place for tensor, place in self._places)


class _HoneMemory:
    """What was found out about modules, forgotten once they are changed."""

    def __init__(self) -> None:
        self._known: Any = weakref.WeakKeyDictionary()

    def of(self, module: torch.nn.Module) -> Tuple[_HoneWatch, Dict[Any, Any]]:
        """A module's watch, and a dictionary for what holds while it is unchanged."""
        found = self._known.get(module)
        if found is None or not found[0].is_unchanged():
            found = self._known[module] = _HoneWatch(module), {}
        return found  # type: ignore[no-any-return]

    def last(self, module: torch.nn.Module) -> _HoneWatch:
        """The watch that of() gave last."""
        return self._known[module][0]  # type: ignore[no-any-return]
