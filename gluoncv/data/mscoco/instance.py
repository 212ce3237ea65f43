"""COCO: pictures with boxes and polygons."""

from __future__ import annotations

import copy

import numpy as np

from core import image
from gluoncv.data.mscoco.annotations import ROOT, COCOPictures

__all__ = ["COCOInstance"]


class COCOInstance(COCOPictures):
    """(uint8 picture (H, W, 3), float32 boxes (M, 5) of left, top, right, bottom, class, a list of lists of polygons
    (N, 2)).

    Objects are larger than `min_object_area` and no groups; corners are exact, not those of whole pixels. skip_empty:
    pictures without objects are left out, else they have None for boxes and polygons.

    >>> gluoncv.data.COCOInstance.CLASSES[:3]
    ('person', 'bicycle', 'car')
    """

    def __init__(self, root=ROOT, splits=("instances_val2017",), transform=None, min_object_area=1, skip_empty=True):
        self._transform, self._min_object_area, self._skip_empty = transform, min_object_area, skip_empty
        super().__init__(root, splits)

    def __getitem__(self, idx):
        img = image.imread(self._items[idx], 1)
        label, polygons = copy.deepcopy(self._labels[idx])
        return (img, label, polygons) if self._transform is None else self._transform(img, label, polygons)

    def _add(self, picture, entry, coco):
        rows, shapes = [], []
        for obj in coco.loadAnns(coco.getAnnIds(imgIds=entry["id"])):
            left, top, width, height = obj["bbox"]
            right, bottom = left + max(0, width), top + max(0, height)
            left, right = (min(max(x, 0), entry["width"]) for x in (left, right))
            top, bottom = (min(max(y, 0), entry["height"]) for y in (top, bottom))
            counts = not obj.get("ignore", 0) and not obj.get("iscrowd", 0) and obj["area"] > self._min_object_area
            if counts and right > left and bottom > top and (right - left) * (bottom - top) >= 4:
                rows.append([left, top, right, bottom, self.json_id_to_contiguous[obj["category_id"]]])
                polygons = (np.asarray(p, "float32").reshape(-1, 2) for p in obj["segmentation"] if len(p) >= 6)
                shapes.append(list(polygons))
        if rows:
            self._keep(picture, entry, (np.array(rows, "float32"), shapes))
        elif not self._skip_empty:
            self._keep(picture, entry, (None, None))
