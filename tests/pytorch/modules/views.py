"""Other views of the same elements."""
import torch

from modules.helpers import aten, fixture, of, rand


@fixture
def views():
    x, y = rand(2, 3, 4, 6), rand(2, 6)
    return of([lambda x, y: x.view(6, 24) + 0, lambda x, y: x.reshape(2, 12, 6) + 0,
               lambda x, y: x.permute(0, 2, 3, 1).reshape(8, 18) * 1.0, lambda x, y: x.flatten(1) + 1,
               lambda x, y: x.transpose(1, 3) + 1, lambda x, y: y.t() + 1, lambda x, y: x.mT + 1,
               lambda x, y: y.T * 2, lambda x, y: y.unsqueeze(1) + 1, lambda x, y: x[:, :1].squeeze(1) + 1,
               lambda x, y: x[:1, :1].squeeze() + 1, lambda x, y: aten.squeeze.dims(x[:1, :1], [0, 1]) + 1,
               lambda x, y: y[:, None, None].expand(2, 3, 4, 6) + 0, lambda x, y: y[0].expand_as(x) + 0,
               lambda x, y: x[1] + 0, lambda x, y: x[..., -1] + 0, lambda x, y: x[:, 1:] + 0,
               lambda x, y: x[..., ::2] + 0, lambda x, y: x[..., -3:-1] + 0, lambda x, y: x.narrow(3, 1, 4) + 0,
               lambda x, y: [p + 1 for p in x.split(2, 3)], lambda x, y: [p + 1 for p in x.split([1, 2], 1)],
               lambda x, y: [p + 1 for p in aten.split_with_sizes(x, [1, 5], 3)],
               lambda x, y: [p + 1 for p in x.chunk(3, 3)], lambda x, y: [p + 1 for p in x.unbind(1)],
               lambda x, y: x.unfold(3, 3, 2) + 0, lambda x, y: x.swapaxes(1, 2) + 0, lambda x, y: x.swapdims(0, -1) + 0,
               lambda x, y: x.movedim(1, 3) + 0, lambda x, y: x.movedim((0, 1), (2, 0)) + 0, lambda x, y: x.moveaxis(3, 0) + 0,
               lambda x, y: x.moveaxis((0, 3), (3, 1)) + 0, lambda x, y: x.diagonal(dim1=1, dim2=3) + 0,
               lambda x, y: x.diagonal(1, 2, 3) + 0, lambda x, y: (x @ x.mT).diagonal(-1, -1, -2) + 0,
               lambda x, y: x.repeat_interleave(2, 1), lambda x, y: y.repeat_interleave(3), lambda x, y: [p + 1 for p in aten.split.sizes(x, [2, 1], 1)],
               lambda x, y: aten.to.device(x, "cpu", torch.float64), lambda x, y: aten.to.dtype_layout(x, dtype=torch.float64), lambda x, y: x.transpose(0, 1).contiguous(),
               lambda x, y: x.detach() + 1, lambda x, y: aten.alias(x) + 1, lambda x, y: x.to(torch.float16),
               lambda x, y: x.half(), lambda x, y: y.double().float(), lambda x, y: x.type_as(y.double()),
               lambda x, y: y.unflatten(1, (2, 3)) + 0, lambda x, y: x.view_as(x) + 0,
               lambda x, y: aten._unsafe_view(x, [24, 6]) + 0, lambda x, y: aten._to_copy(x, dtype=torch.float64),
               lambda x, y: aten.permute(x.select(2, -2), [2, 1, 0]) + 0], x, y)


@fixture
def views_more():
    x, y, z = rand(2, 3, 4, 6), rand(2, 6), torch.tensor(1.5)
    return of([lambda x, y, z: x.reshape_as(x) + 0, lambda x, y, z: x.transpose(1, 2).ravel() + 0, lambda x, y, z: y.adjoint() + 1,
               lambda x, y, z: y.mH + 1, lambda x, y, z: y.H + 1, lambda x, y, z: torch.broadcast_to(y[0], (2, 3, 4, 6)) + 0,
               lambda x, y, z: (torch.atleast_1d(z) + 0, torch.atleast_2d(y[0]) + 0, torch.atleast_3d(y) + 0, torch.atleast_3d(y[0]) + 0),
               lambda x, y, z: (+x, torch.real(x) * 2, aten.conj(x) + 1, torch.conj_physical(x) + 0, aten.resolve_conj(x) + 1, aten.resolve_neg(x) + 2),
               lambda x, y, z: [p + 1 for p in torch.unsafe_chunk(x, 3, 3)], lambda x, y, z: [p + 1 for p in torch.unsafe_split(x, 2, 3)],
               lambda x, y, z: [p + 1 for p in torch.unsafe_split_with_sizes(x, [1, 3], 2)],
               lambda x, y, z: [p + 1 for p in torch.tensor_split(x, 4, 3)], lambda x, y, z: [p + 1 for p in torch.tensor_split(x, (1, -2), 3)],
               lambda x, y, z: [p + 1 for p in torch.hsplit(y, 3)], lambda x, y, z: [p + 1 for p in torch.hsplit(y[0], 2)],
               lambda x, y, z: [p + 1 for p in torch.vsplit(y, 2)], lambda x, y, z: [p + 1 for p in torch.dsplit(x, 2)]], x, y, z)
