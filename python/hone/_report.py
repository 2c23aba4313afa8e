"""What became of a module: a dataclass that `hone.report` returns."""
import contextlib
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Tuple


@dataclass
class PartReport:
    """One task: a part of the module's graph, or all of it. Times and errors are those of the
    search's final stage, on its device; `modelled` in Report says what they are worth."""

    nodes: int  #: how many operations of the graph it covers
    task_hash: str = ""
    candidate: Optional[str] = None  #: the best candidate's id; None: PyTorch runs this part
    reference_ms: Optional[float] = None  #: one naive kernel for each operation [ms]
    best_ms: Optional[float] = None  #: the candidate [ms]
    speedup: Optional[float] = None  #: reference_ms / best_ms
    max_error: Optional[float] = None  #: max |difference| / max(|expected|, its root mean square)
    roof_fraction: Optional[float] = None  #: what part of the device's roof it reaches, 0 to 1
    math: Optional[str] = None  #: the level of arithmetic that the candidate was held to
    bound: Optional[str] = None  #: what limits it, such as "DRAM, 81 %"
    origin: Optional[str] = None  #: "rules", "model", ... or "reference"
    why_eager: Optional[str] = None  #: why PyTorch runs this part
    before_ms: Optional[float] = None  #: by PyTorch, on the GPU [ms]
    after_ms: Optional[float] = None  #: by the candidate [ms]
    inductor_ms: Optional[float] = None  #: by torch.compile's Inductor [ms]
    inductor_failed: Optional[str] = None  #: why it is not timed, in Inductor's words
    runs: str = "PyTorch"  #: who runs this part: "hone", "PyTorch" or "Inductor"


@dataclass
class Report:
    """What hone did to a module."""

    module: str  #: the class of the module, or of what it was made from
    device: str = ""  #: "cuda:0", or "emu:sm_90"
    modelled: bool = False  #: times are those of an emulated device, not measured
    replaced: bool = False  #: calls like the example run hone's operators
    why_eager: Optional[str] = None  #: why PyTorch runs all calls, where it does
    parts: List[PartReport] = field(default_factory=list)
    #: operations that are PyTorch's, by their names in the exported graph, and why
    left_out: List[Tuple[str, str]] = field(default_factory=list)
    import_error: Optional[float] = None  #: of the imported module against it in f64, as max_error
    eager_error: Optional[float] = None  #: of PyTorch's own answer against the same, as max_error
    max_error: Optional[float] = None  #: of the replaced module against f64, as max_error
    before_ms: Optional[float] = None  #: a call of the module in PyTorch, on the GPU [ms]
    after_ms: Optional[float] = None  #: a call with hone's operators, on the GPU [ms]
    replaced_calls: int = 0  #: where it is replaced: calls that ran hone's operators so far
    eager_calls: int = 0  #: and calls that PyTorch ran so far
    last_eager_reason: Optional[str] = None  #: why PyTorch ran the last of these
    #: what `hone.optimize`, or the first call of torch.compile's, spent on each of its steps [s]
    seconds: Dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Adds what the block takes to `seconds`."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.monotonic() - begun

    @property
    def uses_tf32(self) -> bool:
        """Does an operator that runs round to TF32, as PyTorch's switches let it?"""
        return any(p.math == "tf32" and p.candidate and not p.why_eager for p in self.parts)

    @property
    def candidates(self) -> List[str]:
        """Ids of the best candidates, one for each part that has one; parts that are alike share
        one."""
        return [part.candidate for part in self.parts if part.candidate]

    def __str__(self) -> str:
        word = " (modelled)" if self.modelled else ""
        lines = [f"{self.module} on {self.device}: " + ("replaced" if self.replaced else "eager")]
        if self.why_eager:
            lines[0] += f": {self.why_eager}"
        for part in self.parts:
            if part.candidate is None:
                lines.append(f"  {_operations(part.nodes)}: PyTorch: {part.why_eager}")
                continue
            kept = f" (not used: {part.why_eager})" if part.why_eager else ""
            lines.append(
                f"  {_operations(part.nodes)}: {part.candidate}{kept}, {part.reference_ms:.4g} ms -> "
                f"{part.best_ms:.4g} ms{word}, {part.speedup:.2f}x of naive kernels, "
                f"{100 * (part.roof_fraction or 0):.1f} % of the roof, bound by {part.bound}, "
                f"max error {part.max_error:.1e}, math {part.math}"
            )
            if part.before_ms is not None and part.after_ms is not None:
                compiled = f", by Inductor {part.inductor_ms:.4g}" if part.inductor_ms else ""
                lines[-1] += (
                    f"; by PyTorch {part.before_ms:.4g} ms{compiled}, by hone {part.after_ms:.4g}"
                )
        if self.left_out:
            for why in dict.fromkeys(reason for _, reason in self.left_out):
                nodes = [node for node, reason in self.left_out if reason == why]
                named = ", ".join(nodes[:3]) + (", ..." if len(nodes) > 3 else "")
                lines.append(f"  {_operations(len(nodes))} ({named}): PyTorch: {why}")
        if self.import_error is not None:
            lines.append(
                f"  import verified: max error {self.import_error:.1e}, PyTorch's own "
                f"{self.eager_error:.1e}"
            )
        if self.before_ms is not None and self.after_ms is not None:
            lines.append(f"  a call: {self.before_ms:.4g} ms -> {self.after_ms:.4g} ms")
        return "\n".join(lines)


def _operations(count: int) -> str:
    return f"{count} operation{'' if count == 1 else 's'}"


def report(module: Any) -> Report:
    """The report of a module that `hone.optimize` returned. TypeError: it returned another."""
    found = getattr(module, "__dict__", {}).get("_hone_report")
    if not isinstance(found, Report):
        raise TypeError(f"{type(module).__name__} is no module that hone.optimize returned")
    return found
