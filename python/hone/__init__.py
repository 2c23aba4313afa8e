"""hone for PyTorch: searches for faster CUDA programs for a module, and puts them in its place.

All work is done by the program `hone`, which this package brings along or finds; see its README.
Importing this package imports no PyTorch."""
import importlib
from typing import TYPE_CHECKING, Any

from hone._binary import binary
from hone._errors import HoneError, HoneNotFound, ImportDiffers, ImportRefused

try:
    from importlib.metadata import version as _version

    __version__ = _version("hone-cuda")
except Exception:  # a checkout on PYTHONPATH that was not installed
    __version__ = "0+unknown"

if TYPE_CHECKING:
    from hone._backend import backend, compile_reports
    from hone._load import load
    from hone._optimize import optimize
    from hone._report import PartReport, Report, report
    from hone._source import write

_LATER = {
    "optimize": "hone._optimize",
    "load": "hone._load",
    "write": "hone._source",
    "report": "hone._report",
    "Report": "hone._report",
    "PartReport": "hone._report",
    "backend": "hone._backend",
    "compile_reports": "hone._backend",
}

__all__ = [
    "HoneError",
    "HoneNotFound",
    "ImportDiffers",
    "ImportRefused",
    "PartReport",
    "Report",
    "backend",
    "binary",
    "compile_reports",
    "load",
    "optimize",
    "report",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'hone' has no attribute '{name}'")
