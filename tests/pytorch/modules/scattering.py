"""Elements written to places that another tensor holds."""
import torch
import torch.nn.functional as F

from modules.helpers import aten, fixture, of, rand


@fixture
def scattering():
    x, s, i = rand(3, 5), rand(2, 4), torch.tensor([[0, 2, 1, 0], [2, 1, 1, 0]])
    j, k, m = torch.tensor([4, 1, 1]), torch.tensor([2, 0]), torch.rand(3, 5) > 0.5
    r = rand(3, 3)

    def put(f):
        def run(*args):
            y = args[0].clone()
            f(y, *args[1:])
            return y
        return run
    def by_two(y, s, i, j, k, m, r): y[k, j[:2]] = s[0, :2]
    def by_row(y, s, i, j, k, m, r): y[:, j - 5] = r
    def masked(y, s, i, j, k, m, r): y[m] = -3.0
    def rows(y, s, i, j, k, m, r): y[m[:, 0]] = 2.0
    calls = [put(f) for f in (by_two, by_row, masked, rows)]
    calls += [lambda x, s, i, j, k, m, r: x.scatter(0, i, s), lambda x, s, i, j, k, m, r: x.scatter(0, i, 2.5),
              lambda x, s, i, j, k, m, r: x.scatter(0, i, s, reduce="add"), lambda x, s, i, j, k, m, r: x.scatter(0, i, 2.0, reduce="multiply"),
              lambda x, s, i, j, k, m, r: x.scatter_add(0, i, s), lambda x, s, i, j, k, m, r: x.half().scatter_add(0, i, s.half()),
              lambda x, s, i, j, k, m, r: x.long().scatter_add(0, i, i), lambda x, s, i, j, k, m, r: x.scatter_reduce(0, i, s, "sum"),
              lambda x, s, i, j, k, m, r: x.scatter_reduce(0, i, s, "amax"), lambda x, s, i, j, k, m, r: x.scatter_reduce(0, i, s, "amin"),
              lambda x, s, i, j, k, m, r: x.scatter_reduce(0, i, s, "prod"), lambda x, s, i, j, k, m, r: x.index_add(1, j, r, alpha=0.5),
              lambda x, s, i, j, k, m, r: x.half().index_add(1, j, r.half()), lambda x, s, i, j, k, m, r: x.index_copy(0, k, x[1:] * 2),
              lambda x, s, i, j, k, m, r: x.index_fill(1, j, 7.0), lambda x, s, i, j, k, m, r: x.index_fill(1, j, s[0, 0]),
              lambda x, s, i, j, k, m, r: x.index_put([k], x[:2], accumulate=True), lambda x, s, i, j, k, m, r: F.one_hot(i, 4),
              lambda x, s, i, j, k, m, r: aten.slice_scatter(x, r, 1, 1, 4), lambda x, s, i, j, k, m, r: aten.select_scatter(x, r[:, 0], 1, -2)]
    return of(calls, x, s, i, j, k, m, r)
