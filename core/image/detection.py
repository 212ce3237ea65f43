"""Augmenters and the iterator for object detection.

A label is an array (objects, 5 or more): class, then left, top, right, bottom as shares of the width and height.
Augmenters map (image, label) to (image, label) and draw from Python's `random`.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterator
from numbers import Number

import numpy as np

from core.base import MXNetError
from core.image.arrays import like, pixels_of, to_array
from core.image.augment import Augmenter, ForceResizeAug, ResizeAug, colour_chain
from core.image.boxes import box_areas
from core.image.functions import copyMakeBorder, fixed_crop
from core.image.iterator import ImageIter
from core.io.base import DataBatch, DataDesc
from core.util import require

ISOLATED_CONSTANT = 16
CROP_SETTINGS = "min_object_covered", "aspect_ratio_range", "area_range", "min_eject_coverage", "max_attempts"


class DetAugmenter(Augmenter):
    """Base of the augmenters of images with boxes.

    >>> isinstance(image.DetHorizontalFlipAug(0.5), image.DetAugmenter)
    True
    """

    def __call__(self, src, label):
        raise NotImplementedError(f"{type(self).__name__} must define __call__(src, label)")


class DetBorrowAug(DetAugmenter):
    """An augmenter of images alone, which leaves the boxes where they are.

    >>> picture, label = image.DetBorrowAug(image.CastAug())(nd.zeros((2, 2, 3), dtype="uint8"), onp.zeros((1, 5)))
    >>> picture.dtype
    <class 'numpy.float32'>
    """

    def __init__(self, augmenter: Augmenter):
        if not isinstance(augmenter, Augmenter):
            raise TypeError(f"DetBorrowAug takes an Augmenter, not a {type(augmenter).__name__}")
        super().__init__()
        self.augmenter = augmenter

    def dumps(self) -> list:
        return [self.__class__.__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src, label):
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters at random; none with probability `skip_prob`.

    >>> select = image.DetRandomSelectAug([image.DetHorizontalFlipAug(1)], skip_prob=1)
    >>> picture, label = select(nd.array([[[1], [2]]]), onp.array([[0, 0.0, 0.0, 0.25, 1.0]]))
    >>> label[0, 1]
    np.float64(0.0)
    """

    def __init__(self, aug_list, skip_prob: float = 0):
        super().__init__(skip_prob=skip_prob)
        self.aug_list = list(aug_list) if isinstance(aug_list, (list, tuple)) else [aug_list]
        for augmenter in self.aug_list:
            if not isinstance(augmenter, DetAugmenter):
                raise ValueError(f"DetRandomSelectAug takes DetAugmenters, not a {type(augmenter).__name__}")
        self.skip_prob = skip_prob if self.aug_list else 1

    def dumps(self) -> list:
        return [self.__class__.__name__.lower(), [augmenter.dumps() for augmenter in self.aug_list]]

    def __call__(self, src, label):
        if random.random() < self.skip_prob:
            return src, label
        return random.choice(self.aug_list)(src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Left and right exchanged with probability `p`.

    >>> picture, label = image.DetHorizontalFlipAug(1)(nd.array([[[1], [2]]]), onp.array([[0, 0.0, 0.0, 0.25, 1.0]]))
    >>> label
    array([[0.  , 0.75, 0.  , 1.  , 1.  ]])
    """

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src, label):
        if random.random() >= self.p:
            return src, label
        flipped = label.copy()
        flipped[:, 1], flipped[:, 3] = 1.0 - label[:, 3], 1.0 - label[:, 1]
        return like(np.ascontiguousarray(pixels_of(src)[:, ::-1]), src), flipped


class DetRandomCropAug(DetAugmenter):
    """A random window that covers enough of the objects (Liu et al., SSD, 2016).

    Of every object that the window touches more than `min_object_covered` must be inside; objects of which at most
    `min_eject_coverage` stays are dropped. The window's aspect (width / height) and share of the area lie in the
    ranges. After `max_attempts` windows the image stays as it is.

    >>> picture, label = image.DetRandomCropAug()(nd.zeros((20, 20, 3)), onp.array([[0, 0.2, 0.2, 0.8, 0.8]]))
    >>> label.shape
    (1, 5)
    """

    def __init__(
        self, min_object_covered: float = 0.1, aspect_ratio_range=(0.75, 1.33), area_range=(0.05, 1.0),
        min_eject_coverage: float = 0.3, max_attempts: int = 50,
    ):  # fmt: skip
        aspect_ratio_range, area_range = _range(aspect_ratio_range), _range(area_range)
        given = min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        settings = dict(zip(CROP_SETTINGS, given, strict=True))
        super().__init__(**settings)
        vars(self).update(settings)
        self.enabled = _valid(self, area_range[1] > 0)

    def __call__(self, src, label):
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            size = self._size(height, width)
            if size is None:
                continue
            w, h = size
            y, x = random.randint(0, height - h), random.randint(0, width - w)
            kept = self._kept(label, (x / width, y / height, (x + w) / width, (y + h) / height), width, height)
            if kept is not None:
                return fixed_crop(src, x, y, w, h), kept
        return src, label

    def _size(self, height: int, width: int) -> tuple[int, int] | None:
        """Width and height of a window, None when the drawn aspect allows none."""
        low, high = (share * height * width for share in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        tallest = min(int(math.sqrt(high / ratio)), height, int(width / ratio))
        shortest = min(math.ceil(math.sqrt(low / ratio)), tallest)
        if tallest < 1:
            return None
        h = random.randint(max(shortest, 1), tallest)
        w = min(max(round(h * ratio), 1), width)
        return (w, h) if low <= w * h * 1.02 and w * h <= high * 1.02 else None

    def _kept(self, label, window, width: int, height: int):
        """The label inside the window, None when it covers too little."""
        left, top, right, bottom = window
        if (right - left) * width * (bottom - top) * height < 2:
            return None
        areas = box_areas(label[:, 1:5])
        bounds = [(left, right), (top, bottom)] * 2
        inside = np.stack([np.clip(label[:, i], *bound) for i, bound in enumerate(bounds, 1)], 1)
        covered = box_areas(inside) / np.maximum(areas, 1e-12)
        touched = covered[(areas * width * height > 2) & (covered > 0)]
        if not touched.size or touched.min() <= self.min_object_covered:
            return None
        kept = covered > self.min_eject_coverage
        if not kept.any():
            return None
        result = label[kept].copy()
        size = [right - left, bottom - top] * 2
        result[:, 1:5] = np.clip((inside[kept] - [left, top, left, top]) / size, 0, 1)
        return result


class DetRandomPadAug(DetAugmenter):
    """The image somewhere on a larger canvas of colour `pad_val` (Liu et al., SSD, 2016).

    The canvas has an aspect (width / height) and an area (as a multiple of the image's) in the given ranges.

    >>> picture, label = image.DetRandomPadAug()(nd.zeros((20, 20, 3)), onp.array([[0, 0.2, 0.2, 0.8, 0.8]]))
    >>> label.shape
    (1, 5)
    """

    def __init__(
        self, aspect_ratio_range=(0.75, 1.33), area_range=(1.0, 3.0), max_attempts: int = 50, pad_val=(128, 128, 128)
    ):
        aspect_ratio_range, area_range = _range(aspect_ratio_range), _range(area_range)
        pad_val = (pad_val,) if isinstance(pad_val, Number) else tuple(pad_val)
        settings = {"aspect_ratio_range": aspect_ratio_range, "area_range": area_range}
        settings |= {"max_attempts": max_attempts, "pad_val": pad_val}
        super().__init__(**settings)
        vars(self).update(settings)
        self.enabled = _valid(self, area_range[1] > 1)

    def __call__(self, src, label):
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            w, h = self._size(height, width)
            if h - height < 2 or w - width < 2:
                continue
            y, x = random.randint(0, h - height), random.randint(0, w - width)
            moved = label.copy()
            moved[:, [1, 3]] = (label[:, [1, 3]] * width + x) / w
            moved[:, [2, 4]] = (label[:, [2, 4]] * height + y) / h
            borders = (y, h - y - height, x, w - x - width)
            return copyMakeBorder(src, *borders, type=ISOLATED_CONSTANT, values=self.pad_val), moved
        return src, label

    def _size(self, height: int, width: int) -> tuple[int, int]:
        low, high = (share * height * width for share in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        tallest = round(math.sqrt(high / ratio))
        shortest = min(max(round(math.sqrt(low / ratio)), height, math.ceil(width / ratio)), tallest)
        h = random.randint(shortest, tallest)
        return round(h * ratio), h


def CreateMultiRandCropAugmenter(
    min_object_covered=0.1, aspect_ratio_range=(0.75, 1.33), area_range=(0.05, 1.0), min_eject_coverage=0.3,
    max_attempts=50, skip_prob: float = 0,
) -> DetRandomSelectAug:  # fmt: skip
    """A choice among several `DetRandomCropAug`s; each argument may be a list with one entry for each of them.

    >>> chosen = image.CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5], area_range=(0.3, 1.0))
    >>> len(chosen.aug_list)
    2
    """
    given = dict(
        zip(CROP_SETTINGS, (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts))
    )
    lists = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
    count = max(map(len, lists.values()))
    for name, values in lists.items():
        if len(values) not in (1, count):
            raise ValueError(f"{name} has {len(values)} entries where other arguments have {count}")
    crops = [
        DetRandomCropAug(**{name: values[i if len(values) > 1 else 0] for name, values in lists.items()})
        for i in range(count)
    ]
    return DetRandomSelectAug(crops, skip_prob)


def CreateDetAugmenter(
    data_shape: tuple[int, int, int], resize: int = 0, rand_crop: float = 0, rand_pad: float = 0, rand_gray: float = 0,
    rand_mirror: bool = False, mean=None, std=None, brightness: float = 0, contrast: float = 0, saturation: float = 0,
    pca_noise: float = 0, hue: float = 0, inter_method: int = 2, min_object_covered=0.1,
    aspect_ratio_range=(0.75, 1.33), area_range=(0.05, 3.0), min_eject_coverage=0.3, max_attempts: int = 50,
    pad_val=(127, 127, 127),
) -> list[DetAugmenter]:  # fmt: skip
    """The usual augmenters for detection, in their usual order; `rand_crop` and `rand_pad` are probabilities.

    The image ends as `data_shape` = (channels, height, width), whatever its aspect was. The other arguments are those
    of `CreateAugmenter`, `DetRandomCropAug` and `DetRandomPadAug`.

    >>> len(image.CreateDetAugmenter((3, 4, 4), rand_mirror=True)) > 1
    True
    """
    chain: list[DetAugmenter] = [DetBorrowAug(ResizeAug(resize, inter_method))] if resize > 0 else []
    if rand_crop > 0:
        crop = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
        chain.append(CreateMultiRandCropAugmenter(*crop, skip_prob=1 - rand_crop))
    if rand_mirror:
        chain.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        chain.append(DetRandomSelectAug([pad], 1 - rand_pad))
    chain.append(DetBorrowAug(ForceResizeAug((data_shape[2], data_shape[1]), inter_method)))
    colours = colour_chain(mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray)
    return chain + [DetBorrowAug(augmenter) for augmenter in colours]


class ImageDetIter(ImageIter):
    """`ImageIter` for detection: labels (batch, most objects of an image, object width), filled with -1.

    The label of a sample is flat: header width, object width, the rest of the header, then the objects. Samples
    without a valid box are left out with a warning. `kwargs` go to `CreateDetAugmenter` when `aug_list` is absent.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "grey.png")
    >>> with open(path, "wb") as file:
    ...     _ = file.write(recordio.unpack(recordio.pack_img((0, 0, 0, 0), onp.full((9, 9, 3), 50, "uint8"), img_fmt=".png"))[1])
    >>> label = [2, 5, 1, 0.1, 0.2, 0.6, 0.8]  # two numbers ahead, five for each object: its class and its box
    >>> pictures = image.ImageDetIter(1, (3, 8, 8), imglist=[[label, path]], path_root="")
    >>> next(pictures).label[0].asnumpy()
    array([[[1. , 0.1, 0.2, 0.6, 0.8]]], dtype=float32)
    """

    def __init__(
        self, batch_size: int, data_shape: tuple[int, int, int], path_imgrec: str | None = None,
        path_imglist: str | None = None, path_root: str | None = None, path_imgidx: str | None = None,
        shuffle: bool = False, part_index: int = 0, num_parts: int = 1, aug_list: list[DetAugmenter] | None = None,
        imglist: list | None = None, data_name: str = "data", label_name: str = "label", last_batch_handle: str = "pad",
        **kwargs,
    ):  # fmt: skip
        super().__init__(
            batch_size, data_shape, 1, path_imgrec, path_imglist, path_root, path_imgidx, shuffle, part_index, num_parts,
            [], imglist, data_name, label_name, last_batch_handle=last_batch_handle,
        )  # fmt: skip
        self._settings = kwargs if aug_list is None else None
        self.auglist = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.label_shape = self._most_objects()
        self._describe()

    def reshape(self, data_shape=None, label_shape=None) -> None:
        """Other shapes for the batches to come: (channels, height, width) and (objects, object width)."""
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.data_shape = tuple(data_shape)
            if self._settings is not None:
                self.auglist = CreateDetAugmenter(data_shape, **self._settings)
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.label_shape = tuple(label_shape)
        self._describe()

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Gives this and another iterator the larger of their label shapes; returns the other."""
        assert isinstance(it, ImageDetIter), f"sync_label_shape takes an ImageDetIter, not a {type(it).__name__}"
        if self.label_shape[1] != it.label_shape[1]:
            raise ValueError(f"the objects are {self.label_shape[1]} and {it.label_shape[1]} wide")
        largest = max(self.label_shape, it.label_shape)
        for one in (self, it):
            one.reshape(label_shape=largest)
        if verbose:
            print(f"label shape {largest}")
        return it

    def augmentation_transform(self, data, label):
        """The image and its boxes after all augmenters."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def prepared(self, label, content: bytes):
        data = self.imdecode(content)
        self.check_valid_image([data])
        return self.augmentation_transform(data, parse_label(label))

    def batch_of(self, samples: list, pad: int) -> DataBatch:
        labels = np.full((len(samples), *self.label_shape), -1.0, np.float32)
        for row, (_, label) in zip(labels, samples):
            count = min(len(label), len(row))
            row[:count, : label.shape[1]] = label[:count]
        images = np.stack([self.postprocess_data(image) for image, _ in samples])
        return DataBatch([to_array(images.astype(np.float32, copy=False))], [to_array(labels)], pad)

    def check_label_shape(self, label_shape) -> None:
        """Raises ValueError unless `label_shape` can hold every object of the samples."""
        if len(label_shape) != 2:
            raise ValueError(f"label_shape {tuple(label_shape)} must be (objects, object width)")
        if label_shape[0] < self.label_shape[0] or label_shape[1] != self.label_shape[1]:
            raise ValueError(f"label_shape {tuple(label_shape)} cannot hold the labels of shape {self.label_shape}")

    def draw_next(
        self, color=None, thickness=2, mean=None, std=None, clip=True, waitKey=None, window_name=None, id2labels=None
    ) -> Iterator[np.ndarray]:
        """The samples as uint8 pictures with their boxes drawn; `mean`, `std` undo a normalisation.

        `color`: RGB of the boxes (default: one by class). The caller shows the pictures: `waitKey`, which opens a window
        in MXNet, is refused, and `window_name`, the name of that window, says nothing without it.
        """
        require("ImageDetIter.draw_next", "waitKey", waitKey, None)
        from PIL import Image, ImageDraw

        while True:
            try:
                data, label = self.prepared(*self.next_sample())
            except StopIteration:
                return
            pixels = pixels_of(data).astype(np.float32)
            pixels = pixels * (1 if std is None else np.asarray(std)) + (0 if mean is None else np.asarray(mean))
            picture = Image.fromarray((np.clip(pixels, 0, 255) if clip else pixels).astype(np.uint8))
            pen, (width, height) = ImageDraw.Draw(picture), picture.size
            for kind, *box in label[:, :5]:
                ink = (
                    tuple(color)
                    if color is not None
                    else tuple((int(kind) * step + 60) % 256 for step in (67, 131, 197))
                )
                corners = [int(share * extent) for share, extent in zip(box, (width, height, width, height))]
                pen.rectangle(corners, outline=ink, width=thickness)
                if id2labels is not None:
                    pen.text((corners[0] + 2, corners[1] + 2), str(id2labels[int(kind)]), fill=ink)
            yield np.asarray(picture)

    def _most_objects(self) -> tuple[int, int]:
        """(most objects of a sample, their width), from a look through all labels; MXNetError where none is valid."""
        most, width, fault = 0, 5, None
        self.reset()
        while True:
            try:
                label, _ = self.next_sample()
                objects = parse_label(label)
            except StopIteration:
                break
            except RuntimeError as error:  # told of again when the sample is used
                fault = error
                continue
            most, width = max(most, len(objects)), objects.shape[1]
        self.reset()
        if fault is not None and not most:
            raise fault
        return most, width

    def _describe(self) -> None:
        names = self.provide_data[0].name, self.provide_label[0].name
        self.provide_data = [DataDesc(names[0], (self.batch_size, *self.data_shape))]
        self.provide_label = [DataDesc(names[1], (self.batch_size, *self.label_shape))]


def parse_label(label) -> np.ndarray:
    """The objects of a flat label, those with an area; raises MXNetError when it is malformed or has none."""
    flat = np.asarray(pixels_of(label) if hasattr(label, "asnumpy") else label, np.float32).reshape(-1)
    if flat.size < 7:
        raise MXNetError(f"a detection label of {flat.size} numbers; two of header and five of an object are the least")
    header, width = int(flat[0]), int(flat[1])
    if header < 2 or width < 5 or (flat.size - header) % width:
        raise MXNetError(f"a detection label of {flat.size} numbers with header width {header}, object width {width}")
    objects = flat[header:].reshape(-1, width)
    objects = objects[(objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])]
    if not len(objects):
        raise MXNetError("a detection label without a box that has an area")
    return objects


def _range(value) -> tuple[float, float]:
    return (value, value) if isinstance(value, Number) else tuple(value)


def _valid(augmenter, enlarges: bool) -> bool:
    """Whether the ranges of a crop or pad can be drawn from; else it warns and does nothing."""
    (low, high), (narrow, wide) = augmenter.area_range, augmenter.aspect_ratio_range
    if enlarges and low <= high and 0 < narrow <= wide:
        return True
    warnings.warn(
        f"{type(augmenter).__name__} does nothing: area_range {augmenter.area_range} or aspect_ratio_range "
        f"{augmenter.aspect_ratio_range} is impossible",
        stacklevel=3,
    )
    return False
