"""Shapes, parts and indices of ONNX as symbols."""

from __future__ import annotations

import math

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.extents import Varying, numbers
from core.contrib.onnx.onnx2mx.table import composes, converts
from core.extents import Extent, same
from core.symbol import Symbol
from core.symbol.numpy_functions import function as np_function


@converts("Shape")
def shape(net, attrs, x):
    start, end = attrs.get("start", 0), attrs.get("end")
    found = net.lengths(x)
    if found is not None:
        return numbers(found[start:end])
    whole = sym.shape_array(x)
    return whole if start == 0 and end is None else sym.slice_axis(whole, axis=0, begin=start, end=end)


@converts("Size")
def size(net, attrs, x):
    found = net.lengths(x)
    return sym.size_array(x) if found is None else numbers(math.prod(found))


@converts("Reshape")
def reshape(net, attrs, x, wanted=None):
    x = net.symbol(x)
    if isinstance(wanted, Varying):
        return x_like(net, x, wanted)
    wanted = attrs["shape"] if wanted is None else net.ints(wanted, "the shape")
    if attrs.get("allowzero") and 0 in wanted:
        return sym.op._npi_reshape(x, newshape=tuple(wanted))
    if any(n < -1 for n in wanted) or list(wanted).count(-1) > 1:
        raise net.refuse(f"{tuple(wanted)} is no shape")
    return sym.Reshape(x, shape=tuple(wanted) or (1,))


def x_like(net, x: Symbol, wanted: Varying) -> Symbol:
    """`x` in a shape that follows from extents of the inputs."""
    wanted, own = net.whole(wanted, "the shape"), net.lengths(x)
    # 0 copies the extent that the input has there
    codes = [
        n if type(n) is int else 0 if own is not None and same(n, (*own, *wanted)[axis]) and axis < len(own) else None
        for axis, n in enumerate(wanted)
    ]
    if codes.count(None) + codes.count(-1) <= 1:
        return sym.Reshape(x, shape=tuple(-1 if n is None else n for n in codes))
    if own is None:
        raise net.refuse("the shape of what is reshaped depends on values")
    return sym.reshape_like(x, net.like(_completed(own, wanted), "the shape"))


def _completed(before: tuple, after: tuple) -> tuple:
    """A shape without the codes 0 (copy) and -1 (what is left)."""
    after = tuple(before[i] if same(n, 0) else n for i, n in enumerate(after))
    rest = math.prod(before) // (math.prod(n for n in after if not same(n, -1)) or 1)
    return tuple(rest if same(n, -1) else n for n in after)


@converts("Flatten")
def flatten(net, attrs, x):
    axis = attrs.get("axis", 1)
    x = net.symbol(x)
    axis = axis if axis in (0, 1) else net.place(axis, net.rank(x))
    if axis == 1:
        return sym.Flatten(x)
    if axis == 0:
        return sym.Reshape(x, shape=(1, -1))
    merge = [-3, *[0] * (axis - 2)]  # of the first axes, two at a time
    for k in range(axis - 1):
        x = sym.Reshape(x, shape=(*merge[: axis - 1 - k], -2))
    return sym.Flatten(x)


def _axes(net, attrs, axes):
    return tuple(attrs["axes"]) if axes is None else net.ints(axes, "axes")


@converts("Unsqueeze")
def unsqueeze(net, attrs, x, axes=None):
    axes = _axes(net, attrs, axes)
    made, rank = net.symbol(x), None
    if net.is_single(x):
        return sym.Reshape(made, shape=(1,) * len(axes))
    if any(a < 0 for a in axes):
        rank = net.rank(made) + len(axes)
    for axis in sorted(a + rank if a < 0 else a for a in axes):
        made = sym.expand_dims(made, axis=axis)
    return made


@converts("Squeeze")
def squeeze(net, attrs, x, axes=None):
    x = net.symbol(x)
    axes = None if axes is None and "axes" not in attrs else _axes(net, attrs, axes)
    return sym.squeeze(x) if axes is None else sym.squeeze(x, axis=axes)


@converts("Concat")
def concat(net, attrs, *inputs):
    return sym.Concat(*map(net.symbol, inputs), dim=attrs["axis"])


@converts("Split")
def split(net, attrs, x, sizes=None):
    axis = attrs.get("axis", 0)
    sizes = attrs.get("split") if sizes is None else net.ints(sizes, "the sizes")
    if sizes is None:
        made = sym.SliceChannel(net.symbol(x), num_outputs=net.outputs, axis=axis)
        return [made[i] for i in range(net.outputs)]
    ends = np.cumsum(sizes)[:-1]
    made = sym.split_v2(net.symbol(x), (0, *map(int, ends)), axis=axis)
    return [made[i] for i in range(len(sizes))]


@converts("Slice")
def slice_(net, attrs, x, begins=None, ends=None, axes=None, steps=None):
    if begins is None:
        begins, ends, axes = np.array(attrs["starts"]), np.array(attrs["ends"]), attrs.get("axes")
    else:
        axes = None if axes is None else net.ints(axes, "axes")
    begins, ends = net.whole(begins, "the starts"), net.whole(ends, "the ends")
    steps = (1,) * len(begins) if steps is None else net.ints(steps, "steps")
    made = net.symbol(x)
    for axis, begin, end, step in zip(range(len(begins)) if axes is None else axes, begins, ends, steps, strict=True):
        made = _part(net, made, axis, begin, end, step)
    return made


_FAR = 1 << 31


def _part(net, x: Symbol, axis: int, begin, end, step: int) -> Symbol:
    """Elements along one axis; bounds are ints or `Extent`s."""
    shape = net.lengths(x)
    if shape is not None:
        axis = axis % len(shape)
        begin, end = _counted(net, begin, end, shape[axis], step)
    if type(begin) is Extent:
        raise net.refuse("where a part starts is computed from the input, which a symbol cannot follow")
    if type(end) is Extent and step == 1 and begin >= 0 and 0 <= axis < 32:
        line = net.like((end,), "the end of a part")  # as long as something else is
        x = sym.slice_like(x, sym.Reshape(line, shape=(*(1,) * axis, -1)), axes=(axis,))
        end = _FAR
    if type(end) is Extent:
        raise net.refuse("where a part ends is computed from the input, which a symbol cannot follow")
    if step == 1:
        return sym.slice_axis(x, axis=axis, begin=max(begin, -_FAR), end=end if end < _FAR else None)
    if step == -1 and begin in (-1, _FAR) and end < -_FAR:
        return sym.reverse(x, axis=axis)
    if step == 0 or not 0 <= axis < 32:
        raise net.refuse(f"steps of {step} along axis {axis} are not converted")
    first, last = (None if abs(bound) >= _FAR else bound for bound in (begin, end))
    if step < 0 and shape is not None and type(shape[axis]) is int:  # bounds beyond a known extent
        extent = shape[axis]
        first = None if first is not None and first >= extent else first
        last = None if last is not None and last < -extent else last
    return sym.slice(x, begin=(*[None] * axis, first), end=(*[None] * axis, last), step=(*[1] * axis, step))


def _counted(net, begin, end, extent, step: int) -> tuple:
    """The bounds, counted from the end of the axis where that makes numbers of them."""
    if type(begin) is Extent and type(begin - extent) is int and begin < extent:
        begin -= extent
    if type(end) is Extent and type(extent) is int and end > extent:
        # A table cut at the length of the input, as of the embeddings of positions: presumed to be long enough.
        net.extents.presume_at_most(end, extent)
    behind = end - extent
    if type(behind) is int and step > 0 and behind >= 0:
        return begin, _FAR
    return begin, behind if type(end) is Extent and type(behind) is int else end


@converts("Gather")
def gather(net, attrs, x, indices):
    axis = attrs.get("axis", 0)
    if isinstance(indices, np.ndarray) and indices.ndim == 0:
        i = int(indices)
        part = sym.slice_axis(net.symbol(x), axis=axis, begin=i, end=i + 1 if i != -1 else None)
        return sym.squeeze(part, axis=(axis,))
    made = sym.take(net.symbol(x), net.symbol(indices), axis=axis, mode="wrap")
    return sym.squeeze(made, axis=(axis,)) if net.is_single(indices) and net.rank(x) > 1 else made


@converts("GatherElements")
def gather_elements(net, attrs, x, indices):
    axis = attrs.get("axis", 0)
    return sym.op._gather_along(net.symbol(x), _wrapped(net, x, indices, axis), axis=axis)


def _wrapped(net, x, indices, axis: int) -> Symbol:
    """Places along an axis; those from the end become those from the start, where the extent is known."""
    extent = (net.shape(x) or ())[axis:][:1]
    if (isinstance(indices, np.ndarray) and (indices >= 0).all()) or not extent or extent[0] < 0:
        return net.symbol(indices)
    if isinstance(indices, np.ndarray):
        return net.symbol(np.where(indices < 0, indices + extent[0], indices))
    return sym.op._npi_mod_scalar(net.symbol(indices), scalar=extent[0])


@converts("GatherND")
def gather_nd(net, attrs, x, indices):
    if attrs.get("batch_dims") == 1 and net.shape(indices) is not None and net.shape(indices)[1:] == (1,):
        # the places of one element per row, as the last step of each sequence
        last = sym.Reshape(net.symbol(indices), shape=(-1,)) + 1
        return sym.SequenceLast(net.symbol(x), last, use_sequence_length=True, axis=1)
    places = _columns(net, indices)
    if attrs.get("batch_dims", 0) > 1:
        raise net.refuse(f"batch_dims {attrs['batch_dims']}; 0 and 1 are converted")
    if attrs.get("batch_dims"):
        row = sym.Reshape(sym.contrib.arange_like(places, axis=1), shape=(1, -1, *(1,) * (net.rank(indices) - 2)))
        row = sym.broadcast_like(row, sym.slice_axis(places, axis=0, begin=0, end=1))
        places = sym.Concat(row, places, dim=0)
    return sym.gather_nd(net.symbol(x), places)


def _columns(net, indices) -> Symbol:
    """Indices with their last axis, which names axes, in front."""
    rank = net.rank(indices, "the indices")
    return sym.transpose(net.symbol(indices), axes=(rank - 1, *range(rank - 1)))


@converts("ScatterND")
def scatter_nd(net, attrs, x, indices, updates):
    how = {"none": sym.op._npx_index_update, "add": sym.op._npx_index_add}.get(attrs.get("reduction", "none"))
    if how is None:
        raise net.refuse(f"the reduction {attrs['reduction']!r}; none and add are converted")
    places = sym.Reshape(_columns(net, indices), shape=(0, -1))
    named, rank = net.shape(indices)[-1], net.rank(x)
    updates = net.symbol(updates)
    for _ in range(net.rank(indices) - 2):  # the axes of places become one
        updates = sym.Reshape(updates, shape=(-3, -2))
    if net.rank(indices) == 1:
        updates = sym.expand_dims(updates, axis=0)
    if rank == named:
        updates = sym.Reshape(updates, shape=(-1,))
    return how(net.symbol(x), places, updates)


@converts("ScatterElements", "Scatter")
def scatter_elements(net, attrs, x, indices, updates):
    axis = attrs.get("axis", 0)
    if attrs.get("reduction", "none") != "none":
        raise net.refuse(f"the reduction {attrs['reduction']!r} is not converted")
    return sym.op._put_along(net.symbol(x), _wrapped(net, x, indices, axis), net.symbol(updates), axis=axis)


@converts("Compress")
def compress(net, attrs, x, condition):
    made = net.symbol(x)
    if "axis" not in attrs:
        return sym.contrib.boolean_mask(sym.Reshape(made, shape=(-1,)), _as_long(net, made, condition, None), axis=0)
    axis = attrs["axis"] % net.rank(made)
    made = sym.SwapAxis(made, dim1=0, dim2=axis)
    return sym.SwapAxis(sym.contrib.boolean_mask(made, _as_long(net, made, condition, 0), axis=0), dim1=0, dim2=axis)


def _as_long(net, x: Symbol, condition, axis: int | None) -> Symbol:
    """A condition, with as many places as `x` has (along an axis): what it does not tell of is left out."""
    shape = net.shape(x)
    if shape is None or -1 in shape:
        return net.symbol(condition)
    missing = (math.prod(shape) if axis is None else shape[axis]) - net.shape(condition)[0]
    made = sym.Cast(net.symbol(condition), dtype="float32")
    return sym.Concat(made, sym.zeros((missing,)), dim=0) if missing else made


@converts("OneHot")
def one_hot(net, attrs, indices, depth, values):
    values = net.number(values, "values")
    off, on = values.reshape(-1)
    (count,) = net.ints(depth, "depth")
    places = sym.Cast(net.symbol(indices), dtype="float32")
    places = sym.where(places < 0, places + count, places)
    made = sym.one_hot(places, depth=count, on_value=float(on), off_value=float(off), dtype=values.dtype.name)
    axis = attrs.get("axis", -1)
    if axis == -1:
        return made
    rank = net.rank(indices)
    order = list(range(rank))
    order.insert(axis % (rank + 1), rank)
    return sym.transpose(made, axes=tuple(order))


@converts("Expand")
def expand(net, attrs, x, wanted):
    shape, own = net.whole(wanted, "the shape"), net.lengths(x)
    made = net.symbol(x)
    if any(n <= 0 for n in shape):
        raise net.refuse(f"{shape} is no shape to expand to")
    # A product with ones lets any number of axes grow; where nothing grows it changes nothing.
    if own is not None and all(same(n, 1) for n in shape) and len(own) >= len(shape):
        return made
    dtype, like = net.dtype(x), net.like(shape, "the shape")
    if own is not None and len(own) == len(shape) and all(same(n, 1) or same(n, m) for n, m in zip(own, shape)):
        return sym.broadcast_like(made, like)
    ones = sym.ones_like(like)
    if dtype == "bool":
        return sym.op._npi_logical_and(made, ones != 0)
    return sym.broadcast_mul(made, ones if dtype == net.dtype(ones) else sym.Cast(ones, dtype=dtype))


@converts("Tile")
def tile(net, attrs, x, reps):
    if isinstance(reps, Varying):
        made = net.symbol(x)
        for axis in range(net.rank(x)):
            made = sym.expand_dims(made, axis=2 * axis)
        made = expand(net, attrs, made, numbers([m for n in net.whole(reps, "the repeats") for m in (n, 1)]))
        return sym.Reshape(made, shape=(-3,) * net.rank(x))
    return sym.tile(net.symbol(x), reps=net.ints(reps, "the repeats"))


@converts("Pad")
def pad(net, attrs, x, width=None, value=None, axes=None):
    width = attrs["pads"] if width is None else net.ints(width, "the pads")
    n = len(width) // 2
    value = attrs.get("value", 0.0) if value is None else net.number(value, "the value").item()
    mode, made = attrs.get("mode", "constant"), net.symbol(x)
    begins, ends = list(width[:n]), list(width[n:])
    if axes is not None:
        rank = net.rank(made)
        places = [a % rank for a in net.ints(axes, "the axes")]
        begins, ends = ([side[places.index(i)] if i in places else 0 for i in range(rank)] for side in (begins, ends))
    if len(width) != 2 * n or len(begins) != len(ends):
        raise net.refuse(f"pads are {width}")
    for axis, (begin, end) in enumerate(zip(begins, ends)):
        if begin < 0 or end < 0:
            made = sym.slice_axis(made, axis=axis, begin=max(0, -begin), end=end if end < 0 else None)
    pairs = tuple(max(0, p) for pair in zip(begins, ends) for p in pair)
    if mode == "wrap":
        return _wrapped_pad(net, made, pairs)
    if not any(pairs):
        return made
    if len(begins) in (4, 5) and not any(pairs[:4]) and net.dtype(made) == "float32":
        return sym.Pad(made, mode=mode, pad_width=pairs, constant_value=value)
    return sym.op._pad(made, pad_width=pairs, mode=mode, constant_value=value)


def _wrapped_pad(net, x: Symbol, pairs: tuple) -> Symbol:
    for axis, (begin, end) in enumerate(zip(pairs[::2], pairs[1::2])):
        before = [sym.slice_axis(x, axis=axis, begin=-begin, end=None)] if begin else []
        after = [sym.slice_axis(x, axis=axis, begin=0, end=end)] if end else []
        x = sym.Concat(*before, x, *after, dim=axis) if before or after else x
    return x


@converts("ConstantOfShape")
def constant_of_shape(net, attrs, wanted):
    value = np.asarray(attrs.get("value", np.zeros(1, np.float32))).reshape(-1)
    options = {"dtype": value.dtype.name}
    if isinstance(wanted, Varying):
        like = net.like(net.whole(wanted, "the shape"), "the shape")
        return sym.Cast(sym.full_like(like, fill_value=float(value[0])), **options)
    shape = net.ints(wanted, "the shape")
    if value.dtype == bool:
        return sym.full(shape or (1,), float(value[0])) != 0
    return sym.full(shape or (1,), value[0].item(), **options)


@converts("EyeLike")
def eye_like(net, attrs, x):
    from core.contrib.onnx import package

    shape = net.shape(x)
    if shape is None or -1 in shape:
        raise net.refuse("the shape varies from call to call")
    dtype = package().helper.tensor_dtype_to_np_dtype(attrs["dtype"]).name if "dtype" in attrs else net.dtype(x)
    return sym.eye(shape[0], shape[1], attrs.get("k", 0), dtype=dtype)


@converts("Trilu")
def triangle(net, attrs, x, k=None):
    k = 0 if k is None else net.number(k, "the diagonal").item()
    return np_function("triu" if attrs.get("upper", 1) else "tril", Symbol)(net.symbol(x), k=k)


@converts("Range")
def range_(net, attrs, start, stop, step):
    dtype = net.dtype(start)
    if any(isinstance(v, Varying) for v in (start, stop)):
        (begin,), (end,) = net.whole(start, "the start"), net.whole(stop, "the end")
        by = net.number(step, "step").item()
        places = sym.contrib.arange_like(net.like((-((begin - end) // by),), "the range"), axis=0, step=by)
        return sym.broadcast_add(sym.Cast(places, dtype=dtype), net.symbol(start))
    begin, end, by = (net.number(v, "the bounds").item() for v in (start, stop, step))
    net.bounded(max(0, (end - begin) / by), "a range")
    return sym.arange(begin, end, by, dtype=dtype)


composes("Transpose")(lambda x, perm=(): sym.transpose(x, axes=perm) if perm else sym.transpose(x))
composes("NonZero")(lambda x: sym.transpose(sym.op._npx_nonzero(x), axes=(1, 0)))


@composes("DepthToSpace")
def depth_to_space(x, blocksize, mode="DCR"):
    if mode == "DCR":
        return sym.depth_to_space(x, block_size=blocksize)
    x = sym.Reshape(x, shape=(0, -4, -1, blocksize * blocksize, 0, 0))
    x = sym.Reshape(x, shape=(0, 0, -4, blocksize, blocksize, 0, 0))  # (batch, channel, row, column, height, width)
    return sym.Reshape(sym.transpose(x, axes=(0, 1, 4, 2, 5, 3)), shape=(0, 0, -3, -3))


@composes("SpaceToDepth")
def space_to_depth(x, blocksize, mode="DCR"):
    if mode == "DCR":
        return sym.space_to_depth(x, block_size=blocksize)
    # (batch, channel, height, row, width, column)
    x = sym.Reshape(x, shape=(0, 0, -4, -1, blocksize, -4, -1, blocksize))
    x = sym.Reshape(sym.transpose(x, axes=(0, 1, 3, 5, 2, 4)), shape=(0, -3, -2))
    return sym.Reshape(x, shape=(0, -3, -2))


@composes("ReverseSequence")
def reverse_sequence(x, lengths, time_axis=0):
    x = x if time_axis == 0 else sym.SwapAxis(x, dim1=0, dim2=1)
    x = sym.SequenceReverse(x, lengths, use_sequence_length=True)
    return x if time_axis == 0 else sym.SwapAxis(x, dim1=0, dim2=1)
