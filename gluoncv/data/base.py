"""What data sets of pictures have in common."""

from __future__ import annotations

import os

from gluon.data.dataset import Dataset
from gluon.store import home

# Where data sets are unless told otherwise
DATASETS = os.path.join(home(), "datasets")


class Missing(FileNotFoundError):
    """Says its message, and carries the path of what is missing as `filename`."""

    def __str__(self):
        return self.args[0]


def missing(message: str, path: str) -> Missing:
    """The error for a path where there is nothing."""
    error = Missing(message)
    error.filename = path
    return error


class ClassProperty:
    """A property of a class, as a decorator of a function of it."""

    def __init__(self, fget):
        self.fget = fget

    def __get__(self, owner_self, owner_cls):
        return self.fget(owner_cls)


class VisionDataset(Dataset):
    """A data set in a folder `root`, with the names of its classes.

    >>> issubclass(gluoncv.data.VOCDetection, gluoncv.data.VisionDataset)
    True
    """

    CLASSES: tuple[str, ...] = ()

    def __init__(self, root):
        super().__init__()
        self._root = os.path.expanduser(root)
        if not os.path.isdir(self._root):
            raise missing(f"{type(self).__name__}: there is no folder {self._root}", self._root)

    @property
    def classes(self):
        """The names of the classes, in the order of their numbers."""
        return type(self).CLASSES

    @property
    def num_class(self):
        """The number of classes."""
        return len(self.classes)


class KeyPointDataset(VisionDataset):
    """A data set of joints; those with more to say override the properties."""

    @property
    def num_joints(self):
        """Joints of an object."""
        return 0

    @property
    def joint_pairs(self):
        """Pairs of left and right joints, which swap in a mirrored picture."""
        return []

    @property
    def parent_joints(self):
        """The joint that each hangs on, by number, where there is one."""
        return {}
