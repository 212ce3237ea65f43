"""`ImageIter`: batches of images from record files, image lists or folders, through a chain of augmenters."""

from __future__ import annotations

import os
import random
import warnings

import numpy as np

from core.base import MXNetError
from core.image.arrays import pixels_of, to_array
from core.image.augment import Augmenter, CreateAugmenter
from core.image.functions import imdecode
from core.io.base import DataBatch, DataDesc, DataIter
from core.recordio import MXIndexedRecordIO, MXRecordIO, unpack

HANDLES = ("pad", "discard", "roll_over")


class ImageIter(DataIter):
    """Batches of augmented images: data (batch, *data_shape), labels (batch,) or (batch, label_width).

    Samples come from one of: `path_imgrec` (with `path_imgidx` for shuffling and parts), `path_imglist` (lines
    `index TAB label ... TAB path`), or `imglist` ([label or labels, path] each); paths are under `path_root`.
    `aug_list` replaces the augmenters that `CreateAugmenter(data_shape, **kwargs)` makes. `num_parts`, `part_index`:
    this iterator's share. `dtype` is that of the labels, images are float32. `last_batch_handle`: "pad", "discard" or
    "roll_over". Images that cannot be decoded are left out with a warning.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "grey.png")
    >>> with open(path, "wb") as file:
    ...     _ = file.write(recordio.unpack(recordio.pack_img((0, 0, 0, 0), onp.full((9, 9, 3), 50, "uint8"), img_fmt=".png"))[1])
    >>> pictures = image.ImageIter(1, (3, 8, 8), imglist=[[1.0, path]], path_root="")
    >>> batch = next(pictures)
    >>> batch.data[0].shape, batch.label[0].asnumpy()
    ((1, 3, 8, 8), array([1.], dtype=float32))
    """

    def __init__(
        self, batch_size: int, data_shape: tuple[int, int, int], label_width: int = 1, path_imgrec: str | None = None,
        path_imglist: str | None = None, path_root: str | None = None, path_imgidx: str | None = None,
        shuffle: bool = False, part_index: int = 0, num_parts: int = 1, aug_list: list[Augmenter] | None = None,
        imglist: list | None = None, data_name: str = "data", label_name: str = "softmax_label", dtype: str = "float32",
        last_batch_handle: str = "pad", **kwargs,
    ):  # fmt: skip
        super().__init__(batch_size)
        assert path_imgrec or path_imglist or imglist is not None, "one of path_imgrec, path_imglist, imglist is needed"
        if last_batch_handle not in HANDLES:
            raise ValueError(f"unknown last_batch_handle {last_batch_handle!r}; accepted are {', '.join(HANDLES)}")
        if not 0 <= part_index < num_parts:
            raise ValueError(f"part_index {part_index} must lie in 0..{num_parts - 1}")
        self.data_shape, self.label_width, self.dtype = tuple(data_shape), label_width, dtype
        self.check_data_shape(self.data_shape)
        self.path_root, self.shuffle, self.last_batch_handle = path_root or "", shuffle, last_batch_handle
        self.imgrec, self.imglist = None, _image_list(path_imglist, imglist)
        if path_imgrec and path_imgidx:
            self.imgrec = MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
            self.seq = list(self.imgrec.keys)
        elif path_imgrec:
            if shuffle or num_parts > 1:
                raise MXNetError("shuffling a record file, or reading a part of it, needs its index: give path_imgidx")
            self.imgrec, self.seq = MXRecordIO(path_imgrec, "r"), None
        else:
            self.seq = list(self.imglist)
        if num_parts > 1:
            share = len(self.seq) // num_parts
            self.seq = self.seq[share * part_index : share * (part_index + 1)]
        self.auglist = CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        width = () if label_width == 1 else (label_width,)
        self.provide_data = [DataDesc(data_name, (batch_size, *self.data_shape))]
        self.provide_label = [DataDesc(label_name, (batch_size, *width), np.dtype(dtype).type)]
        self.num_image = None if self.seq is None else len(self.seq)
        self._kept: list = []
        self.reset()

    def reset(self) -> None:
        """Begins the next pass; with "roll_over" samples kept from the last one come first."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0
        self._ended = False

    def hard_reset(self) -> None:
        """Begins the next pass without what was kept."""
        self._kept = []
        self.reset()

    def next_sample(self):
        """(label, compressed image) of the next sample; StopIteration at the end of the pass."""
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                raise StopIteration
            return self._labelled(record)
        if self.cur >= len(self.seq):
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            label, name = self.imglist[key]
            return label, self.read_image(name)
        return self._labelled(self.imgrec.read_idx(key))

    def next(self) -> DataBatch:
        if self._ended:
            raise StopIteration
        samples, self._kept = self._kept, []
        rolled = len(samples)
        self._fill(samples)
        pad = self.batch_size - len(samples)
        if pad:
            self._ended = True
            if not samples or self.last_batch_handle == "discard":
                raise StopIteration
            if self.last_batch_handle == "roll_over":
                self._kept = samples
                raise StopIteration
            while len(samples) < self.batch_size:
                self.reset()
                before = len(samples)
                self._fill(samples)
                if len(samples) == before:
                    raise MXNetError("none of the images can be decoded")
            self._ended = True
        # MXNet counts the samples after those kept from the last pass as padding.
        return self.batch_of(samples, self.batch_size - rolled if rolled else pad)

    def batch_of(self, samples: list, pad: int) -> DataBatch:
        """The batch of (image, label) samples."""
        images = np.stack([self.postprocess_data(image) for image, _ in samples])
        labels = np.stack([np.asarray(label, np.float32).reshape(-1)[: self.label_width] for _, label in samples])
        if labels.shape[1] != self.label_width:
            raise MXNetError(f"samples with {labels.shape[1]} labels for label_width {self.label_width}")
        if self.label_width == 1:
            labels = labels[:, 0]
        return DataBatch([to_array(images.astype(np.float32, copy=False))], [to_array(labels.astype(self.dtype))], pad)

    def prepared(self, label, content: bytes):
        """The augmented image and the label of one sample."""
        data = self.imdecode(content)
        self.check_valid_image([data])
        return self.augmentation_transform(data), label

    def check_data_shape(self, data_shape: tuple[int, ...]) -> None:
        """Raises ValueError unless `data_shape` is (channels, height, width) with 1 or 3 channels."""
        if len(data_shape) != 3 or data_shape[0] not in (1, 3):
            raise ValueError(f"data_shape {tuple(data_shape)} must be (channels, height, width) with 1 or 3 channels")

    def check_valid_image(self, data: list) -> None:
        """Raises RuntimeError for an image without content."""
        if len(data[0].shape) == 0:
            raise RuntimeError("the image has no content")

    def imdecode(self, s: bytes):
        """The image in compressed bytes, (height, width, channels of data_shape)."""
        return imdecode(s, flag=0 if self.data_shape[0] == 1 else 1)

    def read_image(self, fname: str) -> bytes:
        """The compressed image in a file under `path_root`."""
        path = os.path.join(self.path_root, fname)
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise MXNetError(f"cannot read the image {path!r}: {error.strerror or error}") from error

    def augmentation_transform(self, data):
        """The image after all augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum) -> np.ndarray:
        """The augmented image as it enters the batch, (channels, height, width)."""
        pixels = pixels_of(datum).transpose(2, 0, 1)
        if pixels.shape != self.data_shape:
            raise MXNetError(f"the augmenters gave an image of shape {pixels.shape} for data_shape {self.data_shape}")
        return pixels

    def _fill(self, samples: list) -> None:
        """Adds samples until the batch is full or the pass ends."""
        while len(samples) < self.batch_size:
            try:
                label, content = self.next_sample()
            except StopIteration:
                return
            try:
                samples.append(self.prepared(label, content))
            except (MXNetError, RuntimeError) as error:
                warnings.warn(f"an image is left out: {error}", stacklevel=3)

    def _labelled(self, record: bytes):
        """Label and compressed image of a record; an image list has the last word on labels."""
        header, content = unpack(record)
        if self.imglist is None:
            return header.label, content
        if header.id not in self.imglist:
            raise MXNetError(f"the image list has no entry for the record with id {header.id}")
        return self.imglist[header.id][0], content


def _image_list(path: str | None, given: list | None) -> dict | None:
    """key -> (label, path) of an image list, from a file or from [label(s), path] pairs."""
    if path:
        entries = {}
        try:
            with open(path, encoding="utf-8") as file:
                for line in file:
                    key, *labels, name = line.strip().split("\t")
                    entries[int(key)] = (np.array(labels, np.float32), name)
        except (OSError, ValueError, OverflowError) as error:
            raise MXNetError(f"image list {path!r}: {error}") from error
        return entries
    if given is None:
        return None
    return {i: (np.array(entry[:-1], np.float32).reshape(-1), entry[-1]) for i, entry in enumerate(given)}
