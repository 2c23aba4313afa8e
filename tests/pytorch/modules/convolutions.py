"""Convolutions."""
import torch
from torch import nn

from modules.helpers import aten, fixture, rand


@fixture
def convolutions():
    class Convolutions(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Conv2d(4, 6, 3, stride=2, padding=1)
            self.b = nn.Conv2d(4, 4, 3, groups=4, padding="same", bias=False)
            self.c = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1)
            self.d = nn.Conv1d(4, 5, 3, dilation=2)
            self.e = nn.ConvTranspose1d(4, 5, 3, stride=2)
            self.f = nn.Conv3d(1, 2, 2)
            self.g = nn.ConvTranspose3d(1, 2, 2, stride=2)
            self.h = nn.Conv2d(4, 2, 1).half()
            self.k = nn.Conv2d(4, 3, (1, 3), padding="valid")
            self.l = nn.Conv1d(4, 2, 3, padding="same")
            self.m = nn.Conv3d(1, 2, 3, padding="same")

        def forward(self, x):
            v = x[:, None, :, :, 0][..., None].expand(2, 1, 4, 7, 3)
            return (self.a(x), self.b(x), self.c(x), self.d(x[..., 0]), self.e(x[..., 0]), self.f(v), self.g(v[:, :, :2, :2]),
                    self.h(x.half()), self.k(x), self.l(x[..., 0]), self.m(v), aten.convolution(x, self.a.weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1))
    return Convolutions(), (rand(2, 4, 7, 6),)


@fixture
def channels_last():
    conv = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2)).to(
        memory_format=torch.channels_last)
    return conv, (rand(2, 3, 6, 8).to(memory_format=torch.channels_last),)
