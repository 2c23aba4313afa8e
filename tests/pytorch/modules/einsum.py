"""Contractions by an equation."""
import torch

from modules.helpers import fixture, of, rand


@fixture
def einsum():
    a, b, c = rand(2, 3, 4), rand(2, 4, 5), rand(5, 3)
    e = torch.einsum
    return of([lambda a, b, c: e("bij,bjk->bik", a, b), lambda a, b, c: e("bij,bjk->ki", a, b), lambda a, b, c: e("bij,bjk,ki->b", a, b, c),
               lambda a, b, c: e("...ij,...jk->...ik", a, b), lambda a, b, c: e("ki,bij", c, a), lambda a, b, c: e("bij->jb", a),
               lambda a, b, c: e("bij->", a), lambda a, b, c: e("i,j->ij", c[0], c[1]), lambda a, b, c: e("bij,bij->bij", a, a),
               lambda a, b, c: e("bI,bI->b", a[:, 0], a[:, 1]), lambda a, b, c: e("ii->i", a[0, :3, :3]),
               lambda a, b, c: e("bij,bjk->bik", a.half(), b.half())], a, b, c)


@fixture
def contractions():
    a, b, v, w = rand(2, 3, 4), rand(4, 3, 5), rand(4), rand(4)
    return of([lambda a, b, v, w: torch.tensordot(a, b, dims=([1, 2], [1, 0])), lambda a, b, v, w: torch.tensordot(a, b, dims=1),
               lambda a, b, v, w: torch.tensordot(v, w, dims=0), lambda a, b, v, w: (torch.inner(a, b.permute(1, 2, 0)), torch.inner(a, v), torch.inner(v, w)),
               lambda a, b, v, w: torch.vdot(v, w), lambda a, b, v, w: (torch.linalg.vecdot(a, a[:1] + 1), torch.linalg.vecdot(a, a * 2, dim=1), torch.linalg.vecdot(a, v)),
               lambda a, b, v, w: (torch.kron(a, b), torch.kron(a, v), torch.kron(v, w), torch.kron(v.half(), w.half()))], a, b, v, w)
