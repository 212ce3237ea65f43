"""VisDrone (Zhu et al., 2018): pictures from the air with boxes."""

from __future__ import annotations

import os

import numpy as np

from core import image
from core.files.text import reading
from gluoncv.data.base import DATASETS, VisionDataset
from gluoncv.data.classes import names


class VisDroneDetection(VisionDataset):
    """(picture, boxes (M, 5) of left, top, right, bottom, class) of the folders
    `VisDrone2019-DET-<split>` below the root.

    Regions that do not count have the class -1.

    >>> gluoncv.data.VisDroneDetection.CLASSES[:3]
    ('pedestrian', 'person', 'bicycle')
    """

    CLASSES = names("visdrone")

    def __init__(self, root=f"{DATASETS}/visdrone", splits=("train",), transform=None):
        super().__init__(root)
        self._splits, self._transform = splits, transform
        self.num_classes = len(self.CLASSES)
        self.index_map = {name: k for k, name in enumerate(self.CLASSES)}
        folders = [os.path.join(self._root, f"VisDrone2019-DET-{split}") for split in splits]
        self._items = [
            (folder, name[:-4])
            for folder in folders
            for name in sorted(os.listdir(os.path.join(folder, "images")))
            if name.endswith(".jpg")
        ]

    def __str__(self):
        return f"{type(self).__name__}({','.join(map(str, self._splits))})"

    def __len__(self):
        return len(self._items)

    def __getitem__(self, idx):
        folder, name = self._items[idx]
        img = image.imread(os.path.join(folder, "images", f"{name}.jpg"), 1)
        label = self._load_label(os.path.join(folder, "annotations", f"{name}.txt"))
        return (img, label) if self._transform is None else self._transform(img, label)

    @staticmethod
    def _load_label(path):
        with open(path, encoding="utf-8") as file, reading(path, "the annotation"):
            lines = [line.split(",") for line in file if line.strip()]
            rows = np.array([[float(v) for v in line[:6]] for line in lines]).reshape(-1, 6)
        return np.column_stack([rows[:, :2], rows[:, :2] + rows[:, 2:4], rows[:, 5] - 1])
