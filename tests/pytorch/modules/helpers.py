"""What the modules are made with."""
import torch
from torch import nn

aten = torch.ops.aten
ALL = {}


def fixture(make):
    """Records what this function returns: a module and its arguments. Its name is the file's."""
    ALL[make.__name__] = make
    return make


class Calls(nn.Module):
    """Several functions of the same arguments: a result of each."""

    def __init__(self, *functions):
        super().__init__()
        self.functions = functions

    def forward(self, *args):
        results = []
        for function in self.functions:
            result = function(*args)
            results += result if isinstance(result, (tuple, list)) else [result]
        return tuple(results)


def rand(*shape, dtype=torch.float32, low=-2.0, high=2.0):
    return (torch.rand(shape) * (high - low) + low).to(dtype)


def ints(*shape, low=0, high=5, dtype=torch.int64):
    return torch.randint(low, high, shape, dtype=dtype)


def of(functions, *args):
    return Calls(*functions), args
