"""COCO: pictures with boxes."""

from __future__ import annotations

import numpy as np

from core import image
from gluoncv.data.dali import COCODetectionDALI
from gluoncv.data.mscoco.annotations import ROOT, COCOPictures

__all__ = ["COCODetection", "COCODetectionDALI"]


class COCODetection(COCOPictures):
    """Pictures with boxes: (uint8 (H, W, 3), float (M, 5) of left, top, right, bottom, class).

    min_object_area: smaller objects are left out. skip_empty: pictures without objects are left out, else they have one
    box of -1.
    use_crowd: groups count as objects.

    >>> gluoncv.data.COCODetection.CLASSES[:3]
    ('person', 'bicycle', 'car')
    """

    def __init__(
        self,
        root=ROOT,
        splits=("instances_val2017",),
        transform=None,
        min_object_area=0,
        skip_empty=True,
        use_crowd=True,
    ):
        self._transform, self._skip_empty = transform, skip_empty
        self._min_object_area, self._use_crowd = min_object_area, use_crowd
        super().__init__(root, splits)

    def __getitem__(self, idx):
        img, label = image.imread(self._items[idx], 1), np.array(self._labels[idx])
        return (img, label) if self._transform is None else self._transform(img, label)

    def _objects(self, entry, coco):
        """(annotation, [left, top, right, bottom, class]) of the objects that count."""
        for obj in coco.loadAnns(coco.getAnnIds(imgIds=[entry["id"]], iscrowd=None)):
            small = obj["area"] < self._min_object_area
            if small or obj.get("ignore", 0) == 1 or (obj.get("iscrowd", 0) and not self._use_crowd):
                continue
            box = self._box(obj, entry)
            if box is not None:
                yield obj, [*box, self.json_id_to_contiguous[obj["category_id"]]]

    def _add(self, picture, entry, coco):
        rows = [row for _, row in self._objects(entry, coco)]
        if rows or not self._skip_empty:
            self._keep(picture, entry, rows or [[-1] * 5])
