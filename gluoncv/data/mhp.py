"""LV-MHP-v1 (Li et al., 2017): persons in 19 classes of clothes and parts of the body."""

from __future__ import annotations

import glob
import os

import numpy as np

from core import nd
from core.image.codec import load_picture
from gluoncv.data.base import DATASETS
from gluoncv.data.classes import names
from gluoncv.data.segbase import SegmentationDataset


class MHPV1Segmentation(SegmentationDataset):
    """split: train (the first 3,000 pictures of the list), val (those from 3,001 to 4,000) or test.

    Pictures have a short side of `base_size` first, and the other a multiple of 8. A picture has a mask for each
    person; of overlapping ones the first by name counts.

    >>> gluoncv.data.MHPV1Segmentation.NUM_CLASS
    19
    """

    NUM_CLASS = 19
    CLASSES = names("mhpv1")

    def __init__(
        self, root=f"{DATASETS}/mhp/LV-MHP-v1", split="train", mode=None, transform=None,
        base_size=768, **kwargs,
    ):  # fmt: skip
        super().__init__(root, split, mode, transform, base_size, **kwargs)
        with open(
            os.path.join(self._root, f"{'test' if split == 'test' else 'train'}_list.txt"), encoding="utf-8"
        ) as file:
            listed = file.read().split()
        listed = listed[{"train": slice(3000), "val": slice(3001, 4000)}.get(split, slice(None))]
        self.images = [os.path.join(self._root, "images", name) for name in listed]
        annotations = os.path.join(self._root, "annotations")
        self.masks = [sorted(glob.glob(os.path.join(annotations, f"{os.path.splitext(name)[0]}*"))) for name in listed]

    def _mask(self, index):
        from PIL import Image

        total = None
        for path in self.masks[index]:
            part = np.array(load_picture(path), dtype="uint8")
            total = part if total is None else np.where(total > 0, total, part)
        if total is None:
            raise OSError(f"there is no mask of {self.images[index]}")
        if total.max() >= self.NUM_CLASS:
            raise ValueError(f"a mask of {self.images[index]} has the class {total.max()}, beyond {self.NUM_CLASS - 1}")
        return Image.fromarray(total)

    def _sized(self, img, mask):
        from PIL import Image

        w, h = img.size
        size = (self._other(h, w), self.base_size) if h < w else (self.base_size, self._other(w, h))
        return img.resize(size, Image.BILINEAR), mask.resize(size, Image.NEAREST)

    def _other(self, short, long):
        """The long side: the short one becomes `base_size`."""
        side = int(long * self.base_size / short + 0.5)
        return round(side / 8) * 8 if side % 8 else side

    def _mask_transform(self, mask):
        return nd.array(np.array(mask), dtype="int32")
