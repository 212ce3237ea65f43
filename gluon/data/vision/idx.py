"""The files of MNIST and the data sets that copy its form (http://yann.lecun.com/exdb/mnist)."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import struct

import numpy as np

from core.base import MXNetError
from core.files.archives import open_packed
from core.files.reader import DamagedFile
from gluon import store

IMAGES, LABELS = 2051, 2049


@dataclasses.dataclass(frozen=True)
class File:
    """A packed file: its name, its SHA-1, and that of its content where known."""

    name: str
    sha1: str
    content_sha1: str | None = None


@dataclasses.dataclass(frozen=True)
class Files:
    """Where a data set is published, and its (images, labels) for training and testing."""

    namespace: str
    train: tuple[File, File]
    test: tuple[File, File]


MNIST = Files(
    "gluon/dataset/mnist",
    train=(
        File(
            "train-images-idx3-ubyte.gz",
            "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d",
            "c3557c10f29b266e19b3eeee1553c85e0ef4a8ea",
        ),
        File(
            "train-labels-idx1-ubyte.gz",
            "2a80914081dc54586dbdf242f9805a6b8d2a15fc",
            "adbf52269f5d842899f287c269e2883e40b4f6e2",
        ),
    ),
    test=(
        File(
            "t10k-images-idx3-ubyte.gz",
            "c3a25af1f52dad7f726cce8cacb138654b760d48",
            "65e11ec1fd220343092a5070b58418b5c2644e26",
        ),
        File(
            "t10k-labels-idx1-ubyte.gz",
            "763e7fa3757d93b0cdec073cef058b2004252c17",
            "a6d52cc628797e845885543326e9f10abb8a6f89",
        ),
    ),
)
FASHION_MNIST = Files(
    "gluon/dataset/fashion-mnist",
    train=(
        File("train-images-idx3-ubyte.gz", "0cf37b0d40ed5169c6b3aba31069a9770ac9043d"),
        File("train-labels-idx1-ubyte.gz", "236021d52f1e40852b06a4c3008d8de8aef1e40b"),
    ),
    test=(
        File("t10k-images-idx3-ubyte.gz", "626ed6a7c06dd17c0eec72fa3be1740f146a2863"),
        File("t10k-labels-idx1-ubyte.gz", "17f9ab60e7257a1620f4ad76bbbaf857c3920701"),
    ),
)


def load(root: str, files: Files, train: bool) -> tuple[np.ndarray, np.ndarray]:
    """uint8 images of shape (n, height, width, 1) and uint8 labels of shape (n,); fetches what `root` lacks."""
    images, labels = (_content(root, files.namespace, file) for file in (files.train if train else files.test))
    pictures, numbers = _parse(*images, IMAGES), _parse(*labels, LABELS)
    if len(pictures) != len(numbers):
        raise MXNetError(f"{images[0]} holds {len(pictures)} images, {labels[0]} {len(numbers)} labels")
    return pictures[..., None], numbers


def _content(root: str, namespace: str, file: File) -> tuple[str, bytearray]:
    """The name and the unpacked content of a file whose checksum is right."""
    packed = os.path.join(root, file.name)
    unpacked = packed.removesuffix(".gz")
    if os.path.exists(unpacked) and file.content_sha1 and store.check_sha1(unpacked, file.content_sha1):
        with open(unpacked, "rb") as stream:
            return unpacked, bytearray(stream.read())
    content = _repacked(packed, file)
    if content is None:
        store.download(store.repo_file_url(namespace, file.name), packed, sha1_hash=file.sha1)
        content = _unpack(packed)
    return packed, content


def _repacked(packed: str, file: File) -> bytearray | None:
    """The content of a file that is right, but was packed by another program than the published one."""
    if file.content_sha1 is None or not os.path.exists(packed) or store.check_sha1(packed, file.sha1):
        return None
    try:
        content = _unpack(packed)
    except MXNetError:
        return None
    return content if hashlib.sha1(content).hexdigest() == file.content_sha1 else None


def _unpack(packed: str) -> bytearray:
    """As much of a packed file as its header announces, and a byte more to notice a surplus."""
    try:
        with open_packed(packed, max_ratio=0) as stream:  # the header says how much may come
            content = bytearray(stream.read(16))
            size = _size(packed, content)
            # Piece by piece: a damaged header may announce more than there is memory.
            while len(content) <= size and (piece := stream.read(min(store.CHUNK, size + 1 - len(content)))):
                content += piece
            return content
    except DamagedFile as error:
        raise MXNetError(f"{packed} cannot be unpacked: {error}") from error


def _size(name: str, head: bytes) -> int:
    """The length of a file in bytes, from its first 16."""
    (magic,) = struct.unpack(">I", head[:4]) if len(head) >= 4 else (None,)
    if magic not in (IMAGES, LABELS):
        raise MXNetError(f"{name} is no file of images or labels: it begins with {head[:4].hex()}")
    extents = _extents(name, head, magic)
    return 4 + 4 * len(extents) + math.prod(extents)


def _extents(name: str, head: bytes, magic: int) -> tuple[int, ...]:
    count = magic & 0xFF
    if len(head) < 4 + 4 * count:
        raise MXNetError(f"{name} ends within its header, at byte {len(head)}")
    return struct.unpack_from(f">{count}I", head, 4)


def _parse(name: str, content: bytearray, magic: int) -> np.ndarray:
    size = _size(name, content[:16])
    if struct.unpack_from(">I", content)[0] != magic:
        raise MXNetError(f"{name} does not hold what its name says: magic {content[:4].hex()}, expected {magic:08x}")
    if len(content) != size:
        raise MXNetError(f"{name} has {len(content)} bytes where its header announces {size}")
    extents = _extents(name, content[:16], magic)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(extents)).reshape(extents)
