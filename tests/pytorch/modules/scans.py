"""Running sums, products and extremes."""
import torch

from modules.helpers import fixture, ints, of, rand


@fixture
def scans():
    x, i = rand(3, 5, 4), ints(2, 6)
    return of([lambda x, i: torch.cumsum(x, 1), lambda x, i: torch.cumprod(x, 0), lambda x, i: x.cumsum(-1),
               lambda x, i: x.half().cumsum(2), lambda x, i: i.cumsum(1), lambda x, i: i.cumprod(1),
               lambda x, i: x.flip(1).cumsum(1).flip(1), lambda x, i: torch.cumsum(x, 1, dtype=torch.float64)], x, i)


@fixture
def running_extremes():
    x = rand(3, 5, 4)
    y = torch.tensor([[1.0, 3.0, 3.0, float("nan"), 5.0], [-float("inf"), -float("inf"), 2.0, 1.0, 2.0], [0.5, float("inf"), 1.0, -3.0, 7.0]])
    i = ints(2, 6)
    return of([lambda x, y, i: x.cummax(1), lambda x, y, i: x.cummin(2), lambda x, y, i: x.cummax(0)[0], lambda x, y, i: x.half().cummin(1)[0],
               lambda x, y, i: y.cummax(1), lambda x, y, i: y.cummin(1), lambda x, y, i: i.cummax(1), lambda x, y, i: i.cummin(0)[0],
               lambda x, y, i: x.logcumsumexp(1), lambda x, y, i: y.logcumsumexp(1), lambda x, y, i: x.double().logcumsumexp(2)], x, y, i)


@fixture
def joined_scan():
    """Zeros and a running sum: one part, though the zeros are made last."""
    return of([lambda x: torch.cat([x[:, :-1].cumsum(1), torch.zeros_like(x[:, :1])], 1)], rand(4, 6))
