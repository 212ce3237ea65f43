"""ImageNet."""

import os

from gluon.data.vision import ImageFolderDataset
from gluoncv.data.base import DATASETS
from gluoncv.data.classes import names

__all__ = ["ImageNet", "ImageNet1kAttr"]

_ROOT = f"{DATASETS}/imagenet"


class ImageNet(ImageFolderDataset):
    """ImageNet's folders `train` and `val` below `root`, with a folder for each class.

    >>> import os, tempfile
    >>> root = tempfile.mkdtemp()
    >>> os.makedirs(os.path.join(root, "train", "n01440764"))
    >>> onp.save(os.path.join(root, "train", "n01440764", "one.npy"), onp.zeros((4, 5, 3), "uint8"))
    >>> data = gluoncv.data.ImageNet(root)
    >>> len(data), data.synsets
    (1, ['n01440764'])
    """

    def __init__(self, root=_ROOT, train=True, transform=None):
        super().__init__(os.path.join(root, "train" if train else "val"), 1, transform)


class ImageNet1kAttr:
    """The 1,000 classes: `synset`, `classes` and `classes_long`, lists of WordNet's numbers, one name,
    and all names of each.

    >>> gluoncv.data.ImageNet1kAttr().classes[:2]
    ['tench', 'goldfish']
    """

    def __init__(self):
        self.synset, self.classes, self.classes_long = (
            list(names(f"imagenet1k_{kind}")) for kind in ("synset", "short", "long")
        )
        self.num_class = len(self.classes)
