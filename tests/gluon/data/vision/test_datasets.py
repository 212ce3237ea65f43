"""Image data sets: real files where they are at hand, else small files in the same format."""

import gzip
import hashlib
import shutil
import struct
import tarfile
import warnings

import numpy as np
import pytest

from core import ndarray as nd
from core import recordio
from core.base import MXNetError
from core.numpy import ndarray as np_array
from gluon import store
from gluon.data import DataLoader
from gluon.data.vision import (
    CIFAR10,
    CIFAR100,
    MNIST,
    FashionMNIST,
    ImageFolderDataset,
    ImageListDataset,
    ImageRecordDataset,
    cifar,
    idx,
)


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setenv("MXNET_OFFLINE", "1")


# ---------------------------------------------------------------- MNIST


def test_mnist(data):
    train, test = MNIST(data / "mnist", train=True), MNIST(data / "mnist", train=False)
    assert (len(train), len(test)) == (60000, 10000)
    image, label = train[0]
    assert isinstance(image, nd.NDArray) and image.shape == (28, 28, 1) and image.dtype == np.uint8
    assert label == 5 and label.dtype == np.int32
    # Counts that the README of the data gives; the first test image is a 7.
    counts = np.bincount(train._label)
    assert (counts.min(), counts.max()) == (5421, 6742)
    assert test[0][1] == 7
    batch, labels = next(iter(DataLoader(test.transform_first(lambda x: x.astype("float32") / 255), 32, num_workers=1)))
    assert batch.shape == (32, 28, 28, 1) and labels.dtype == np.int32 and float(batch.max().asscalar()) == 1


def test_labels_are_arrays_of_np_where_that_face_is_in_use(data, numpy_semantics):
    test = MNIST(data / "mnist", train=False)
    images, labels = test[10:14]
    assert type(labels) is type(images) is np_array and labels.dtype == np.int32
    assert labels.asnumpy().tolist() == [0, 6, 9, 0] and (test[0][1] == 7).item() is True
    (_, batch) = next(iter(DataLoader(test.transform_first(lambda x: x.astype("float32") / 255), 4)))
    assert type(batch) is np_array and batch.dtype == np.int32 and batch.tolist() == [7, 2, 1, 0]


def test_mnist_unpacked(data, tmp_path):
    for name in ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        with gzip.open(data / "mnist" / f"{name}.gz") as packed, open(tmp_path / name, "wb") as target:
            shutil.copyfileobj(packed, target)
    assert len(MNIST(tmp_path, train=False, transform=lambda image, label: label)) == 10000


def test_mnist_absent_or_altered_is_refused(data, tmp_path):
    with pytest.raises(store.DownloadError, match=r"t10k-images-idx3-ubyte\.gz.*MXNET_OFFLINE"):
        MNIST(tmp_path, train=False)
    with gzip.open(data / "mnist" / "t10k-images-idx3-ubyte.gz") as packed:
        content = bytearray(packed.read())
    content[5000] ^= 1
    with gzip.open(tmp_path / "t10k-images-idx3-ubyte.gz", "wb", 1) as target:
        target.write(content)
    with pytest.raises(store.DownloadError, match="absent or damaged"):
        MNIST(tmp_path, train=False)
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(b"no gzip")
    with pytest.raises(store.DownloadError, match="absent or damaged"):
        MNIST(tmp_path, train=False)


def published(folder, files):
    """A mirror with small files, and a table with their checksums."""
    entries = []
    for file, magic, extents in zip(files.test, (idx.IMAGES, idx.LABELS), ((3, 4, 5), (3,))):
        body = np.arange(np.prod(extents)).astype(np.uint8).tobytes()
        path = folder / files.namespace / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(struct.pack(f">I{len(extents)}I", magic, *extents) + body))
        entries.append(idx.File(file.name, hashlib.sha1(path.read_bytes()).hexdigest()))
    return idx.Files(files.namespace, tuple(entries), tuple(entries))


def test_fashion_mnist_is_downloaded(tmp_path, monkeypatch):
    monkeypatch.setattr(FashionMNIST, "_files", published(tmp_path / "mirror", idx.FASHION_MNIST))
    monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "mirror").as_uri())
    monkeypatch.delenv("MXNET_OFFLINE")
    dataset = FashionMNIST(tmp_path / "root", train=False)
    assert [label for _, label in dataset] == [0, 1, 2]
    np.testing.assert_array_equal(dataset[1][0].asnumpy().ravel(), np.arange(20, 40))
    monkeypatch.setenv("MXNET_OFFLINE", "1")
    assert len(FashionMNIST(tmp_path / "root", train=False)) == 3


@pytest.mark.parametrize(
    "content, message",
    [
        (b"abc", "begins with"),
        (struct.pack(">II", 77, 1), "begins with"),
        (struct.pack(">II", idx.IMAGES, 1), "header"),
        (struct.pack(">IIII", idx.IMAGES, 2, 2, 2) + bytes(7), "has 23 bytes where its header announces 24"),
        (struct.pack(">IIII", idx.IMAGES, 2, 2, 2) + bytes(9), "has 25 bytes"),
        (struct.pack(">II", idx.LABELS, 4) + bytes(12), "does not hold what its name says"),
        (struct.pack(">IIII", idx.IMAGES, 2**32 - 1, 2**16, 2**10) + bytes(7), "announces"),
    ],
)
def test_damaged_idx_files(tmp_path, content, message):
    name = "images.gz"
    (tmp_path / name).write_bytes(gzip.compress(content))
    file = idx.File(name, hashlib.sha1((tmp_path / name).read_bytes()).hexdigest())
    with pytest.raises(MXNetError, match=message):
        idx.load(tmp_path, idx.Files("none", (file, file), (file, file)), True)


# ---------------------------------------------------------------- CIFAR


def rows(count, label_bytes, seed):
    return np.random.RandomState(seed).randint(0, 10, (count, label_bytes + cifar.PIXELS)).astype(np.uint8)


def test_cifar_is_downloaded_and_unpacked(tmp_path, monkeypatch):
    mirror, made = tmp_path / "mirror", {}
    for table, label_bytes in (("CIFAR10", 1), ("CIFAR100", 2)):
        files = getattr(cifar, table)
        folder = mirror / files.namespace
        folder.mkdir(parents=True)
        sums = {}
        with tarfile.open(folder / files.archive[0], "w:gz") as tar:
            for number, name in enumerate(files.train | files.test):
                path = tmp_path / name
                made[table, name] = rows(4, label_bytes, number)
                path.write_bytes(made[table, name].tobytes())
                sums[name] = hashlib.sha1(path.read_bytes()).hexdigest()
                tar.add(path, f"cifar-binary/{name}")
        sha1 = hashlib.sha1((folder / files.archive[0]).read_bytes()).hexdigest()
        train, test = ({name: sums[name] for name in part} for part in (files.train, files.test))
        monkeypatch.setattr(cifar, table, cifar.Files(files.namespace, (files.archive[0], sha1), train, test))
    with pytest.raises(store.DownloadError, match=r"cifar-10-binary\.tar\.gz"):
        CIFAR10(tmp_path / "ten")
    monkeypatch.setenv("MXNET_GLUON_REPO", mirror.as_uri())
    monkeypatch.delenv("MXNET_OFFLINE")
    train = CIFAR10(tmp_path / "ten")
    test = CIFAR10(tmp_path / "ten", train=False)
    assert (len(train), len(test)) == (20, 4)
    image, label = train[5]
    row = made["CIFAR10", "data_batch_2.bin"][1]
    assert label == row[0] and label.dtype == np.int32 and image.shape == (32, 32, 3)
    np.testing.assert_array_equal(image.asnumpy(), row[1:].reshape(3, 32, 32).transpose(1, 2, 0))
    rows100 = made["CIFAR100", "test.bin"]
    for fine in (False, True):
        hundred = CIFAR100(tmp_path / "hundred", fine_label=fine, train=False)
        assert [label for _, label in hundred] == rows100[:, int(fine)].tolist()


@pytest.fixture(scope="module")
def cifar_records(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cifar")
    with tarfile.open(data / "cifar10" / "cifar10-rec.tar.gz") as tar:
        for name in ("cifar/test.rec", "cifar/test.idx"):
            tar.extract(name, folder, filter="data")
    return folder


def test_cifar10_from_records(cifar_records):
    dataset = CIFAR10(cifar_records, train=False)
    assert np.bincount(dataset._label).tolist() == [1000] * 10
    binary = np.concatenate(
        [dataset._label[:, None].astype(np.uint8), dataset._data.asnumpy().transpose(0, 3, 1, 2).reshape(10000, -1)], 1
    )
    # What the README of the data gives for test_batch.bin, decoded by libjpeg-turbo 3.
    assert hashlib.md5(binary.tobytes()).hexdigest() == "11e2161f06e495577766fe4411c65d23"


def test_image_record_dataset(cifar_records):
    dataset = ImageRecordDataset(cifar_records / "cifar" / "test.rec")
    assert len(dataset) == 10000
    image, label = dataset[3]
    assert image.shape == (32, 32, 3) and image.dtype == np.uint8 and label == 0.0 and type(label) is float
    assert ImageRecordDataset(cifar_records / "cifar" / "test.rec", flag=0)[0][0].shape == (32, 32, 1)
    labels = [dataset[i][1] for i in range(64)]
    loaded = [label for _, part in DataLoader(dataset.take(64), 16, num_workers=2) for label in part.asnumpy()]
    assert loaded == labels


# ---------------------------------------------------------------- folders and lists


@pytest.fixture
def pictures(data, tmp_path):
    sources = sorted((data / "imagenet_samples" / "images").iterdir())[:3]
    for source, target in zip(sources, ("b/x.JPEG", "a/y.jpg", "b/a.jpeg")):
        (tmp_path / target).parent.mkdir(exist_ok=True)
        shutil.copy(source, tmp_path / target)
    np.save(tmp_path / "b" / "z.npy", np.arange(6).reshape(1, 2, 3).astype(np.uint8))
    (tmp_path / "a" / "notes.txt").touch()
    (tmp_path / "readme.md").touch()
    return tmp_path


def test_image_folder_dataset(pictures):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dataset = ImageFolderDataset(pictures)
    assert sorted(str(w.message).split(" is left out")[0] for w in caught) == [
        str(pictures / "a" / "notes.txt"),
        str(pictures / "readme.md"),
    ]
    assert dataset.synsets == ["a", "b"]
    assert [(path[len(str(pictures)) + 1 :], label) for path, label in dataset.items] == [
        ("a/y.jpg", 0),
        ("b/a.jpeg", 1),
        ("b/x.JPEG", 1),
        ("b/z.npy", 1),
    ]
    image, label = dataset[0]
    assert label == 0 and image.dtype == np.uint8 and image.shape[2] == 3
    assert dataset[3][0].asnumpy().tolist() == [[[0, 1, 2], [3, 4, 5]]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gray = ImageFolderDataset(pictures, flag=0, transform=lambda image, label: (image.shape, label))
    assert gray[0] == ((*image.shape[:2], 1), 0)


def test_image_list_dataset(pictures):
    (pictures / "files.lst").write_text("0\t3\ta/y.jpg\n7\t1\t2.5\tb/x.JPEG\n")
    from_file = ImageListDataset(pictures, "files.lst")
    assert [label.tolist() for _, label in from_file] == [[3], [1, 2.5]]
    from_list = ImageListDataset(pictures, [[3, "a/y.jpg"], [1, 2.5, "b/x.JPEG"], [[4, 5], "a/y.jpg"]], flag=0)
    assert [label.tolist() for _, label in from_list] == [[3], [1, 2.5], [4, 5]]
    assert from_list[0][1].dtype == np.float32 and from_list[0][0].shape[2] == 1
    (pictures / "bad.lst").write_text("0\tx\ta/y.jpg\n")
    with pytest.raises(MXNetError, match=r"bad\.lst, line 1"):
        ImageListDataset(pictures, "bad.lst")
    with pytest.raises(TypeError, match="NoneType"):
        ImageListDataset(pictures)


def test_several_labels_in_a_record(tmp_path):
    with recordio.MXIndexedRecordIO(str(tmp_path / "a.idx"), str(tmp_path / "a.rec"), "w") as writer:
        header = recordio.IRHeader(0, [1.5, 2.5], 7, 0)
        writer.write_idx(0, recordio.pack_img(header, np.full((4, 5, 3), 200, np.uint8), img_fmt=".png"))
    image, label = ImageRecordDataset(tmp_path / "a.rec")[0]
    assert label.tolist() == [1.5, 2.5] and label.dtype == np.float32
    assert (image.asnumpy() == 200).all()
