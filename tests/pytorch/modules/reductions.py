"""Operators that make one number of many."""
import torch
import torch.nn.functional as F

from modules.helpers import aten, fixture, ints, of, rand


@fixture
def extremes_with_nan():
    """A row with NaN has it as its largest and its smallest; the others are as always."""
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[1.0, nan, 3.0, 2.0], [4.0, 7.0, 5.0, 6.0], [-inf, -inf, -inf, -inf], [nan, 0.0, nan, 1.0],
                      [0.5, inf, -1.0, 2.0], [3.0, 1.0, inf, nan], [2.0, 2.0, -inf, 1.0]])
    return of([lambda x: x.amax(1), lambda x: x.amin(1), lambda x: x.max(1), lambda x: x.min(1), lambda x: x.argmax(1),
               lambda x: x.argmin(1), lambda x: x[:3, :3].max(0)[0], lambda x: x.half().amax(1), lambda x: x.double().amin(1),
               lambda x: F.max_pool1d(x, 2), lambda x: F.max_pool2d(x[None], 2, 1, 1), lambda x: F.max_pool1d(x.double(), 3, 1, 1),
               lambda x: x.logsumexp(1), lambda x: x[1:2].logsumexp(0),
               lambda x: torch.clamp(x[1] + 0 * x[1], x[0], x[4]), lambda x: torch.clamp(x[1], min=x[0]),
               lambda x: torch.clamp(x[1], max=x[0])], x)


@fixture
def reductions():
    x = rand(3, 4, 6)
    return of([lambda x: x.sum(), lambda x: x.sum(1), lambda x: x.sum((0, 2), keepdim=True), lambda x: x.mean(),
               lambda x: x.mean(2), lambda x: x.mean((1, 2)), lambda x: x.prod(), lambda x: x.prod(1), lambda x: x.amax(1),
               lambda x: x.amin((0, 1)), lambda x: x.max(), lambda x: x.min(), lambda x: (x > 0).any(),
               lambda x: (x > 0).any(1), lambda x: aten.any.dims(x > 1.5, [0, 1]), lambda x: (x > 0).all(),
               lambda x: (x > -1).all(1), lambda x: x.max(1), lambda x: x.min(2, keepdim=True), lambda x: x.argmax(),
               lambda x: x.argmax(1), lambda x: x.argmin(0), lambda x: torch.linalg.vector_norm(x), lambda x: x.norm(dim=1),
               lambda x: torch.linalg.vector_norm(x, 1, 2), lambda x: aten.norm.Scalar(x, 2),
               lambda x: aten.frobenius_norm.dim(x, [1]), lambda x: aten.norm.ScalarOpt_dim(x, 2, [1]),
               lambda x: x.sum(1, dtype=torch.float64), lambda x: x.mean(1, dtype=torch.float64),
               lambda x: x.half().sum(0), lambda x: x.half().mean(1, dtype=torch.float32),
               lambda x: x.bfloat16().amax(2), lambda x: x.transpose(0, 2).sum(1),
               lambda x: x.var(), lambda x: x.var(1), lambda x: x.std((0, 2), keepdim=True), lambda x: x.std(),
               lambda x: x.var(2, correction=0), lambda x: torch.std(x, 1, correction=2),
               lambda x: aten.var.default(x, False), lambda x: aten.std.default(x, False),
               lambda x: aten.var.dim(x, [1], False), lambda x: aten.std.dim(x, [0]),
               lambda x: torch.var_mean(x, 1), lambda x: aten.var_mean.default(x), lambda x: aten.var_mean.dim(x, [1]),
               lambda x: torch.std_mean(x, 2), lambda x: torch.var_mean(x, 1, correction=0),
               lambda x: torch.std_mean(x, 1, correction=0), lambda x: aten.std_mean.default(x), lambda x: aten.std_mean.dim(x, [1])], x)


@fixture
def long_reductions():
    """Few results of many terms go in parts."""
    x = ints(1, 66000, high=7, dtype=torch.uint8)
    return of([lambda x: x.float().mean(1), lambda x: (x.float() * 0.3).std(1)], x)


@fixture
def reductions_more():
    nan, inf = float("nan"), float("inf")
    x, i = rand(3, 4, 6), ints(4, 5, low=-1, high=2)
    n = torch.tensor([[1.0, nan, 3.0, 0.0], [-9.0, 7.0, 5.0, 0.0], [nan, nan, nan, nan]])
    return of([lambda x, i, n: (n.nansum(), n.nansum(1), n[:2].half().nansum(0), x.nansum((0, 2), keepdim=True), i.nansum(), n.double().nansum(1)),
               lambda x, i, n: (torch.count_nonzero(i), torch.count_nonzero(i, 1), torch.count_nonzero(n, (0, 1)), torch.count_nonzero(x * 0.1 > 0, 0), torch.count_nonzero((x * 0.2).half())),
               lambda x, i, n: (*torch.aminmax(x), *torch.aminmax(x, dim=1), *torch.aminmax(n, dim=1, keepdim=True), torch.aminmax(i)[1], torch.aminmax(i, dim=0)[0]),
               lambda x, i, n: (torch.trace(x[0]), torch.trace(x[:, 0].t()), torch.trace(i), torch.trace(x[0] @ x[0].t())),
               lambda x, i, n: (torch.dist(x, x[0]), torch.dist(x, x[1], 1), torch.dist(x.double(), x[1].double(), inf)),
               lambda x, i, n: (torch.linalg.norm(x), torch.linalg.norm(x[0, 0], 1), torch.linalg.norm(x, dim=(0, 2)), torch.linalg.norm(x, ord=inf, dim=1, keepdim=True)),
               lambda x, i, n: (torch.linalg.matrix_norm(x), torch.linalg.matrix_norm(x, "fro", (0, 1), keepdim=True)),
               lambda x, i, n: (torch.linalg.vector_norm(x, inf), torch.linalg.vector_norm(x.double(), inf, 1), torch.linalg.vector_norm(n, inf, 1), torch.linalg.vector_norm(x.half(), inf, 2))], x, i, n)
