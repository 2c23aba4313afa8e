"""Activations with parameters and gates."""
import torch.nn.functional as F
from torch import nn

from modules.helpers import fixture, rand


@fixture
def activations():
    class Activations(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.PReLU()
            self.each = nn.PReLU(4)

        def forward(self, x):
            return F.glu(x), F.glu(x, 1), self.one(x), self.each(x), F.glu(x.half(), 0)
    return Activations(), (rand(2, 4, 6),)
