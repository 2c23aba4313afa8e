"""Views by strides."""
import torch

from modules.helpers import fixture, of, rand


@fixture
def strided():
    x, y = rand(4, 6), rand(2, 3, 4, 5)
    y = y.contiguous(memory_format=torch.channels_last)
    return of([lambda x, y: torch.as_strided(x, (2, 3), (6, 2)) + 0, lambda x, y: x.as_strided((3, 4), (6, 1), 7) * 2,
               lambda x, y: x.as_strided((20, 5), (1, 1)) + 1, lambda x, y: x.as_strided((2, 3), (0, 1), 5) + 0, lambda x, y: x.as_strided((), (), 9) + 1,
               lambda x, y: (x[1:3] + 1).as_strided((12,), (1,)) + 0, lambda x, y: x[1:3].as_strided((5,), (2,)) + 0, lambda x, y: x[1:3].as_strided((5,), (2,), 8) + 0,
               lambda x, y: x.t().as_strided((24,), (1,)) + 0, lambda x, y: y.as_strided((120,), (1,)) + 0], x, y)


@fixture
def strided_written():
    x = rand(4, 6)

    def write(x):
        y = x * 2
        y.as_strided((4,), (7,)).add_(1)
        return y
    return of([write], x)
