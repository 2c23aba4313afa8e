"""Attention."""
import torch
import torch.nn.functional as F

from modules.helpers import fixture, of, rand


@fixture
def attention():
    q, k = rand(2, 3, 5, 4), rand(2, 3, 7, 4)
    mask = torch.rand(5, 7) > 0.3
    mask[2] = False
    bias = rand(3, 5, 7)
    sdpa = F.scaled_dot_product_attention
    return of([lambda q, k, m, b: sdpa(q, k, k), lambda q, k, m, b: sdpa(q, q, q, is_causal=True),
               lambda q, k, m, b: sdpa(q, k, k * 2, attn_mask=m), lambda q, k, m, b: sdpa(q, k, k, attn_mask=b, scale=0.3),
               lambda q, k, m, b: sdpa(q.half(), k.half(), k.half()), lambda q, k, m, b: sdpa(q[0], k[0], k[0, :, :, :2]),
               lambda q, k, m, b: sdpa(q.repeat(1, 2, 1, 1), k, k, enable_gqa=True),
               lambda q, k, m, b: sdpa(q.double(), k.double(), k.double()),
               lambda q, k, m, b: sdpa(q[0, 0], k[0, 0], k[0, 0])], q, k, mask, bias)
