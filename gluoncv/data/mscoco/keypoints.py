"""COCO: pictures with persons' joints."""

from __future__ import annotations

import copy
import os

import numpy as np

from core import image
from gluoncv.data.mscoco.annotations import ROOT, COCOPictures

__all__ = ["COCOKeyPoints"]


class COCOKeyPoints(COCOPictures):
    """Persons: (picture, {"bbox", "joints_3d" (17, 3, 2) of positions and whether visible}, number of the picture).

    check_centers: only persons whose joints are around the middle of their box. skip_empty: leave pictures without
    persons out; otherwise they come with joints that are not visible, in a box without an area.

    >>> gluoncv.data.COCOKeyPoints.CLASSES
    ('person',)
    """

    CLASSES = ("person",)
    KEYPOINTS = dict(enumerate((
        "nose", "left_eye", "right_eye", "left_ear", "right_ear", "left_shoulder", "right_shoulder", "left_elbow",
        "right_elbow", "left_wrist", "right_wrist", "left_hip", "right_hip", "left_knee", "right_knee", "left_ankle",
        "right_ankle",
    )))  # fmt: skip
    # Joints that a limb joins, numbered from 1
    SKELETON = [
        [16, 14], [14, 12], [17, 15], [15, 13], [12, 13], [6, 12], [7, 13], [6, 7], [6, 8], [7, 9], [8, 10], [9, 11],
        [2, 3], [1, 2], [1, 3], [2, 4], [3, 5], [4, 6], [5, 7],
    ]  # fmt: skip
    num_joints = 17
    joint_pairs = [[k, k + 1] for k in range(1, 17, 2)]

    def __init__(self, root=ROOT, splits=("person_keypoints_val2017",), check_centers=False, skip_empty=True):
        self._check_centers, self._skip_empty = check_centers, skip_empty
        super().__init__(root, splits)

    def __getitem__(self, idx):
        number = int(os.path.splitext(os.path.basename(self._items[idx]))[0])
        return image.imread(self._items[idx], 1), copy.deepcopy(self._labels[idx]), number

    def _add(self, picture, entry, coco):
        before = len(self._items)
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
        if len(self._items) == before and not self._skip_empty:
            nobody = {"bbox": np.array([-1, -1, 0, 0]), "joints_3d": np.zeros((self.num_joints, 3, 2), dtype="float32")}
            self._keep(picture, entry, nobody)

    @staticmethod
    def _centered(box, joints):
        visible = joints[:, 0, 1] > 0
        center = np.array([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2])
        area = (box[2] - box[0]) * (box[3] - box[1])
        distance = np.square(center - joints[visible, :2, 0].mean(0)).sum()
        return (visible.sum() + 47) / 80 <= np.exp(-2 * distance / area)
