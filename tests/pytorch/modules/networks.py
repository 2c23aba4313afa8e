"""Operators of several families together: small networks, writes in place, what decompositions leave."""
import torch
import torch.nn.functional as F
from torch import nn

from modules.helpers import aten, fixture, of, rand


@fixture
def in_place():
    class InPlace(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", torch.zeros(3))
            self.register_buffer("mean", torch.ones(4))

        def forward(self, x, state):
            self.steps.add_(1)
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            y = x * 2
            y[:, 1:3].relu_()
            y.t()[0].add_(5)
            z = y.clone()
            z.fill_(3)
            z[0] = x[1]
            z[1].zero_()
            w = torch.empty_like(x)
            w.copy_(x[0])
            state.add_(1)
            v = y.view(-1)
            v[::2].mul_(-1)
            u = y + 0
            u.fill_(torch.tensor(2.5))
            return y, z, w, self.mean + 0, self.steps * 2, state * 3, u
    return InPlace(), (rand(3, 4), rand(5))


@fixture
def transformer():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return layer, (rand(2, 5, 8),)


@fixture
def attention_by_hand():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
            self.register_buffer("mask", torch.tril(torch.ones(6, 6)).view(1, 1, 6, 6))

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (p.view(b, t, 2, c // 2).transpose(1, 2) for p in self.qkv(x).split(c, 2))
            s = (q @ k.transpose(-2, -1)) * 0.5
            s = s.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")).softmax(-1)
            return self.out((s @ v).transpose(1, 2).contiguous().view(b, t, c))
    return Attention(), (rand(2, 6, 8),)


@fixture
def decomposed():
    """A small network as run_decompositions() leaves it."""
    class Network(nn.Module):
        decompose = True

        def __init__(self):
            super().__init__()
            self.conv, self.bn = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)

        def forward(self, x):
            y = F.max_pool2d(F.relu(self.bn(self.conv(x))), 2)
            return F.interpolate(self.up(F.adaptive_avg_pool2d(y, 2)), scale_factor=2), F.avg_pool2d(x, 2).softmax(1)
    return Network(), (rand(2, 3, 8, 8),)


@fixture
def decomposed_attention():
    class Network(nn.Module):
        decompose = True

        def __init__(self):
            super().__init__()
            self.out = nn.Linear(6, 8)

        def forward(self, x):
            t = self.out(F.gelu(x))[:, None]
            w = x.clone()
            w[:, 1] = 2.0
            return (F.scaled_dot_product_attention(t, t, t, is_causal=True), F.log_softmax(t, 2), w,
                    F.cross_entropy(t[:, 0, 0], torch.tensor([1, 0])))
    return Network(), (rand(2, 3, 6),)


@fixture
def chosen_by_device():
    """Operators that PyTorch itself chooses, and forms that say a factor of each dimension."""
    q, k = rand(2, 3, 5, 4), rand(2, 3, 7, 4)
    x, bias = rand(2, 2, 4, 6), rand(3, 5, 7)
    flash = aten._scaled_dot_product_flash_attention_for_cpu
    return of([lambda q, k, x, b: flash(q, k, k)[0], lambda q, k, x, b: flash(q, q, q, 0.0, True)[0],
               lambda q, k, x, b: flash(q, k, k, attn_mask=b[None].expand(2, 3, 5, 7), scale=0.3)[0],
               lambda q, k, x, b: aten._fused_rms_norm(x, [6], None, 1e-5)[0],
               lambda q, k, x, b: aten.upsample_nearest1d(x[0], [12], 2.0), lambda q, k, x, b: aten.upsample_nearest2d(x, [8, 12], 2.0, 2.0),
               lambda q, k, x, b: aten.upsample_nearest3d(x[None], [4, 8, 12], 2.0, 2.0, 2.0), lambda q, k, x, b: aten.upsample_linear1d(x[0], [9], False, 1.5),
               lambda q, k, x, b: aten.upsample_bilinear2d(x, [7, 5], False), lambda q, k, x, b: aten.upsample_bilinear2d(x, [8, 9], False, 2.0, 1.5),
               lambda q, k, x, b: aten.upsample_trilinear3d(x[None], [3, 5, 4], True), lambda q, k, x, b: aten.upsample_bicubic2d(x, [8, 9], False, 2.0, 1.5)], q, k, x, bias)
