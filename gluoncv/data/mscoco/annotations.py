"""COCO (Lin et al., 2014): JSON annotations of boxes, masks and keypoints, read by pycocotools."""

from __future__ import annotations

import os

from core.extras import load
from core.files.reader import DamagedFile
from core.files.text import reading
from gluoncv.data.base import DATASETS, VisionDataset, missing
from gluoncv.data.classes import COCO

ROOT = f"{DATASETS}/coco"


class COCOPictures(VisionDataset):
    """The pictures of annotation files `root/annotations/<split>.json` that have something of interest."""

    CLASSES = COCO

    def __init__(self, root, splits):
        super().__init__(root)
        Annotations = load("pycocotools.coco", "reading COCO's annotations").COCO
        self._splits = [splits] if isinstance(splits, str) else list(splits)
        self._coco, self._items, self._labels, self._im_aspect_ratios = [], [], [], []
        self.index_map = {name: k for k, name in enumerate(self.classes)}
        for split in self._splits:
            path = os.path.join(self._root, self.annotation_dir, f"{split}.json")
            if not os.path.isfile(path):
                raise missing(f"{type(self).__name__}: there is no file {path}", path)
            with reading(path, "the annotation file"):
                self._read(path, Annotations(path))

    def _read(self, path, coco):
        names = tuple(c["name"] for c in coco.loadCats(coco.getCatIds()))
        if names != tuple(self.classes):
            names = ", ".join(map(str, names))
            raise DamagedFile(f"{path}: the classes are not those of {type(self).__name__}, but {names}")
        self.json_id_to_contiguous = {number: k for k, number in enumerate(coco.getCatIds())}
        self.contiguous_id_to_json = {k: number for number, k in self.json_id_to_contiguous.items()}
        self._coco.append(coco)
        for entry in coco.loadImgs(sorted(coco.getImgIds())):
            picture = self._parse_image_path(entry)
            if not os.path.exists(picture):
                raise missing(f"{path} names the picture {picture}, which is not there", picture)
            self._add(picture, entry, coco)

    @property
    def annotation_dir(self):
        """The folder of the annotations below the root."""
        return "annotations"

    @property
    def coco(self):
        """pycocotools' object of the annotations, for evaluation; only of a single split."""
        if len(self._coco) != 1:
            raise NotImplementedError(f"evaluation takes one annotation file, the data set has {len(self._coco)}")
        return self._coco[0]

    def get_im_aspect_ratio(self):
        """Width over height of each picture."""
        return self._im_aspect_ratios

    def __str__(self):
        return f"{type(self).__name__}({','.join(self._splits)})"

    def __len__(self):
        return len(self._items)

    def _parse_image_path(self, entry):
        """The file of a picture, by its entry in the JSON."""
        return os.path.join(self._root, *entry["coco_url"].split("/")[-2:])

    def _box(self, obj, entry):
        """The corners of an object within the picture; None for an empty box."""
        left, top, width, height = obj["bbox"]
        right, bottom = left + max(width - 1, 0), top + max(height - 1, 0)
        left, right = (min(max(x, 0), entry["width"] - 1) for x in (left, right))
        top, bottom = (min(max(y, 0), entry["height"] - 1) for y in (top, bottom))
        return (left, top, right, bottom) if obj["area"] > 0 and right > left and bottom > top else None

    def _keep(self, picture, entry, label):
        self._items.append(picture)
        self._labels.append(label)
        self._im_aspect_ratios.append(entry["width"] / entry["height"])
