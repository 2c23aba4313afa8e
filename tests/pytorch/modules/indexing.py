"""Elements read at places that another tensor holds."""
import torch
from torch import nn

from modules.helpers import fixture, ints, of, rand


@fixture
def made_indices():
    """Indices that arithmetic makes, and one that goes into two tables."""
    class Made(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Embedding(7, 3), nn.Embedding(9, 3)
            self.c = nn.Embedding(12, 2)

        def forward(self, x, i, j, k, m):
            n = k.clone()
            n.add_(2)
            return (self.a(i) + self.b(i), self.a(j - 1), self.c(j + 4), self.c(k * 4 + m), x[:, -k - 1], x[torch.cat([k, k + 1])],
                    self.a(k.int().long() % 7), x[n], self.b((j * 100).clamp(0, 8)), self.b(torch.where(k > 1, k, m + 1)),
                    self.a((j // 2).abs()), x[torch.arange(3)[:, None] + 2, torch.minimum(k, m)])
    return Made(), (rand(6, 6), ints(5, high=7), ints(5, low=1, high=8), ints(3, high=3), ints(3, high=4))


@fixture
def indexing():
    class Indexing(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(7, 5)
            self.small = nn.Embedding(7, 3).half()
            self.register_buffer("places", torch.tensor([[0, 2, 1], [2, 2, 0]]))

        def forward(self, x, i, j, g):
            return (self.embed(i), self.small(i[0]), x[:, j], x[:, self.places], x[self.places, j[None, :3] * 0],
                    x[j.clamp(0, 2), :, j.clamp(0, 2)], torch.index_select(x, 1, j), torch.gather(x, 2, g),
                    torch.gather(x[:2], 1, self.places[:, :, None]), x[:, -j - 1])
    return Indexing(), (rand(3, 4, 6), ints(2, 5, high=7), ints(3, high=4), ints(3, 4, 2, high=6))


@fixture
def taken_along():
    x, i = rand(3, 4, 6), ints(3, 4, 2, high=6)
    return of([lambda x, i: torch.take_along_dim(x, i, 2), lambda x, i: torch.take_along_dim(x, i[:1], 2),
               lambda x, i: torch.take_along_dim(x[:, :1], i, -1), lambda x, i: torch.take_along_dim(x, x.argsort(1), 1)], x, i)
