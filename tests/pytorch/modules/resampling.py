"""Other resolutions of the same image."""
import torch.nn.functional as F

from modules.helpers import fixture, of, rand


@fixture
def resampling():
    x = rand(2, 4, 5, 6)
    return of([lambda x: F.interpolate(x, scale_factor=2), lambda x: F.interpolate(x, size=(7, 3)),
               lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
               lambda x: F.interpolate(x, size=(8, 9), mode="bilinear", align_corners=True),
               lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"), lambda x: F.interpolate(x[0], scale_factor=3),
               lambda x: F.interpolate(x[0], size=11, mode="linear"), lambda x: F.interpolate(x[None], scale_factor=2),
               lambda x: F.interpolate(x[None], size=(3, 4, 5), mode="trilinear"), lambda x: F.interpolate(x.half(), scale_factor=1.7),
               lambda x: F.pixel_shuffle(x, 2), lambda x: F.pixel_unshuffle(x[:, :, :4], 2)], x)


@fixture
def resampling_cubic():
    x = rand(2, 2, 5, 6)
    return of([lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), lambda x: F.interpolate(x, size=(8, 3), mode="bicubic", align_corners=True),
               lambda x: F.interpolate(x, scale_factor=1.7, mode="bicubic"), lambda x: F.interpolate(x.double(), scale_factor=1.3, mode="bicubic"),
               lambda x: F.interpolate(x.double(), scale_factor=1.7, mode="bilinear"), lambda x: F.interpolate(x.double(), size=(9, 4), mode="bilinear", align_corners=True),
               lambda x: F.interpolate(x.half(), scale_factor=2, mode="bicubic")], x)
