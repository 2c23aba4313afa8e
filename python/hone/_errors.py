"""What goes wrong, as exceptions. The text of each is one line, usually the one that the program
`hone` printed."""


class HoneError(RuntimeError):
    """Base of all errors of this package. `status` is the exit status of the program `hone`: 1 a
    task or a candidate failed its checks, 2 wrong usage or input, 3 the environment lacks
    something; 0 where the program did not run."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class HoneNotFound(HoneError):
    """There is no program `hone` on this machine."""


class ImportRefused(HoneError):
    """PyTorch does not export the module, or hone has no such operation; names the node."""


class ImportDiffers(HoneError):
    """The imported module computes something else than PyTorch does."""
