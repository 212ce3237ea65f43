"""Shapes, parts and indices of ONNX as symbols."""

from __future__ import annotations

import numpy as np

from core import symbol as sym
from core.contrib.onnx.onnx2mx.table import Extent, Extents, ShapeOf, converts
from core.symbol import Symbol

FOLDED = 1 << 12  # elements of constants that are computed while reading: shapes, never weights


@converts("Shape")
def shape(net, attrs, x):
    return ShapeOf(net.symbol(x), attrs.get("start", 0), attrs.get("end"))


@converts("Size")
def size(net, attrs, x):
    return sym.size_array(net.symbol(x))


@converts("Reshape")
def reshape(net, attrs, x, wanted=None):
    if isinstance(wanted, ShapeOf) and wanted.whole:
        return sym.reshape_like(net.symbol(x), wanted.of)
    wanted = attrs["shape"] if wanted is None else net.ints(wanted, "the shape")
    if attrs.get("allowzero") and 0 in wanted:
        raise net.refuse("shapes with an extent of 0 are not converted")
    if any(n < -1 for n in wanted) or list(wanted).count(-1) > 1:
        raise net.refuse(f"{tuple(wanted)} is no shape")
    return sym.Reshape(net.symbol(x), shape=tuple(wanted) or (1,))


@converts("Flatten")
def flatten(net, attrs, x):
    axis = attrs.get("axis", 1)
    if axis == 1:
        return sym.Flatten(net.symbol(x))
    if axis == 0:
        return sym.Reshape(net.symbol(x), shape=(1, -1))
    raise net.refuse(f"only axes 0 and 1 are converted, given {axis}")


@converts("Transpose")
def transpose(net, attrs, x):
    return sym.transpose(net.symbol(x), **({"axes": attrs["perm"]} if "perm" in attrs else {}))


def _axes(net, attrs, axes):
    return tuple(attrs["axes"]) if axes is None else net.ints(axes, "axes")


@converts("Unsqueeze")
def unsqueeze(net, attrs, x, axes=None):
    if isinstance(x, Extent):
        return ShapeOf(x.of, x.axis, x.axis + 1 if x.axis != -1 else None)
    axes = _axes(net, attrs, axes)
    if isinstance(x, np.ndarray):
        return np.expand_dims(x, axes)
    made = net.symbol(x)
    for axis in sorted(axes, key=lambda i: (i < 0, i)):
        made = sym.expand_dims(made, axis=axis)
    return made


@converts("Squeeze")
def squeeze(net, attrs, x, axes=None):
    if axes is None and "axes" not in attrs:
        return sym.squeeze(net.symbol(x))
    return sym.squeeze(net.symbol(x), axis=_axes(net, attrs, axes))


@converts("Concat")
def concat(net, attrs, *inputs):
    if all(isinstance(x, np.ndarray) for x in inputs) and sum(x.size for x in inputs) <= FOLDED:
        return np.concatenate(inputs, attrs["axis"])
    if any(isinstance(x, ShapeOf) for x in inputs):
        return Extents(list(inputs))
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
        begins, ends, axes = attrs["starts"], attrs["ends"], attrs.get("axes")
    else:
        begins = net.ints(begins, "starts")
        axes = None if axes is None else net.ints(axes, "axes")
        if isinstance(ends, (Symbol, ShapeOf, Extent)):
            raise net.refuse("ends are computed from the input, which a symbol cannot follow")
        ends = net.ints(ends, "ends")
    steps = (1,) * len(begins) if steps is None else net.ints(steps, "steps")
    axes = range(len(begins)) if axes is None else axes
    if isinstance(x, ShapeOf) and x.whole and tuple(axes) == (0,) and steps == (1,):
        return ShapeOf(x.of, begins[0], ends[0] if ends[0] < 1 << 31 else None)
    made = net.symbol(x)
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        if step == 1:
            made = sym.slice_axis(made, axis=axis, begin=begin, end=end if end < 1 << 31 else None)
        elif step == -1 and begin == -1 and end < -(1 << 31):
            made = sym.reverse(made, axis=axis)
        elif axis >= 0 and step != 0:
            end = None if abs(end) > 1 << 31 else end
            made = sym.slice(made, begin=(*[None] * axis, begin), end=(*[None] * axis, end), step=(*[1] * axis, step))
        else:
            raise net.refuse(f"steps of {step} along axis {axis} are not converted")
    return made


@converts("Gather")
def gather(net, attrs, x, indices):
    axis = attrs.get("axis", 0)
    if isinstance(x, ShapeOf) and isinstance(indices, np.ndarray) and indices.size == 1:
        place = int(indices.reshape(-1)[0]) + x.start
        return Extent(x.of, place) if indices.ndim == 0 else ShapeOf(x.of, place, place + 1 if place != -1 else None)
    if isinstance(x, np.ndarray) and isinstance(indices, np.ndarray) and x.size * max(1, indices.size) <= FOLDED:
        return np.take(x, indices, axis)
    if isinstance(indices, np.ndarray) and indices.ndim == 0:
        i = int(indices)
        return sym.squeeze(
            sym.slice_axis(net.symbol(x), axis=axis, begin=i, end=i + 1 if i != -1 else None), axis=(axis,)
        )
    return sym.take(net.symbol(x), net.symbol(indices), axis=axis, mode="wrap")


@converts("GatherElements")
def gather_elements(net, attrs, x, indices):
    return sym.op._gather_along(net.symbol(x), net.symbol(indices), axis=attrs.get("axis", 0))


@converts("GatherND")
def gather_nd(net, attrs, x, indices):
    if attrs.get("batch_dims") == 1:  # the places of one element a row, as the last step of each sequence
        last = sym.Reshape(net.symbol(indices), shape=(-1,)) + 1
        return sym.SequenceLast(net.symbol(x), last, use_sequence_length=True, axis=1)
    if attrs.get("batch_dims"):
        raise net.refuse("more than one of batch_dims")
    if isinstance(indices, np.ndarray):
        indices = net.parameter(np.ascontiguousarray(np.moveaxis(indices, -1, 0)))
        return sym.gather_nd(net.symbol(x), indices)
    raise net.refuse("indices that follow from the input are not converted")


@converts("OneHot")
def one_hot(net, attrs, indices, depth, values):
    if attrs.get("axis", -1) != -1:
        raise net.refuse("only a new last axis is converted")
    off, on = net.number(values, "values").reshape(-1)
    (count,) = net.ints(depth, "depth")
    return sym.one_hot(
        net.symbol(indices), depth=count, on_value=float(on), off_value=float(off), dtype=values.dtype.name
    )


@converts("Expand")
def expand(net, attrs, x, wanted):
    if isinstance(wanted, ShapeOf) and wanted.whole:
        return sym.broadcast_like(net.symbol(x), wanted.of)
    wanted = net.ints(wanted, "the shape")
    made = net.symbol(x)
    axes = [i - len(wanted) for i, n in enumerate(wanted) if n != 1]
    if any(n <= 0 for n in wanted):
        raise net.refuse(f"{wanted} is no shape to expand to")
    # A product with ones lets any number of axes grow; where nothing grows it changes nothing.
    if not axes:
        return made
    dtype = x.dtype if isinstance(x, np.ndarray) else "float32"
    return sym.broadcast_mul(made, sym.ones(shape=wanted, dtype=dtype))


@converts("Tile")
def tile(net, attrs, x, reps):
    return sym.tile(net.symbol(x), reps=net.ints(reps, "the repeats"))


@converts("Pad")
def pad(net, attrs, x, width=None, value=None):
    width = attrs["pads"] if width is None else net.ints(width, "the pads")
    n = len(width) // 2
    value = attrs.get("value", 0.0) if value is None else net.number(value, "the value").item()
    mode = attrs.get("mode", "constant")
    pairs = tuple(p for pair in zip(width[:n], width[n:]) for p in pair)
    if any(p < 0 for p in pairs) or len(width) != 2 * n:
        raise net.refuse(f"pads are {width}")
    return sym.op._pad(net.symbol(x), pad_width=pairs, mode=mode, constant_value=value) if n not in (4, 5) else sym.Pad(
        net.symbol(x), mode=mode, pad_width=pairs, constant_value=value
    )  # fmt: skip


@converts("ConstantOfShape")
def constant_of_shape(net, attrs, wanted):
    value = np.asarray(attrs.get("value", np.zeros(1, np.float32))).reshape(-1)
    if isinstance(wanted, ShapeOf) and wanted.whole:
        return sym.full_like(wanted.of, fill_value=value[0].item(), dtype=value.dtype.name)
    return sym.full(net.ints(wanted, "the shape"), value[0].item(), dtype=value.dtype.name)


@converts("Range")
def range_(net, attrs, start, stop, step):
    if isinstance(stop, Extent):
        begin, by = (net.number(v, "start and step").item() for v in (start, step))
        made = sym.contrib.arange_like(stop.of, start=begin, step=by, axis=stop.axis)
        return sym.Cast(made, dtype=start.dtype.name)
    begin, end, by = (net.number(v, "the bounds").item() for v in (start, stop, step))
    return sym.arange(begin, end, by, dtype=start.dtype.name)


@converts("DepthToSpace")
def depth_to_space(net, attrs, x):
    if attrs.get("mode", "DCR") != "DCR":
        raise net.refuse("only mode DCR is converted")
    return sym.depth_to_space(net.symbol(x), block_size=attrs["blocksize"])


@converts("SpaceToDepth")
def space_to_depth(net, attrs, x):
    return sym.space_to_depth(net.symbol(x), block_size=attrs["blocksize"])


@converts("ReverseSequence")
def reverse_sequence(net, attrs, x, lengths):
    if (attrs.get("time_axis", 0), attrs.get("batch_axis", 1)) != (0, 1):
        raise net.refuse("only (time, batch, ...) is converted")
    return sym.SequenceReverse(net.symbol(x), net.symbol(lengths), use_sequence_length=True)
