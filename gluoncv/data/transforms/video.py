"""Steps for videos: lists of NumPy frames (H, W, C), all treated alike. Sizes are (height, width)."""

from __future__ import annotations

import math
import random

import numpy as np

from core import resample
from gluon.block import Block

__all__ = [
    "RandomResizedCrop", "ShortSideRescale", "VideoCenterCrop", "VideoGroupTrainTransform",
    "VideoGroupTrainTransformV2", "VideoGroupTrainTransformV3", "VideoGroupTrainTransformV4", "VideoGroupValTransform",
    "VideoGroupValTransformV2", "VideoMultiScaleCrop", "VideoNormalize", "VideoRandomHorizontalFlip", "VideoTenCrop",
    "VideoThreeCrop", "VideoToTensor",
]  # fmt: skip

SCALE, RATIO = (0.08, 1.0), (3.0 / 4.0, 4.0 / 3.0)


# ---------------------------------------------------------------------------------------------- whole recipes


class VideoGroupTrainTransform(Block):
    """Temporal segment networks: `VideoMultiScaleCrop`, mirroring with `prob`, and normalised frames (C, H, W)."""

    def __init__(
        self,
        size,
        scale_ratios,
        mean,
        std,
        fix_crop=True,
        more_fix_crop=True,
        max_distort=1,
        prob=0.5,
        max_intensity=255.0,
    ):
        super().__init__()
        self.multiScaleCrop = VideoMultiScaleCrop(size, scale_ratios, fix_crop, more_fix_crop, max_distort)
        self.prob, self._finish = prob, _Finish(mean, std, max_intensity)

    def forward(self, clips):
        window, flipped = self.multiScaleCrop.draw(*clips[0].shape[:2], between=lambda: random.random() < self.prob)
        return self._finish(self.multiScaleCrop.cut(clips, window), flipped)


class VideoGroupValTransform(Block):
    """The middle of `size`, normalised."""

    def __init__(self, size, mean, std, max_intensity=255.0):
        super().__init__()
        self._crop, self._finish = VideoCenterCrop(size), _Finish(mean, std, max_intensity)

    def forward(self, clips):
        return self._finish(self._crop(clips))


class VideoGroupTrainTransformV2(Block):
    """`VideoGroupTrainTransform` of frames whose short side is `short_side` first."""

    def __init__(
        self, size, short_side, scale_ratios, mean, std, fix_crop=True, more_fix_crop=True, max_distort=1, prob=0.5,
        max_intensity=255.0,
    ):  # fmt: skip
        super().__init__()
        self._rescale = ShortSideRescale(short_side)
        self._rest = VideoGroupTrainTransform(
            size, scale_ratios, mean, std, fix_crop, more_fix_crop, max_distort, prob, max_intensity
        )

    def forward(self, clips):
        return self._rest(self._rescale(clips))


class VideoGroupValTransformV2(Block):
    """The middle of `crop_size` of frames whose short side is `short_side`, normalised."""

    def __init__(self, crop_size, short_side, mean, std, max_intensity=255.0):
        super().__init__()
        self._size, self._rescale, self._finish = (
            crop_size,
            ShortSideRescale(short_side),
            _Finish(mean, std, max_intensity),
        )

    def forward(self, clips):
        clips = self._rescale(clips)
        top, left = (math.ceil((side - size) / 2) for side, size in zip(clips[0].shape[:2], self._size))
        return self._finish(_cut(clips, top, left, *self._size))


class VideoGroupTrainTransformV3(Block):
    """SlowFast: a short side of `min_size` to `max_size`, a random crop, mirroring, and normalised frames."""

    def __init__(self, crop_size, min_size, max_size, mean, std, prob=0.5, max_intensity=255.0):
        super().__init__()
        self._size, self._short = crop_size, (min_size, max_size)
        self.prob, self._finish = prob, _Finish(mean, std, max_intensity)

    def forward(self, clips):
        clips = ShortSideRescale(round(np.random.uniform(*self._short)))(clips)
        sides = zip(clips[0].shape[:2], self._size)
        top, left = (int(np.random.randint(0, side - size)) if side > size else 0 for side, size in sides)
        flipped = random.random() < self.prob
        return self._finish(_cut(clips, top, left, *self._size), flipped)


class VideoGroupTrainTransformV4(Block):
    """`RandomResizedCrop`, mirroring, and normalised frames."""

    def __init__(self, size, mean, std, scale=SCALE, ratio=RATIO, prob=0.5, max_intensity=255.0):
        super().__init__()
        self.randomResizedCrop = RandomResizedCrop(size, scale, ratio)
        self.prob, self._finish = prob, _Finish(mean, std, max_intensity)

    def forward(self, clips):
        frames = self.randomResizedCrop(clips)
        return self._finish(frames, random.random() < self.prob)


# ---------------------------------------------------------------------------------------------- single steps


class VideoToTensor(Block):
    """Frames (C, H, W), divided by `max_intensity`."""

    def __init__(self, max_intensity=255.0):
        super().__init__()
        self.max_intensity = max_intensity

    def forward(self, clips):
        return [frame.transpose(2, 0, 1) / self.max_intensity for frame in clips]


class VideoNormalize(Block):
    """Frames (C, H, W) less `mean`, over `std`, both one number per channel."""

    def __init__(self, mean, std):
        super().__init__()
        self.mean, self.std = (np.asarray(v).reshape(-1, 1, 1) for v in (mean, std))

    def forward(self, clips):
        return [(frame - self.mean) / self.std for frame in clips]


class VideoRandomHorizontalFlip(Block):
    """The video mirrored left-right with probability `prob`."""

    def __init__(self, prob=0.5):
        super().__init__()
        self.prob = prob

    def forward(self, clips):
        return _flipped(clips) if random.random() < self.prob else clips


class ShortSideRescale(Block):
    """Frames with a short side of `short_side` pixels."""

    def __init__(self, short_side):
        super().__init__()
        self.short_side = short_side

    def forward(self, clips):
        h, w = clips[0].shape[:2]
        height = math.floor(h / w * self.short_side) if w < h else self.short_side
        width = self.short_side if w < h else math.floor(w / h * self.short_side)
        return [resample.resize(frame, width, height) for frame in clips]


class RandomResizedCrop(Block):
    """A part of `scale` of the area and of the aspect `ratio`, or its inverse, at `size`."""

    def __init__(self, size, scale=SCALE, ratio=RATIO):
        super().__init__()
        self.height, self.width = size
        self.scale, self.ratio = scale, ratio

    def get_params(self, img, scale, ratio):
        """A random window (top, left, height, width); the middle, where ten of them do not fit."""
        height, width = img.shape[:2]
        for _ in range(10):
            area, aspect = random.uniform(*scale) * height * width, random.uniform(*ratio)
            w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if random.random() < 0.5:
                w, h = h, w
            if 0 < w <= width and 0 < h <= height:
                return random.randint(0, height - h), random.randint(0, width - w), h, w
        h = round(width / min(ratio)) if width / height < min(ratio) else height
        w = round(height * max(ratio)) if width / height > max(ratio) else width
        return (height - h) // 2, (width - w) // 2, h, w

    def forward(self, clips):
        frames = _cut(clips, *self.get_params(clips[0], self.scale, self.ratio))
        return [resample.resize(frame, self.width, self.height) for frame in frames]


class VideoMultiScaleCrop(Block):
    """A part at `size`, with sides of `scale_ratios` of the short one (Wang et al., 2015).

    max_distort: how far apart in `scale_ratios` those of height and width may be. fix_crop: from a corner or the
    middle, and with `more_fix_crop` from eight positions more, else from anywhere.
    """

    def __init__(self, size, scale_ratios, fix_crop=True, more_fix_crop=True, max_distort=1):
        super().__init__()
        self.height, self.width = size
        self.scale_ratios, self.max_distort = scale_ratios, max_distort
        self.fix_crop, self.more_fix_crop = fix_crop, more_fix_crop

    def fillFixOffset(self, more_fix_crop, image_h, image_w, crop_h, crop_w):
        """The positions (top, left) to choose from, quarters of the room that the part has."""
        down, right = (image_h - crop_h) // 4, (image_w - crop_w) // 4
        quarters = [(0, 0), (0, 4), (4, 0), (4, 4), (2, 2)]
        if more_fix_crop:
            quarters += [(0, 2), (4, 2), (2, 0), (2, 4), (1, 1), (1, 3), (3, 1), (3, 3)]
        return [(i * down, j * right) for i, j in quarters]

    def fillCropSize(self, scale_ratios, max_distort, image_h, image_w):
        """The sizes (height, width) to choose from."""
        sides = [int(min(image_h, image_w) * ratio) for ratio in scale_ratios]
        return [(h, w) for i, h in enumerate(sides) for j, w in enumerate(sides) if abs(i - j) <= max_distort]

    def draw(self, image_h, image_w, between=lambda: None):
        """((top, left, height, width), what `between` draws after the size and before the place)."""
        h, w = random.choice(self.fillCropSize(self.scale_ratios, self.max_distort, image_h, image_w))
        drawn = between()
        if self.fix_crop:
            top, left = random.choice(self.fillFixOffset(self.more_fix_crop, image_h, image_w, h, w))
        else:
            top, left = random.randint(0, image_h - h), random.randint(0, image_w - w)
        return (top, left, h, w), drawn

    def cut(self, clips, window):
        """The part of all frames."""
        return [resample.resize(frame, self.width, self.height) for frame in _cut(clips, *window)]

    def forward(self, clips):
        return self.cut(clips, self.draw(*clips[0].shape[:2])[0])


class VideoCenterCrop(Block):
    """The middle of `size`, a number or (height, width)."""

    def __init__(self, size):
        super().__init__()
        self.size = _pair(size)

    def forward(self, clips):
        top, left = (round((side - size) / 2.0) for side, size in zip(clips[0].shape[:2], self.size))
        return _cut(clips, top, left, *self.size)


class VideoThreeCrop(Block):
    """Both ends and the middle along the side that is longer than `size`: three videos, one after the other."""

    def __init__(self, size):
        super().__init__()
        self.size = _pair(size)

    def forward(self, clips):
        (h, w), (height, width) = clips[0].shape[:2], self.size
        if h != height and w != width:
            raise AssertionError(f"frames of {(h, w)} have neither the height nor the width of {self.size}")
        step = (0, (w - width) // 2) if h == height else ((h - height) // 2, 0)
        return [frame for k in (0, 2, 1) for frame in _cut(clips, k * step[0], k * step[1], height, width)]


class VideoTenCrop(Block):
    """The middle and the corners of `size`, upper left, lower left, upper right, lower right, and their mirror images.

    Ten frames for each one.
    """

    def __init__(self, size):
        super().__init__()
        self.size = _pair(size)

    def forward(self, clips):
        (h, w), (height, width) = clips[0].shape[:2], self.size
        if h < height or w < width:
            raise ValueError(f"parts of {self.size} do not fit into frames of {(h, w)}")
        bottom, right = h - height, w - width
        places = [(bottom // 2, right // 2), (0, 0), (bottom, 0), (0, right), (bottom, right)]
        crops = []
        for frame in clips:
            parts = [part for top, left in places for part in _cut([frame], top, left, height, width)]
            crops += parts + _flipped(parts)
        return crops


class _Finish(Block):
    """Frames mirrored or not, as normalised (C, H, W)."""

    def __init__(self, mean, std, max_intensity):
        super().__init__()
        self._tensor, self._normalize = VideoToTensor(max_intensity), VideoNormalize(mean, std)

    def forward(self, clips, flipped=False):
        return self._normalize(self._tensor(_flipped(clips) if flipped else clips))


def _pair(size):
    return (int(size), int(size)) if np.isscalar(size) else size


def _cut(clips, top, left, height, width):
    return [frame[top : top + height, left : left + width] for frame in clips]


def _flipped(clips):
    return [frame[:, ::-1] for frame in clips]
