"""Samples to batches, field by field."""

from __future__ import annotations

import math
import warnings

import numpy as np

from core import nd

from ...base import InvalidArgument

__all__ = ["Stack", "Pad", "Tuple", "List", "NamedTuple", "Dict"]


class Stack:
    """Stacks samples of one shape on a new first axis; `dtype` is that of the samples unless given.

    >>> from gluonnlp.data import batchify
    >>> batchify.Stack()([[1, 2], [3, 4]])
    [[1 2]
     [3 4]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, dtype=None):
        self._dtype = dtype

    def __call__(self, data):
        if isinstance(data[0], nd.NDArray):
            batch = nd.stack(*data)
            return batch if self._dtype is None else batch.astype(self._dtype)
        try:
            batch = np.asarray(data)
        except ValueError:
            batch = np.asarray(data, dtype=object)
        if batch.dtype.hasobject:
            # MXNet looks its dtypes up in a dictionary, and programs catch what that raises.
            raise KeyError("Stack: the samples differ in shape; use Pad for sequences of different lengths.")
        return nd.array(batch, dtype=self._dtype or batch.dtype)


class Pad:
    """Pads samples along `axis` to the longest of them and stacks them on a new first axis.

    Samples are lists (which become float32 unless `dtype` says otherwise), NumPy arrays or NDArrays.
    round_to: the padded length is a multiple of it.
    ret_length: also gives the lengths before padding, an int32 NDArray.
    NotImplementedError for samples of other types.

    >>> from gluonnlp.data import batchify
    >>> batchify.Pad(pad_val=-1)([[1, 2], [3]])
    [[ 1.  2.]
     [ 3. -1.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, axis=0, pad_val=None, ret_length=False, dtype=None, round_to=None):
        if not isinstance(axis, int):
            raise InvalidArgument(f"axis must be an integer, not {axis!r}.")
        if pad_val is None:
            warnings.warn("Pad: pad_val is not given; 0 is used. Is that the index of the padding token?", stacklevel=2)
        self._axis = axis
        self._pad_val = 0 if pad_val is None else pad_val
        self._ret_length = ret_length
        self._dtype = dtype
        self._round_to = round_to
        self._warned = False

    def __call__(self, data):
        if not isinstance(data[0], (nd.NDArray, np.ndarray, list)):
            raise NotImplementedError(f"Pad takes lists, NumPy arrays or NDArrays, not {type(data[0]).__name__}.")
        dtype = self._dtype
        if isinstance(data[0], nd.NDArray):
            if not self._warned:
                warnings.warn("Pad: padding NDArrays is slow; pad lists or NumPy arrays instead.", stacklevel=2)
                self._warned = True
            data = [sample.asnumpy() for sample in data]
        if isinstance(data[0], np.ndarray):
            dtype = data[0].dtype if dtype is None else dtype
        data = [np.asarray(sample) for sample in data]
        lengths = [sample.shape[self._axis] for sample in data]
        longest = max(lengths)
        if self._round_to is not None:
            longest = self._round_to * math.ceil(longest / self._round_to)
        shape = list(data[0].shape)
        shape[self._axis] = longest
        # Without a dtype the batch is filled in that of the padding value, then becomes float32:
        # an integer padding value truncates, as it always did.
        fill = np.asarray(self._pad_val)
        fill = fill if dtype is None else fill.astype(dtype)  # -1 among uint8 is 255
        batch = np.full((len(data), *shape), fill, dtype=dtype)
        for row, sample, length in zip(batch, data, lengths, strict=True):
            if length:
                place = [slice(None)] * row.ndim
                place[self._axis] = slice(0, length)
                row[tuple(place)] = sample
        batch = nd.array(batch, dtype=dtype or "float32")
        return (batch, nd.array(np.array(lengths), dtype="int32")) if self._ret_length else batch


class Tuple:
    """One batchify function for each field of samples that are tuples: `Tuple(Pad(), Stack())`.

    >>> from gluonnlp.data import batchify
    >>> data, labels = batchify.Tuple(batchify.Pad(pad_val=0), batchify.Stack())([([1, 2], 0), ([3], 1)])
    >>> labels
    [0 1]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, fn, *args):
        if isinstance(fn, (list, tuple)):
            if args:
                raise InvalidArgument("Tuple takes functions, or one list of functions, not both.")
            self._fn = tuple(fn)
        else:
            self._fn = (fn, *args)
        for f in self._fn:
            if not callable(f):
                raise InvalidArgument(f"Tuple takes functions, not {f!r}.")

    def __call__(self, data):
        if len(data[0]) != len(self._fn):
            raise InvalidArgument(
                f"Samples have {len(data[0])} fields, but there are {len(self._fn)} batchify functions."
            )
        return tuple(f([sample[i] for sample in data]) for i, f in enumerate(self._fn))


class List:
    """The samples themselves, in a list.

    >>> from gluonnlp.data import batchify
    >>> batchify.List()([[1, 2], [3]])
    [[1, 2], [3]]
    """

    def __call__(self, data):
        return list(data)


class Dict:
    """One batchify function for each key of samples that are dictionaries; other keys are dropped.

    >>> from gluonnlp.data import batchify
    >>> batchify.Dict({"x": batchify.Stack()})([{"x": 1}, {"x": 2}])["x"]
    [1 2]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, fn_dict):
        if not isinstance(fn_dict, dict):
            raise ValueError(f"Dict takes a dictionary of functions, not a {type(fn_dict).__name__}.")
        for key, f in fn_dict.items():
            if not callable(f):
                raise ValueError(f"Dict takes functions, but has {f!r} for {key!r}.")
        self._fn_dict = fn_dict

    def __call__(self, data):
        return {key: f([sample[key] for sample in data]) for key, f in self._fn_dict.items()}


class NamedTuple:
    """One batchify function for each field of samples of the named tuple `container`.

    fn_info: a list or tuple of functions, or a dictionary {field: function}.

    >>> from gluonnlp.data import batchify
    >>> from collections import namedtuple
    >>> Sample = namedtuple("Sample", ["x", "y"])
    >>> batchify.NamedTuple(Sample, {"x": batchify.Stack(), "y": batchify.Stack()})([Sample(1, 2), Sample(3, 4)]).x
    [1 3]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, container, fn_info):
        fields = container._fields
        if isinstance(fn_info, dict):
            if set(fn_info) != set(fields):
                raise ValueError(
                    f"Functions are given for the fields {list(fn_info)}, but the fields are {list(fields)}."
                )
            fn_info = [fn_info[name] for name in fields]
        if len(fn_info) != len(fields):
            raise ValueError(f"{len(fn_info)} functions for the {len(fields)} fields {list(fields)}.")
        for f in fn_info:
            if not callable(f):
                raise ValueError(f"NamedTuple takes functions, not {f!r}.")
        self._container = container
        self._fn = list(fn_info)

    def __call__(self, data):
        if not isinstance(data[0], self._container):
            raise ValueError(f"Samples are {self._container.__name__} tuples, not {data[0]!r}.")
        return self._container(*[f([sample[i] for sample in data]) for i, f in enumerate(self._fn)])
