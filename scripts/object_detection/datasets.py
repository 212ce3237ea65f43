"""Pictures with boxes for training detectors: rendered ones, PASCAL VOC folders, COCO files.

A data set gives (picture, boxes): uint8 (H, W, 3) in RGB, and float32 (M, 6) of left, top, right, bottom in pixels, class,
and whether the box is difficult.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from core import image
from gluoncv.data.classes import COCO, VOC

SHAPES = ("disk", "square", "triangle")


class Rendered:
    """`count` pictures of `size` pixels with one to three coloured disks, squares and triangles on noise."""

    classes = SHAPES

    def __init__(self, count: int, size: int, seed: int = 0):
        random = np.random.RandomState(seed)
        self._items = [_render(random, size) for _ in range(count)]

    def __len__(self):
        return len(self._items)

    def __getitem__(self, index):
        return self._items[index]


def _render(random, size):
    picture = random.randint(90, 130, (size, size, 3)).astype("uint8")
    y, x = np.mgrid[:size, :size]
    boxes, taken = [], np.zeros((size, size), bool)
    for _ in range(random.randint(1, 4)):
        label, side = random.randint(len(SHAPES)), random.randint(size // 5, size // 2)
        left, top = random.randint(0, size - side, 2)
        region = (slice(top, top + side), slice(left, left + side))
        if taken[region].any():
            continue
        taken[region] = True
        u, v = (x - left) / (side - 1) * 2 - 1, (y - top) / (side - 1) * 2 - 1
        inside = (abs(u) <= 1) & (abs(v) <= 1)
        if label == 0:
            inside = u * u + v * v <= 1
        elif label == 2:
            inside &= abs(u) <= (v + 1) / 2
        picture[inside] = random.choice([0, 255], 3) * 0.6 + random.randint(0, 100, 3)
        boxes.append([left, top, left + side - 1, top + side - 1, label, 0])
    return picture, np.array(boxes, "float32")


class VOCFolder:
    """A folder of PASCAL VOC (VOC2007, VOC2012): the pictures that ImageSets/Main/`split`.txt names."""

    classes = VOC

    def __init__(self, root: Path, splits: list[tuple[str, str]]):
        self._items = []
        for year, split in splits:
            folder = Path(root) / f"VOC{year}"
            names = (folder / "ImageSets" / "Main" / f"{split}.txt").read_text().split()
            self._items += [
                (folder / "JPEGImages" / f"{name}.jpg", folder / "Annotations" / f"{name}.xml") for name in names
            ]

    def __len__(self):
        return len(self._items)

    def __getitem__(self, index):
        picture, annotation = self._items[index]
        rows = []
        for entry in ET.parse(annotation).getroot().iter("object"):
            corners = [float(entry.find("bndbox").find(tag).text) - 1 for tag in ("xmin", "ymin", "xmax", "ymax")]
            difficult = entry.findtext("difficult", "0")
            rows.append([*corners, self.classes.index(entry.find("name").text.strip().lower()), float(difficult)])
        return image.imread(str(picture)).asnumpy(), np.array(rows, "float32").reshape(-1, 6)


class COCOFile:
    """The pictures of a COCO annotation file that have boxes of objects that are not crowds, by rising number."""

    classes = COCO

    def __init__(self, annotations: Path, pictures: Path):
        from pycocotools.coco import COCO as Annotations

        self.coco = Annotations(str(annotations))
        self._pictures = Path(pictures)
        numbers = {entry["name"]: entry["id"] for entry in self.coco.loadCats(self.coco.getCatIds())}
        self.contiguous_id_to_json = {i: numbers[name] for i, name in enumerate(self.classes) if name in numbers}
        self._labels = {number: i for i, number in self.contiguous_id_to_json.items()}
        self._items = [number for number in sorted(self.coco.getImgIds()) if len(self._boxes(number))]

    def _boxes(self, number):
        rows = []
        for entry in self.coco.loadAnns(self.coco.getAnnIds(imgIds=number, iscrowd=0)):
            left, top, width, height = entry["bbox"]
            if width > 1 and height > 1 and entry["category_id"] in self._labels:
                rows.append([left, top, left + width - 1, top + height - 1, self._labels[entry["category_id"]], 0])
        return np.array(rows, "float32").reshape(-1, 6)

    def __len__(self):
        return len(self._items)

    def __getitem__(self, index):
        number = self._items[index]
        entry = self.coco.loadImgs(number)[0]
        return image.imread(str(self._pictures / entry["file_name"])).asnumpy(), self._boxes(number)
