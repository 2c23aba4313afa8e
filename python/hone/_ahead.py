"""Replaced modules as a file of Python with machine code for several architectures: nothing is compiled
where it runs, and it needs neither hone nor nvcc."""
import base64
import re
import zlib
from typing import Dict, List, Optional, Sequence, Tuple

import torch

from hone import _standalone, _watch
from hone._backend import best_of_all
from hone._binary import run
from hone._errors import HoneError
from hone._operator import Plan, plan_of
from hone._report import Report
from hone._runtime import Kernel
from hone._written import HEAD, BodyWriter, class_text, runtime, variant_of


class _Writer(BodyWriter):
    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__(module.__dict__["_hone_call"].runner)
        self.candidates: Dict[str, Kernel] = {}

    def launch(self, kernel: Kernel, tensors: Sequence[str]) -> str:
        self.candidates.setdefault(kernel.candidate, kernel)
        return f"plans[{kernel.candidate!r}].launch([{', '.join(tensors)}], device, stream)"


class _Plans:
    """The plans of a file, each once."""

    def __init__(self, db: Sequence[str]) -> None:
        self._db = db
        self._plans: Dict[Tuple[str, Optional[str]], Plan] = {}
        self._best: Dict[Tuple[str, bool], Dict[str, str]] = {}
        self.lines: Dict[str, str] = {}  # of a plan's name in the file: its text

    def _plan(self, candidate: str, arch: Optional[str]) -> Plan:
        if (candidate, arch) not in self._plans:
            self._plans[candidate, arch] = plan_of(candidate, arch, self._db)
        return self._plans[candidate, arch]

    def _best_on(self, arch: str, modelled: bool) -> Dict[str, str]:
        """Of each task the best candidate that the database has for an architecture."""
        if (arch, modelled) not in self._best:
            kind = "--modelled" if modelled else "--measured"
            found = best_of_all(["--limit", "1", kind, "--arch", arch, *self._db])
            self._best[arch, modelled] = {task: row["candidate"] for task, (row, _) in found.items()}
        return self._best[arch, modelled]

    def named(self, kernel: Kernel, task: str, arch: str, modelled: bool) -> str:
        """The name of the plan that takes a candidate's place on an architecture. HoneError: there is no
        candidate for it."""
        plan = self._plan(kernel.candidate, None)
        if plan.arch != arch:
            other = self._best_on(arch, modelled).get(task)
            if other is None:
                raise HoneError(
                    f"the database has nothing on {arch} for the task of {kernel.candidate}; search there first"
                )
            plan = self._plan(other, arch)
        if plan.buffers != kernel.buffers:
            raise HoneError(f"{plan.candidate} has other buffers than {kernel.candidate}")
        name = f"{plan.candidate}_{plan.arch}"
        if name not in self.lines:
            text = base64.b85encode(zlib.compress(plan.bytes, 9)).decode()
            rows = [text[i : i + 100] for i in range(0, len(text), 100)]
            self.lines[name] = "\n".join(f'        "{row}"' for row in rows)
        return name


def _capability(arch: str) -> Tuple[int, int]:
    """(9, 0) for "sm_90". ValueError: it is none."""
    found = re.fullmatch(r"sm_(\d+)(\d)", arch)
    if found is None:
        raise ValueError(f"{arch!r} is no architecture such as 'sm_90'")
    return int(found[1]), int(found[2])


def class_with_cubins(
    modules: Sequence[torch.nn.Module], base: str, name: str, archs: Sequence[str], db: Sequence[str]
) -> Tuple[str, str, str]:
    """As `class_source` of `_source`, with machine code in place of source. archs: such as "sm_90"."""
    if not archs:
        raise ValueError("no architecture is named")
    capabilities = {arch: _capability(arch) for arch in archs}
    plans = _Plans(db)
    variants = []
    for module in modules:
        report: Report = module.__dict__["_hone_report"]
        tasks = {part.candidate: part.task_hash for part in report.parts}
        writer = _Writer(module)
        variant = variant_of(module, writer, "")
        chosen: List[str] = []
        for arch, capability in capabilities.items():
            entries = [
                f"{candidate!r}: _HONE_PLANS[{plans.named(kernel, tasks[candidate], arch, report.modelled)!r}]"
                for candidate, kernel in writer.candidates.items()
            ]
            chosen.append(f"{capability!r}: {{{', '.join(entries)}}}")
        variant.plans = f"{{{', '.join(chosen)}}}"
        variants.append(variant)
    listed = "".join(f"    {n!r}: _HonePlan(\n{text}\n    ),\n" for n, text in plans.lines.items())
    text = f"_HONE_PLANS = {{\n{listed}}}\n"
    return HEAD + runtime(_watch) + runtime(_standalone) + "\n\n", text, class_text(name, base, variants)
