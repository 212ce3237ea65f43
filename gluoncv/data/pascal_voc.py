"""PASCAL VOC (Everingham et al., 2010): folders VOC2007, VOC2012, ... with pictures, XML annotations and masks."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET

import numpy as np

from core import image
from gluon.store import home
from gluoncv.data.base import VisionDataset
from gluoncv.data.classes import VOC
from gluoncv.data.segmentation import SegmentationDataset

_ROOT = os.path.join(home(), "datasets", "voc")


class VOCDetection(VisionDataset):
    """Pictures with boxes: (uint8 (H, W, 3), float (M, 6) of left, top, right, bottom, class, difficult).

    splits: (year, split) pairs. index_map: numbers of classes by name, by default in the order of `CLASSES`. preload_label: read
    all annotations now. ValueError for annotations whose classes or boxes make no sense, with the file's name.
    """

    CLASSES = VOC

    def __init__(
        self,
        root=_ROOT,
        splits=((2007, "trainval"), (2012, "trainval")),
        transform=None,
        index_map=None,
        preload_label=True,
    ):
        super().__init__(root)
        self._splits, self._transform = splits, transform
        self._items = self._load_items(splits)
        self._anno_path, self._image_path = (
            os.path.join("{}", "Annotations", "{}.xml"),
            os.path.join("{}", "JPEGImages", "{}.jpg"),
        )
        self.index_map = index_map or {name: k for k, name in enumerate(self.classes)}
        self._label_cache = [self._load_label(k) for k in range(len(self))] if preload_label else None

    def __str__(self):
        return f"{type(self).__name__}({','.join(map(str, self._splits))})"

    def __len__(self):
        return len(self._items)

    def __getitem__(self, idx):
        label = self._load_label(idx) if self._label_cache is None else self._label_cache[idx]
        img = image.imread(self._image_path.format(*self._items[idx]))
        return (img, label.copy()) if self._transform is None else self._transform(img, label)

    def _load_items(self, splits):
        items = []
        for year, name in splits:
            folder = os.path.join(self._root, f"VOC{year}")
            with open(os.path.join(folder, "ImageSets", "Main", f"{name}.txt"), encoding="utf-8") as file:
                # Lists of one class have a second column.
                items += [(folder, line.split()[0]) for line in file if line.strip()]
        return items

    def _load_label(self, idx):
        path = self._anno_path.format(*self._items[idx])
        root = ET.parse(path).getroot()
        size = root.find("size")
        width, height = float(size.find("width").text), float(size.find("height").text)
        rows = []
        for entry in root.iter("object"):
            name = entry.find("name").text.strip().lower()
            if name not in self.index_map:
                raise ValueError(f"{path}: {name!r} is none of the classes {', '.join(self.index_map)}")
            left, top, right, bottom = (
                float(entry.find("bndbox").find(tag).text) - 1 for tag in ("xmin", "ymin", "xmax", "ymax")
            )
            if not (0 <= left < right <= width and 0 <= top < bottom <= height):
                raise ValueError(
                    f"{path}: the box {(left, top, right, bottom)} is not in a picture of {width} x {height}"
                )
            rows.append([left, top, right, bottom, self.index_map[name], float(entry.findtext("difficult", "0"))])
        return np.array(rows).reshape(-1, 6)


class VOCSegmentation(SegmentationDataset):
    """Pictures with a class for each pixel; the border of objects is -1. split: train, val or test (without masks)."""

    NUM_CLASS = 21
    BASE_DIR = "VOC2012"
    CLASSES = ("background", *VOC)

    def __init__(self, root=_ROOT, split="train", mode=None, transform=None, **kwargs):
        super().__init__(root, split, mode, transform, **kwargs)
        folder = os.path.join(self._root, self.BASE_DIR)
        if split not in ("train", "val", "test"):
            raise ValueError(f"split is train, val or test, given {split!r}")
        with open(os.path.join(folder, "ImageSets", "Segmentation", f"{split}.txt"), encoding="utf-8") as file:
            names = file.read().split()
        self.images = [os.path.join(folder, "JPEGImages", f"{name}.jpg") for name in names]
        self.masks = (
            [os.path.join(folder, "SegmentationClass", f"{name}.png") for name in names] if split != "test" else None
        )
