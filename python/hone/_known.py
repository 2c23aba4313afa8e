"""What is remembered of a graph of TorchDynamo between processes, in files: its tasks, whether PyTorch uses TF32
in it, and who runs its parts."""
import contextlib
import json
import os
import re
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from hone._binary import binary
from hone._cache import cache_folder, digest, write_whole
from hone._errors import ImportRefused
from hone._graph import Imported, draws, export, import_program
from hone._math import Levels
from hone._optimize import DRAWS
from hone._report import PartReport
from hone._runtime import tensor_facts


@dataclass
class Choice:
    """Who runs a graph's parts on a GPU, where the database has certain candidates for them."""

    parts: List[PartReport]
    left_out: List[Tuple[str, str]]  #: as in Report
    before_ms: Optional[float]  #: a call in PyTorch [ms]
    after_ms: Optional[float]  #: with the operators of those parts that hone runs [ms]
    why_eager: Optional[str]  #: why PyTorch runs all, where it does


@dataclass
class Known:
    """A graph's tasks at some levels of arithmetic, or why it has none; both None: nobody has asked yet."""

    graph: torch.fx.GraphModule
    inputs: Sequence[Any]
    device: str  #: the GPU's name, as times are of one kind of GPU
    imported: Optional[Imported] = None  #: in the process that exported it
    tasks: Optional[List[str]] = None  #: their hashes
    refused: Optional[str] = None
    _key: str = ""
    _levels: Levels = field(default_factory=Levels)

    def __post_init__(self) -> None:
        program = os.stat(binary())
        facts = [(str(tensor_facts(x)[1]), tuple(x.shape), x.stride(), _is_weight(x)) for x in self.inputs]
        self._graph_key = digest(
            "3",  # what the files say
            torch.__version__,
            f"{program.st_size} {program.st_mtime_ns}",
            _library_switches(),
            str(self.graph.graph),
            str(facts),
            str([(n, tuple(t.shape), t.stride(), str(t.dtype)) for n, t in state_of(self.graph)]),
        )

    def at(self, levels: Levels, as_run: Callable[[], Optional[Levels]]) -> None:
        """Reads what is known at these levels. as_run: returns `levels`, without TF32 if PyTorch does not use
        it in this graph; calls PyTorch twice, and returns None where that failed."""
        asked = digest(self._graph_key, self.device, str(levels))
        self._levels = levels
        if _read("levels", asked) is None:
            found = as_run()
            if found == levels:
                _write("levels", asked, {"tf32": True})
            elif found is not None:
                self._levels = found  # not written: of these inputs, zeros say, TF32 may round none
        self._key = digest(self._graph_key, str(self._levels))
        document = _read("graphs", self._key) or {}
        self.tasks, self.refused = document.get("tasks"), document.get("refused")

    def learn(self, examples: Tuple[Any, ...], folder: str) -> Imported:
        """Exports and imports the graph, and writes down what came of it. ImportRefused: nothing."""
        try:
            with torch._guards.tracing(None):
                program = export(self.graph, examples, {})
            arguments = [node for node in self.graph.graph.nodes if node.op == "placeholder"]
            weights = {
                place: (_weight_name(node.name), value)
                for place, (node, value) in enumerate(zip(arguments, self.inputs))
                if _is_weight(value)
            }
            self.imported = import_program(program, folder, "graph", self._levels, weights)
            program._example_inputs = None  # the process would hold this batch for good
            if self.imported.whole.draws if self.imported.whole else draws(program):
                raise ImportRefused(DRAWS)
            self.tasks = sorted({part.task_hash for part in self.imported.parts})
        except ImportRefused as error_:
            self.refused = str(error_)
            raise
        finally:
            if self.tasks is not None or self.refused is not None:
                _write("graphs", self._key, {"tasks": self.tasks, "refused": self.refused})
        return self.imported

    def choice(self, candidates: Dict[str, str]) -> Optional[Choice]:
        """What was chosen when the database had these candidates, by their tasks; None: nobody has yet."""
        document = _read("choices", self._choice_key(candidates))
        try:
            parts = [PartReport(**part) for part in document.pop("parts")] if document else []
            return Choice(parts, **document) if document is not None else None
        except (KeyError, TypeError):
            return None

    def remember(self, candidates: Dict[str, str], choice: Choice) -> None:
        _write("choices", self._choice_key(candidates), asdict(choice))

    def _choice_key(self, candidates: Dict[str, str]) -> str:
        return digest(self._key, self.device, str(sorted(candidates.items())))


def _library_switches() -> str:
    """What has the same graph use TF32 or take another time."""
    cudnn = torch.backends.cudnn
    switches = (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, torch.are_deterministic_algorithms_enabled())
    return f"{os.environ.get('NVIDIA_TF32_OVERRIDE')} {cudnn.version()} {switches}"


def state_of(graph: torch.fx.GraphModule) -> List[Tuple[str, torch.Tensor]]:
    return [*graph.named_parameters(), *graph.named_buffers()]


def _read(kind: str, key: str) -> Optional[Dict[str, Any]]:
    try:
        with open(os.path.join(cache_folder(kind), f"{key}.json"), encoding="utf-8") as file:
            document = json.load(file)
        return document if isinstance(document, dict) else None
    except (OSError, ValueError):
        return None


def _write(kind: str, key: str, document: Dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # no place to remember it
        write_whole(os.path.join(cache_folder(kind), f"{key}.json"), json.dumps(document))


def _is_weight(value: Any) -> bool:
    """Is this argument of a graph a module's parameter or buffer? TorchDynamo passes them like other arguments."""
    return isinstance(value, torch.nn.Parameter) or hasattr(value, "_dynamo_static_input_type")


def _weight_name(argument: str) -> str:
    """l_self_modules_bn_buffers_running_var_ -> l_self_modules_bn.running_var: the last word tells what it is."""
    found = re.fullmatch(r"(.+)_(?:parameters|buffers)_(.+?)_*", argument)
    return f"{found[1]}.{found[2]}" if found else argument
