"""COCO: pictures with the 21 classes of PASCAL VOC for each pixel, to train on before it."""

from __future__ import annotations

import os

import numpy as np

from core.extras import load
from core.files.text import reading
from core.image.codec import check_pixels
from gluoncv.data.classes import names
from gluoncv.data.mscoco.annotations import ROOT
from gluoncv.data.segbase import SegmentationDataset
from gluoncv.data.transforms.mask import check_outline


class COCOSegmentation(SegmentationDataset):
    """Pictures with more than 1,000 pixels of the classes; of overlapping objects the first counts.

    split: train, or else val. Which pictures these are is found once, and kept in `annotations/<split>_ids.txt`.

    >>> gluoncv.data.COCOSegmentation.NUM_CLASS
    21
    """

    NUM_CLASS = 21
    CLASSES = names("pascal_aug")
    # COCO's number of each class
    CAT_LIST = (0, 5, 2, 16, 9, 44, 6, 3, 17, 62, 21, 67, 18, 19, 4, 1, 64, 20, 63, 7, 72)

    def __init__(self, root=ROOT, split="train", mode=None, transform=None, **kwargs):
        super().__init__(root, split, mode, transform, **kwargs)
        COCO = load("pycocotools.coco", "reading COCO's annotations").COCO
        part, folder = "train" if split == "train" else "val", os.path.join(self._root, "annotations")
        self.root = os.path.join(self._root, f"{part}2017")
        path = os.path.join(folder, f"instances_{part}2017.json")
        with reading(path, "the annotation file"):
            self.coco = COCO(path)
            self.ids = self._kept_ids(os.path.join(folder, f"{part}_ids.txt"))
            self.images = [os.path.join(self.root, entry["file_name"]) for entry in self.coco.loadImgs(self.ids)]

    def _kept_ids(self, path):
        from core.files.atomic import write_bytes

        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return [int(number) for number in file.read().split()]
        kept = [number for number in self.coco.imgs if (self._classes_of(number) > 0).sum() > 1000]
        if os.access(os.path.dirname(path), os.W_OK):
            write_bytes(path, "\n".join(map(str, kept)).encode())
        return kept

    def _mask(self, index):
        from PIL import Image

        return Image.fromarray(self._classes_of(self.ids[index]))

    def _classes_of(self, number):
        entry = self.coco.loadImgs(number)[0]
        check_pixels(f"{self.root}, picture {number}", entry["height"], entry["width"])
        classes = np.zeros((entry["height"], entry["width"]), "uint8")
        for obj in self.coco.loadAnns(self.coco.getAnnIds(imgIds=number)):
            if obj["category_id"] in self.CAT_LIST:
                check_outline(obj["segmentation"], entry["height"], entry["width"])
                inside = self.coco.annToMask(obj).astype(bool)
                classes[inside & (classes == 0)] = self.CAT_LIST.index(obj["category_id"])
        return classes
