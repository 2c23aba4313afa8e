"""Runs an exported graph of which some parts are operators of hone, others PyTorch's own nodes."""
import contextlib
import operator
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple, Union

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from hone._errors import HoneError
from hone._graph import Border, Buffer, Imported, Part
from hone._watch import _hone_gradient, _hone_mode, _HoneMemory

Operator = Callable[..., Any]
Owner = Union[torch.nn.Module, Dict[str, torch.Tensor], None]
Run = Callable[[], Dict[str, Any]]
#: How a part may run.
EAGER, OPERATOR, INDUCTOR = "PyTorch", "hone", "Inductor"
Chooser = Callable[[int, Dict[str, Run]], str]
Around = Callable[[int, Run], Dict[str, Any]]


def memory_order(shape: Sequence[int], strides: Sequence[int]) -> Optional[Tuple[int, ...]]:
    """The dimensions of a dense tensor as they lie in memory, outermost first, with those of one
    element where they are; None: in their own order. As `hone import` orders a buffer's extents."""
    longer = [i for i, size in enumerate(shape) if size != 1]
    ordered = iter(sorted(longer, key=lambda i: -strides[i]))
    order = tuple(i if shape[i] == 1 else next(ordered) for i in range(len(shape)))
    return None if order == tuple(range(len(shape))) else order


class Kernel:
    """A part's operator, called with values of the graph."""

    def __init__(
        self,
        function: Operator,
        buffers: Sequence[Buffer],
        part: Part,
        program: ExportedProgram,
        candidate: str = "",
    ) -> None:
        """`candidate`: the operator's id in a database. HoneError: the part does not say which value a
        buffer is."""
        meta = {n.name: n.meta.get("val") for n in program.graph.nodes}
        borders: Dict[str, Border] = {}
        for border in part.inputs:
            borders.setdefault(border.buffer, border)
        self._operator = function
        self.candidate, self.buffers = candidate, tuple(buffers)
        #: value, dimensions in the order of memory or None, shape of the buffer, is it written?
        self.inputs: List[Tuple[str, Optional[Tuple[int, ...]], Tuple[int, ...], bool]] = []
        for buffer in buffers:
            if buffer.role == "out":
                continue
            if buffer.name not in borders:
                raise HoneError(f"{part.task}: no value of the graph is its buffer '{buffer.name}'")
            value = borders[buffer.name].value
            order = borders[buffer.name].order
            if order is None:
                order = memory_order(meta[value].shape, meta[value].stride())
            elif order == tuple(range(len(order))):
                order = None
            self.inputs.append((value, order, buffer.shape, buffer.role == "inout"))
        results = [b for b in buffers if b.role == "out"]
        self._results = len(results)
        #: value, which of the operator's results, shape. A buffer has at least one dimension. All
        #: else of its shape is right where PyTorch's own note is not, as of an LSTM's last state.
        self.outputs: List[Tuple[str, int, Tuple[int, ...]]] = []
        for border in part.outputs:
            for i, result in enumerate(results):
                if result.name == border.buffer:
                    shape = () if meta[border.value].dim() == 0 else result.shape
                    self.outputs.append((border.value, i, shape))

    def __call__(self, values: Dict[str, Any]) -> Dict[str, torch.Tensor]:
        """Tensors by the names of values: those of the part's outputs. What the part writes in
        place is written into `values`' own tensors."""
        given = []
        copied = []
        for value, order, shape, written in self.inputs:
            tensor = values[value]
            if order is None and tensor.shape == shape and tensor.is_contiguous() and not tensor.is_neg():
                given.append(tensor)
                continue
            tensor = tensor.detach()
            laid_out = tensor if order is None else tensor.permute(order)
            dense = laid_out.contiguous().resolve_neg()
            if written and dense is not laid_out:
                copied.append((laid_out, dense))
            given.append(dense.view(shape))
        results = self._operator(*given)
        for laid_out, dense in copied:
            laid_out.copy_(dense)
        if self._results == 1:
            results = (results,)
        return {
            value: results[i] if results[i].shape == shape else results[i].view(shape)
            for value, i, shape in self.outputs
        }


@dataclass
class _Step:
    """A part's operator, or nodes by PyTorch."""

    part: Optional[int]
    kernel: Optional[Kernel]
    nodes: Tuple[torch.fx.Node, ...]
    dead: Tuple[str, ...] = ()  #: values that nothing reads afterwards
    #: The nodes compiled, which run instead of them.
    compiled: Optional[Callable[[Dict[str, Any]], Dict[str, Any]]] = None


class GraphRunner:
    """An exported program whose parts are operators or run in PyTorch.

    Parameters and buffers are looked up in the module at each call, so they may be replaced."""

    def __init__(self, imported: Imported, kernels: Sequence[Optional[Kernel]]) -> None:
        """`kernels`: one for each part; None: PyTorch runs the part's nodes. HoneError: the steps
        stand in an order in which they cannot run, or do not have all of the graph."""
        program = imported.program
        self._imported = imported
        self._program = program
        self._module = program.graph_module
        self._specs = program.graph_signature.input_specs
        self._out_spec = program.call_spec.out_spec
        self._kernels = list(kernels)
        self._dropped = set(imported.dropped)
        nodes = {n.name: n for n in program.graph.nodes}
        place = {name: i for i, name in enumerate(nodes)}
        self._output = next(n for n in nodes.values() if n.op == "output")
        #: The graph's result, where it is one value and not in a structure.
        self._one_result: Optional[str] = None
        returned: Any = self._output.args[0]
        if len(returned) == 1 and isinstance(returned[0], torch.fx.Node) and self._out_spec.is_leaf():
            self._one_result = returned[0].name
        self._placeholders = {n.name for n in nodes.values() if n.op == "placeholder"}
        attributes = tuple(n for n in nodes.values() if n.op == "get_attr")
        self._steps = [_Step(None, None, attributes)] if attributes else []
        for step in imported.steps:
            if isinstance(step, str):
                self._steps.append(_Step(None, None, self._with_items([nodes[step]])))
                continue
            inside = sorted(imported.parts[step].nodes, key=lambda name: place[name])
            own = self._with_items([nodes[name] for name in inside])
            self._steps.append(_Step(step, kernels[step], own))
        self._check(nodes)
        self._constants: Dict[Tuple[str, torch.device], torch.Tensor] = {}
        #: Of values that PyTorch's nodes read: how they lie in memory.
        self.strides: Dict[str, Tuple[int, ...]] = {}
        #: All steps as one function of the graph's inputs: to look each value up costs more than PyTorch
        #: takes for a small operation. None: not made yet.
        self._function: Optional[Callable[..., Any]] = None
        self._prepare()

    def __reduce__(self) -> Any:
        parts = {step.part: step for step in self._steps if step.part is not None}
        kernels = [parts[i].kernel for i in range(len(self._imported.parts))]
        compiled = [i for i, step in parts.items() if step.compiled is not None]
        return _runner_again, (self._imported, kernels, compiled)

    def compile_parts(self, parts: Sequence[int]) -> None:
        """These run by Inductor from now on; it compiles at the first call."""
        for step in self._steps:
            if step.part in parts:
                step.compiled = self._compiled(step)
        self._function = None

    @staticmethod
    def _with_items(nodes: Sequence[torch.fx.Node]) -> Tuple[torch.fx.Node, ...]:
        """Nodes, each followed by those that take one of its several results."""
        every: Dict[torch.fx.Node, None] = {}
        for node in nodes:
            every[node] = None
            every.update((user, None) for user in node.users if user.target is operator.getitem)
        return tuple(every)

    def _reads(self, step: _Step) -> Set[str]:
        if step.kernel is not None:
            return {entry[0] for entry in step.kernel.inputs}
        own = {node.name for node in step.nodes}
        return {n.name for node in step.nodes for n in node.all_input_nodes} - own

    def _makes(self, step: _Step) -> Set[str]:
        if step.kernel is not None:
            return {entry[0] for entry in step.kernel.outputs} - self._placeholders
        return {node.name for node in step.nodes}

    def _seen_outside(self, step: _Step) -> List[str]:
        """What a step makes and others read, or the graph returns."""
        others = {name for s in self._steps if s is not step for name in self._reads(s)}
        others |= {n.name for n in self._output.all_input_nodes}
        return sorted(self._makes(step) & others)

    def _check(self, nodes: Dict[str, torch.fx.Node]) -> None:
        known = set(self._placeholders)
        for step in self._steps:
            missing = self._reads(step) - known
            if missing:
                raise HoneError(f"the graph's value '{min(missing)}' is not known where it is read")
            known |= self._makes(step)
        missing = {n.name for n in self._output.all_input_nodes} - known
        if missing:
            raise HoneError(f"no step makes the graph's result '{min(missing)}'")
        run_somewhere = {node for step in self._steps for node in step.nodes}
        for node in nodes.values():
            if _is_mutable(node) and node not in run_somewhere and node.name not in self._dropped:
                raise HoneError(f"no step has the graph's node '{node.name}', which writes in place")

    def _prepare(self) -> None:
        """Finds out when each value is read for the last time, how PyTorch's nodes want it, and what is
        written."""
        by_kernels = [e for s in self._steps if s.kernel is not None for e in s.kernel.inputs]
        self._written = {entry[0] for entry in by_kernels if entry[3]}
        # Of what PyTorch's nodes write nobody says here which input it is.
        self._any_written = any(_is_mutable(n) for s in self._steps if s.kernel is None for n in s.nodes)
        for step in self._steps:
            for node in step.nodes if step.kernel is None else ():
                for read in node.all_input_nodes:
                    meta = read.meta.get("val")
                    if isinstance(meta, torch.Tensor):
                        self.strides[read.name] = tuple(meta.stride())
        later = {n.name for n in self._output.all_input_nodes}
        for step in reversed(self._steps):
            reads, made = self._reads(step), self._makes(step)
            step.dead = tuple((reads | made) - later)
            later |= reads

    def why_eager(self, owner: Owner, leaves: Sequence[Any]) -> Optional[str]:
        """None: the operators may run. An operator does not write into memory that is another of its
        inputs."""
        written, any_written = self._written, self._any_written
        if not written and not any_written:
            return None
        holders: Dict[int, str] = {}
        for name, value in self._given(owner, leaves, None).items():
            if not isinstance(value, torch.Tensor):
                continue
            other = holders.setdefault(value.untyped_storage().data_ptr(), name)
            if other != name and (any_written or other in written or name in written):
                return f"{other} and {name} share memory, and one of them may be written"
        return None

    def writes_constants(self) -> bool:
        """Whether a tensor that is no parameter, buffer or argument is written: it is the module's own,
        which a trial must not change."""
        constants = {s.arg.name for s in self._specs if s.kind == InputKind.CONSTANT_TENSOR}
        if any(e[0] in constants for s in self._steps if s.kernel for e in s.kernel.inputs if e[3]):
            return True
        return bool(constants) and any(
            _is_mutable(n) for s in self._steps if s.kernel is None for n in s.nodes
        )

    def _given(
        self,
        owner: Owner,
        leaves: Sequence[Any],
        device: Optional[torch.device],
    ) -> Dict[str, Any]:
        """The graph's inputs by name; its constants where a device is named."""
        values: Dict[str, Any] = {}
        users = iter(leaves)
        for spec in self._specs:
            if spec.kind == InputKind.USER_INPUT:
                values[spec.arg.name] = next(users)
            elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
                values[spec.arg.name] = (
                    owner[spec.target] if isinstance(owner, dict) else state_tensor(owner, spec.target)
                )
            elif device is not None:
                values[spec.arg.name] = self._constant(spec.target, device)
        return values

    def __call__(
        self,
        owner: Owner,
        leaves: Sequence[Any],
        device: torch.device,
        choose: Optional[Chooser] = None,
        around: Optional[Around] = None,
    ) -> Any:
        """The results in the module's own structure.

        owner: has the parameters and buffers; or these by name. leaves: the arguments, flat, in their
        order. device: where constants of the graph go. choose(part, ways): is called before each part
        that has an operator, with functions that run it on the values at hand and return what they
        make: EAGER, OPERATOR and INDUCTOR, which compiles at its first call; it returns which one is
        to be used from now on. around(part, run): runs each part, and returns what `run` returns."""
        values = self._given(owner, leaves, device)
        if choose is None and around is None:
            if self._function is None:
                self._function = self._as_function()
            results = self._function(*values.values())
            return results[0] if self._one_result else pytree.tree_unflatten(list(results), self._out_spec)
        for step in self._steps:
            if step.kernel is not None and choose is not None and step.part is not None:
                self._choose(step, values, choose)
            if around is not None and step.part is not None:
                values.update(around(step.part, lambda: self._run_step(step, values)))
            else:
                values.update(self._run_step(step, values))
            for name in step.dead:
                values.pop(name, None)
        if self._one_result is not None:
            return values[self._one_result]
        results = torch.fx.node.map_arg(self._output.args[0], lambda n: values[n.name])
        return pytree.tree_unflatten(list(results), self._out_spec)

    def _as_function(self) -> Callable[..., Any]:
        """All steps, of the graph's inputs in their order."""
        graph = torch.fx.Graph()
        made = {spec.arg.name: graph.placeholder(spec.arg.name) for spec in self._specs}
        for step in self._steps:
            if step.kernel is None and step.compiled is None:
                for node in step.nodes:
                    made[node.name] = graph.node_copy(node, lambda n: made[n.name])
                continue
            reads, makes = sorted(self._reads(step)), self._seen_outside(step)
            results = graph.call_function(self._step_function(step, reads, makes), tuple(made[n] for n in reads))
            for i, name in enumerate(makes):
                made[name] = graph.call_function(operator.getitem, (results, i))
        graph.output(torch.fx.node.map_arg(self._output.args[0], lambda n: made[n.name]))
        function: Callable[..., Any] = torch.fx.GraphModule(self._module, graph).forward
        return function

    def _step_function(self, step: _Step, reads: Sequence[str], makes: Sequence[str]) -> Callable[..., Any]:
        def run(*tensors: torch.Tensor) -> Tuple[torch.Tensor, ...]:
            found = self._run_step(step, dict(zip(reads, tensors)))
            return tuple(found[name] for name in makes)

        return run

    def _run_step(self, step: _Step, values: Dict[str, Any]) -> Dict[str, Any]:
        if step.kernel is not None:
            made = step.kernel(values)
            # A result that is an argument stays the argument.
            return {
                name: self._laid_out(name, value)
                for name, value in made.items()
                if name not in self._placeholders
            }
        if step.compiled is not None:
            return {n: self._laid_out(n, v) for n, v in step.compiled(values).items()}
        local = dict(values)
        for node in step.nodes:
            local[node.name] = self._run_node(node, local)
        return {node.name: local[node.name] for node in step.nodes}

    def _compiled(self, step: _Step) -> Callable[[Dict[str, Any]], Dict[str, Any]]:
        """A part's nodes by Inductor, for these shapes alone."""
        graph = torch.fx.Graph()
        reads = sorted(self._reads(_Step(step.part, None, step.nodes)))
        copies = {name: graph.placeholder(name) for name in reads}
        for node in step.nodes:
            copies[node.name] = graph.node_copy(node, lambda n: copies[n.name])
        made = self._seen_outside(step)
        graph.output(tuple(copies[name] for name in made))
        module = torch.fx.GraphModule(self._module, graph)
        function = torch.compile(module, dynamic=False, fullgraph=True)

        def call(values: Dict[str, Any]) -> Dict[str, Any]:
            return dict(zip(made, function(*[values[name] for name in reads])))

        return call

    def _laid_out(self, name: str, value: torch.Tensor) -> torch.Tensor:
        """A value for PyTorch's own nodes lies in memory as PyTorch noted it: some ask for strides."""
        strides = self.strides.get(name)
        if strides is None or strides == value.stride() or len(strides) != value.dim():
            return value
        other = torch.empty_strided(value.shape, strides, dtype=value.dtype, device=value.device)
        return other.copy_(value)

    def _choose(self, step: _Step, values: Dict[str, Any], choose: Chooser) -> None:
        assert step.part is not None and step.kernel is not None
        # What is written is a copy here, so that all may run many times.
        copies = {name: values[name].clone() for name, _, _, written in step.kernel.inputs if written}
        mine = {**values, **copies}
        eager = _Step(step.part, None, step.nodes)
        inductor = _Step(step.part, None, step.nodes, compiled=self._compiled(eager))
        steps = {EAGER: eager, OPERATOR: step, INDUCTOR: inductor}
        ways: Dict[str, Run] = {k: partial(self._run_step, s, mine) for k, s in steps.items()}
        chosen = choose(step.part, ways)
        if chosen != OPERATOR:
            step.kernel = None
            step.compiled = steps[chosen].compiled

    def dropped(self) -> List[int]:
        """Parts whose operator was not chosen."""
        return [
            step.part
            for step in self._steps
            if step.part is not None and step.kernel is None and self._kernels[step.part] is not None
        ]

    def settle(self) -> None:
        """After a choice: which values are read when is another question then. HoneError: as at the
        beginning."""
        self._check({n.name: n for n in self._program.graph.nodes})
        self._prepare()
        self._function = None

    def _run_node(self, node: torch.fx.Node, values: Dict[str, Any]) -> Any:
        if node.op == "get_attr":
            found: Any = self._module
            for atom in str(node.target).split("."):
                found = getattr(found, atom)
            return found
        args = torch.fx.node.map_arg(node.args, lambda n: values[n.name])
        kwargs = torch.fx.node.map_arg(node.kwargs, lambda n: values[n.name])
        assert callable(node.target)
        return node.target(*args, **kwargs)

    def _constant(self, target: str, device: torch.device) -> Any:
        constant = self._program.constants[target]
        if not isinstance(constant, torch.Tensor):
            return constant
        key = (target, device)
        if key not in self._constants:
            self._constants[key] = constant.to(device)
        return self._constants[key]


def _runner_again(
    imported: Imported, kernels: Sequence[Optional[Kernel]], compiled: Sequence[int]
) -> GraphRunner:
    runner = GraphRunner(imported, kernels)
    runner.compile_parts(compiled)
    return runner


def _is_mutable(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)


def state_tensor(owner: Any, target: str) -> torch.Tensor:
    """A parameter or buffer by its name, such as "layers.0.weight"."""
    for atom in target.split("."):
        owner = getattr(owner, atom)
    found: torch.Tensor = owner
    return found


def tensor_facts(value: Any) -> Any:
    """What must be the same for an operator to take another value's place: of a tensor shape, type,
    device and whether it is sparse; all else must be equal itself."""
    if isinstance(value, torch.Tensor):
        plain = type(value) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
        return (plain, value.dtype, value.device, tuple(value.shape), value.layout)
    return value


class Guard:
    """Says whether a call is like the one that was verified."""

    def __init__(
        self, module: torch.nn.Module, program: ExportedProgram, leaves: Sequence[Any], spec: Any
    ) -> None:
        signature = program.graph_signature
        self.spec = _one_of(spec)
        self._leaves = [tensor_facts(x) for x in leaves]
        self._names = [
            s.target
            for s in signature.input_specs
            if s.kind in (InputKind.PARAMETER, InputKind.BUFFER)
        ]
        self._state = [tensor_facts(state_tensor(module, name)) for name in self._names]
        self._strides = [state_tensor(module, name).stride() for name in self._names]
        self._modules = [module_facts(m) for m in module.modules()]
        self._tied = self._ties(module)
        constants = [
            s.target for s in signature.input_specs if s.kind == InputKind.CONSTANT_TENSOR
        ]
        self._constants = [(name, _identity(module, name)) for name in constants]
        self._memory = _HoneMemory()

    def __getstate__(self) -> Dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_memory"}
        with contextlib.suppress(NotImplementedError):  # a type that PyTorch writes as no text
            state["spec"] = pytree.treespec_dumps(self.spec)
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        vars(self).update(state, _memory=_HoneMemory())
        if isinstance(self.spec, str):
            self.spec = _one_of(pytree.treespec_loads(self.spec))

    def constants_changed(self, module: torch.nn.Module) -> bool:
        """Whether the module's tensors that are no parameters are others, or were written."""
        return any(_identity(module, name) != known for name, known in self._constants)

    def of_copy(self, module: torch.nn.Module, changed: bool) -> "Guard":
        """A guard that knows the copy's tensors that are no parameters; itself where there are none.
        changed: they are not those of the verified call, so that no call is like it."""
        if not self._constants:
            return self
        guard = Guard.__new__(Guard)
        vars(guard).update(vars(self), _memory=_HoneMemory())
        guard._constants = [
            (name, "changed" if changed else _identity(module, name)) for name, _ in self._constants
        ]
        return guard

    def _ties(self, module: torch.nn.Module) -> List[int]:
        """Of each parameter the first one that is the same memory."""
        first: Dict[int, int] = {}
        pointers = [state_tensor(module, name).data_ptr() for name in self._names]
        return [first.setdefault(pointer, i) for i, pointer in enumerate(pointers)]

    def is_as_verified(self, module: torch.nn.Module) -> bool:
        """Whether what module_facts() tells is as it was."""
        return [module_facts(m) for m in module.modules()] == self._modules

    def why_eager(self, module: torch.nn.Module, leaves: Sequence[Any], spec: Any) -> Optional[str]:
        """None: the call may be replaced. Else why not, in a few words."""
        mode = _hone_mode()
        if mode is not None:
            return mode
        if (spec is not self.spec and spec != self.spec) or len(leaves) != len(self._leaves):
            return "the arguments have another structure"
        for i, (value, facts) in enumerate(zip(leaves, self._leaves)):
            if _differs(tensor_facts(value), facts):
                return f"argument {i} has another value, shape, type or device"
        watch, known = self._memory.of(module)
        if "why" not in known:
            known["why"] = self._why_changed(module)
        if known["why"] is not None:
            return str(known["why"])
        if self.constants_changed(module):
            return "a tensor that is no parameter was changed"
        return _hone_gradient([*watch.tensors, *(x for x in leaves if isinstance(x, torch.Tensor))])

    def _why_changed(self, module: torch.nn.Module) -> Optional[str]:
        """Why the module, whatever the arguments, is not as it was verified."""
        state = [state_tensor(module, name) for name in self._names]
        for name, tensor, facts, strides in zip(self._names, state, self._state, self._strides):
            if tensor_facts(tensor) != facts or tensor.stride() != strides:
                return f"{name} has another shape, type, layout or device"
        if self._ties(module) != self._tied:
            return "other parameters are shared"
        if not self.is_as_verified(module):
            return "a submodule, its mode, a hook or a number in it was changed"
        return None

    def state_of(self, module: torch.nn.Module) -> Dict[str, torch.Tensor]:
        """A module's parameters and buffers by name, as they were when why_eager() was last asked."""
        state: Dict[str, torch.Tensor] = self._memory.last(module).state
        return state


def _differs(value: Any, facts: Any) -> bool:
    return type(value) is not type(facts) or bool(value != facts)


def has_hooks(module: torch.nn.Module) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks)


def module_facts(module: torch.nn.Module) -> Any:
    """What of a module, but for its tensors, its forward may depend on and can be told cheaply: class,
    mode, hooks, and numbers, flags and texts among its attributes."""
    plain = [
        (name, repr(value))
        for name, value in sorted(vars(module).items())
        if isinstance(value, (bool, int, float, str, type(None))) and not name.startswith("_")
    ]
    kind = type(module)
    hooks = (tuple(module._forward_hooks), tuple(module._forward_pre_hooks))
    return (kind.__module__, kind.__name__, hooks, plain)


def _identity(module: torch.nn.Module, name: str) -> Any:
    """Which tensor an attribute is, and how often it was written; None where it is none."""
    found: Any = module
    for atom in name.split("."):
        found = getattr(found, atom, None)
    return (id(found), found._version) if isinstance(found, torch.Tensor) else None


#: The structure of calls with as many tensors and nothing else.
_plain: Dict[int, Any] = {}


def _plain_spec(count: int) -> Any:
    if count not in _plain:
        _plain[count] = pytree.tree_flatten(((0,) * count, {}))[1]
    return _plain[count]


def _one_of(spec: Any) -> Any:
    """The same structure as the object that flatten_call() gives, so that both are told to be equal
    at once."""
    plain = _plain_spec(spec.num_leaves)
    return plain if spec == plain else spec


def flatten_call(
    program_kwargs: Sequence[str], args: Tuple[Any, ...], kwargs: Dict[str, Any]
) -> Tuple[List[Any], Any]:
    """The leaves of a call's arguments in the order of the exported graph, and their structure."""
    if not kwargs and all(type(x) is torch.Tensor for x in args):
        return list(args), _plain_spec(len(args))
    ordered = {name: kwargs[name] for name in program_kwargs if name in kwargs}
    ordered.update(kwargs)
    return pytree.tree_flatten((args, ordered))
