"""The steps that presets are made of."""

from __future__ import annotations

import numpy as np

from core import image, nd
from core.base import NotAnArray
from gluoncv.data.transforms import bbox as boxes
from gluoncv.data.transforms import experimental
from gluoncv.data.transforms import image as pictures

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def to_input(img, mean, std):
    """A picture (H, W, 3) of bytes as the normalised (3, H, W) that networks take."""
    return nd.image.normalize(nd.image.to_tensor(img), mean=mean, std=std)


def as_list(imgs) -> list:
    """Pictures as a list; TypeError for anything but arrays."""
    imgs = [imgs] if isinstance(imgs, nd.NDArray) else list(imgs)
    for img in imgs:
        if not isinstance(img, nd.NDArray):
            raise NotAnArray(f"pictures are mx.nd arrays, given {type(img).__name__}")
    return imgs


def load(filenames) -> list:
    """The pictures in one file or several."""
    return [image.imread(f) for f in ([filenames] if isinstance(filenames, str) else filenames)]


def transform_test(imgs, short, max_size, mean=MEAN, std=STD, mult_base=1):
    """(inputs (1, 3, H, W), pictures as NumPy bytes) of pictures whose short side is resized; lists for several."""
    resized = [pictures.resize_short_within(img, short, max_size, mult_base=mult_base) for img in as_list(imgs)]
    inputs = [to_input(img, mean, std).expand_dims(0) for img in resized]
    shown = [img.asnumpy().astype("uint8") for img in resized]
    return (inputs[0], shown[0]) if len(inputs) == 1 else (inputs, shown)


def augment(src, label, width, height, mean):
    """Colours, expansion, crop, size and mirroring at random, as for detectors of one stage (Liu et al., 2016)."""
    img, bbox = experimental.image.random_color_distort(src), label
    if np.random.uniform(0, 1) > 0.5:
        img, (x, y, _, _) = pictures.random_expand(img, fill=[m * 255 for m in mean])
        bbox = boxes.translate(bbox, x_offset=x, y_offset=y)
    h, w = img.shape[:2]
    bbox, (x, y, w, h) = experimental.bbox.random_crop_with_constraints(bbox, (w, h))
    img = pictures.imresize(image.fixed_crop(img, x, y, w, h), width, height, interp=np.random.randint(0, 5))
    bbox = boxes.resize(bbox, (w, h), (width, height))
    img, (flipped, _) = pictures.random_flip(img, px=0.5)
    return img, boxes.flip(bbox, (width, height), flip_x=flipped)


class SizedValTransform:
    """A picture of `width` x `height`, normalised, and its boxes."""

    def __init__(self, width, height, mean=MEAN, std=STD):
        self._width, self._height, self._mean, self._std = width, height, mean, std

    def __call__(self, src, label):
        h, w = src.shape[:2]
        img = pictures.imresize(src, self._width, self._height, interp=9)
        bbox = boxes.resize(label, (w, h), (self._width, self._height))
        return to_input(img, self._mean, self._std), bbox.astype("float32")
