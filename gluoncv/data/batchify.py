"""Functions that make a batch of a list of samples, for `DataLoader(batchify_fn=...)`."""

from __future__ import annotations

import itertools
import warnings

import numpy as np

from core import nd
from core.documentation.classes import complete as _complete
from gluon.data import arrays
from gluoncv.data.feature_sizes import FeatureSizes

__all__ = ["Append", "FasterRCNNTrainBatchify", "MaskRCNNTrainBatchify", "Pad", "Stack", "Tuple"]


class Stack:
    """Stacks equally shaped samples (arrays, lists of numbers, numbers).

    Those that are no `mx.nd` arrays become float32.

    >>> from gluoncv.data import batchify
    >>> batchify.Stack()([[1, 2], [3, 4]])
    [[1. 2.]
     [3. 4.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __call__(self, data):
        return arrays.stack(data if isinstance(data[0], nd.NDArray) else [np.asarray(x, "float32") for x in data])


class Pad:
    """Pads samples at the end of `axis` (one, or several) to the longest with `pad_val`, and stacks them;
    dtype as the first.

    num_shards: the batch is cut into as many parts, each as long as its own samples need; gives a list of parts then.
    ret_length: gives (batch, lengths) with int32 lengths (N,), or (N, axes) for several axes.

    >>> from gluoncv.data import batchify
    >>> batchify.Pad(pad_val=-1)([onp.array([1, 2]), onp.array([3])])
    [[ 1  2]
     [ 3 -1]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, axis=0, pad_val=0, num_shards=1, ret_length=False):
        if not isinstance(axis, int | tuple | list):
            raise AssertionError(f"axis is a number or a tuple of numbers, got {axis!r}")
        self._axis, self._pad_val, self._num_shards, self._ret_length = axis, pad_val, num_shards, ret_length

    def __call__(self, data):
        if not isinstance(data[0], nd.NDArray | np.ndarray | list):
            raise NotImplementedError(f"Pad takes arrays or lists of numbers, got {type(data[0]).__name__}")
        if len(data) % self._num_shards:
            warnings.warn(f"{len(data)} samples do not make {self._num_shards} equal parts")
        samples = [x.asnumpy() if isinstance(x, nd.NDArray) else np.asarray(x) for x in data]
        parts = [self._padded(samples[part.start : part.stop]) for part in _shards(len(samples), self._num_shards)]
        batches, lengths = ([part[k] for part in parts] for k in (0, 1))
        if len(parts) == 1:
            batches, lengths = batches[0], lengths[0]
        return (batches, lengths) if self._ret_length else batches

    def _padded(self, samples):
        axes = [self._axis] if isinstance(self._axis, int) else list(self._axis)
        lengths = np.array([[sample.shape[axis] for axis in axes] for sample in samples])
        shape = list(samples[0].shape)
        for axis, longest in zip(axes, lengths.max(axis=0)):
            shape[axis] = int(longest)
        batch = arrays.empty((len(samples), *shape), samples[0].dtype)
        batch[...] = self._pad_val
        for row, sample in zip(batch, samples):
            row[tuple(map(slice, sample.shape))] = sample
        lengths = lengths[:, 0] if isinstance(self._axis, int) else lengths
        return arrays.wrap(batch), nd.array(lengths, dtype="int32")


class Append:
    """The samples as a list of arrays of any shapes, each (with `expand`) given a batch axis of length 1.

    >>> from gluoncv.data import batchify
    >>> [a.shape for a in batchify.Append()([nd.zeros(2), nd.zeros(3)])]
    [(1, 2), (1, 3)]
    """

    def __init__(self, expand=True, batch_axis=0):
        self._expand, self._batch_axis = expand, batch_axis

    def __call__(self, data):
        data = [x if isinstance(x, nd.NDArray) else nd.array(x) for x in data]
        return [x.expand_dims(axis=self._batch_axis) for x in data] if self._expand else data


class Tuple:
    """Batches samples of several fields: function k makes the batch of field k.

    Takes the functions, or a list of them.

    >>> from gluoncv.data import batchify
    >>> data, labels = batchify.Tuple(batchify.Stack(), batchify.Stack())([([1, 2], 0), ([3, 4], 1)])
    >>> data.shape, labels
    ((2, 2),
    [0. 1.]
    <NDArray 2 @cpu(0)>)
    """

    def __init__(self, fn, *args):
        if isinstance(fn, list | tuple) and args:
            raise AssertionError("Tuple takes functions or one list of functions, not both")
        self._fn = tuple(fn) if isinstance(fn, list | tuple) else (fn, *args)
        for function in self._fn:
            if not callable(function):
                raise AssertionError(f"what batches a field is called, which {type(function).__name__} cannot be")

    def __call__(self, data):
        _check_fields(data, len(self._fn))
        return tuple(function(list(field)) for function, field in zip(self._fn, zip(*data)))


class FasterRCNNTrainBatchify:
    """Batches of `FasterRCNNDefaultTrainTransform(net=...)`, padded within each of `num_shards` parts.

    Gives pictures (B, 3, H, W) and boxes (B, M, 5), padded by -1: lists for several parts; then tuples with one array a
    part: objects (B, A), offsets and their masks (B, A, 4), A the anchors of all maps of `net` for the padded pictures.
    """

    NUM_ELEMENTS = 5

    def __init__(self, net, num_shards=1):
        self._sizes, self._num_shards = FeatureSizes(net), num_shards
        self._img_pad, self._label_pad = Pad(axis=(1, 2), num_shards=num_shards), Pad(pad_val=-1, num_shards=num_shards)

    def __call__(self, data):
        _check_fields(data, self.NUM_ELEMENTS)
        imgs, labels, *targets = zip(*data)
        imgs, labels = self._img_pad(list(imgs)), self._label_pad(list(labels))
        parts = [imgs] if self._num_shards == 1 else imgs
        padded = [[], [], []]
        for img, indices in zip(parts, _shards(len(data), self._num_shards)):
            sizes = self._sizes(*img.shape[2:])
            for rows, target, width, value in zip(padded, targets, (1, 4, 4), (-1.0, 0.0, 0.0)):
                flat = [_on_maps(target[k], sizes, value) for k in indices]
                rows.append(nd.array(np.stack(flat) if width == 1 else np.stack(flat).reshape(len(flat), -1, width)))
        return imgs, labels, *map(tuple, padded)


class MaskRCNNTrainBatchify:
    """Batches of `MaskRCNNDefaultTrainTransform(net=...)`: as `FasterRCNNTrainBatchify`,
    and masks (B, M, H, W) after the boxes.
    """

    NUM_ELEMENTS = 6

    def __init__(self, net, num_shards=1):
        self._boxes, self._mask_pad = FasterRCNNTrainBatchify(net, num_shards), Pad((0, 1, 2), num_shards=num_shards)

    def __call__(self, data):
        _check_fields(data, self.NUM_ELEMENTS)
        imgs, labels, *targets = self._boxes([sample[:5] for sample in data])
        return imgs, labels, self._mask_pad([sample[5] for sample in data]), *targets


def _check_fields(data, count):
    if len(data[0]) != count:
        raise AssertionError(f"samples have {count} fields here, given {len(data[0])}")


def _shards(length, count):
    """Ranges that cut `length` samples into `count` parts; the first ones are longer by one where they differ."""
    size, left = divmod(length, count)
    ends = [size * i + min(i, left) for i in range(count + 1)]
    return [range(a, b) for a, b in itertools.pairwise(ends)]


def _on_maps(targets, sizes, value):
    """Targets (h, w, n) of each map in the corner of maps of `sizes`, the rest `value`; flat, one after the other."""
    flat = []
    for target, (height, width) in zip(targets, sizes):
        target = target.asnumpy() if isinstance(target, nd.NDArray) else target
        canvas = np.full((height, width, target.shape[-1]), value, "float32")
        canvas[: target.shape[0], : target.shape[1]] = target
        flat.append(canvas.ravel())
    return np.concatenate(flat)


_complete(globals())
