"""Image data sets and transforms."""

from core.documentation.classes import complete as _complete
from gluon.data.vision import datasets, transforms
from gluon.data.vision.datasets import (
    CIFAR10,
    CIFAR100,
    MNIST,
    FashionMNIST,
    ImageFolderDataset,
    ImageListDataset,
    ImageRecordDataset,
)

_complete(globals())
