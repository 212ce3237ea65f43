"""How inputs are made for networks that read more than a picture: persons in it, videos, pictures for depth."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import numpy as np

from core import nd
from core.base import MXNetError
from core.image import imread, imresize
from gluoncv.data.transforms.pose import alpha_pose_image_cropper, crop_resize_normalize, upscale_bbox_fn
from gluoncv.data.transforms.video import VideoGroupValTransform
from gluoncv.data.video_custom.classification import VideoClsCustom
from gluoncv.data.video_custom.reader import VideoReader

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Persons:
    """Crops of persons: boxes are grown and brought to `height` and `width`, as AlphaPose does it if `alpha`.

    >>> Persons()(np.zeros((300, 400, 3), "uint8"), [(10, 20, 110, 220), (200, 0, 300, 200)]).shape
    (2, 3, 256, 192)
    """

    height: int = 256
    width: int = 192
    alpha: bool = False

    def __call__(self, picture, boxes=None):
        """(boxes, 3, height, width) of a file, or of a picture (height, width, 3) of bytes.

        boxes: the left, top, right and bottom of each person, as a detector finds them; None: the picture is a person.
        """
        pixels = _pixels(picture)
        if boxes is None:
            boxes = [(0, 0, pixels.shape[1], pixels.shape[0])]
        boxes = np.asarray(boxes.asnumpy() if isinstance(boxes, nd.NDArray) else boxes, "float32")
        if boxes.ndim != 2 or boxes.shape[1] != 4 or not len(boxes):
            raise MXNetError(f"boxes of persons have the shape (persons, 4), got {boxes.shape}")
        if self.alpha:
            return alpha_pose_image_cropper(pixels, nd.array(boxes), None, (self.height, self.width))[0]
        grown = [upscale_bbox_fn(box.tolist(), pixels) for box in boxes]
        return crop_resize_normalize(pixels, grown, (self.height, self.width))

    def __str__(self):
        how = "as AlphaPose" if self.alpha else "grown by a quarter"
        return f"persons by their boxes, {how}, {self.width} x {self.height}"


@dataclass(frozen=True)
class Frames:
    """Frames of a video: of each of `segments` equal parts `length` frames in the middle, `step` apart, brought to
    `width` x `height`, of which the middle `size` is cut out and normalised.

    fast, slow: of the frames every `fast`-th, and behind them every `slow`-th again, for SlowFast; 0: all of them.

    >>> Frames(length=4, step=2)([np.zeros((48, 64, 3), "uint8")] * 20).shape
    (1, 3, 4, 224, 224)
    """

    length: int = 1
    step: int = 1
    width: int = 340
    height: int = 256
    size: int = 224
    fast: int = 0
    slow: int = 0
    segments: int = 1

    def __call__(self, video):
        """(segments, 3, frames, size, size), without the axis of frames where there is one.

        video: a file, which PyAV reads, or frames: files or pictures (height, width, 3) of bytes.
        """
        clips = self._clips()
        if isinstance(video, (str, os.PathLike)):
            with VideoReader(os.fspath(video)) as reader:
                return clips.input_of(reader.get_batch([n - 1 for n in clips.numbers_of(len(reader))]))
        if not len(video):
            raise MXNetError("a video without frames")
        return clips.input_of([_pixels(video[n - 1]) for n in clips.numbers_of(len(video))])

    def _clips(self):
        slowfast = {"slowfast": True, "fast_temporal_stride": self.fast, "slow_temporal_stride": self.slow}
        return VideoClsCustom(
            root="", setting="", train=False, test_mode=True, num_segments=self.segments, new_length=self.length,
            new_step=self.step, new_width=self.width, new_height=self.height, target_width=self.size,
            target_height=self.size, transform=VideoGroupValTransform(self.size, MEAN, DEVIATION), lazy_init=True,
            **(slowfast if self.fast else {}),
        )  # fmt: skip

    def __str__(self):
        frames = f"{self.length} frames, {self.step} apart" if self.length > 1 else "a frame"
        if self.fast:
            frames = f"every {self.fast}nd and every {self.slow}th of {self.length} frames"
        parts = f" of each of {self.segments} parts" if self.segments > 1 else ""
        return f"{frames}{parts}, {self.width} x {self.height}, middle {self.size}"


@dataclass(frozen=True)
class Resized:
    """Pictures of one size with values of 0 to 1; `count` of them, one behind the other in the channels.

    >>> Resized(64, 32, 2)(*[np.zeros((30, 40, 3), "uint8")] * 2).shape
    (1, 6, 32, 64)
    """

    width: int
    height: int
    count: int = 1

    def __call__(self, *pictures):
        """(1, 3 * count, height, width) of files or of pictures (height, width, 3) of bytes."""
        if len(pictures) != self.count:
            raise MXNetError(f"an input is made of {self.count} pictures, got {len(pictures)}")
        sized = (imresize(nd.array(_pixels(p), dtype="uint8"), self.width, self.height) for p in pictures)
        return nd.concat(*[nd.image.to_tensor(x) for x in sized], dim=0).expand_dims(0)

    def __str__(self):
        return f"{self.width} x {self.height}, RGB / 255" + f", {self.count} one behind the other" * (self.count > 1)


# What names of networks for videos look like -> how their frames are chosen, by the programs that trained them
SMALL = {"width": 171, "height": 128, "size": 112}
LARGE = {"width": 450, "height": 340, "size": 299}
VIDEOS = (
    (r"c3d|r2plus1d", {"length": 16, "step": 2, **SMALL}),
    (r"p3d", {"length": 16, "step": 2}),
    (r"i3d_inceptionv3", {"length": 32, "step": 2, **LARGE}),
    (r"i3d_slow_.*f16s4", {"length": 16, "step": 4}),
    (r"i3d_.*sthsthv2", {"length": 16, "step": 2}),
    (r"i3d", {"length": 32, "step": 2}),
    (r"slowfast_4x16", {"length": 64, "fast": 2, "slow": 16}),
    (r"slowfast_8x8", {"length": 64, "fast": 2, "slow": 8}),
    (r"slowfast_16x8", {"length": 128, "fast": 2, "slow": 8}),
    (r"inceptionv3", LARGE),
    (r"", {}),
)


def preparation_of(name: str, task: str) -> Persons | Frames | Resized | None:
    """How GluonCV makes inputs of a network for poses, actions or depth; None for other tasks."""
    if task == "pose":
        return Persons(alpha=name.startswith("alpha"))
    if task == "action":
        return Frames(**next(settings for pattern, settings in VIDEOS if re.match(pattern, name)))
    if task == "depth":
        width, height = map(int, re.search(r"_(\d+)x(\d+)$", name).groups())
        return Resized(width, height, 2 if "posenet" in name else 1)
    return None


def _pixels(picture) -> np.ndarray:
    """A picture (height, width, 3) of bytes."""
    if isinstance(picture, (str, os.PathLike)):
        picture = imread(os.fspath(picture))
    pixels = picture.asnumpy() if isinstance(picture, nd.NDArray) else np.asarray(picture)
    if pixels.ndim != 3 or pixels.shape[2] != 3:
        raise MXNetError(f"a picture has the shape (height, width, 3), got {pixels.shape}")
    return pixels
