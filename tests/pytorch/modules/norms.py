"""Norms over batches, layers, groups and instances."""
import torch
import torch.nn.functional as F
from torch import nn

from modules.helpers import aten, fixture, rand


@fixture
def norms():
    class Norms(nn.Module):
        def __init__(self):
            super().__init__()
            self.train_bn = nn.BatchNorm2d(4)
            self.eval_bn = nn.BatchNorm2d(4).eval()
            self.plain = nn.BatchNorm2d(4, affine=False, track_running_stats=False)
            self.ln = nn.LayerNorm((5, 6))
            self.gn = nn.GroupNorm(2, 4)
            self.inorm = nn.InstanceNorm2d(4, affine=True)
            self.rms = nn.RMSNorm(6, eps=1e-5)

        def forward(self, x):
            return (self.train_bn(x), self.eval_bn(x), self.plain(x), self.ln(x), self.gn(x), self.inorm(x), self.rms(x),
                    F.layer_norm(x, (6,)), F.rms_norm(x, (5, 6)), F.normalize(x, dim=1), F.normalize(x, p=1.0, dim=2))
    return Norms(), (rand(3, 4, 5, 6),)


@fixture
def native_norms():
    """The norms as PyTorch's decompositions leave them, with what they change."""
    class Norms(nn.Module):
        decompose = True

        def __init__(self):
            super().__init__()
            self.train_bn, self.eval_bn = nn.BatchNorm2d(4), nn.BatchNorm2d(4).eval()
            self.ln, self.gn, self.inorm = nn.LayerNorm((5, 6)), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True)

        def forward(self, x):
            layer, layer_mean, layer_scale = aten.native_layer_norm(x, [6], None, None, 1e-5)
            group, group_mean, group_scale = aten.native_group_norm(x, None, None, 3, 4, 30, 2, 1e-5)
            batch, mean, scale = aten.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-3)
            return (self.train_bn(x), self.eval_bn(x), self.ln(x), self.gn(x), self.inorm(x), layer, layer_mean, layer_scale, group, group_mean,
                    group_scale, batch, mean, scale, F.dropout(x, 0.3, training=True))
    return Norms(), (rand(3, 4, 5, 6),)


@fixture
def native_norms_in_place():
    class Norms(nn.Module):
        def __init__(self):
            super().__init__()
            for name in ("mean", "legit_mean"):
                self.register_buffer(name, torch.zeros(4))
            for name in ("var", "legit_var"):
                self.register_buffer(name, torch.ones(4))

        def forward(self, x):
            return (aten.native_batch_norm(x, None, None, self.mean, self.var, True, 0.1, 1e-5)[0],
                    aten._native_batch_norm_legit(x, None, None, self.legit_mean, self.legit_var, True, 0.2, 1e-5)[0],
                    aten._native_batch_norm_legit.no_stats(x, None, None, True, 0.1, 1e-5)[0],
                    aten._native_batch_norm_legit_no_training(x, None, None, self.mean, self.var, 0.1, 1e-5)[0])
    return Norms(), (rand(3, 4, 5),)
