"""The files of CIFAR-10 and CIFAR-100 (https://www.cs.toronto.edu/~kriz/cifar.html)."""

from __future__ import annotations

import dataclasses
import os
import tempfile

import numpy as np

from core import image, recordio
from core.base import MXNetError
from core.files.archives import Archive
from gluon import store

PIXELS = 3 * 32 * 32


@dataclasses.dataclass(frozen=True)
class Files:
    """An archive and the files in it, each with its SHA-1."""

    namespace: str
    archive: tuple[str, str]
    train: dict[str, str]
    test: dict[str, str]


CIFAR10 = Files(
    "gluon/dataset/cifar10",
    ("cifar-10-binary.tar.gz", "fab780a1e191a7eda0f345501ccd62d20f7ed891"),
    train={
        "data_batch_1.bin": "aadd24acce27caa71bf4b10992e9e7b2d74c2540",
        "data_batch_2.bin": "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
        "data_batch_3.bin": "1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
        "data_batch_4.bin": "aab85764eb3584312d3c7f65fd2fd016e36a258e",
        "data_batch_5.bin": "26e2849e66a845b7f1e4614ae70f4889ae604628",
    },
    test={"test_batch.bin": "67eb016db431130d61cd03c7ad570b013799c88c"},
)
CIFAR100 = Files(
    "gluon/dataset/cifar100",
    ("cifar-100-binary.tar.gz", "a0bb982c76b83111308126cc779a992fa506b90b"),
    train={"train.bin": "e207cd2e05b73b1393c74c7f5e7bea451d63e08e"},
    test={"test.bin": "8fb6623e830365ff53cf14adec797474f5478006"},
)
RECORD_FOLDERS = ("", "cifar")
RECORD_ARCHIVE = "cifar10-rec.tar.gz"


def load_cifar10(root: str, train: bool) -> tuple[np.ndarray, np.ndarray]:
    """uint8 images of shape (n, 32, 32, 3) and int32 labels of shape (n,)."""
    files = CIFAR10.train if train else CIFAR10.test
    if not any(os.path.exists(os.path.join(root, name)) for name in files):
        name = "train.rec" if train else "test.rec"
        for folder in RECORD_FOLDERS:
            path = os.path.join(root, folder, name)
            if os.path.exists(path):
                return _decode_records(path)
        archive = os.path.join(root, RECORD_ARCHIVE)
        if os.path.exists(archive):
            return _decode_packed_records(archive, name)
    images, labels = _load(root, CIFAR10, files, label_bytes=1)
    return images, labels[:, 0]


def load_cifar100(root: str, train: bool, fine: bool) -> tuple[np.ndarray, np.ndarray]:
    """uint8 images of shape (n, 32, 32, 3) and int32 labels of shape (n,): classes if `fine`, else groups."""
    images, labels = _load(root, CIFAR100, CIFAR100.train if train else CIFAR100.test, label_bytes=2)
    return images, labels[:, int(fine)]


def _load(root: str, published: Files, files: dict[str, str], label_bytes: int) -> tuple[np.ndarray, np.ndarray]:
    paths = {name: os.path.join(root, name) for name in files}
    if not all(os.path.exists(path) and store.check_sha1(path, files[name]) for name, path in paths.items()):
        _fetch(root, published)
    rows = np.concatenate([np.fromfile(paths[name], np.uint8) for name in files]).reshape(-1, label_bytes + PIXELS)
    images = rows[:, label_bytes:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), rows[:, :label_bytes].astype(np.int32)


def _fetch(root: str, published: Files) -> None:
    name, sha1 = published.archive
    archive = store.download(store.repo_file_url(published.namespace, name), os.path.join(root, name), sha1_hash=sha1)
    wanted = published.train | published.test
    for member in Archive(archive).entries():
        name = os.path.basename(member.name)
        if name in wanted:
            store.write_checked(member, os.path.join(root, name), wanted[name])


def _decode_packed_records(archive: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    for member in Archive(archive).entries():
        if os.path.basename(member.name) == name:
            with tempfile.TemporaryDirectory() as folder:
                store.write_checked(member, os.path.join(folder, name))
                return _decode_records(os.path.join(folder, name))
    raise MXNetError(f"{archive} has no {name}")


def _decode_records(path: str) -> tuple[np.ndarray, np.ndarray]:
    images, labels = [], []
    with recordio.MXRecordIO(path, "r") as records:
        while (record := records.read()) is not None:
            header, data = recordio.unpack(record)
            picture = image.imdecode(data).asnumpy()
            if picture.shape != (32, 32, 3):
                raise MXNetError(f"{path}: image {len(images)} has the shape {picture.shape}, expected (32, 32, 3)")
            images.append(picture)
            labels.append(header.label)
    return np.stack(images), np.array(labels, np.int32)
