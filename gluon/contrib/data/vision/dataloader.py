"""Loaders of labelled pictures with their augmentation, from records or lists of files (MXNet 2)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np

from gluon.block import Block
from gluon.contrib.data.vision import bbox
from gluon.data import DataLoader, arrays
from gluon.data.batchify import Group, Pad, Stack
from gluon.data.vision import ImageListDataset, ImageRecordDataset, transforms

__all__ = [
    "BboxLabelTransform", "ImageBboxDataLoader", "ImageDataLoader", "create_bbox_augment", "create_image_augment",
]  # fmt: skip

# What `mean=True` and `std=True` stand for, of red, green and blue in 0..255.
MEAN, STD = (123.68, 116.28, 103.53), (58.395, 57.12, 57.375)


def create_image_augment(
    data_shape, resize=0, rand_crop=False, rand_resize=False, rand_mirror=False, mean=None, std=None, brightness=0,
    contrast=0, saturation=0, hue=0, pca_noise=0, rand_gray=0, inter_method=2, dtype="float32",
) -> Block:  # fmt: skip
    """The transforms that make (channels, height, width) = `data_shape` of a picture, values of `dtype` in 0..1.

    resize: length of the shorter edge before cropping, 0 for as it is. rand_crop, rand_resize: a window anywhere, of
    any size; else the middle. mean, std: by channel, of values in 0..1; True for ImageNet's of 0..255, as MXNet has it.
    inter_method: as in `Resize`; 10 draws one, now.
    """
    if rand_resize and not rand_crop:
        raise AssertionError("rand_resize needs rand_crop")
    method = random.randint(0, 4) if inter_method == 10 else inter_method
    size = data_shape[2], data_shape[1]
    crop = transforms.CenterCrop
    if rand_crop:
        crop = transforms.RandomResizedCrop if rand_resize else transforms.RandomCrop
    steps = [transforms.Resize(resize, interpolation=method)] if resize > 0 else []
    steps.append(crop(size, interpolation=method))
    if rand_mirror:
        steps.append(transforms.RandomFlipLeftRight(0.5))
    steps.append(transforms.Cast())
    steps += _color_steps(brightness, contrast, saturation, hue, pca_noise, rand_gray)
    return transforms.Compose([*steps, *_last_steps(mean, std, dtype)])


def create_bbox_augment(
    data_shape, rand_crop=0, rand_pad=0, rand_gray=0, rand_mirror=False, mean=None, std=None, brightness=0, contrast=0,
    saturation=0, pca_noise=0, hue=0, inter_method=2, max_aspect_ratio=2, area_range=(0.3, 3.0), max_attempts=50,
    pad_val=(127, 127, 127), dtype="float32",
) -> Block:  # fmt: skip
    """The transforms that make (channels, height, width) = `data_shape` of a picture, and boxes that follow it.

    rand_crop, rand_pad, rand_gray: probabilities of a random window, of a canvas of `pad_val` around the picture, and
    of gray. area_range: (smallest scale of a window, largest ratio of a canvas). Others as in `create_image_augment`.
    """
    method = random.randint(0, 4) if inter_method == 10 else inter_method
    steps = []
    if rand_crop > 0:
        steps.append(
            bbox.ImageBboxRandomCropWithConstraints(
                rand_crop, area_range[0], 1.0, max_aspect_ratio, max_trial=max_attempts
            )
        )
    if rand_mirror:
        steps.append(bbox.ImageBboxRandomFlipLeftRight(0.5))
    if rand_pad > 0:
        steps.append(bbox.ImageBboxRandomExpand(rand_pad, area_range[1], pad_val))
    steps.append(bbox.ImageBboxResize(data_shape[2], data_shape[1], method))
    steps += _color_steps(brightness, contrast, saturation, hue, pca_noise, rand_gray)
    return transforms.Compose([*steps, *_last_steps(mean, std, dtype)])


def _color_steps(brightness, contrast, saturation, hue, pca_noise, rand_gray) -> list[Block]:
    steps = []
    if brightness or contrast or saturation or hue:
        steps.append(transforms.RandomColorJitter(brightness, contrast, saturation, hue))
    if pca_noise > 0:
        steps.append(transforms.RandomLighting(pca_noise))
    if rand_gray > 0:
        steps.append(transforms.RandomGray(rand_gray))
    return steps


def _last_steps(mean, std, dtype) -> list[Block]:
    steps = [transforms.ToTensor()]
    if mean is not None or std is not None:
        mean, std = (whole if given is True else given for given, whole in ((mean, MEAN), (std, STD)))
        steps.append(transforms.Normalize(0.0 if mean is None else mean, 1.0 if std is None else std))
    return [*steps, transforms.Cast(dtype)]


class ImageDataLoader:
    """Batches of (pictures, labels): a `DataLoader` over records (`path_imgrec`) or listed files.

    path_imglist, imglist, path_root: as in `ImageListDataset`. part_index, num_parts: this loader's share of the data.
    aug_list: transforms, in place of those that `create_image_augment(data_shape, **kwargs)` gives. dtype: accepted as
    in MXNet, "int32", "int64", "float32" or "float64". The other arguments are those of `DataLoader`.
    """

    def __init__(
        self, batch_size, data_shape, path_imgrec=None, path_imglist=None, path_root=".", part_index=0, num_parts=1,
        aug_list: Block | Sequence[Block] | None = None, imglist=None, dtype="float32", shuffle=False, sampler=None,
        last_batch=None, batch_sampler=None, batchify_fn=None, num_workers=0, pin_memory=False, pin_device_id=0,
        prefetch=None, thread_pool=False, timeout=120, try_nopython=None, **kwargs,
    ):  # fmt: skip
        dataset = _dataset(path_imgrec, path_imglist, imglist, path_root, part_index, num_parts, dtype)
        augment = create_image_augment(data_shape, **kwargs) if aug_list is None else _joined(aug_list)
        self._iter = DataLoader(
            dataset.transform_first(augment), batch_size, shuffle, sampler, last_batch, batch_sampler, batchify_fn,
            num_workers, pin_memory, pin_device_id, prefetch, thread_pool, timeout, try_nopython=try_nopython,
        )  # fmt: skip

    def __iter__(self) -> Iterator:
        return iter(self._iter)

    def __len__(self) -> int:
        return len(self._iter)


class ImageBboxDataLoader(ImageDataLoader):
    """Batches of (pictures, boxes): as `ImageDataLoader`, for labels as `im2rec` packs them for detection.

    A label is (length of the head, width of an object, ..., objects of (class, left, top, right, bottom, ...)). Boxes
    are (batch, N, 5 or more) of left, top, right, bottom in pixels, class, ...; pictures with fewer have rows of -1.
    coord_normalized: whether labels hold shares of width and height. `create_bbox_augment` gives the transforms.
    """

    def __init__(
        self, batch_size, data_shape, path_imgrec=None, path_imglist=None, path_root=".", part_index=0, num_parts=1,
        aug_list: Block | Sequence[Block] | None = None, imglist=None, coord_normalized=True, dtype="float32",
        shuffle=False, sampler=None, last_batch=None, batch_sampler=None, batchify_fn=None, num_workers=0,
        pin_memory=False, pin_device_id=0, prefetch=None, thread_pool=False, timeout=120, try_nopython=None, **kwargs,
    ):  # fmt: skip
        dataset = _dataset(path_imgrec, path_imglist, imglist, path_root, part_index, num_parts, dtype)
        augment = create_bbox_augment(data_shape, **kwargs) if aug_list is None else _joined(aug_list)
        if batchify_fn is None:
            boxes = Pad(val=-1)
            boxes._warned = True  # they come as arrays of the current kind, of which nobody can make lists
            batchify_fn = Group(Stack(), boxes)
        self._iter = DataLoader(
            dataset.transform(transforms.Compose([BboxLabelTransform(coord_normalized), augment])), batch_size,
            shuffle, sampler, last_batch, batch_sampler, batchify_fn, num_workers, pin_memory, pin_device_id, prefetch,
            thread_pool, timeout, try_nopython=try_nopython,
        )  # fmt: skip


class BboxLabelTransform(Block):
    """Picture and boxes (N, 5 or more) from a picture and the flat label of `ImageBboxDataLoader`."""

    def __init__(self, coord_normalized: bool = True):
        super().__init__()
        self._coord_normalized = coord_normalized

    def forward(self, img, label):
        label = np.array(arrays.view(label)).ravel()
        if len(label) < 2 or label[1] < 5:
            raise ValueError(f"an object of a label has 5 numbers at least, given {label[:2].tolist()} at its head")
        head, width = int(label[0]), int(label[1])
        if len(label) < head + 5 or (len(label) - head) % width:
            raise ValueError(f"a label of {len(label)} numbers with a head of {head} holds no objects of {width}")
        found = label[head:].reshape(-1, width)
        found = np.concatenate([found[:, 1:5], found[:, :1], found[:, 5:]], axis=1)
        if self._coord_normalized:
            found[:, :4] *= np.array([img.shape[1], img.shape[0]] * 2, found.dtype)
        return img, arrays.wrap(found)


def _dataset(path_imgrec, path_imglist, imglist, path_root, part_index, num_parts, dtype):
    if dtype not in ("int32", "float32", "int64", "float64"):
        raise AssertionError(f"labels are int32, int64, float32 or float64, not {dtype}")
    if path_imgrec:
        dataset = ImageRecordDataset(path_imgrec)
    elif path_imglist or isinstance(imglist, list):
        dataset = ImageListDataset(path_root, path_imglist or imglist)
    else:
        raise AssertionError("one of path_imgrec, path_imglist and imglist (a list) says which pictures to load")
    return dataset.shard(num_parts, part_index) if num_parts > 1 else dataset


def _joined(aug_list: Block | Sequence[Block]) -> Block:
    if isinstance(aug_list, list | tuple):
        return transforms.Compose(aug_list)
    if isinstance(aug_list, Block):
        return aug_list
    raise ValueError(f"aug_list is a transform or a list of them, got {type(aug_list).__name__}")
