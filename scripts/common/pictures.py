"""Pictures with one class each, from the files that a folder holds, and targets that are shares of classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from core import nd
from gluon.data.vision import CIFAR10, ImageFolderDataset, ImageListDataset, ImageRecordDataset


def data_set(folder: Path, part: str = "val"):
    """The pictures of `part` (train or val): of records, a list as im2rec writes it,
    folders named after classes, CIFAR-10.
    """
    if (folder / f"{part}.rec").exists():
        return ImageRecordDataset(str(folder / f"{part}.rec"))
    lists = sorted(folder.glob("*.lst"))
    if lists:
        of_part = [path for path in lists if path.stem == part]
        return ImageListDataset(str(folder), (of_part or lists)[0].name)
    if (folder / part).is_dir():
        return ImageFolderDataset(str(folder / part))
    return CIFAR10(str(folder), train=part == "train")


def shares(label: nd.NDArray, classes: int, smoothing: float = 0.0) -> nd.NDArray:
    """Labels (B,) as shares of classes (B, classes); `smoothing` is spread over all of them (Szegedy et al., 2016)."""
    on, off = 1 - smoothing + smoothing / classes, smoothing / classes
    return nd.one_hot(label.reshape((-1,)), classes, on_value=on, off_value=off)


def mixup(batches, alpha: float, classes: int, smoothing: float = 0.0):
    """Batches of pictures, each blended with another of its batch, and of labels as shares (Zhang et al., 2018)."""
    for data, label in batches:
        share = float(np.random.beta(alpha, alpha))
        order = nd.array(np.random.permutation(data.shape[0]), dtype="int32")
        labels = shares(label, classes, smoothing)
        yield (
            share * data + (1 - share) * data.take(order),
            share * labels + (1 - share) * labels.take(order),
        )
