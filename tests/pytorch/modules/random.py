"""What draws at random."""
import torch
import torch.nn.functional as F
from torch import nn

from modules.helpers import aten, fixture, rand


@fixture
def draws():
    class Draws(nn.Module):
        def forward(self, x):
            y = F.dropout(x, 0.3, training=True) + torch.randn(3, 5)
            z = torch.bernoulli(x.sigmoid()) + torch.rand(5) * torch.rand_like(x)
            return (y, z, torch.randn_like(x) * x, F.dropout(x, 0.3, training=False) + 1, F.dropout(x.half(), 0.5, training=True),
                    F.alpha_dropout(x, 0.3, training=False) + 1, aten.feature_dropout(x, 0.3, False) + 1, aten.bernoulli.p(x, 0.5),
                    F.dropout(x + 0, 0.5, training=True, inplace=True),
                    (x + 0).bernoulli_(0.3))
    return Draws(), (rand(3, 5),)
