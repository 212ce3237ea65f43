"""Batches of images out of RecordIO files, decoded and augmented by threads ahead of their use."""

from __future__ import annotations

import os
import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np

from core.base import MXNetError, nearest
from core.files.params import write_params
from core.image import codec
from core.image.arrays import to_array
from core.io.base import DataBatch, DataDesc, FileIter
from core.io.det_recipe import DetRecipe
from core.io.file_iters import files_of
from core.io.recipe import Normalisation, Recipe
from core.io.rounds import Rounds
from core.recordio import MXIndexedRecordIO, MXRecordIO, unpack

DTYPES = ("float32", "uint8", "int8")
# Settings of the original that have no meaning here.
IDLE = {"ctx", "device_id", "verbose", "aug_seq", "shuffle_chunk_size", "shuffle_chunk_seed"}
DECODE_FLAGS = {1: codec.GRAY, 3: codec.COLOUR, 4: codec.UNCHANGED}


class ImageRecordIter(FileIter):
    """Batches of the images of a record file: data (batch, *data_shape), labels (batch,) or (batch, label_width).

    Files: `path_imgrec` (a file, a folder, or several by semicolons), `path_imgidx` (saves a look through one file),
    `path_imglist` (labels that replace those of the records, the first `label_width` of each line); `num_parts`,
    `part_index`: this iterator's share.
    Batches: `batch_size`, `shuffle` and `seed`, `round_batch` (fill the last batch from the beginning; otherwise zeros
    stand behind the last images, and `pad` is 0, as in MXNet),
    `dtype` float32, uint8 or int8 (the integers are not normalised), `preprocess_threads`, `prefetch_buffer` (batches
    prepared ahead). Everything else is a setting of `Recipe`: resize, crop, mirror, colours, mean, std, scale.
    A batch's `index` has the ids of its records. Raises MXNetError for damaged files and images, and for labels that
    are not `label_width` many.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "pictures.rec")
    >>> records = recordio.MXRecordIO(path, "w")
    >>> for label in range(2):
    ...     records.write(recordio.pack_img((0, label, label, 0), onp.full((8, 8, 3), 50, "uint8"), img_fmt=".png"))
    >>> records.close()
    >>> batch = next(mx.io.ImageRecordIter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=2, scale=1 / 255))
    >>> batch.data[0].shape, batch.label[0].asnumpy()
    ((2, 3, 8, 8), array([0., 1.], dtype=float32))
    """

    recipe_kind: type[Normalisation] = Recipe
    leaves_rest = True  # whether the last batch ends in zeros, where it is not filled from the beginning

    def __init__(
        self, path_imgrec: str, data_shape: tuple[int, int, int], batch_size: int, path_imglist: str = "",
        path_imgidx: str = "", label_width: int = 1, preprocess_threads: int = 4, num_parts: int = 1,
        part_index: int = 0, shuffle: bool = False, seed: int = 0, seed_aug: int | None = None,
        round_batch: bool = True, prefetch_buffer: int = 4, dtype=None, data_name: str = "data",
        label_name: str = "softmax_label", **settings,
    ):  # fmt: skip
        self._dtype = np.dtype(dtype or "float32")
        if self._dtype.name not in DTYPES:
            raise MXNetError(
                f"dtype {self._dtype.name} is not made by {type(self).__name__}; accepted: {', '.join(DTYPES)}"
            )
        self._recipe = self.recipe_kind(tuple(data_shape), **self._known(settings))
        if len(data_shape) != 3 or data_shape[0] not in DECODE_FLAGS:
            raise MXNetError(
                f"data_shape {tuple(data_shape)} must be (channels, height, width) with 1, 3 or 4 channels"
            )
        self._records = _Records(path_imgrec, path_imgidx, num_parts, part_index)
        self._labels = _read_list(path_imglist) if path_imglist else None
        self._label_width = label_width
        self._seed, self._visit = (seed if seed_aug is None else seed_aug), 0
        if self._recipe.mean_img and not os.path.exists(self._recipe.mean_img):
            self._write_mean()
        self._mean = self._recipe.read_mean()
        rng = np.random.default_rng(seed) if shuffle else None
        super().__init__(batch_size)
        self._rounds, self._names = Rounds(len(self._records), batch_size, round_batch, rng), (data_name, label_name)
        self._leaves_rest = self.leaves_rest and not round_batch
        self._pool = ThreadPoolExecutor(max(preprocess_threads, 1), thread_name_prefix="images")
        self._ahead, self._pending = max(prefetch_buffer, 1), deque()

    @property
    def provide_data(self) -> list[DataDesc]:
        return [DataDesc(self._names[0], (self.batch_size, *self._recipe.data_shape), self._dtype.type)]

    @property
    def provide_label(self) -> list[DataDesc]:
        width = () if self._label_width == 1 else (self._label_width,)
        return [DataDesc(self._names[1], (self.batch_size, *width), np.float32)]

    def __del__(self):
        if hasattr(self, "_pool"):
            self._pool.shutdown(wait=False, cancel_futures=True)

    def reset(self) -> None:
        for _, samples in self._pending:
            for sample in samples:
                sample.cancel()
        self._pending.clear()
        self._rounds.reset()

    def make_next(self) -> DataBatch | None:
        self._submit()
        if not self._pending:
            return None
        pad, samples = self._pending.popleft()
        self._submit()
        images, labels, ids = zip(*[sample.result() for sample in samples])
        rest = self.batch_size - len(samples)
        images, labels, index = (
            np.concatenate([part, np.zeros((rest, *part.shape[1:]), part.dtype)]) if rest else part
            for part in (np.stack(images), self._stacked(labels), np.array(ids, np.uint64))
        )
        return DataBatch([to_array(images)], [to_array(labels)], 0 if rest else pad, index)

    def _submit(self) -> None:
        """Hands batches to the threads until enough are on their way."""
        while len(self._pending) < self._ahead and (step := self._rounds.next()) is not None:
            rows, pad = step
            if self._leaves_rest:
                rows = rows[: len(rows) - pad]
            samples = []
            for row in rows:
                samples.append(self._pool.submit(self._sample, int(row), self._visit))
                self._visit += 1
            self._pending.append((pad, samples))

    def _sample(self, row: int, visit: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Image, label and id of one record; random numbers depend on the seed and the visit alone."""
        rng = np.random.default_rng((self._seed, visit))
        return self._of_record(row, lambda image, head: (*self._prepared(image, self._label(head), rng), head.id))

    def _of_record(self, row: int, function):
        """What `function(image, header)` makes of one record; its errors name the record."""
        record, where = self._records.read(row)
        try:
            header, content = unpack(record)
            return function(codec.decode(content, DECODE_FLAGS[self._recipe.data_shape[0]]), header)
        except MXNetError as error:
            raise MXNetError(f"{where}: {error}") from error

    def _write_mean(self) -> None:
        """Makes the file of the mean image, which is not there yet, of all records."""
        total = np.zeros(self._recipe.data_shape)
        for row in range(len(self._records)):
            rng = np.random.default_rng((self._seed, row))
            total += self._of_record(row, lambda image, _, rng=rng: self._cut(image, rng).transpose(2, 0, 1))
        write_params(self._recipe.mean_img, {"mean_img": (total / len(self._records)).astype(np.float32)})

    def _cut(self, image: np.ndarray, rng) -> np.ndarray:
        """The image in its final size and colours, before the mean is subtracted."""
        return self._recipe.colours(self._recipe.geometry(image, rng), rng)

    def _prepared(self, image: np.ndarray, label: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray]:
        if len(label) != self._label_width:
            raise MXNetError(f"a record with {len(label)} labels for label_width {self._label_width}")
        image = self._cut(image, rng)
        return self._finished(image, rng), label[0] if self._label_width == 1 else label

    def _finished(self, image: np.ndarray, rng) -> np.ndarray:
        if self._dtype == np.float32:
            return self._recipe.normalised(image, rng, self._mean)
        plain = self._recipe.plain(image, rng)
        return plain if self._dtype == np.uint8 else np.minimum(plain, 127).astype(np.int8)

    def _stacked(self, labels) -> np.ndarray:
        return np.stack(labels).astype(np.float32, copy=False)

    def _label(self, header) -> np.ndarray:
        if self._labels is None:
            return np.atleast_1d(np.asarray(header.label, np.float32))
        if header.id not in self._labels:
            raise MXNetError(f"the image list has no entry for the record with id {header.id}")
        return self._labels[header.id][: self._label_width if self._label_width > 0 else None]

    def _known(self, settings: dict) -> dict:
        accepted = {field.name for field in fields(self.recipe_kind)}
        known = {}
        for name, value in settings.items():
            if name in accepted:
                known[name] = value
            elif name not in IDLE:
                hint = nearest(name, accepted)
                warnings.warn(f"{type(self).__name__} ignores the unknown argument {name!r}.{hint}", stacklevel=4)
        return known


class ImageRecordUInt8Iter(ImageRecordIter):
    """`ImageRecordIter` of plain bytes.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "pictures.rec")
    >>> records = recordio.MXRecordIO(path, "w")
    >>> records.write(recordio.pack_img((0, 1.0, 0, 0), onp.full((8, 8, 3), 50, "uint8"), img_fmt=".png"))
    >>> records.close()
    >>> batch = next(mx.io.ImageRecordUInt8Iter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=1))
    >>> batch.data[0].dtype, int(batch.data[0].max().asscalar())
    (<class 'numpy.uint8'>, 50)
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **{**kwargs, "dtype": "uint8"})


class ImageRecordInt8Iter(ImageRecordIter):
    """`ImageRecordIter` of plain int8, values above 127 held at 127.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "pictures.rec")
    >>> records = recordio.MXRecordIO(path, "w")
    >>> records.write(recordio.pack_img((0, 1.0, 0, 0), onp.full((8, 8, 3), 50, "uint8"), img_fmt=".png"))
    >>> records.close()
    >>> batch = next(mx.io.ImageRecordInt8Iter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=1))
    >>> batch.data[0].dtype
    <class 'numpy.int8'>
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **{**kwargs, "dtype": "int8"})


class ImageDetRecordIter(ImageRecordIter):
    """`ImageRecordIter` for detection: every setting of `DetRecipe`, labels (batch, 4 + widest label).

    A row of labels holds the channels, height and width of the image in the batch, the length of its label, the
    label, and `label_pad_value` up to the end; `label_pad_width` asks for a wider row. With `label_width` >= 0 every
    label must have that many numbers. `resize_mode`: "force" fills the batch's image, "shrink" and "fit" keep the
    aspect and leave black (0 before normalisation) below or right of it.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "pictures.rec")
    >>> records = recordio.MXRecordIO(path, "w")
    >>> label = [2, 5, 1, 0.1, 0.2, 0.6, 0.8]  # two numbers ahead, five for each object: its class and its box
    >>> records.write(recordio.pack_img((len(label), label, 0, 0), onp.full((8, 8, 3), 50, "uint8"), img_fmt=".png"))
    >>> records.close()
    >>> batch = next(mx.io.ImageDetRecordIter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=1))
    >>> batch.label[0].shape
    (1, 11)
    """

    recipe_kind = DetRecipe
    leaves_rest = False

    def __init__(
        self, path_imgrec: str, data_shape: tuple[int, int, int], batch_size: int, label_width: int = -1,
        label_pad_width: int = 0, label_pad_value: float = -1.0, **settings,
    ):  # fmt: skip
        super().__init__(path_imgrec, data_shape, batch_size, label_width=label_width, **settings)
        widest = max((len(self._label_of(row)) for row in range(len(self._records))), default=0)
        if 0 < label_pad_width < widest:
            raise MXNetError(f"label_pad_width {label_pad_width} is less than the widest label, {widest}")
        self._row_width, self._pad_value = 4 + max(widest, label_pad_width), label_pad_value

    @property
    def provide_label(self) -> list[DataDesc]:
        return [DataDesc(self._names[1], (self.batch_size, self._row_width), np.float32)]

    def _prepared(self, image: np.ndarray, label: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray]:
        if self._label_width >= 0 and len(label) != self._label_width:
            raise MXNetError(f"a record with {len(label)} labels for label_width {self._label_width}")
        image, label = self._recipe.apply(image, label, rng)
        row = np.full(self._row_width, self._pad_value, np.float32)
        row[: 4 + len(label)] = [image.shape[2], *image.shape[:2], len(label), *label]
        placed = np.zeros(self._recipe.data_shape, np.uint8)
        placed[:, : image.shape[0], : image.shape[1]] = image.transpose(2, 0, 1)
        return self._recipe.scaled(placed, self._mean), row

    def _label_of(self, row: int) -> np.ndarray:
        record, where = self._records.read(row)
        try:
            return self._label(unpack(record)[0])
        except MXNetError as error:
            raise MXNetError(f"{where}: {error}") from error


class _Records:
    """The records of one or several files by number, or this share of them."""

    def __init__(self, uri: str, index: str, parts: int, part: int):
        if not 0 <= part < parts:
            raise MXNetError(f"part_index {part} must lie in 0..{parts - 1}")
        names = files_of(uri)
        self._readers = [MXRecordIO(name, "r") for name in names]
        if index:
            if len(names) > 1:
                raise MXNetError(f"one index {index!r} cannot serve {len(names)} record files")
            with MXIndexedRecordIO(index, names[0], "r") as indexed:
                offsets = [(0, indexed.idx[key]) for key in indexed.keys]
            share = -(-len(offsets) // parts)
            self._offsets = offsets[share * part : share * (part + 1)]
        else:
            self._offsets = self._scan(names, parts, part)

    def __len__(self):
        return len(self._offsets)

    def read(self, row: int) -> tuple[bytes, str]:
        """A record, and where it lies for error messages."""
        file, offset = self._offsets[row]
        reader = self._readers[file]
        return reader.read_at(offset), f"{reader.uri!r}, record at byte {offset}"

    def _scan(self, names: list[str], parts: int, part: int) -> list[tuple[int, int]]:
        """The records that begin in this part's even share of the bytes."""
        sizes = [os.path.getsize(name) for name in names]
        share = -(-sum(sizes) // parts)
        share += -share % 4
        offsets, base = [], 0
        for i, (reader, size) in enumerate(zip(self._readers, sizes)):
            offsets += [
                (i, offset) for offset in reader.offsets() if share * part <= base + offset < share * (part + 1)
            ]
            base += size
        return offsets


def _read_list(path: str) -> dict[int, np.ndarray]:
    """Labels by record id of an image list: lines `id TAB label ... TAB path`."""
    labels = {}
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                first, *middle = line.rstrip("\n").split("\t")[:-1] or [""]
                if first:
                    labels[int(first)] = np.array([float(value) for value in middle], np.float32)
    except (OSError, ValueError) as error:
        raise MXNetError(f"image list {path!r}: {error}") from error
    return labels
