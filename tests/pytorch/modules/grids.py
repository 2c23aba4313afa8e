"""Images sampled at places of a grid, some outside."""
import torch.nn.functional as F

from modules.helpers import aten, fixture, of, rand


def sampled(mode, padding, corners):
    return lambda x, grid: F.grid_sample(x, grid, mode, padding, corners)


@fixture
def grids():
    x, grid = rand(2, 3, 5, 6), rand(2, 4, 7, 2)
    return of([*(sampled(m, p, c) for m in ("bilinear", "nearest", "bicubic") for p in ("zeros", "border", "reflection") for c in (False, True)),
               lambda x, y: aten.grid_sampler_2d(x.double(), y.double(), 2, 2, False), lambda x, y: aten.grid_sampler_2d(x.double(), y.double(), 0, 0, True),
               lambda x, y: F.grid_sample(x[:, :, :1, :1], y, "bilinear", "reflection", True), lambda x, y: F.grid_sample(x[:, :, :, 1:4], y.transpose(1, 2), align_corners=False)], x, grid)


@fixture
def grids_in_volumes():
    x, grid = rand(2, 2, 3, 4, 5), rand(2, 2, 3, 2, 3)
    return of([*(sampled(m, p, c) for m in ("bilinear", "nearest") for p in ("zeros", "border", "reflection") for c in (False, True)),
               lambda x, y: aten.grid_sampler_3d(x, y, 0, 0, False)], x, grid)


@fixture
def affine_grids():
    image, volume = rand(2, 2, 3), rand(2, 3, 4)
    return of([*(lambda x, y, c=c: F.affine_grid(x, (2, 3, 5, 6), c) for c in (False, True)), *(lambda x, y, c=c: F.affine_grid(x, (2, 3, 1, 4), c) for c in (False, True)),
               *(lambda x, y, c=c: F.affine_grid(y, (2, 3, 3, 1, 4), c) for c in (False, True)), lambda x, y: F.affine_grid(x.double(), (2, 1, 4, 5), False)], image, volume)
