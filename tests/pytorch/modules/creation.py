"""New tensors."""
import torch

from modules.helpers import aten, fixture, of, rand


@fixture
def creation():
    x = rand(3, 4)
    return of([lambda x: torch.zeros(3, 4) + x, lambda x: torch.ones(4) * x, lambda x: torch.full((3, 1), 2.5) + x,
               lambda x: torch.zeros_like(x) + x, lambda x: torch.ones_like(x, dtype=torch.float64),
               lambda x: torch.full_like(x, -1.5), lambda x: x.new_zeros(4) + x, lambda x: x.new_ones(3, 4),
               lambda x: x.new_full((2, 2), 3.0), lambda x: torch.empty(3, 4).copy_(x), lambda x: x.new_empty(3, 4).copy_(x),
               lambda x: torch.empty_like(x).fill_(4), lambda x: torch.arange(5), lambda x: torch.arange(2, 6) * 2,
               lambda x: torch.arange(0.5, 2.5, 0.25), lambda x: torch.arange(3, dtype=torch.float32)[:, None] + x,
               lambda x: aten.scalar_tensor(2.5) * x, lambda x: torch.linspace(-1, 2, 7), lambda x: torch.eye(3),
               lambda x: torch.eye(3, 4, dtype=torch.float16), lambda x: torch.zeros(2, dtype=torch.bool),
               lambda x: aten.zero(x), lambda x: aten.fill.Scalar(x, 2.0), lambda x: aten.fill.Tensor(x, torch.tensor(3.0))], x)
