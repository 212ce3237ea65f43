"""Market-1501's pictures for training."""

import os
import random

from gluoncv.data.base import DATASETS

__all__ = ["LabelList"]


def LabelList(ratio=1, root=DATASETS, name="market1501"):
    """(training, validation) lists of (file, number), in an order of Python's generator.

    `ratio` is the share of the first. ValueError for other names than market1501.
    """
    if name != "market1501":
        raise ValueError(f"the data set is market1501, given {name!r}")
    folder = os.path.join(os.path.expanduser(root), "Market-1501-v15.09.15")
    with open(os.path.join(folder, "train.txt"), encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip()]
    items = [(os.path.join(folder, "bounding_box_train", name), int(number)) for name, number, *_ in lines]
    random.shuffle(items)
    count = int(len(items) * ratio)
    return items[:count], items[count:]
