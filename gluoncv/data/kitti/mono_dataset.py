"""Samples to learn depth from one camera (Godard et al., 2019)."""

from __future__ import annotations

import random

import numpy as np

from core import nd
from core.image.codec import load_picture
from gluon.data.dataset import Dataset

# The other camera of a pair
OTHER = {"l": "r", "r": "l"}


def pil_loader(path):
    """A Pillow picture in RGB."""
    return load_picture(path).convert("RGB")


class MonoDataset(Dataset):
    """Base: dictionaries of float32 arrays of the frames around each one that `filenames` lists ("folder number side").

    ("color", frame, scale) and ("color_aug", frame, scale): (3, height / 2^scale, width / 2^scale) of 0 to 1; ("K",
    scale) and ("inv_K", scale): the camera's matrix (4, 4) and its inverse; "depth_gt": (1, H, W) in metres, where it
    is known; "stereo_T": (4, 4) to the other camera, if `frame_idxs` has "s". frame_idxs: distances in time, and "s"
    for the other camera.
    is_train: samples are mirrored at random. Subclasses have `K`, relative to width and height, and read files.
    """

    K = np.eye(4, dtype="float32")

    def __init__(self, data_path, filenames, height, width, frame_idxs, num_scales, is_train=False, img_ext=".jpg"):
        super().__init__()
        self.data_path, self.filenames, self.height, self.width = data_path, filenames, height, width
        self.frame_idxs, self.num_scales, self.is_train, self.img_ext = frame_idxs, num_scales, is_train, img_ext
        self.loader = pil_loader
        self.load_depth = self.check_depth()

    def __len__(self):
        return len(self.filenames)

    def __getitem__(self, index):
        do_flip = self.is_train and random.random() > 0.5
        folder, *rest = self.filenames[index].split()
        frame, side = (int(rest[0]), rest[1]) if len(rest) == 2 else (0, None)
        inputs = {}
        for i in self.frame_idxs:
            where = (frame, OTHER[side]) if i == "s" else (frame + i, side)
            inputs["color", i, -1] = self.get_color(folder, *where, do_flip)
        for scale in range(self.num_scales):
            matrix = self.K.copy()
            matrix[0] *= self.width // 2**scale
            matrix[1] *= self.height // 2**scale
            inputs["K", scale], inputs["inv_K", scale] = nd.array(matrix), nd.array(np.linalg.pinv(matrix))
        self.preprocess(inputs, lambda img: img)
        for i in self.frame_idxs:
            del inputs["color", i, -1]
        if self.load_depth:
            depth = self.get_depth(folder, frame, side, do_flip)
            inputs["depth_gt"] = nd.array(np.expand_dims(depth, 0).astype("float32"))
        if "s" in self.frame_idxs:
            to_other = np.eye(4, dtype="float32")
            to_other[0, 3] = (-1 if side == "l" else 1) * (-1 if do_flip else 1) * 0.1
            inputs["stereo_T"] = nd.array(to_other)
        return inputs

    def preprocess(self, inputs, color_aug):
        """Adds all sizes of the pictures ("color", frame, -1), each resized from the one before,
        and what `color_aug` makes of them.
        """
        from PIL import Image

        for kind, frame, _ in [key for key in inputs if key[0] == "color"]:
            for scale in range(self.num_scales):
                size = self.width // 2**scale, self.height // 2**scale
                inputs[kind, frame, scale] = inputs[kind, frame, scale - 1].resize(size, Image.LANCZOS)
            for scale in range(self.num_scales):
                img = nd.array(np.array(inputs[kind, frame, scale]))
                inputs[kind, frame, scale] = nd.image.to_tensor(img)
                inputs[f"{kind}_aug", frame, scale] = nd.image.to_tensor(color_aug(img))

    def get_color(self, folder, frame_index, side, do_flip):
        """The Pillow picture of a frame, mirrored or not."""
        raise NotImplementedError(f"{type(self).__name__} must define get_color")

    def check_depth(self):
        """Whether depths are known."""
        raise NotImplementedError(f"{type(self).__name__} must define check_depth")

    def get_depth(self, folder, frame_index, side, do_flip):
        """The depths (H, W) of a frame in metres, mirrored or not."""
        raise NotImplementedError(f"{type(self).__name__} must define get_depth")
