"""Classification on ImageNet."""

from __future__ import annotations

from gluon.data.vision import transforms
from gluoncv.data.transforms.presets.common import MEAN, STD, as_list

__all__ = ["transform_eval"]


def transform_eval(imgs, resize_short=256, crop_size=224, mean=MEAN, std=STD):
    """The input (1, 3, `crop_size`, `crop_size`) of one picture, a list for several."""
    steps = transforms.Compose([
        transforms.Resize(resize_short, keep_ratio=True),
        transforms.CenterCrop(crop_size),
        transforms.ToTensor(),
        transforms.Normalize(mean, std),
    ])  # fmt: skip
    inputs = [steps(img).expand_dims(0) for img in as_list(imgs)]
    return inputs[0] if len(inputs) == 1 else inputs
