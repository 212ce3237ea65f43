"""Pictures with a class for each pixel."""

from __future__ import annotations

import os
import random
import warnings

import numpy as np

from core import nd
from core.image.codec import load_picture
from gluoncv.data.base import VisionDataset

__all__ = ["SegmentationDataset", "ms_batchify_fn"]


class SegmentationDataset(VisionDataset):
    """Base: subclasses fill in `images` and `masks`, lists of files, and may change how masks are read.

    mode: "train" crops `crop_size` pixels at random after scaling to 0.5 to 2 times `base_size`, mirrors and blurs;
    "val" takes the middle; "testval" leaves all as it is; "test" gives (picture, name of its file). By default the
    split's name. transform: of the picture. A sample is (float32 picture (H, W, 3) of 0 to 255, classes (H, W) int32
    with -1 for what does not count).

    >>> issubclass(gluoncv.data.VOCSegmentation, gluoncv.data.SegmentationDataset)
    True
    """

    NUM_CLASS = 0

    def __init__(self, root, split, mode, transform, base_size=520, crop_size=480):
        super().__init__(root)
        self.root, self.split, self.transform = self._root, split, transform
        self.mode = mode if mode is not None else split
        self.base_size, self.crop_size = base_size, crop_size
        self.images, self.masks = [], []

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        img = load_picture(self.images[index]).convert("RGB")
        if self.mode == "test":
            return self._transformed(self._img_transform(img)), self._name(index)
        img, mask = self._sized(img, self._mask(index))
        if self.mode == "train":
            img, mask = self._sync_transform(img, mask)
        elif self.mode == "val":
            img, mask = self._val_sync_transform(img, mask)
        elif self.mode == "testval":
            img, mask = self._img_transform(img), self._mask_transform(mask)
        else:
            raise RuntimeError(f"the mode is train, val, testval or test, given {self.mode!r}")
        return self._transformed(img), mask

    def _name(self, index):
        return os.path.basename(self.images[index])

    def _mask(self, index):
        """The Pillow picture of classes."""
        return load_picture(self.masks[index])

    def _sized(self, img, mask):
        """Pillow pictures at the size from which crops are taken."""
        return img, mask

    def _transformed(self, img):
        return img if self.transform is None else self.transform(img)

    @property
    def num_class(self):
        """The number of classes, background among them."""
        return self.NUM_CLASS

    @property
    def pred_offset(self):
        """What predicted classes differ by from those in files."""
        return 0

    def _val_sync_transform(self, img, mask):
        from PIL import Image

        size, (w, h) = self.crop_size, img.size
        new_w, new_h = (int(w * size / h), size) if w > h else (size, int(h * size / w))
        img, mask = img.resize((new_w, new_h), Image.BILINEAR), mask.resize((new_w, new_h), Image.NEAREST)
        left, top = round((new_w - size) / 2.0), round((new_h - size) / 2.0)
        box = (left, top, left + size, top + size)
        return self._img_transform(img.crop(box)), self._mask_transform(mask.crop(box))

    def _sync_transform(self, img, mask):
        from PIL import Image, ImageFilter, ImageOps

        if random.random() < 0.5:
            img, mask = (part.transpose(Image.FLIP_LEFT_RIGHT) for part in (img, mask))
        size, long = self.crop_size, random.randint(int(self.base_size * 0.5), int(self.base_size * 2.0))
        w, h = img.size
        new_w, new_h = (int(w * long / h + 0.5), long) if h > w else (long, int(h * long / w + 0.5))
        img, mask = img.resize((new_w, new_h), Image.BILINEAR), mask.resize((new_w, new_h), Image.NEAREST)
        if min(new_w, new_h) < size:
            border = (0, 0, max(size - new_w, 0), max(size - new_h, 0))
            img, mask = ImageOps.expand(img, border=border, fill=0), ImageOps.expand(mask, border=border, fill=0)
        w, h = img.size
        left, top = random.randint(0, w - size), random.randint(0, h - size)
        box = (left, top, left + size, top + size)
        img, mask = img.crop(box), mask.crop(box)
        if random.random() < 0.5:
            img = img.filter(ImageFilter.GaussianBlur(radius=random.random()))
        return self._img_transform(img), self._mask_transform(mask)

    def _img_transform(self, img):
        return nd.array(np.array(img))

    def _mask_transform(self, mask):
        return nd.array(np.array(mask), dtype="int32")


def paired(paths):
    """(pictures, masks) of pairs of paths; pictures without a mask are left out, with a warning.

    OSError for none at all.
    """
    pairs = []
    for image, mask in paths:
        if os.path.isfile(mask):
            pairs.append((image, mask))
        else:
            warnings.warn(f"{image} is left out, as its mask {mask} is not there", stacklevel=3)
    if not pairs:
        raise OSError("there are no pictures with masks in the folder of the data set")
    return [list(part) for part in zip(*pairs)]


def ms_batchify_fn(data):
    """Pictures of several sizes as lists; tuples of them as one list each.

    >>> [a.shape for a in gluoncv.data.ms_batchify_fn([nd.zeros((2, 2)), nd.zeros((3, 3))])]
    [(2, 2), (3, 3)]
    """
    if isinstance(data[0], (str, nd.NDArray)):
        return list(data)
    if isinstance(data[0], tuple):
        return [ms_batchify_fn(part) for part in zip(*data, strict=True)]
    raise TypeError(f"pictures are arrays, or tuples with them, given {type(data[0]).__name__}")
