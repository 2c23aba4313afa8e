"""Distances between vectors."""
import torch
import torch.nn.functional as F

from modules.helpers import fixture, of, rand


@fixture
def distances():
    x, y = rand(4, 6), rand(4, 6)
    return of([lambda x, y: F.cosine_similarity(x, y), lambda x, y: F.cosine_similarity(x[:, None], y[None], dim=-1),
               lambda x, y: F.pairwise_distance(x, y), lambda x, y: F.pairwise_distance(x, y, p=1, keepdim=True),
               lambda x, y: torch.cdist(x, y[:3], compute_mode="donot_use_mm_for_euclid_dist"), lambda x, y: torch.cdist(x, y, p=1)], x, y)
