"""KITTI (Geiger et al., 2013): streets from a car."""

from __future__ import annotations

import os

import numpy as np

from core.image.codec import load_picture
from gluoncv.data.base import DATASETS
from gluoncv.data.kitti.kitti_utils import generate_depth_map
from gluoncv.data.kitti.mono_dataset import MonoDataset

_ROOT = f"{DATASETS}/kitti"


class KITTIDataset(MonoDataset):
    """What KITTI's parts have in common: the camera, and laser points beside the pictures."""

    # For a principal point in the middle; all pictures are about alike.
    K = np.array([[0.58, 0, 0.5, 0], [0, 1.92, 0.5, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype="float32")
    full_res_shape = (1242, 375)
    side_map = {"2": 2, "3": 3, "l": 2, "r": 3}

    def check_depth(self):
        """Whether there are laser points of the first sample."""
        folder, frame, *_ = self.filenames[0].split()
        return os.path.isfile(self._points(folder, int(frame)))

    def get_color(self, folder, frame_index, side, do_flip):
        """The Pillow picture of a frame, mirrored or not."""
        from PIL import ImageOps

        color = self.loader(self.get_image_path(folder, frame_index, side))
        return ImageOps.mirror(color) if do_flip else color

    def get_image_path(self, folder, frame_index, side):
        """The file of a frame."""
        name = f"{frame_index:010d}{self.img_ext}"
        return os.path.join(self.data_path, folder, f"image_0{self.side_map[side]}/data", name)

    def _points(self, folder, frame):
        return os.path.join(self.data_path, folder, f"velodyne_points/data/{frame:010d}.bin")


class KITTIRAWDataset(KITTIDataset):
    """The raw videos, with depth from laser points."""

    def __init__(self, data_path=f"{_ROOT}/kitti_data", *args, **kwargs):
        super().__init__(data_path, *args, **kwargs)

    def get_depth(self, folder, frame_index, side, do_flip):
        """The depths (375, 1242) of a frame in metres, 0 where unknown."""
        calibration = os.path.join(self.data_path, folder.split("/")[0])
        depth = generate_depth_map(calibration, self._points(folder, frame_index), self.side_map[side])
        depth = _nearest(depth, self.full_res_shape)
        return np.fliplr(depth) if do_flip else depth


class KITTIOdomDataset(KITTIDataset):
    """The videos of odometry."""

    def __init__(self, data_path=f"{_ROOT}/kitti_odom", *args, **kwargs):
        super().__init__(data_path, *args, **kwargs)

    def get_image_path(self, folder, frame_index, side):
        """The file of a frame."""
        parts = f"sequences/{int(folder):02d}", f"image_{self.side_map[side]}", f"{frame_index:06d}{self.img_ext}"
        return os.path.join(self.data_path, *parts)


class KITTIDepthDataset(KITTIDataset):
    """The videos with denser depth (Uhrig et al., 2017)."""

    def get_depth(self, folder, frame_index, side, do_flip):
        """The depths (375, 1242) of a frame in metres, 0 where unknown."""
        from PIL import Image

        camera = f"proj_depth/groundtruth/image_0{self.side_map[side]}"
        img = load_picture(os.path.join(self.data_path, folder, camera, f"{frame_index:010d}.png"))
        depth = np.array(img.resize(self.full_res_shape, Image.NEAREST)).astype("float32") / 256
        return np.fliplr(depth) if do_flip else depth


def _nearest(values, size):
    """An array (H, W) at `size` = (width, height), each from the place nearest to its middle."""
    rows, columns = (
        np.floor((np.arange(new) + 0.5) * old / new).astype(int) for new, old in zip(size[::-1], values.shape)
    )
    return values[rows[:, None], columns]
