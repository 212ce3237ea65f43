"""Image data sets in the files that their users know."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np

from core import image, recordio
from core.base import MXNetError
from core.files.numpy_files import read_npy
from core.files.text import reading
from core.util import is_np_array
from gluon.data import arrays
from gluon.data.dataset import Dataset, RecordFileDataset, _DownloadedDataset
from gluon.data.vision import cifar, idx
from gluon.store import home

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageListDataset",
    "ImageRecordDataset",
]

Transform = Callable[..., Any]


class MNIST(_DownloadedDataset):
    """Handwritten digits (LeCun et al., 1998): 60,000 for training, 10,000 for testing.

    A sample is (image, label): uint8 of shape (28, 28, 1), and an int32 scalar, NumPy's or under
    `npx.set_np` an array. `root` holds the four original files, packed (`train-images-idx3-ubyte.gz`, ...) by any
    program, or unpacked; what is absent is downloaded there. Checksums are verified; raises `gluon.store.DownloadError`
    for a file that can be neither used nor fetched.
    """

    _files = idx.MNIST

    def __init__(
        self,
        root: str = os.path.join(home(), "datasets", "mnist"),
        train: bool = True,
        transform: Transform | None = None,
    ):
        self._train = train
        super().__init__(root, transform)

    def _get_data(self) -> None:
        images, labels = idx.load(self._root, self._files, self._train)
        self._data = arrays.wrap(images)
        self._label = _labels(labels.astype(np.int32))


class FashionMNIST(MNIST):
    """Pictures of clothes (Xiao et al., 2017), in MNIST's form and files."""

    _files = idx.FASHION_MNIST

    def __init__(
        self,
        root: str = os.path.join(home(), "datasets", "fashion-mnist"),
        train: bool = True,
        transform: Transform | None = None,
    ):
        super().__init__(root, train, transform)


class CIFAR10(_DownloadedDataset):
    """Small colour images of 10 classes (Krizhevsky, 2009): 50,000 for training, 10,000 for testing.

    A sample is (image, label): uint8 of shape (32, 32, 3), and an int32 scalar, NumPy's or under
    `npx.set_np` an array. `root` holds the original binary files (`data_batch_1.bin`, ..., `test_batch.bin`), which are
    downloaded if absent and verified; or else the records that MXNet's examples use (`train.rec`, `test.rec`, in `root`
    or in `root/cifar`, or packed in `root/cifar10-rec.tar.gz`), whose images are JPEG-compressed and therefore not
    quite the original ones.

    >>> import os, tempfile
    >>> root = tempfile.mkdtemp()
    >>> records = recordio.MXRecordIO(os.path.join(root, "test.rec"), "w")
    >>> records.write(recordio.pack_img((0, 3, 0, 0), onp.full((32, 32, 3), 50, "uint8"), img_fmt=".png"))
    >>> records.close()
    >>> data = gluon.data.vision.CIFAR10(root, train=False)  # of the one picture in test.rec
    >>> len(data), data[0][0].shape, int(data[0][1])
    (1, (32, 32, 3), 3)
    """

    def __init__(
        self,
        root: str = os.path.join(home(), "datasets", "cifar10"),
        train: bool = True,
        transform: Transform | None = None,
    ):
        self._train = train
        super().__init__(root, transform)

    def _get_data(self) -> None:
        images, labels = cifar.load_cifar10(self._root, self._train)
        self._data, self._label = arrays.wrap(images), _labels(labels)


class CIFAR100(_DownloadedDataset):
    """Small colour images of 100 classes in 20 groups (Krizhevsky, 2009); form and files as `CIFAR10`.

    The label is the class with `fine_label`, else the group.
    """

    def __init__(
        self,
        root: str = os.path.join(home(), "datasets", "cifar100"),
        fine_label: bool = False,
        train: bool = True,
        transform: Transform | None = None,
    ):
        self._train = train
        self._fine_label = fine_label
        super().__init__(root, transform)

    def _get_data(self) -> None:
        images, labels = cifar.load_cifar100(self._root, self._train, self._fine_label)
        self._data, self._label = arrays.wrap(images), _labels(labels)


class ImageRecordDataset(RecordFileDataset):
    """The labelled images of a RecordIO file `NAME.rec` with its index `NAME.idx`, as `im2rec` writes them.

    A sample is (image, label): uint8 of shape (height, width, 3), or (height, width, 1) for `flag` 0; the label is a
    float, or a float32 NumPy array where the record holds several.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "file")
    >>> writer = recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    >>> record = recordio.pack_img(recordio.IRHeader(0, 3.0, 0, 0), onp.zeros((4, 5, 3), "uint8"), img_fmt=".png")
    >>> writer.write_idx(0, record)
    >>> writer.close()
    >>> picture, label = gluon.data.vision.ImageRecordDataset(path + ".rec")[0]
    >>> picture.shape, float(label)
    ((4, 5, 3), 3.0)
    """

    def __init__(self, filename: str | os.PathLike, flag: int = 1, transform: Transform | None = None):
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: int) -> Any:
        header, data = recordio.unpack(super().__getitem__(idx))
        return _transformed(self._transform, image.imdecode(data, self._flag), header.label)


class ImageFolderDataset(Dataset):
    """Images in one folder for each class: `root/CLASS/NAME.jpg` (or .jpeg, .png, .npy).

    A sample is (image, label): uint8 of shape (height, width, 3), or (height, width, 1) for `flag` 0 (arrays of .npy
    files as they are), and the int number of the class. `synsets` lists the classes in alphabetical order, `items`
    the (file, label) pairs.

    >>> import os, tempfile
    >>> root = tempfile.mkdtemp()
    >>> os.mkdir(os.path.join(root, "cats"))
    >>> onp.save(os.path.join(root, "cats", "one.npy"), onp.zeros((4, 5, 3), "uint8"))
    >>> data = gluon.data.vision.ImageFolderDataset(root)
    >>> data.synsets, data[0][0].shape, data[0][1]
    (['cats'], (4, 5, 3), 0)
    """

    _exts = (".jpg", ".jpeg", ".png", ".npy")

    def __init__(self, root: str | os.PathLike, flag: int = 1, transform: Transform | None = None):
        self._root = os.path.expanduser(root)
        self._flag = flag
        self._transform = transform
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        self._list_images()

    def __getitem__(self, idx: int) -> Any:
        path, label = self.items[idx]
        return _transformed(self._transform, _read(path, self._flag), label)

    def __len__(self) -> int:
        return len(self.items)

    def _list_images(self) -> None:
        for folder in sorted(os.listdir(self._root)):
            path = os.path.join(self._root, folder)
            if not os.path.isdir(path):
                warnings.warn(f"{path} is left out: it is no folder", stacklevel=4)
                continue
            label = len(self.synsets)
            self.synsets.append(folder)
            for name in sorted(os.listdir(path)):
                if os.path.splitext(name)[1].lower() in self._exts:
                    self.items.append((os.path.join(path, name), label))
                else:
                    warnings.warn(
                        f"{os.path.join(path, name)} is left out: accepted are {', '.join(self._exts)}", stacklevel=4
                    )


class ImageListDataset(Dataset):
    """Images named by a list.

    `imglist` is a `.lst` file as `im2rec` writes it (lines of number, label or labels, path; between tabs), or a list
    of items `[label, ..., path]` with one or more numbers or one sequence of numbers. Paths start from `root`. A
    sample is (image, label): the image as in `ImageFolderDataset`, the label a float32 NumPy array of shape (labels,).

    >>> import os, tempfile
    >>> from PIL import Image
    >>> root = tempfile.mkdtemp()
    >>> Image.new("RGB", (5, 4)).save(os.path.join(root, "one.png"))
    >>> data = gluon.data.vision.ImageListDataset(root, [[1, "one.png"]])
    >>> len(data), data[0][0].shape
    (1, (4, 5, 3))
    """

    def __init__(
        self, root: str | os.PathLike = ".", imglist: str | os.PathLike | Sequence | None = None, flag: int = 1
    ):
        self._root = os.path.expanduser(root)
        self._flag = flag
        if isinstance(imglist, str | os.PathLike):
            self.items = _read_list(os.path.join(self._root, imglist))
        elif isinstance(imglist, list | tuple):
            self.items = [_listed(item) for item in imglist]
        else:
            raise TypeError(f"imglist must be the name of a .lst file or a list, got {type(imglist).__name__}")

    def __getitem__(self, idx: int) -> Any:
        path, label = self.items[idx]
        return _read(os.path.join(self._root, path), self._flag), label

    def __len__(self) -> int:
        return len(self.items)


def _labels(values: np.ndarray):
    """`values` as NumPy's, or as an array of `np` where that namespace is in use."""
    return arrays.wrap(values) if is_np_array() else values


def _transformed(transform: Transform | None, picture, label) -> Any:
    return transform(picture, label) if transform is not None else (picture, label)


def _read(path: str, flag: int):
    if path.endswith(".npy"):
        return arrays.wrap(read_npy(path))
    return image.imread(path, flag)


def _read_list(filename: str) -> list[tuple[str, np.ndarray]]:
    items = []
    with open(filename, encoding="utf-8") as file, reading(filename, "the list"):
        for number, line in enumerate(file, 1):
            fields = line.strip("\n").split("\t")
            if fields == [""]:
                continue
            try:
                items.append((fields[-1].strip(), np.array(fields[1:-1], dtype=np.float32)))
            except ValueError as error:
                raise MXNetError(f"{filename}, line {number}: {error}; expected number, labels, path") from error
            if len(fields) < 3:
                raise MXNetError(f"{filename}, line {number} has {len(fields)} fields; expected number, labels, path")
    return items


def _listed(item: Sequence) -> tuple[str, np.ndarray]:
    *labels, path = item
    if len(labels) == 1 and not isinstance(labels[0], Number):
        labels = labels[0]
    return path, np.array(labels, dtype=np.float32)
