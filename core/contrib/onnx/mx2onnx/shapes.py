"""Shapes, parts and indices."""

from __future__ import annotations

import math

import numpy as np

from core.contrib.onnx.mx2onnx.table import axes_of, converts, enter, ints
from core.extents import same

LAST = np.iinfo(np.int64).max


@converts("squeeze")
def squeeze(g, a, data):
    shape = g.shape(data)
    axes = axes_of(a.axis, len(shape)) if a.axis is not None else [i for i, n in enumerate(shape) if n == 1]
    return g.add("Squeeze", data, ints(*axes))


def _order(axes, rank: int) -> list[int]:
    """An order of axes; none is given: from the last to the first."""
    return [i % rank for i in axes or range(rank)[::-1]]


@converts("SwapAxis")
def swap_axes(g, a, data):
    order = list(range(g.rank(data)))
    order[a.dim1], order[a.dim2] = order[a.dim2], order[a.dim1]
    return g.add("Transpose", data, perm=order)


@converts("SliceChannel")
def slice_channel(g, a, data):
    parts = g.split(data, a.num_outputs, a.axis)
    return [g.add("Squeeze", p, ints(a.axis)) for p in parts] if a.squeeze_axis else parts


@converts("_split_v2")
def split(g, a, data):
    axis, extent = a.axis, g.extent(data, a.axis)
    if a.sections:
        ends = [(i + 1) * extent // a.sections for i in range(a.sections)]
    else:
        ends = [*[i for i in a.indices if i > 0], extent]
    sizes = np.diff([0, *ends]).astype(np.int64)
    parts = g.add("Split", data, sizes, outputs=len(sizes), axis=axis)
    return [g.add("Squeeze", p, ints(axis)) for p in parts] if a.squeeze_axis else parts


@converts("slice", "_slice_view")
def slice_(g, a, data):
    steps = [*(a.step or ()), *[None] * len(a.begin)][: len(a.begin)]
    steps = [1 if s is None else s for s in steps]
    begins = [(0 if s > 0 else -1) if b is None else b for b, s in zip(a.begin, steps)]
    ends = [(LAST if s > 0 else -LAST) if e is None else e for e, s in zip(a.end, steps)]
    return g.add("Slice", data, ints(*begins), ints(*ends), ints(*range(len(begins))), ints(*steps))


@converts("slice_like")
def slice_like(g, a, data, like):
    axes = axes_of(a.axes or None, g.rank(data))
    ends = g.extents([g.lengths_of(like)[i] for i in axes])
    return g.add("Slice", data, ints(*[0] * len(axes)), ends, ints(*axes))


@converts("reverse")
def reverse(g, a, data):
    axes = axes_of(a.axis, g.rank(data))
    ones = [-1] * len(axes)
    return g.add("Slice", data, ints(*ones), ints(*[-LAST] * len(axes)), ints(*axes), ints(*ones))


@converts("tile")
def tile(g, a, data):
    rank, reps = g.rank(data), tuple(a.reps)
    if len(reps) > rank:
        data = g.add("Unsqueeze", data, ints(*range(len(reps) - rank)))
    return g.add("Tile", data, ints(*(1,) * (rank - len(reps)), *reps))


@converts("repeat")
def repeat(g, a, data):
    rank = g.rank(data)
    if a.axis is None:
        data, rank, axis = g.add("Reshape", data, ints(-1)), 1, 0
    else:
        axis = a.axis % rank
    longer = g.add("Unsqueeze", data, ints(axis + 1))
    return g.as_result(g.add("Tile", longer, ints(*[1] * (axis + 1), a.repeats, *[1] * (rank - axis - 1))))


@converts("broadcast_to", "broadcast_axis", "broadcast_like", "_broadcast_from")
def broadcast(g, a, data, like=None):
    before, after = g.lengths_of(data), g.output_lengths
    before = (*(1,) * (len(after) - len(before)), *before)
    extents = [1 if same(n, m) else n for n, m in zip(after, before, strict=True)]  # 1 leaves an extent as it is
    return g.add("Expand", data, g.extents(extents))


@converts("Pad")
def pad(g, a, data):
    width = a.pad_width
    mode = {"constant": "constant", "edge": "edge", "reflect": "reflect"}[a.mode]
    value = g.like(a.constant_value, g.dtype(data)) if mode == "constant" else None
    return g.add("Pad", data, ints(*width[::2], *width[1::2]), value, mode=mode)


@converts("zeros_like", "ones_like", "full_like")
def constant_like(g, a, data):
    value = {"zeros_like": 0, "ones_like": 1}.get(g.operator, getattr(a, "fill_value", 0))
    dtype = g.outputs[0][1]
    tensor = g.onnx.numpy_helper.from_array(np.array([value], dtype))
    return g.add("ConstantOfShape", g.add("Shape", data), value=tensor)


@converts("_contrib_arange_like")
def arange_like(g, a, data):
    dtype, lengths = g.outputs[0][1], g.lengths_of(data)
    count = math.prod(lengths) if a.axis is None else lengths[a.axis]
    if a.repeat != 1:
        raise g.refuse("repeat is not 1")
    if type(count) is int:
        places = g.add("Identity", (a.start + a.step * np.arange(count)).astype(dtype))
    else:
        places = g.add("Mul", g.cast(steps(g, count), dtype, "int64"), g.like(a.step, dtype))
        places = g.add("Add", places, g.like(a.start, dtype))
    return g.as_result(places, (count,))


# ---------------------------------------------------------------------------------------------- indices


@converts("take")
def take(g, a, data, indices):
    axis = a.axis % g.rank(data)
    places = g.cast(indices, "int64")
    extent = g.shape(data)[axis]
    if a.mode == "clip" and extent is not None:
        places = g.add("Clip", places, np.int64(0), np.int64(extent - 1))
    elif a.mode == "wrap" and extent is not None:
        places = g.add("Mod", places, np.int64(extent))
    return g.add("Gather", data, places, axis=axis)


def _places(g, indices):
    """Indices (axes, ...) as ONNX has them: (..., axes)."""
    return g.add("Transpose", g.cast(indices, "int64"), perm=[*range(1, g.rank(indices)), 0])


@converts("scatter_nd")
def scatter_nd(g, a, data, indices):
    dtype = g.dtype(data)
    nothing = g.add("Expand", g.like(0, dtype), ints(*a.shape))
    return g.add("ScatterND", nothing, _places(g, indices), data)


@converts("one_hot")
def one_hot(g, a, indices):
    dtype = "float32" if a.dtype.startswith("float") else "int64"  # those that every runtime has
    values = np.array([a.off_value, a.on_value], dtype)
    return g.cast(g.add("OneHot", g.cast(indices, "int64"), np.int64(a.depth), values, axis=-1), a.dtype, dtype)


@converts("pick")
def pick(g, a, data, index):
    axis = axes_of(a.axis, g.rank(data))[0]
    places = g.cast(index, "int64")
    places = g.add("Clip", places, np.int64(0), np.int64(g.extent(data, axis) - 1))
    if g.rank(index) < g.rank(data):
        places = g.add("Unsqueeze", places, ints(axis))
    made = g.add("GatherElements", data, places, axis=axis)
    return made if a.keepdims else g.add("Squeeze", made, ints(axis))


def within(g, data, axis: int, behind: int, length, *axes: int):
    """Which places along an axis, of so many axes behind it, come before a length, which gets axes where it lacks them."""
    places = steps(g, g.lengths_of(data)[axis])
    places = g.add("Unsqueeze", places, ints(*range(1, behind + 1))) if behind else places
    return g.add("Less", places, g.add("Unsqueeze", g.cast(length, "int64"), ints(*axes)))


def steps(g, count):
    """0, 1, 2, ..., so many, int64."""
    if type(count) is int:
        return g.constant(np.arange(count, dtype=np.int64))
    return g.add("Range", np.int64(0), g.add("Squeeze", g.extents((count,))), np.int64(1))


@converts("SequenceReverse")
def sequence_reverse(g, a, data, length=None):
    if not a.use_sequence_length or length is None:
        return g.add("Slice", data, ints(-1), ints(-LAST), ints(0), ints(-1))
    return g.add("ReverseSequence", data, g.cast(length, "int64"), time_axis=0, batch_axis=1)


enter({
    "Reshape _npi_reshape _npx_reshape reshape_like _reshape_to":
        lambda g, a, x, *like: g.as_result(x, g.lengths_of(x)),
    "Flatten": lambda g, a, x: g.add("Flatten", x, axis=1),
    "expand_dims": lambda g, a, x: g.add("Unsqueeze", x, ints(a.axis)),
    "transpose": lambda g, a, x: g.add("Transpose", x, perm=_order(a.axes, g.rank(x))),
    "Concat _rnn_param_concat": lambda g, a, *data: g.add("Concat", *data, axis=a.dim),
    "stack": lambda g, a, *data: g.add("Concat", *(g.add("Unsqueeze", x, ints(a.axis)) for x in data), axis=a.axis),
    "slice_axis": lambda g, a, x: g.add("Slice", x, ints(a.begin), ints(LAST if a.end is None else a.end), ints(a.axis)),
    "depth_to_space": lambda g, a, x: g.add("DepthToSpace", x, blocksize=a.block_size),
    "space_to_depth": lambda g, a, x: g.add("SpaceToDepth", x, blocksize=a.block_size),
    "shape_array": lambda g, a, x: g.add("Shape", x),
    "size_array": lambda g, a, x: g.add("Reshape", g.add("Size", x), ints(1)),
    "_arange_like": lambda g, a, x: g.constant(np.arange(a.length, dtype=np.float32), name=g.hint),
    "_take_places": lambda g, a, x: g.add("Gather", x, ints(*a.places), axis=a.axis),
    "gather_nd": lambda g, a, x, indices: g.add("GatherND", x, _places(g, indices)),
    "_contrib_index_copy":
        lambda g, a, old, index, new: g.add("ScatterND", old, g.add("Unsqueeze", g.cast(index, "int64"), ints(1)), new),
})  # fmt: skip
