"""Sorting and the largest few."""
import torch

from modules.helpers import fixture, of, rand


@fixture
def sorting():
    nan = float("nan")
    x = rand(3, 4, 6)
    y = torch.tensor([[1.0, nan, -2.0, 7.0, float("inf")], [3.0, -1.0, 2.0, nan, 0.0]])
    i, t = torch.randperm(9).view(3, 3), torch.tensor([[2, 1, 2, 1, 1], [0, 0, 3, 0, 3]])
    return of([lambda x, y, i, t: x.sort(1), lambda x, y, i, t: x.sort(-1, descending=True), lambda x, y, i, t: torch.sort(t, stable=True),
               lambda x, y, i, t: torch.sort(t, dim=1, stable=True, descending=True), lambda x, y, i, t: y.sort(1),
               lambda x, y, i, t: y.sort(1, descending=True), lambda x, y, i, t: i.argsort(0), lambda x, y, i, t: torch.argsort(i, stable=True),
               lambda x, y, i, t: x.half().sort(2)[0], lambda x, y, i, t: x.topk(2), lambda x, y, i, t: x.topk(3, 1, largest=False),
               lambda x, y, i, t: y.topk(2, 1), lambda x, y, i, t: i.topk(1, 0)[1], lambda x, y, i, t: x.topk(6, 2)[0]], x, y, i, t)
