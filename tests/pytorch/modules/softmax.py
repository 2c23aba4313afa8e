"""Softmax and its kin."""
import torch
import torch.nn.functional as F

from modules.helpers import aten, fixture, of, rand


@fixture
def softmaxes():
    x = rand(3, 5, 4)
    return of([lambda x: torch.softmax(x, 1), lambda x: F.log_softmax(x, -1), lambda x: x.logsumexp(1),
               lambda x: x.logsumexp((1, 2), keepdim=True), lambda x: aten._softmax(x, 0, False),
               lambda x: aten._log_softmax(x, 2, False), lambda x: F.softmin(x, 1), lambda x: x.half().softmax(2),
               lambda x: x.double().softmax(1), lambda x: torch.softmax(x[0, 0, 0], 0)], x)


@fixture
def softmax_names():
    x = rand(2, 3, 5)
    return of([lambda x: torch.special.softmax(x, 1), lambda x: torch.special.log_softmax(x, -1), lambda x: torch.special.logsumexp(x, 2),
               lambda x: torch.special.softmax(x.half(), 0, dtype=torch.float32)], x)
