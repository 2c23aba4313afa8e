"""What stands in a module's place: a module of a subclass, whose call runs the operators. It is copied and
pickled with them: a pickle has the graph without weights, the machine code and what the guard knows."""
import copy
import copyreg
from typing import Any, Dict, Optional, Sequence, Tuple, Type

import torch

from hone._operator import arch_of
from hone._report import Report
from hone._runtime import GraphRunner, Guard, flatten_call

#: How pickle makes an object of a class that has no way of its own. Type hints lack it.
_NEWOBJ: Any = getattr(copyreg, "__newobj__")


class Call:
    """A module's call by hone's operators."""

    def __init__(
        self,
        runner: GraphRunner,
        guard: Guard,
        names: Sequence[str],
        device: torch.device,
        example: Sequence[Any],
    ) -> None:
        """`example`: the leaves of the call that was verified."""
        self.runner, self.guard, self._names, self._device = runner, guard, names, device
        # Of the tensors shapes and types alone are kept, in memory of no size.
        self.example = [
            torch.empty((), dtype=x.dtype, device=x.device).expand(x.shape)
            if isinstance(x, torch.Tensor)
            else x
            for x in example
        ]
        #: Of one that comes out of a pickle: the GPU that it was made for, "sm_90".
        self._arch: Optional[str] = None

    def __getstate__(self) -> Dict[str, Any]:
        on_gpu = self._device.type == "cuda"
        return {**vars(self), "_arch": self._arch or (arch_of(self._device) if on_gpu else None)}

    def of_copy(self, module: torch.nn.Module, changed: bool) -> "Call":
        """That of a module's copy, whose tensors that are no parameters are others. changed: they were
        not those of the verified call when the module was copied."""
        guard = self.guard.of_copy(module, changed)
        if guard is self.guard:
            return self
        call = Call.__new__(Call)
        vars(call).update(vars(self), guard=guard)
        return call

    def __deepcopy__(self, memo: Any) -> "Call":
        return self  # knows no module: a copy of the module may share it

    def unguarded(self, module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Any) -> Any:
        leaves, _ = flatten_call(self._names, args, kwargs)
        return self.runner(module, leaves, self._device)

    def attempt(
        self, module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Any
    ) -> Tuple[Optional[str], Any]:
        """None and the operators' results; or why PyTorch has to run the call."""
        leaves, spec = flatten_call(self._names, args, kwargs)
        reason = self.guard.why_eager(module, leaves, spec)
        if reason is None and self._arch and self._arch != arch_of(self._device):
            reason = f"it was made on a GPU of {self._arch}, and this one is {arch_of(self._device)}"
        if reason is not None:
            return reason, None
        state = self.guard.state_of(module)
        reason = self.runner.why_eager(state, leaves)
        return reason, self.runner(state, leaves, self._device) if reason is None else None


def returned(module: torch.nn.Module, report: Report, call: Optional[Call]) -> torch.nn.Module:
    """A module that shares all with another, and calls the operators where there are some."""
    shared = copy.copy(module)
    shared.__dict__["_hone_report"] = report
    if call is not None:
        shared.__class__ = _subclass(type(module))
        # One that somebody set on the instance would hide the subclass's.
        shared.__dict__["_hone_forward"] = shared.__dict__.pop("forward", None)
        shared.__dict__["_hone_call"] = call
    return shared


_subclasses: Dict[Type[torch.nn.Module], Type[torch.nn.Module]] = {}


def _subclass(original: Type[torch.nn.Module]) -> Type[torch.nn.Module]:
    """A class whose forward runs the operators for calls that are like the example."""
    if original not in _subclasses:

        @torch.compiler.disable  # type: ignore[untyped-decorator]
        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            report = self._hone_report
            reason, results = self._hone_call.attempt(self, args, kwargs)
            if reason is None:
                report.replaced_calls += 1
                return results
            report.eager_calls += 1
            report.last_eager_reason = reason
            own = self._hone_forward
            return own(*args, **kwargs) if own else original.forward(self, *args, **kwargs)

        def reduce(self: Any, protocol: int) -> Any:
            """As the original class says, with this class, which no pickle can name."""
            made = original.__reduce_ex__(self, max(protocol, 2))
            if made[0] is not _NEWOBJ or made[1][0] is not type(self):
                return made  # the class has a way of its own
            changed = self._hone_call.guard.constants_changed(self)
            return (_made_again, (original, changed, *made[1][1:]), *made[2:])

        def set_state(self: Any, state: Any) -> None:
            changed = self.__dict__.pop("_hone_changed")
            original.__setstate__(self, state)
            if "_hone_call" in self.__dict__:
                self.__dict__["_hone_call"] = self._hone_call.of_copy(self, changed)

        _subclasses[original] = type(
            original.__name__,
            (original,),
            {
                "forward": forward,
                "__reduce_ex__": reduce,
                "__setstate__": set_state,
                "__module__": original.__module__,
                "__doc__": original.__doc__,
            },
        )
    return _subclasses[original]


def _made_again(original: Type[torch.nn.Module], changed: bool, *args: Any) -> torch.nn.Module:
    """A copied or unpickled module before it has its state."""
    kind = _subclass(original)
    module: torch.nn.Module = kind.__new__(kind, *args)
    module.__dict__["_hone_changed"] = changed
    return module
