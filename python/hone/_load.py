"""A candidate as an operator of PyTorch: what `hone export --format torch` writes, loaded."""
import importlib.util
import inspect
import os
import sys
import threading
from typing import Any, Callable, List, Optional

from hone._binary import run
from hone._cache import cache_folder, digest, write_whole
from hone._errors import HoneError

_lock = threading.Lock()


def database_options(db: Optional[str]) -> List[str]:
    return [] if db is None else ["--db", os.fspath(db)]


def load(candidate: str, *, db: Optional[str] = None) -> Callable[..., Any]:
    """The operator of a candidate.

    candidate: its id, or an unambiguous beginning of it. db: the database's file; None: hone's
    default one. Takes the task's `in` and `inout` tensors in the task's order, contiguous, on one
    CUDA device; returns its `out` tensors: one, a tuple, or None. Compiles at the first call; at
    other sizes than the candidate's the task's reference runs. It has no backward.

    The exported module lies in the cache folder under a hash of its text. HoneError: there is no
    such candidate, or it is not for use."""
    document = run("export", candidate, "--format", "torch", *database_options(db))
    return load_text(document["text"])


def load_text(text: str) -> Callable[..., Any]:
    """The operator of an exported module's text: the same text gives the same operator."""
    name = f"_hone_operator_{digest(text)}"
    with _lock:
        module = sys.modules.get(name)
        if module is None:
            path = os.path.join(cache_folder("torch"), f"{name}.py")
            if not _holds(path, text):
                write_whole(path, text)
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules[name] = module
    public = [
        value
        for key, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == name
        and not key.startswith("_")
        and key != "compile_now"
    ]
    if len(public) != 1:
        raise HoneError(f"{module.__file__}: has {len(public)} functions, and should have one")
    return public[0]


def _holds(path: str, text: str) -> bool:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read() == text
    except OSError:
        return False
