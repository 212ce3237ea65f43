"""PASCAL VOC (Everingham et al., 2010): folders VOC2007, VOC2012, ... with pictures and XML annotations."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET

import numpy as np

from core import image
from gluoncv.data.base import DATASETS, VisionDataset
from gluoncv.data.classes import VOC

_ROOT = f"{DATASETS}/voc"


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
        return [
            (folder, line)
            for year, name in splits
            for folder in [os.path.join(self._root, f"VOC{year}")]
            for line in _listed(folder, name)
        ]

    def _objects(self, root):
        """The objects of an annotation that count."""
        return root.iter("object")

    def _load_label(self, idx):
        path = self._anno_path.format(*self._items[idx])
        root = ET.parse(path).getroot()
        size = root.find("size")
        width, height = float(size.find("width").text), float(size.find("height").text)
        rows = []
        for entry in self._objects(root):
            name = _name(entry)
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


class CustomVOCDetectionBase(VOCDetection):
    """`VOCDetection` of any classes in any folders: splits are (folder below the root or "", name of the list) pairs.

    classes: by default those of PASCAL VOC. Pictures with a box that makes no sense are left out, and objects of other classes.
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
        self._items = [item for k, item in enumerate(self._items) if self._makes_sense(k)]
        self._label_cache = [self._load_label(k) for k in range(len(self))] if preload_label else None

    @property
    def classes(self):
        """The names of the classes, in the order of their numbers."""
        return self._classes

    def _load_items(self, splits):
        items = []
        for subfolder, name in splits:
            folder = os.path.join(self._root, str(subfolder)) if subfolder else self._root
            items += [(folder, line) for line in _listed(folder, name)]
        return items

    def _objects(self, root):
        return (entry for entry in super()._objects(root) if _name(entry) in self.index_map)

    def _makes_sense(self, idx):
        try:
            self._load_label(idx)
        except ValueError:
            return False
        return True


class CustomVOCDetection(CustomVOCDetectionBase):
    """`CustomVOCDetectionBase`; with `generate_classes` the classes are those that the annotations have, in alphabetical order."""

    def __init__(self, generate_classes=False, **kwargs):
        if generate_classes:
            root = os.path.expanduser(kwargs.get("root", _ROOT))
            found = set()
            for subfolder, name in kwargs.get("splits", ((2007, "trainval"), (2012, "trainval"))):
                folder = os.path.join(root, str(subfolder)) if subfolder else root
                for item in _listed(folder, name):
                    tree = ET.parse(os.path.join(folder, "Annotations", f"{item}.xml"))
                    found.update(map(_name, tree.getroot().iter("object")))
            kwargs["classes"] = tuple(sorted(found))
        super().__init__(**kwargs)


def _listed(folder, name):
    """The names in a list; those of one class have a second column."""
    with open(os.path.join(folder, "ImageSets", "Main", f"{name}.txt"), encoding="utf-8") as file:
        return [line.split()[0] for line in file if line.strip()]


def _name(entry):
    return entry.find("name").text.strip().lower()
