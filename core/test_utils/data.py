"""Data sets for tests and examples: files of this machine where they are, else downloaded."""

from __future__ import annotations

import logging
import os
import struct

import numpy as np

from core import store
from core.base import MXNetError, NotSupportedError
from core.files.archives import Archive, open_packed
from core.files.atomic import write_bytes
from core.io import DataIter, MNISTIter

_MNIST = "train-images-idx3-ubyte train-labels-idx1-ubyte t10k-images-idx3-ubyte t10k-labels-idx1-ubyte".split()
_CIFAR = [f"cifar/{part}.{kind}" for part in ("train", "test") for kind in ("rec", "lst")]
_EXAMPLES = "http://data.mxnet.io/mxnet/data/"


def download(url, fname=None, dirname=None, overwrite=False, retries=5):
    """Fetches a URL to `fname` in `dirname`; a file that is there stays unless `overwrite`. Returns the path."""
    fname = fname or url.split("?")[0].rsplit("/", 1)[-1]
    if dirname is not None:
        fname = os.path.join(dirname, fname)
    if not overwrite and os.path.exists(fname):
        logging.info("%s exists, skipping download", fname)
        return fname
    store.download(url, fname, overwrite=overwrite, retries=retries)
    logging.info("downloaded %s into %s successfully", url, fname)
    return fname


def download_model(model_name, dst_dir="./", meta_info=None):
    """(prefix, epoch) of a published checkpoint: `meta_info[name]` gives the URLs "symbol" and "params";
    (None, 0) without.
    """
    urls = (meta_info or {}).get(model_name)
    if urls is None:
        return None, 0
    for kind in ("symbol", "params"):
        if kind not in urls:
            raise AssertionError(f"the entry of {model_name!r} lacks the URL of its {kind}")
    os.makedirs(dst_dir, exist_ok=True)
    prefix = os.path.join(dst_dir, model_name)
    download(urls["symbol"], f"{prefix}-symbol.json")
    download(urls["params"], f"{prefix}-0000.params")
    return prefix, 0


def get_mnist() -> dict:
    """MNIST as NumPy arrays: train_data, test_data (N, 1, 28, 28) float32 in [0, 1]; train_label, test_label int8."""
    found = {}
    for part, prefix in (("train", "train"), ("test", "t10k")):
        images = _idx(f"{prefix}-images-idx3-ubyte", 4)
        found[f"{part}_data"] = images.reshape(-1, 1, 28, 28).astype(np.float32) / 255
        found[f"{part}_label"] = _idx(f"{prefix}-labels-idx1-ubyte", 2).astype(np.int8)
    return found


def get_mnist_ubyte() -> None:
    """Puts the four files of MNIST, unpacked, into the folder `data`."""
    for name in _MNIST:
        if not os.path.exists(os.path.join("data", name)):
            os.makedirs("data", exist_ok=True)
            write_bytes(os.path.join("data", name), _mnist_file(name))


def get_mnist_pkl() -> None:
    """A pickle of MNIST, which is not loaded here: raises NotSupportedError."""
    raise NotSupportedError("mnist.pkl.gz is a pickle, which may run code when it is read; use get_mnist()")


def get_mnist_iterator(batch_size, input_shape, num_parts=1, part_index=0):
    """(training, validation) iterators over MNIST; flat unless `input_shape` has three extents."""
    get_mnist_ubyte()
    flat = len(input_shape) != 3

    def iterator(prefix, **settings):
        return MNISTIter(
            image=f"data/{prefix}-images-idx3-ubyte", label=f"data/{prefix}-labels-idx1-ubyte", batch_size=batch_size,
            flat=flat, num_parts=num_parts, part_index=part_index, **settings,
        )  # fmt: skip

    return iterator("train", shuffle=True), iterator("t10k", shuffle=False)


def get_cifar10() -> None:
    """Puts CIFAR-10 as records into the folder `data/cifar`."""
    if not all(os.path.exists(os.path.join("data", name)) for name in _CIFAR):
        Archive(download(_EXAMPLES + "cifar10.zip", dirname="data")).extract("data")


def get_zip_data(data_dir, url, data_origin_name):
    """Fetches an archive to `data_dir` and unpacks it there."""
    path = os.path.join(data_dir, data_origin_name)
    if not os.path.exists(path):
        download(url, fname=path)
        Archive(path).extract(data_dir)


def get_bz2_data(data_dir, data_name, url, data_origin_name):
    """Fetches a compressed file and unpacks it to `data_name` in `data_dir`."""
    path, packed = os.path.join(data_dir, data_name), os.path.join(data_dir, data_origin_name)
    if os.path.exists(path):
        return
    download(url, fname=packed)
    with open_packed(packed) as source:
        store.write_checked(source, path)
    os.remove(packed)


def get_im2rec_path(home_env="MXNET_HOME"):
    """The path of the program that packs images into records."""
    import core

    roots = [os.environ.get(home_env, ""), os.path.dirname(os.path.dirname(core.__file__))]
    for path in (os.path.join(root, folder, "im2rec.py") for root in roots for folder in ("tools", "scripts")):
        if os.path.isfile(path):
            return path
    raise OSError("im2rec.py is not beside the package: it is in scripts/ of a checkout")


class DummyIter(DataIter):
    """Gives the first batch of an iterator for ever, to measure the rest of a program."""

    def __init__(self, real_iter):
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.provide_data, self.provide_label = real_iter.provide_data, real_iter.provide_label
        self.the_batch = next(real_iter)

    def next(self):
        return self.the_batch


def _mnist_file(name: str) -> bytes:
    """The content of a file of MNIST: here, in `data`, in Gluon's folder of data sets, or from the network."""
    folders = (".", "data", os.path.join(store.home(), "datasets", "mnist"))
    for path in (os.path.join(folder, name) for folder in folders):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return file.read()
        if os.path.isfile(path + ".gz"):
            break
    else:
        path = os.path.join(folders[-1], name)
        store.download(store.repo_file_url("gluon/dataset/mnist", name + ".gz"), path + ".gz")
    with open_packed(path + ".gz") as file:
        return file.read()


def _idx(name: str, words: int) -> np.ndarray:
    content = _mnist_file(name)
    head = struct.unpack_from(f">{words}I", content) if len(content) >= 4 * words else ()
    if not head or len(content) != 4 * words + int(np.prod(head[1:])):
        raise MXNetError(f"{name} is damaged: its length is not the one that its header says")
    return np.frombuffer(content, np.uint8, offset=4 * words).reshape(head[1:])
