"""Windows over images as columns, and back."""
import torch.nn.functional as F

from modules.helpers import fixture, of, rand


@fixture
def unfolding():
    x, columns = rand(2, 3, 6, 7), rand(2, 12, 20)
    return of([lambda x, y: F.unfold(x, 3), lambda x, y: F.unfold(x, (2, 3), padding=(1, 2), stride=(2, 1)),
               lambda x, y: F.unfold(x, 2, dilation=(2, 3), padding=1), lambda x, y: F.unfold(x[0], 2, stride=2), lambda x, y: F.unfold(x.half(), 3, padding=1),
               lambda x, y: F.unfold(x.transpose(2, 3), 3), lambda x, y: F.fold(y, (5, 6), 2), lambda x, y: F.fold(y[1], (5, 6), 2),
               lambda x, y: F.fold(y, (7, 9), (2, 2), stride=2, padding=1), lambda x, y: F.fold(y.double(), (6, 8), 2, dilation=(2, 3)),
               lambda x, y: F.fold(F.unfold(x, 3, padding=1), (6, 7), 3, padding=1)], x, columns)
