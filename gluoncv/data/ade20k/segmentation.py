"""ADE20K (Zhou et al., 2017): scenes of 150 classes."""

from __future__ import annotations

import os

import numpy as np

from core import nd
from gluoncv.data.base import DATASETS
from gluoncv.data.classes import names
from gluoncv.data.segbase import SegmentationDataset, paired


class ADE20KSegmentation(SegmentationDataset):
    """Pixels of none of the classes are -1. split: train, or anything else for the validation set.

    >>> gluoncv.data.ADE20KSegmentation.NUM_CLASS
    150
    """

    NUM_CLASS = 150
    BASE_DIR = "ADEChallengeData2016"
    CLASSES = names("ade20k")

    def __init__(self, root=f"{DATASETS}/ade", split="train", mode=None, transform=None, **kwargs):
        super().__init__(root, split, mode, transform, **kwargs)
        part = "training" if split == "train" else "validation"
        images, masks = (os.path.join(self._root, self.BASE_DIR, kind, part) for kind in ("images", "annotations"))
        pictures = (name for name in sorted(os.listdir(images)) if name.endswith(".jpg"))
        self.images, self.masks = paired(
            (os.path.join(images, name), os.path.join(masks, f"{name[:-4]}.png")) for name in pictures
        )

    @property
    def pred_offset(self):
        """Classes in files are one greater than those of predictions."""
        return 1

    def _mask_transform(self, mask):
        return nd.array(np.array(mask), dtype="int32") - 1
