"""What data sets of pictures have in common."""

from __future__ import annotations

import os

from gluon.data.dataset import Dataset


class VisionDataset(Dataset):
    """A data set in a folder `root`, with the names of its classes."""

    CLASSES: tuple[str, ...] = ()

    def __init__(self, root):
        super().__init__()
        self._root = os.path.expanduser(root)
        if not os.path.isdir(self._root):
            raise OSError(f"{type(self).__name__}: there is no folder {self._root}")

    @property
    def classes(self):
        """The names of the classes, in the order of their numbers."""
        return type(self).CLASSES

    @property
    def num_class(self):
        """The number of classes."""
        return len(self.classes)
