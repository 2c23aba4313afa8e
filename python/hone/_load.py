"""`hone.load`: a candidate as an operator of PyTorch."""
import os
from typing import TYPE_CHECKING, List, Optional

if TYPE_CHECKING:
    from hone._operator import Operator


def database_options(db: Optional[str]) -> List[str]:
    return [] if db is None else ["--db", os.fspath(db)]


def load(candidate: str, *, db: Optional[str] = None) -> "Operator":
    """The operator of a candidate, at the sizes that it was made for.

    candidate: its id, or an unambiguous beginning of it. db: the database's file; None: hone's
    default one. Takes the task's `in` and `inout` tensors in the task's order, contiguous, on one
    CUDA device; returns its `out` tensors: one, a tuple, or None. Runs on the current stream, may be
    captured into a CUDA graph, and never waits for the GPU. It has no backward.

    The candidate is compiled here, by the program `hone`, for the current GPU or, where there is none,
    for the architecture on which it was found; at the first call on a GPU of another kind, for that.
    HoneError: there is no such candidate, it is not for use, or does not run on this GPU."""
    from hone._operator import operator_of

    return operator_of(candidate, database_options(db))
