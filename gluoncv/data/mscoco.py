"""COCO (Lin et al., 2014): JSON annotations of boxes, masks and keypoints, read by pycocotools."""

from __future__ import annotations

import copy
import os

import numpy as np

from core import image
from gluon.store import home
from gluoncv.data.base import VisionDataset
from gluoncv.data.classes import COCO

_ROOT = os.path.join(home(), "datasets", "coco")


class _COCO(VisionDataset):
    """The pictures of annotation files `root/annotations/<split>.json` that have something of interest."""

    CLASSES = COCO

    def __init__(self, root, splits):
        super().__init__(root)
        from pycocotools.coco import COCO as Annotations

        self._splits = [splits] if isinstance(splits, str) else list(splits)
        self._coco, self._items, self._labels, self._im_aspect_ratios = [], [], [], []
        self.index_map = {name: k for k, name in enumerate(self.classes)}
        for split in self._splits:
            path = os.path.join(self._root, self.annotation_dir, f"{split}.json")
            if not os.path.isfile(path):
                raise OSError(f"{type(self).__name__}: there is no file {path}")
            coco = Annotations(path)
            names = tuple(c["name"] for c in coco.loadCats(coco.getCatIds()))
            if names != self.classes:
                raise ValueError(f"{path}: the classes are not those of {type(self).__name__}, but {', '.join(names)}")
            self.json_id_to_contiguous = {number: k for k, number in enumerate(coco.getCatIds())}
            self.contiguous_id_to_json = {k: number for number, k in self.json_id_to_contiguous.items()}
            self._coco.append(coco)
            for entry in coco.loadImgs(sorted(coco.getImgIds())):
                picture = self._parse_image_path(entry)
                if not os.path.exists(picture):
                    raise OSError(f"{path} names the picture {picture}, which is not there")
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


class COCODetection(_COCO):
    """Pictures with boxes: (uint8 (H, W, 3), float (M, 5) of left, top, right, bottom, class).

    min_object_area: smaller objects are left out. skip_empty: pictures without objects are left out, else they have one box of -1.
    use_crowd: groups count as objects.
    """

    def __init__(
        self,
        root=_ROOT,
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


class COCOInstance(COCODetection):
    """Pictures with boxes and polygons: (picture, boxes (M, 5), a list of lists of polygons)."""

    def __getitem__(self, idx):
        img = image.imread(self._items[idx], 1)
        label, polygons = copy.deepcopy(self._labels[idx])
        label = np.array(label)
        return (img, label, polygons) if self._transform is None else self._transform(img, label, polygons)

    def _add(self, picture, entry, coco):
        rows, shapes = [], []
        for obj, row in self._objects(entry, coco):
            if isinstance(obj["segmentation"], list):  # groups are bit masks, not polygons
                polygons = [np.asarray(p).reshape(-1, 2).astype("float32") for p in obj["segmentation"] if len(p) >= 6]
                if polygons:
                    rows.append(row)
                    shapes.append(polygons)
        if rows or not self._skip_empty:
            self._keep(picture, entry, (rows or [[-1] * 5], shapes))


class COCOKeyPoints(_COCO):
    """Persons: (picture, {"bbox", "joints_3d" (17, 3, 2) of positions and whether visible}, number of the picture).

    check_centers: only persons whose joints are around the middle of their box.
    """

    CLASSES = ("person",)
    num_joints = 17
    joint_pairs = [[k, k + 1] for k in range(1, 17, 2)]

    def __init__(self, root=_ROOT, splits=("person_keypoints_val2017",), check_centers=False, skip_empty=True):
        self._check_centers = check_centers
        super().__init__(root, splits)

    def __getitem__(self, idx):
        number = int(os.path.splitext(os.path.basename(self._items[idx]))[0])
        return image.imread(self._items[idx], 1), copy.deepcopy(self._labels[idx]), number

    def _add(self, picture, entry, coco):
        for obj in coco.loadAnns(coco.getAnnIds(imgIds=[entry["id"]], iscrowd=False)):
            box = self._box(obj, entry)
            points = np.array(obj["keypoints"], dtype="float32").reshape(-1, 3)
            if box is None or not points.any() or not (points[:, 2] > 0).any():
                continue
            joints = np.zeros((self.num_joints, 3, 2), dtype="float32")
            joints[:, :2, 0] = points[:, :2]
            joints[:, :2, 1] = np.minimum(points[:, 2:], 1)
            if not self._check_centers or self._centered(box, joints):
                self._keep(picture, entry, {"bbox": box, "joints_3d": joints})

    @staticmethod
    def _centered(box, joints):
        visible = joints[:, 0, 1] > 0
        center = np.array([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2])
        area = (box[2] - box[0]) * (box[3] - box[1])
        distance = np.square(center - joints[visible, :2, 0].mean(0)).sum()
        return (visible.sum() + 47) / 80 <= np.exp(-2 * distance / area)
