"""Pooling."""
import torch.nn.functional as F

from modules.helpers import aten, fixture, of, rand


@fixture
def pooling():
    x = rand(2, 3, 7, 8)
    return of([lambda x: F.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), lambda x: F.max_pool1d(x[0], 3, 2),
               lambda x: F.max_pool3d(x, 2), lambda x: F.avg_pool2d(x, 3, 2, 1), lambda x: F.avg_pool1d(x[0], 2),
               lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), lambda x: F.avg_pool3d(x, (1, 2, 2)),
               lambda x: F.avg_pool2d(x, 2, divisor_override=3), lambda x: F.adaptive_avg_pool2d(x, (3, 1)),
               lambda x: F.adaptive_avg_pool1d(x[0], 3), lambda x: F.adaptive_avg_pool1d(x[0].transpose(0, 1), 2), lambda x: F.max_pool2d(x.permute(1, 0, 3, 2), 2), lambda x: F.adaptive_avg_pool3d(x, (1, 2, 8)),
               lambda x: F.max_pool2d(x.half(), 3, dilation=2), lambda x: aten.max_pool2d_with_indices(x, [2, 2])[0],
               lambda x: aten.max_pool3d_with_indices(x, [2, 2, 2])[0]], x)


@fixture
def pooling_places():
    x = rand(2, 3, 7, 8)
    return of([lambda x: F.max_pool2d(x, 2, return_indices=True), lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
               lambda x: F.max_pool1d(x[0], 3, 2, return_indices=True), lambda x: F.max_pool3d(x, 2, return_indices=True),
               lambda x: F.max_pool2d(x.half(), 3, dilation=2, return_indices=True)[1], lambda x: F.adaptive_max_pool2d(x, (3, 1), return_indices=True),
               lambda x: F.adaptive_max_pool2d(x, 2), lambda x: F.adaptive_max_pool1d(x[0], 3, return_indices=True), lambda x: F.adaptive_max_pool3d(x, (1, 2, 8)),
               lambda x: aten._adaptive_avg_pool2d(x, [3, 2]), lambda x: aten._adaptive_avg_pool3d(x, [3, 2, 1]),
               lambda x: F.adaptive_max_pool2d(x.double(), (7, 2))], x)
