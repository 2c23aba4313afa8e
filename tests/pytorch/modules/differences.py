"""Operators on neighbours along one dimension."""
import torch

from modules.helpers import aten, fixture, ints, of, rand


@fixture
def differences():
    x, i, b = rand(3, 5), ints(4, 6, low=-9, high=9), ints(3, 4, high=2).bool()
    return of([lambda x, i, b: torch.diff(x), lambda x, i, b: torch.diff(x, dim=0), lambda x, i, b: torch.diff(x, n=3),
               lambda x, i, b: torch.diff(x, prepend=x[:, :2]), lambda x, i, b: torch.diff(x, dim=0, prepend=x[:1], append=x * 2),
               lambda x, i, b: torch.diff(i, n=2, dim=0), lambda x, i, b: torch.diff(b), lambda x, i, b: torch.diff(x.half()),
               lambda x, i, b: torch.diff(x.double().t()), lambda x, i, b: torch.diff(x[0], append=x[1, :1]),
               lambda x, i, b: torch.trapezoid(x), lambda x, i, b: torch.trapezoid(x, dx=0.25, dim=0),
               lambda x, i, b: aten.trapz.dx(x.double(), dx=2.0), lambda x, i, b: torch.trapezoid(x[0])], x, i, b)
