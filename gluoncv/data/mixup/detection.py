"""Blends of two pictures with the boxes of both (Zhang et al., 2019)."""

from __future__ import annotations

import numpy as np

from core import nd
from gluon.data.dataset import Dataset


class MixupDetection(Dataset):
    """Samples of `dataset` blended by a share drawn with `mixup(*args)`.

    Boxes get a column with the share of their picture.

    >>> data = gluon.data.SimpleDataset([(nd.ones((2, 2, 3)), onp.array([[0, 0, 1, 1, 3.0]]))] * 2)
    >>> picture, boxes = gluoncv.data.MixupDetection(data)[0]
    >>> boxes.shape
    (1, 6)
    """

    def __init__(self, dataset, mixup=None, *args):
        self._dataset = dataset
        self.set_mixup(mixup, *args)

    def set_mixup(self, mixup=None, *args):
        """Another generator of shares; None for pictures as they are."""
        self._mixup, self._mixup_args = mixup, args

    def __len__(self):
        return len(self._dataset)

    def __getitem__(self, idx):
        first, label = self._dataset[idx]
        share = 1 if self._mixup is None else max(0, min(1, self._mixup(*self._mixup_args)))
        if share >= 1:
            return first, _with_share(label, 1)
        other = np.random.choice(np.delete(np.arange(len(self)), idx))
        second, second_label = self._dataset[int(other)]
        height, width = (max(a, b) for a, b in zip(first.shape[:2], second.shape[:2], strict=True))
        blend = np.zeros((height, width, 3), dtype="float32")
        for img, part in ((first, share), (second, 1 - share)):
            blend[: img.shape[0], : img.shape[1]] += img.asnumpy().astype("float32") * part
        labels = np.vstack([_with_share(label, share), _with_share(second_label, 1 - share)])
        return nd.array(blend.astype("uint8"), dtype="uint8"), labels


def _with_share(label, share):
    return np.hstack([label, np.full((len(label), 1), share)])
