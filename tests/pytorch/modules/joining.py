"""Operators that put elements elsewhere."""
import torch
import torch.nn.functional as F

from modules.helpers import aten, fixture, of, rand


@fixture
def joining():
    x, y, z = rand(2, 3, 4), rand(2, 5, 4), rand(2, 3, 4, dtype=torch.float16)
    return of([lambda x, y, z: torch.cat([x, y], 1), lambda x, y, z: torch.cat([x, z, x], 2),
               lambda x, y, z: torch.concat([x, y], -2), lambda x, y, z: torch.concatenate([x, x]),
               lambda x, y, z: torch.cat([y[:, i] for i in range(5)] * 4, 0),
               lambda x, y, z: torch.stack([x, x * 2, x[0].expand_as(x)], 1),
               lambda x, y, z: torch.stack([x, x], -1), lambda x, y, z: F.pad(x, (1, 2, 0, 3), value=1.5),
               lambda x, y, z: F.pad(z, (2, -1)), lambda x, y, z: F.pad(x, (-1, 1, -1, 0)),
               lambda x, y, z: F.pad(x, (2, 1), mode="reflect"), lambda x, y, z: F.pad(x, (2, 1), mode="replicate"),
               lambda x, y, z: F.pad(x, (2, 1), mode="circular"),
               lambda x, y, z: aten.constant_pad_nd(x, [0, 1, 1, 0], -3.0), lambda x, y, z: x.flip(0, 2),
               lambda x, y, z: torch.roll(x, 1, 1), lambda x, y, z: torch.roll(x, (-2, 5), (2, 0)),
               lambda x, y, z: torch.roll(x, 3), lambda x, y, z: x.repeat(2, 1, 3), lambda x, y, z: x[0].repeat(2, 1, 1),
               lambda x, y, z: x.tile(2, 2), lambda x, y, z: torch.tril(x), lambda x, y, z: torch.triu(x, 1),
               lambda x, y, z: torch.tril(z, -1), lambda x, y, z: [t + 0 for t in torch.broadcast_tensors(x[:, :1], y)],
               lambda x, y, z: torch.tril(torch.ones(5, 5, dtype=torch.bool))], x, y, z)


@fixture
def joining_more():
    x, y, v, w, z = rand(2, 3, 4, 5), rand(2, 5, 4), rand(3), rand(3), rand(1, 2, 3, 3, 4)
    return of([lambda x, y, v, w, z: (torch.hstack([v, w]), torch.hstack([y, y[:, :2]]), torch.hstack([v[0], v[1]])),
               lambda x, y, v, w, z: (torch.vstack([v, w]), torch.vstack([y, y]), aten.row_stack([v, w])),
               lambda x, y, v, w, z: (torch.column_stack([v, w]), torch.column_stack([y[0], y[0]]), torch.column_stack([v, y[0, :3]])),
               lambda x, y, v, w, z: (torch.dstack([v, w]), torch.dstack([y[0], y[0]]), torch.dstack([y, y])),
               lambda x, y, v, w, z: [t + 0 for t in torch.meshgrid(v, w[:2], indexing="ij")],
               lambda x, y, v, w, z: [t + 0 for t in torch.meshgrid(v, w[:2], y[0, 0], indexing="xy")],
               lambda x, y, v, w, z: [t + 0 for t in aten.meshgrid.default([v, w])],
               lambda x, y, v, w, z: (torch.fliplr(y), torch.flipud(y)),
               lambda x, y, v, w, z: (aten.reflection_pad1d(y, [1, 2]), aten.reflection_pad2d(x, [1, 2, 0, 1]), aten.reflection_pad3d(z, [1, 1, 1, 0, 1, 1])),
               lambda x, y, v, w, z: (aten.replication_pad1d(y, [1, 2]), aten.replication_pad2d(x, [1, 2, 0, 1]), aten.replication_pad3d(z, [1, 1, 1, 0, 1, 1]))],
              x, y, v, w, z)
