"""Reading and writing parts of arrays: basic slices, integer arrays and boolean masks."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from types import EllipsisType
from typing import Any, cast

import numpy as onp

from core import autograd, dispatch, kernels, storage, writes
from core.base import BadValue, MXNetError
from core.dtypes import as_integer, dtype_name
from core.extents import integer, length_of
from core.ops.registry import TABLE
from core.ops.values import Array, Tensor

Key = Any  # what stands in the brackets
Spec = tuple[int | slice | EllipsisType | str | None, ...]  # a key as plain data, "$" and "$1" for its arrays


def get(array: Array, key: Key) -> Any:
    """`array[key]`. Basic indexing shares memory where the part is contiguous; advanced indexing copies."""
    kind = type(array)
    if array.ndim == 0 and not (isinstance(key, (bool, onp.bool_)) and array._zero_dim) and key != ():
        raise IndexError(f"an array without axes takes the index () only, given {key!r}")
    basic, spec, operands = parse(array, key)
    if basic:
        return dispatch.launch(TABLE["_slice_view"], [array], {"key": spec, "zero_dim": array._zero_dim}, kind)
    if any(storage.NAMES[o._data.dtype] == "bool" for o in operands):
        spec, operands = _expand_masks(spec, operands)
    try:
        return dispatch.launch(
            TABLE["_gather_part"], [array, *operands], {"key": spec, "zero_dim": array._zero_dim}, kind
        )
    except MXNetError as error:
        cause = error.__cause__
        if isinstance(cause, IndexError) and "broadcast" not in str(cause):
            raise IndexError(f"index {key!r} does not fit an array of shape {array.shape}: {cause}") from None
        raise ValueError(f"index {key!r} does not fit an array of shape {array.shape}: {cause or error}") from None


def set_(array: Array, key: Key, value: Any) -> None:
    """`array[key] = value`, in place."""
    given = hasattr(value, "_entry") and autograd.is_tracked(value)
    if autograd.state.recording and (autograd.is_tracked(array) or given):
        if array._entry is None and _is_whole(key) and array.shape == value.shape:
            copied: Any = TABLE["_copy"](value)
            writes.write(array, copied)
            return
        raise writes.recorded_write()
    if autograd.state.tracer is not None:
        _set_traced(array, key, value)
        return
    basic, spec, operands = parse(array, key)
    target = array._data
    source = _source(array, value)
    try:
        plain = kernels.shape.without_negative_steps(target.shape, spec, target.device)
    except IndexError:
        _set_flat(array, key, value)
        return
    basic, spec = basic and plain is spec, plain
    index = build(spec, [o._data for o in operands])
    try:
        if storage.is_tensor(source):
            source = kernels.cast(source, dtype_name(array.dtype))
            if basic:
                part = target[index]
                while source.dim() > part.dim() and source.shape[0] == 1:
                    source = source[0]
                kernels.shape.copy_(part, source)
            else:
                kernels.shape.write_at(target, index, source)
        else:
            kernels.shape.write_at(target, index, source)
    except (RuntimeError, IndexError, ValueError) as error:
        raise _write_error(array, key, source, error) from None
    autograd.written(target)


def _source(array: Array, value: Any) -> Any:
    """What is to be written to the array: a number, or a tensor on its device that does not share its memory."""
    target = array._data
    if isinstance(value, onp.generic):
        value = value.item()
    if isinstance(value, numbers.Number):
        kind = dtype_name(array.dtype)
        return as_integer(cast(float, value), kind) if "int" in kind else value
    if not hasattr(value, "_data"):
        return storage.from_numpy(onp.asarray(value), array.dtype, array._ctx)
    source = value._data
    if source.device != target.device:
        return source.to(target.device)
    if source.untyped_storage().data_ptr() == target.untyped_storage().data_ptr():
        return kernels.shape.clone(source)  # a part of the array that is written to
    return source


def _set_flat(array: Array, key: Key, value: Any) -> None:
    """`array[key] = value` by the places that the key names in the flat array: negative steps beside index arrays."""
    key = tuple(
        item.asnumpy() if hasattr(item, "_data") else item for item in (key if isinstance(key, tuple) else (key,))
    )
    places = onp.asarray(onp.arange(array.size).reshape(array.shape)[key])
    value = onp.asarray(value.asnumpy() if hasattr(value, "_data") else value)
    while value.ndim > places.ndim and value.shape[0] == 1:
        value = value[0]
    flat: Any = TABLE["Reshape"](array, shape=(-1,))
    set_(flat, (places.reshape(-1),), onp.broadcast_to(value, places.shape).reshape(-1))


def _is_whole(key: Key) -> bool:
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None)) or (isinstance(key, tuple) and key == ())


def _set_traced(array: Array, key: Key, value: Any) -> None:
    """`array[key] = value` while a block is traced."""
    basic, spec, operands = parse(array, key)
    whole = all(item is Ellipsis or item == slice(None) for item in spec) if basic else False
    tracer: Any = autograd.state.tracer
    if basic and not whole and _is_small_integer(value):
        tracer.write_part(array, spec, value)
        return
    if not hasattr(value, "_data"):
        value = array._new(storage.from_numpy(onp.asarray(value), array.dtype, array._ctx), array._ctx)
    if value.dtype != array.dtype:
        value = TABLE["Cast"](value, dtype=array.dtype)
    if not basic:
        writes.write(array, _replaced_places(array, key, spec, operands, value))
    elif whole:
        writes.write(array, _fitted(value, array.shape, key))
    else:
        tracer.write_part(array, spec, _fitted(value, _part_shape(array.shape, spec), key))


def _is_small_integer(value: Any) -> bool:
    """Whether a value is a number that float32 holds exactly, and integers too."""
    return isinstance(value, numbers.Real) and abs(cast(float, value)) < 2**24 and float(value).is_integer()


def _part_shape(shape: tuple[int, ...], spec: Spec) -> tuple[int, ...]:
    """The shape of the part at a basic index."""
    at = spec.index(Ellipsis) if Ellipsis in spec else len(spec)
    before, after = spec[:at], spec[at + 1 :]
    taken = sum(item is not None for item in (*before, *after))
    lengths, found = iter(shape), []
    for item in (*before, *(slice(None),) * (len(shape) - taken), *after):
        length = 1 if item is None else next(lengths)
        if item is None or isinstance(item, slice):
            found.append(length if item is None else length_of(item, length))
    return tuple(found)


def _fitted(value: Any, shape: tuple[int, ...], key: Key) -> Any:
    """The value in the shape of the part that it is written to."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = TABLE["_reshape_to"](value, shape=value.shape[1:])
    if value.shape == shape:
        return value
    fits = value.ndim <= len(shape) and all(n in (1, m) for n, m in zip(value.shape[::-1], shape[::-1]))
    if not fits:
        raise BadValue(f"cannot write an array of shape {value.shape} to {key!r} of shape {shape}")
    return TABLE["_broadcast_from"](value, shape=shape)


def _replaced_places(array: Array, key: Key, spec: Spec, operands: list[Array], value: Any) -> Any:
    """The array with the value where an advanced index points to."""
    masks = [o for o in operands if storage.NAMES[o._data.dtype] == "bool"]
    if not masks:
        return dispatch.launch(TABLE["_set_places"], [array, value, *operands], {"key": spec}, type(array))
    if len(spec) > 1 or value.size != 1:
        raise MXNetError(
            f"x[{key!r}] = ... in a hybridized block: a mask takes one number, for the number of its elements depends on "
            "values. Build the array with F.where, or call hybridize(active=False)"
        )
    mask = TABLE["Cast"](masks[0], dtype=array.dtype)
    mask = TABLE["_reshape_to"](mask, shape=(*mask.shape, *(1,) * (array.ndim - mask.ndim)))
    mask = TABLE["_broadcast_from"](mask, shape=array.shape)
    return TABLE["where"](mask, _fitted(value, array.shape, key), array)


def _write_error(array: Array, key: Key, source: Any, error: Exception) -> Exception:
    if isinstance(error, IndexError):
        return IndexError(f"index {key!r} does not fit an array of shape {array.shape}: {error}")
    if isinstance(error, RuntimeError) and storage.is_tensor(source):
        given = f"a value of shape {tuple(source.shape)}"
        return BadValue(f"{given} does not fit the part {key!r} of an array of shape {array.shape}")
    return BadValue(f"cannot write to {key!r} of an array of shape {array.shape}: {str(error).splitlines()[0]}")


def parse(array: Array, key: Key) -> tuple[bool, Spec, list[Array]]:
    """(whether basic, the key as plain data, arrays that it holds). Arrays are marked "$" in the plain key,
    truth values "$1": masks of a new axis of length 1."""
    items = key if isinstance(key, tuple) else (key,)
    spec, operands, basic = [], [], True
    axis = 0
    ndim = array.ndim
    if not ndim and len(items) == 1 and isinstance(items[0], slice) and items[0] == slice(None):  # all of a scalar
        items = (Ellipsis,)
    shape = array.shape
    for item in items:
        if item is Ellipsis:
            spec.append(Ellipsis)
            axis += ndim - sum(_axes_taken(array, i) for i in items)
        elif item is None:
            spec.append(None)
        elif isinstance(item, slice):
            spec.append(plain_slice(item))
            axis += 1
        elif isinstance(item, (numbers.Integral, onp.integer)) and not _is_mask(array, item):
            i = integer(item)
            if axis >= ndim:
                raise IndexError(f"too many indices for an array of shape {shape}: {key!r}")
            if not -shape[axis] <= i < shape[axis]:
                raise IndexError(f"index {i} is out of bounds for axis {axis} with size {shape[axis]}")
            spec.append(i)
            axis += 1
        elif hasattr(item, "_data") or isinstance(item, (bool, onp.bool_, onp.ndarray, list, tuple, range)):
            basic = False
            operand = _index_array(array, item)
            operands.append(operand)
            if dtype_name(operand.dtype) != "bool":
                spec.append("$")
                axis += 1
            elif operand.ndim == 0:
                spec.append("$1")
                operands[-1] = operand.reshape((1,))
            elif operand.shape == shape[axis : axis + operand.ndim]:
                spec.append("$")
                axis += operand.ndim
            else:
                raise IndexError(f"a mask of shape {operand.shape} does not lie over {shape} from axis {axis} on")
        else:
            raise ValueError(f"an index is an int, a slice, None, ..., or an integer or boolean array; given {item!r}")
    if axis > ndim:
        raise IndexError(f"too many indices for an array of shape {shape}: {key!r}")
    return basic, tuple(spec), operands


def _axes_taken(array: Array, item: Any) -> int:
    """How many axes an item of a key stands for."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, slice) or (isinstance(item, numbers.Integral) and not _is_mask(array, item)):
        return 1
    operand = _index_array(array, item)
    return operand.ndim if dtype_name(operand.dtype) == "bool" else 1


def _is_mask(array: Array, item: Any) -> bool:
    """Whether an item is a truth value that masks: to nd True and False are 1 and 0."""
    return isinstance(item, bool) and array._zero_dim


def _index_array(array: Array, item: Any) -> Array:
    """An item of a key that is an array, or becomes one. nd has no masks: True and False are the indices 1 and 0."""
    operand: Array = item if hasattr(item, "_data") else _operand(array, onp.asarray(item))
    if array._zero_dim:
        return operand
    if dtype_name(operand.dtype) == "bool":
        operand = operand._new(storage.copy_to(operand._data, "int64"), operand._ctx)
    return operand.reshape((1,)) if operand.ndim == 0 else operand


def build(spec: Sequence[Any], tensors: Iterable[Tensor]) -> tuple[Any, ...]:
    """The key that tensors understand; negative steps are the caller's business."""
    rest = iter(tensors)
    index = []
    for item in spec:
        if storage.is_tensor(item):
            index.append(item)
        elif isinstance(item, str):
            t = next(rest)
            t = t.reshape(()) if item == "$1" else t
            index.append(t if t.dtype == storage.TORCH["bool"] else t.to(storage.TORCH["int64"]))
        else:
            index.append(item)
    return tuple(index)


def plain_slice(item: slice) -> slice:
    """The slice with plain numbers or None as its bounds. ValueError for a step of 0."""
    bounds = [None if bound is None else integer(bound) for bound in (item.start, item.stop, item.step)]
    if bounds[2] == 0:
        raise ValueError("slice step cannot be zero")
    return slice(*bounds)


def _operand(array: Array, value: onp.ndarray[Any, Any]) -> Array:
    if value.dtype.kind not in "biuf":
        raise IndexError(f"an index array holds integers or booleans, not {value.dtype}")
    if value.size == 0 and value.dtype.kind == "f":
        value = value.astype("int64")
    kind = value.dtype if value.dtype.kind == "b" else onp.dtype("int64")
    return array._new(storage.from_numpy(value.astype(kind), None, array._ctx), array._ctx)


def _expand_masks(spec: Spec, operands: list[Array]) -> tuple[Spec, list[Array]]:
    """Boolean masks as the integer arrays of their true places."""
    if autograd.state.tracer is not None:  # how many there are depends on values
        autograd.state.tracer.failed(TABLE["_npx_nonzero"], NotImplementedError("places of a mask"))
    rest = iter(operands)
    new_spec: list[Any] = []
    new_operands: list[Array] = []
    for item in spec:
        if not isinstance(item, str):
            new_spec.append(item)
            continue
        operand = next(rest)
        if storage.NAMES[operand._data.dtype] != "bool":
            new_spec.append(item)
            new_operands.append(operand)
            continue
        for places in operand._data.nonzero(as_tuple=True):
            new_spec.append(item)
            new_operands.append(operand._new(places, operand._ctx))
    return tuple(new_spec), new_operands
