"""Sequences as one array with a time axis, or as a list with one array for each step."""

from __future__ import annotations

from core import ndarray as nd
from core.numpy.multiarray import ndarray as np_ndarray
from core.symbol.numpy import _Symbol
from core.util import is_np_array, np_array
from gluon.block.operators import operators_for

NDArray = nd.NDArray


def format_sequence(length, inputs, layout, merge, in_layout=None):
    """(inputs, time axis, operators, batch size) with inputs merged, split (False), or as they are (None).

    layout: order of the axes, such as "NTC", of the result; in_layout: of the inputs, where it differs.
    """
    if inputs is None:
        raise AssertionError("unroll needs inputs")
    axis = layout.find("T")
    in_axis = axis if in_layout is None else in_layout.find("T")
    operators, ctx = operators_for(inputs, ())
    if not isinstance(inputs, (list, tuple)):
        batch_size = inputs.shape[layout.find("N")] if ctx is not None else 0
        if merge is False:
            steps = inputs.shape[in_axis] if ctx is not None else length
            if length and length != steps:
                raise AssertionError(f"{length} steps are asked for, but the inputs have {steps}")
            return split_steps(operators, inputs, steps, in_axis), axis, operators, batch_size
    else:
        if length and len(inputs) != length:
            raise AssertionError(f"{length} steps are asked for, but the inputs have {len(inputs)}")
        batch_size = inputs[0].shape[0] if ctx is not None else 0
        if merge is not True:
            return inputs, axis, operators, batch_size
        inputs, in_axis = operators.stack(*inputs, axis=axis), axis
    if axis != in_axis:
        inputs = operators.swapaxes(inputs, axis, in_axis)
    return inputs, axis, operators, batch_size


def split_steps(operators, array, steps, axis):
    """A list with the array of every step."""
    parts = operators.split(array, num_outputs=steps, axis=axis, squeeze_axis=True)
    return list(parts) if isinstance(parts, (list, tuple)) or steps > 1 else [parts]


def begin_state_for(cell, operators, begin_state, inputs, batch_size):
    """The given state, or the cell's initial one on the context of the inputs."""
    if begin_state is not None:
        return begin_state
    first = inputs[0] if isinstance(inputs, (list, tuple)) else inputs
    if hasattr(operators, "var"):  # symbols of a batch that is not known: 0 stands for it, with NumPy's semantics 1
        return cell.begin_state(func=operators.zeros, batch_size=int(isinstance(first, _Symbol)))
    with first.context, np_array(isinstance(first, np_ndarray)):
        return cell.begin_state(batch_size=batch_size)


def mask_steps(operators, data, length, valid_length, time_axis, merge):
    """Sets the steps from `valid_length` (batch,) on to 0."""
    if isinstance(data, (list, tuple)):
        data = operators.stack(*data, axis=time_axis)
    data = operators.SequenceMask(data, valid_length, use_sequence_length=True, axis=time_axis)
    return data if merge else split_steps(operators, data, length, time_axis)


def reverse_steps(sequences, steps, valid_length=None):
    """The arrays of the steps in reverse order; only the first `valid_length` (batch,) of them where it is given."""
    if valid_length is None:
        return list(reversed(sequences))
    operators, _ = operators_for(sequences, ())
    stacked = operators.stack(*sequences, axis=0)
    turned = operators.SequenceReverse(stacked, valid_length, use_sequence_length=True)
    return split_steps(operators, turned, steps, 0)


def zeros(shape, ctx=None, dtype="float32", **_):
    """An initial state in the current array semantics."""
    array = nd.zeros(shape, ctx=ctx, dtype=dtype)
    return array.as_np_ndarray() if is_np_array() else array
