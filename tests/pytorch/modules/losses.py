"""Losses."""
import torch
import torch.nn.functional as F

from modules.helpers import aten, fixture, ints, of, rand


@fixture
def losses():
    x, t, p = rand(4, 3), rand(4, 3), rand(4, 3, low=0.05, high=0.95)
    s = torch.sign(rand(4, 3))
    w = rand(3, low=0.5, high=1.5)
    calls = [lambda x, t, p, s, w, r=r, f=f: f(x, t, reduction=r) for r in ("none", "mean", "sum")
             for f in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss)]
    calls += [lambda x, t, p, s, w: F.smooth_l1_loss(x, t, beta=0.5), lambda x, t, p, s, w: F.smooth_l1_loss(x, t, beta=0.0),
              lambda x, t, p, s, w: F.huber_loss(x, t, delta=0.5),
              lambda x, t, p, s, w: F.kl_div(x, p, reduction="batchmean"), lambda x, t, p, s, w: F.kl_div(x, t, reduction="sum", log_target=True),
              lambda x, t, p, s, w: F.binary_cross_entropy(p, (t > 0).float()), lambda x, t, p, s, w: F.binary_cross_entropy(p, p, weight=w, reduction="none"),
              lambda x, t, p, s, w: F.binary_cross_entropy_with_logits(x, p), lambda x, t, p, s, w: F.binary_cross_entropy_with_logits(x, p, weight=w, pos_weight=w * 2),
              lambda x, t, p, s, w: F.soft_margin_loss(x, s), lambda x, t, p, s, w: F.hinge_embedding_loss(x, s, margin=0.5),
              lambda x, t, p, s, w: F.margin_ranking_loss(x, t, s, margin=0.1),
              lambda x, t, p, s, w: F.triplet_margin_loss(x, t, p), lambda x, t, p, s, w: F.triplet_margin_loss(x, t, p, swap=True, p=1, reduction="none"),
              lambda x, t, p, s, w: F.cosine_embedding_loss(x, t, s[:, 0]),
              lambda x, t, p, s, w: F.cross_entropy(x, p), lambda x, t, p, s, w: F.cross_entropy(x, p, weight=w, label_smoothing=0.1, reduction="sum"),
              lambda x, t, p, s, w: F.mse_loss(x.half(), t.half())]
    return of(calls, x, t, p, s, w)


@fixture
def class_losses():
    x, c, d, w = rand(5, 3), ints(5, high=3), ints(2, 4, high=3), rand(3, low=0.5, high=1.5)
    y = rand(2, 3, 4)
    i = torch.tensor([0, -100, 2, 1, -100])
    log = lambda x: F.log_softmax(x, 1)
    return of([lambda x, c, y, d, w, i: F.cross_entropy(x, c), lambda x, c, y, d, w, i: F.cross_entropy(x, c, reduction="none"),
               lambda x, c, y, d, w, i: F.cross_entropy(x, c, weight=w), lambda x, c, y, d, w, i: F.cross_entropy(x, i),
               lambda x, c, y, d, w, i: F.cross_entropy(x, c, weight=w, label_smoothing=0.2, ignore_index=1),
               lambda x, c, y, d, w, i: F.cross_entropy(y, d, reduction="sum"), lambda x, c, y, d, w, i: F.nll_loss(log(x), c, weight=w),
               lambda x, c, y, d, w, i: F.nll_loss(log(y), d, reduction="none"), lambda x, c, y, d, w, i: F.cross_entropy(x[0], c[0]),
               lambda x, c, y, d, w, i: aten.nll_loss(log(x), c), lambda x, c, y, d, w, i: aten.nll_loss2d(log(y)[..., None], d[..., None])],
              x, c, y, d, w, i)
