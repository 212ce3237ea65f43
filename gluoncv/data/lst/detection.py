"""Detection data in the lists that im2rec reads."""

from __future__ import annotations

import os

import numpy as np

from core import image
from core.files.text import reading
from gluon.data.dataset import Dataset
from gluoncv.data.recordio.detection import detection_label


class LstDetection(Dataset):
    r"""Pictures and boxes of a `.lst` file, whose paths start from `root`.

    >>> import os, tempfile
    >>> from PIL import Image
    >>> root = tempfile.mkdtemp()
    >>> Image.new("RGB", (10, 8)).save(os.path.join(root, "one.png"))
    >>> with open(os.path.join(root, "train.lst"), "w") as file:
    ...     _ = file.write("0\t4\t5\t10\t8\t2\t0.1\t0.1\t0.5\t0.5\tone.png\n")
    >>> data = gluoncv.data.LstDetection(os.path.join(root, "train.lst"), root=root)
    >>> picture, boxes = data[0]
    >>> picture.shape, boxes
    ((8, 10, 3), array([[1. , 0.8, 5. , 4. , 2. ]], dtype=float32))
    """

    def __init__(self, filename, root="", flag=1, coord_normalized=True):
        self._flag, self._coord_normalized = flag, coord_normalized
        self._items, self._labels = [], []
        with open(filename, encoding="utf-8") as file, reading(filename, "the list"):
            for line in filter(None, map(str.strip, file)):
                _, *label, path = line.split("\t")
                self._items.append(os.path.join(os.path.expanduser(root), path))
                self._labels.append(np.array(label, dtype="float32"))

    def __len__(self):
        return len(self._items)

    def __getitem__(self, idx):
        img = image.imread(self._items[idx], self._flag)
        sides = img.shape[:2] if self._coord_normalized else (None, None)
        return img, detection_label(self._labels[idx], *sides)
