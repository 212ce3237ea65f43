"""PASCAL VOC (Everingham et al., 2010): folders VOC2007, VOC2012, ... with pictures and XML annotations."""

from __future__ import annotations

import os
import warnings
import xml.etree.ElementTree as ET

import numpy as np

from core import image
from core.files.text import reading
from gluoncv.data.base import DATASETS, VisionDataset
from gluoncv.data.classes import VOC

_ROOT = f"{DATASETS}/voc"


class VOCDetection(VisionDataset):
    """Pictures with boxes: (uint8 (H, W, 3), float (M, 6) of left, top, right, bottom, class, difficult).

    splits: (year, split) pairs, or (folder below the root, split). index_map: numbers of classes by name, by default in
    the order of `CLASSES`. preload_label: read all annotations now. Objects of other classes are left out, and those
    whose box makes no sense, with a warning.

    >>> gluoncv.data.VOCDetection.CLASSES[:3]
    ('aeroplane', 'bicycle', 'bird')
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
        self._anno_path, self._image_path = (
            os.path.join("{}", "Annotations", "{}.xml"),
            os.path.join("{}", "JPEGImages", "{}.jpg"),
        )
        self._items = self._load_items(splits)
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
        return [
            (folder, name)
            for part, split in splits
            for folder in [os.path.join(self._root, self._folder(part))]
            for name in _listed(folder, split)
        ]

    def _folder(self, part):
        """The folder below the root that the first half of a split means."""
        return f"VOC{part}" if isinstance(part, int) else part

    def _load_label(self, idx):
        path = self._anno_path.format(*self._items[idx])
        rows = []
        for row, makes_sense in self._objects(path):
            if makes_sense:
                rows.append(row)
            else:
                warnings.warn(f"{path}: the box {tuple(row[:4])} is not in the picture, and left out", stacklevel=2)
        return np.array(rows, dtype=float).reshape(-1, 6)

    def _objects(self, path):
        """(row of the label, whether its box makes sense) of the objects of known classes; MXNetError for damage."""
        with reading(path, "the annotation"):
            return list(self._parsed(path))

    def _parsed(self, path):
        root = ET.parse(path).getroot()
        size = root.find("size")
        width, height = float(size.find("width").text), float(size.find("height").text)
        for entry in root.iter("object"):
            if (name := _name(entry)) in self.index_map:
                left, top, right, bottom = (
                    float(entry.find("bndbox").find(tag).text) - 1 for tag in ("xmin", "ymin", "xmax", "ymax")
                )
                row = [left, top, right, bottom, self.index_map[name], float(entry.findtext("difficult", "0"))]
                yield row, 0 <= left < right <= width and 0 <= top < bottom <= height


class CustomVOCDetectionBase(VOCDetection):
    """`VOCDetection` of any classes in any folders: splits are (folder below the root or "", name of the list) pairs.

    classes: by default those of PASCAL VOC. Pictures with a box that makes no sense are left out.

    >>> gluoncv.data.CustomVOCDetectionBase.CLASSES[:3]
    ('aeroplane', 'bicycle', 'bird')
    """

    def __init__(
        self,
        classes=None,
        root=_ROOT,
        splits=((2007, "trainval"), (2012, "trainval")),
        transform=None,
        index_map=None,
        preload_label=True,
    ):
        self._classes = tuple(classes or self.CLASSES)
        super().__init__(root, splits, transform, index_map, preload_label=False)
        self._items = [
            item for item in self._items if all(fine for _, fine in self._objects(self._anno_path.format(*item)))
        ]
        self._label_cache = [self._load_label(k) for k in range(len(self))] if preload_label else None

    @property
    def classes(self):
        """The names of the classes, in the order of their numbers."""
        return self._classes

    def _folder(self, part):
        return str(part) if part else ""


class CustomVOCDetection(VOCDetection):
    """`VOCDetection`; with `generate_classes` of the classes that the annotations have, in alphabetical order.

    >>> gluoncv.data.CustomVOCDetection.CLASSES[:3]
    ('aeroplane', 'bicycle', 'bird')
    """

    def __init__(self, generate_classes=False, **kwargs):
        self._generate_classes = generate_classes
        super().__init__(**kwargs)

    @property
    def classes(self):
        """The names of the classes, in the order of their numbers."""
        return self._found if self._generate_classes else super().classes

    def _load_items(self, splits):
        items = super()._load_items(splits)
        found = set()
        for path in (self._anno_path.format(*item) for item in items if self._generate_classes):
            with reading(path, "the annotation"):
                found |= {_name(entry) for entry in ET.parse(path).getroot().iter("object")}
        self._found = tuple(sorted(found))
        return items


def _listed(folder, name):
    """The names in a list; those of one class have a second column."""
    path = os.path.join(folder, "ImageSets", "Main", f"{name}.txt")
    with open(path, encoding="utf-8") as file, reading(path):
        return [line.split()[0] for line in file if line.strip()]


def _name(entry):
    return entry.find("name").text.strip().lower()
