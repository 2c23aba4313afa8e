"""Products of matrices."""
import torch
import torch.nn.functional as F
from torch import nn

from modules.helpers import aten, fixture, of, rand


@fixture
def products():
    class Products(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(6, 5)
            self.b = nn.Linear(6, 5, bias=False)
            self.b.weight = self.a.weight
            self.w = nn.Parameter(torch.randn(6, 4).t())
            self.h = nn.Linear(6, 3).half()

        def forward(self, x, y, v):
            m = x.reshape(-1, 6)
            return (self.a(x), self.b(x), F.linear(x, self.w), x @ y, torch.bmm(x, y), torch.mm(m, y[0]), torch.mv(m, v),
                    torch.dot(v, v), torch.addmm(m[:, :3], m, y[0], beta=0.5, alpha=2),
                    torch.baddbmm(x[:, :, :3], x, y, beta=0.5), x @ v, v @ y, self.h(x.half()), x.double() @ y.double(),
                    F.linear(x, v), torch.outer(v, x[0, 0]), x[0] @ y.transpose(0, 1).reshape(6, -1))
    return Products(), (rand(2, 4, 6), rand(2, 6, 3), rand(6))


@fixture
def products_more():
    a, b, v, w, m = rand(4, 5), rand(5, 3), rand(4), rand(5), rand(2, 3, 4)
    return of([lambda a, b, v, w, m: torch.linalg.matmul(a, b), lambda a, b, v, w, m: torch.ger(v, w),
               lambda a, b, v, w, m: (torch.addr(a, v, w), torch.addr(a, v, w, beta=0.5, alpha=2.0), torch.addr(w, v, w)),
               lambda a, b, v, w, m: (torch.linalg.cross(m, m * 2 + m.flip(1), dim=1), torch.linalg.cross(b, b.roll(1, 0)), torch.cross(m, m[:1].flip(1), dim=1)),
               lambda a, b, v, w, m: aten.cross.default(m, m.flip(2))], a, b, v, w, m)
