"""PASCAL VOC with the masks of more pictures (Hariharan et al., 2011), in files of MATLAB."""

from __future__ import annotations

import os

from core.extras import load
from gluoncv.data.base import DATASETS
from gluoncv.data.classes import names
from gluoncv.data.segbase import SegmentationDataset


class VOCAugSegmentation(SegmentationDataset):
    """split: train or val; RuntimeError for others.

    >>> gluoncv.data.VOCAugSegmentation.NUM_CLASS
    21
    """

    NUM_CLASS = 21
    TRAIN_BASE_DIR = "VOCaug/dataset/"
    CLASSES = names("pascal_aug")

    def __init__(self, root=f"{DATASETS}/voc", split="train", mode=None, transform=None, **kwargs):
        super().__init__(root, split, mode, transform, **kwargs)
        folder = os.path.join(self._root, self.TRAIN_BASE_DIR)
        if split not in ("train", "val"):
            raise RuntimeError(f"split is train or val, given {split!r}")
        path = os.path.join(folder, "trainval.txt" if split == "train" else "val.txt")
        with open(path, encoding="utf-8") as file:
            listed = file.read().split()
        self.images = [os.path.join(folder, "img", f"{name}.jpg") for name in listed]
        self.masks = [os.path.join(folder, "cls", f"{name}.mat") for name in listed]

    def _mask(self, index):
        from PIL import Image

        found = load("scipy.io", "reading MATLAB's masks").loadmat(
            self.masks[index], mat_dtype=True, squeeze_me=True, struct_as_record=False
        )
        return Image.fromarray(found["GTcls"].Segmentation)
