"""Batches out of CSV, LibSVM and MNIST files."""

from __future__ import annotations

import math
import os
import warnings

import numpy as np

from core.base import MXNetError, nearest
from core.dtypes import dtype_name
from core.files.reader import Reader
from core.image.arrays import to_array
from core.io.base import DataBatch, DataDesc, FileIter
from core.io.rounds import Rounds
from core.util import require

IMAGE_MAGIC, LABEL_MAGIC = 2051, 2049
# What the original's iterators take and an iterator over arrays in memory has no use for.
IDLE = ("prefetch_buffer", "ctx", "silent", "verbose", "device_id", "data_shape")  # files of MNIST tell the shape


class TableIter(FileIter):
    """Batches of rows in memory; base of the iterators below."""

    def __init__(self, data, label, rounds: Rounds, data_name: str, label_name: str):
        super().__init__(rounds.batch_size)
        self._data, self._label, self._rounds = data, label, rounds
        self._names = (data_name, label_name)

    @property
    def provide_data(self) -> list[DataDesc]:
        return [self._description(self._names[0], self._data)]

    @property
    def provide_label(self) -> list[DataDesc]:
        return [self._description(self._names[1], self._label)]

    def reset(self) -> None:
        self._rounds.reset()

    def make_next(self) -> DataBatch | None:
        step = self._rounds.next()
        if step is None:
            return None
        rows, pad = step
        return DataBatch([_batch(self._data, rows)], [_batch(self._label, rows)], pad, rows)

    def _description(self, name: str, rows) -> DataDesc:
        return DataDesc(name, (self.batch_size, *rows.shape[1:]), rows.dtype.type)


class CSVIter(TableIter):
    r"""Batches of the rows of CSV files.

    `data_csv`, `label_csv`: a file or a folder of files; without labels they are 0. `data_shape`, `label_shape`: the
    shape of one row. `dtype`: float32 (default), int32 or int64, for both. With `round_batch` the last batch is filled
    from the beginning. Raises MXNetError for files that are absent, empty or of another width.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "file.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1,2\n3,4\n")
    >>> next(mx.io.CSVIter(data_csv=path, data_shape=(2,), batch_size=2)).data[0]
    [[1. 2.]
     [3. 4.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(
        self, data_csv: str, data_shape: tuple[int, ...], batch_size: int, label_csv: str | None = None,
        label_shape: tuple[int, ...] = (1,), round_batch: bool = True, dtype=None, data_name: str = "data",
        label_name: str = "softmax_label", **kwargs,
    ):  # fmt: skip
        _unused("CSVIter", kwargs)
        dtype = np.dtype(dtype or "float32")
        if dtype.name not in ("float32", "int32", "int64"):
            raise MXNetError(f"CSVIter: dtype {dtype.name} is not read; accepted are float32, int32 and int64")
        data = _read_csv(data_csv, tuple(data_shape), dtype)
        shape = () if tuple(label_shape) == (1,) else tuple(label_shape)
        if label_csv in (None, "", "NULL"):
            label = np.zeros((len(data), *shape), dtype)
        else:
            label = _read_csv(label_csv, shape, dtype)
            if len(label) < len(data):
                raise MXNetError(f"CSVIter: {label_csv!r} has {len(label)} rows for {len(data)} of {data_csv!r}")
        super().__init__(data, label, Rounds(len(data), batch_size, round_batch), data_name, label_name)


class LibSVMIter(TableIter):
    r"""Batches of sparse rows of LibSVM files, `label index:value ...` with indices from 0, as CSR arrays.

    `data_shape`: (columns,). The labels are the first numbers of the lines, a dense vector, or with `label_libsvm` the
    sparse rows of that file, of `label_shape`. `num_parts`, `part_index`: this iterator's share of the lines. The last
    batch is filled from the beginning.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "file.libsvm")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1 0:5\n0 2:7\n")
    >>> next(mx.io.LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=2)).data[0].asnumpy()
    array([[5., 0., 0.],
           [0., 0., 7.]], dtype=float32)
    """

    def __init__(
        self, data_libsvm: str, data_shape: tuple[int, ...], batch_size: int, label_libsvm: str | None = None,
        label_shape: tuple[int, ...] = (1,), num_parts: int = 1, part_index: int = 0, round_batch: bool = True,
        data_name: str = "data", label_name: str = "softmax_label", dtype=None, **kwargs,
    ):  # fmt: skip
        _unused("LibSVMIter", kwargs)
        require("LibSVMIter", "dtype", dtype and dtype_name(dtype), None, "float32")
        if not round_batch:
            raise MXNetError("LibSVMIter fills its last batch always; round_batch=False is not accepted")
        data, label = _read_libsvm(data_libsvm, data_shape, num_parts, part_index)
        if label_libsvm not in (None, "", "NULL"):
            label, _ = _read_libsvm(label_libsvm, label_shape, num_parts, part_index)
            if len(label) < len(data):
                raise MXNetError(
                    f"LibSVMIter: {label_libsvm!r} has {len(label)} rows for {len(data)} of {data_libsvm!r}"
                )
        super().__init__(data, label, Rounds(len(data), batch_size), data_name, label_name)


class MNISTIter(TableIter):
    """Batches of the MNIST files: images / 256 as float32, (batch, 1, height, width) or `flat` (batch, pixels).

    What does not fill a batch is left out. `shuffle` (by `seed`) draws one order, that of all passes; `num_parts`,
    `part_index`: this iterator's share. Raises MXNetError for files that are damaged or do not belong together.

    >>> import os, struct, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> images, labels = os.path.join(folder, "images"), os.path.join(folder, "labels")
    >>> with open(images, "wb") as file:
    ...     _ = file.write(struct.pack(">4i", 2051, 4, 28, 28) + bytes(4 * 28 * 28))
    >>> with open(labels, "wb") as file:
    ...     _ = file.write(struct.pack(">2i", 2049, 4) + bytes([7, 2, 1, 0]))
    >>> batch = next(mx.io.MNISTIter(image=images, label=labels, batch_size=4, shuffle=False))
    >>> batch.data[0].shape, batch.label[0].asnumpy()
    ((4, 1, 28, 28), array([7., 2., 1., 0.], dtype=float32))
    """

    def __init__(
        self, image: str = "./train-images-idx3-ubyte", label: str = "./train-labels-idx1-ubyte", batch_size: int = 128,
        shuffle: bool = True, flat: bool = False, seed: int = 0, num_parts: int = 1, part_index: int = 0,
        data_name: str = "data", label_name: str = "softmax_label", dtype=None, **kwargs,
    ):  # fmt: skip
        _unused("MNISTIter", kwargs)
        require("MNISTIter", "dtype", dtype and dtype_name(dtype), None, "float32")
        images, labels = _read_idx(image, IMAGE_MAGIC, 3), _read_idx(label, LABEL_MAGIC, 1)
        if len(images) != len(labels):
            raise MXNetError(f"{len(images)} images in {image!r}, but {len(labels)} labels in {label!r}")
        share = slice(len(images) * part_index // num_parts, len(images) * (part_index + 1) // num_parts)
        images, labels = images[share], labels[share]
        images = images.reshape(len(images), -1) if flat else images[:, None]
        if shuffle:
            order = np.random.default_rng(seed).permutation(len(images))
            images, labels = images[order], labels[order]
        rounds = Rounds(len(images), batch_size, False, None, drop=True)
        super().__init__(_Scaled(images), labels.astype(np.float32), rounds, data_name, label_name)


class SparseRows:
    """Rows in compressed form, float32, of `columns` columns."""

    dtype = np.dtype(np.float32)

    def __init__(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, columns: int):
        self.data, self.indices, self.indptr = data, indices, indptr
        self.shape = (len(indptr) - 1, columns)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows: np.ndarray) -> SparseRows:
        """The given rows, in the given order."""
        begin, lengths = self.indptr[rows], np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        positions = np.repeat(begin - indptr[:-1], lengths) + np.arange(indptr[-1])
        return SparseRows(self.data[positions], self.indices[positions], indptr, self.shape[1])

    def dense(self) -> np.ndarray:
        """The rows with their zeros."""
        result = np.zeros(self.shape, self.dtype)
        result[np.repeat(np.arange(len(self)), np.diff(self.indptr)), self.indices] = self.data
        return result


def files_of(uri: str) -> list[str]:
    """The files that a path names: itself, those of a folder, or several separated by semicolons."""
    names = []
    for part in os.fspath(uri).split(";"):
        names += sorted(os.path.join(part, name) for name in os.listdir(part)) if os.path.isdir(part) else [part]
    for name in names:
        if not os.path.isfile(name):
            raise MXNetError(f"there is no file {name!r}")
    return names


def to_csr(rows: SparseRows):
    """The NDArray of sparse rows."""
    from core import ndarray

    return ndarray.sparse.csr_matrix((rows.data, rows.indices, rows.indptr), shape=rows.shape)


class _Scaled:
    """Bytes that become float32 in 0..1 batch by batch."""

    dtype = np.dtype(np.float32)

    def __init__(self, pixels: np.ndarray):
        self.pixels, self.shape = pixels, pixels.shape

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return self.pixels[rows] * np.float32(1 / 256)


def _batch(source, rows: np.ndarray):
    return to_csr(source[rows]) if isinstance(source, SparseRows) else to_array(source[rows])


def _unused(iterator: str, kwargs: dict) -> None:
    """Keywords that change nothing are taken in silence, unknown ones with a warning (the original ignores both)."""
    for name in kwargs:
        if name not in IDLE:
            hint = nearest(name, ("batch_size", "label_shape", "round_batch", *IDLE))
            warnings.warn(f"{iterator} ignores the unknown argument {name!r}.{hint}", stacklevel=4)


def _read_csv(uri: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    tables = []
    for name in files_of(uri):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # an empty file is reported below
            try:
                table = np.loadtxt(name, dtype, delimiter=",", ndmin=2, comments=None, encoding="utf-8")
            except ValueError as error:
                raise MXNetError(f"{name!r}: {error}") from error
        if table.size and table.shape[1] != math.prod(shape):
            raise MXNetError(f"{name!r} has {table.shape[1]} columns; shape {shape} needs {math.prod(shape)}")
        if table.size:
            tables.append(table)
    if not tables:
        raise MXNetError(f"{uri!r} holds no rows")
    return np.concatenate(tables).reshape(-1, *shape)


def _read_libsvm(uri: str, shape, parts: int, part: int) -> tuple[SparseRows, np.ndarray]:
    (columns,) = shape if len(tuple(shape)) == 1 else (None,)
    if columns is None:
        raise MXNetError(f"LibSVMIter: shape {tuple(shape)} must have one dimension")
    labels, values, indices, indptr = [], [], [], [0]
    for name in files_of(uri):
        with Reader.open(name) as reader:
            content = reader.bytes(reader.size)
        begin, end = (_line_start(content, len(content), parts, i) for i in (part, part + 1))
        for number, line in enumerate(content[begin:end].split(b"\n"), content.count(b"\n", 0, begin) + 1):
            fields = line.split(b"#")[0].split()
            if not fields:
                continue
            try:
                pairs = [field.split(b":") for field in fields[1:]]
                labels.append(float(fields[0]))
                indices += (positions := [int(position) for position, _ in pairs])
                values += [float(value) for _, value in pairs]
            except ValueError as error:
                raise MXNetError(f"{name!r}, line {number}: {line[:60]!r} is not 'label index:value ...'") from error
            if positions and not 0 <= min(positions) <= max(positions) < columns:
                raise MXNetError(f"{name!r}, line {number}: an index outside 0..{columns - 1}")
            indptr.append(len(indices))
    rows = SparseRows(np.array(values, np.float32), np.array(indices, np.int64), np.array(indptr, np.int64), columns)
    return rows, np.array(labels, np.float32)


def _line_start(content: bytes, size: int, parts: int, part: int) -> int:
    """Where a part of a text begins: behind the line that an even share of the bytes cuts."""
    position = min(-(-size // parts) * part, size)
    if position in (0, size):
        return position
    newline = content.find(b"\n", position)
    return size if newline < 0 else newline + 1


def _read_idx(path: str, magic: int, ndim: int) -> np.ndarray:
    """The array of an IDX file of bytes (http://yann.lecun.com/exdb/mnist, "File formats")."""
    with Reader.open(path) as reader:
        head = np.frombuffer(reader.bytes(4 * (1 + ndim), "the header"), ">i4")
        if head[0] != magic:
            raise reader.error(f"not an MNIST file: it begins with {head[0]} instead of {magic}", 0)
        return reader.array(np.uint8, tuple(int(extent) for extent in head[1:]), "the data")
