"""A loader of labelled pictures with its augmentation, from records or lists of files (MXNet 2)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from gluon.block import Block
from gluon.data import DataLoader
from gluon.data.vision import ImageListDataset, ImageRecordDataset, transforms

__all__ = ["ImageDataLoader", "create_image_augment"]

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
    if brightness or contrast or saturation or hue:
        steps.append(transforms.RandomColorJitter(brightness, contrast, saturation, hue))
    if pca_noise > 0:
        steps.append(transforms.RandomLighting(pca_noise))
    if rand_gray > 0:
        steps.append(transforms.RandomGray(rand_gray))
    steps.append(transforms.ToTensor())
    if mean is not None or std is not None:
        mean, std = (whole if given is True else given for given, whole in ((mean, MEAN), (std, STD)))
        steps.append(transforms.Normalize(0.0 if mean is None else mean, 1.0 if std is None else std))
    steps.append(transforms.Cast(dtype))
    return transforms.Compose(steps)


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
        if dtype not in ("int32", "float32", "int64", "float64"):
            raise AssertionError(f"labels are int32, int64, float32 or float64, not {dtype}")
        if path_imgrec:
            dataset = ImageRecordDataset(path_imgrec)
        elif path_imglist or isinstance(imglist, list):
            dataset = ImageListDataset(path_root, path_imglist or imglist)
        else:
            raise AssertionError("one of path_imgrec, path_imglist and imglist (a list) says which pictures to load")
        if num_parts > 1:
            dataset = dataset.shard(num_parts, part_index)
        if aug_list is None:
            augment = create_image_augment(data_shape, **kwargs)
        elif isinstance(aug_list, list | tuple):
            augment = transforms.Compose(aug_list)
        elif isinstance(aug_list, Block):
            augment = aug_list
        else:
            raise ValueError(f"aug_list is a transform or a list of them, got {type(aug_list).__name__}")
        self._iter = DataLoader(
            dataset.transform_first(augment), batch_size, shuffle, sampler, last_batch, batch_sampler, batchify_fn,
            num_workers, pin_memory, pin_device_id, prefetch, thread_pool, timeout, try_nopython=try_nopython,
        )  # fmt: skip

    def __iter__(self) -> Iterator:
        return iter(self._iter)

    def __len__(self) -> int:
        return len(self._iter)
