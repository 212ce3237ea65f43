"""Views in a trace: arrays that share memory outside of a graph, where a write to one is a write to all of them.

Values of a graph have no memory yet and are never written to: an array that is written to stands for a new value from
then on, and so do the arrays that were parts or other shapes of it, and those that it was a part of.
"""

from __future__ import annotations

import numbers

from core import autograd, storage
from core.extents import length_of
from core.ndarray.ndarray import NDArray
from core.ops.registry import F, Operator


class Views:
    """Which traced arrays are views of which."""

    def __init__(self):
        self._origin: dict[int, tuple[NDArray, tuple | None]] = {}  # by id of a view: what it is of, and which part
        self._made: dict[int, list[NDArray]] = {}  # by id of an array: its views
        self._passing = False  # whether values are on their way, in arrays of nobody

    def note(self, op: Operator, inputs: list, attrs: dict, output: NDArray) -> None:
        """Remembers an output that lies in the memory of the first input."""
        array = inputs[0] if inputs else None
        if self._passing or array is None or array is output or not storage.same_memory(array._data, output._data):
            return
        if op.index is not None:
            key = attrs[op.index]
        elif array.size == output.size and array._data.is_contiguous() and output._data.is_contiguous():
            key = None  # another shape
        else:
            return
        self._origin[id(output)] = array, key
        self._made.setdefault(id(array), []).append(output)

    def forget(self, array: NDArray) -> None:
        """An array that is handed out as one with memory of its own."""
        if id(array) in self._origin:
            source, _ = self._origin.pop(id(array))
            self._made[id(source)] = [view for view in self._made[id(source)] if view is not array]

    def written(self, array: NDArray) -> None:
        """Brings the value of an array to all that share its memory."""
        if id(array) not in self._origin and id(array) not in self._made:
            return
        self._passing = True
        try:
            with autograd.pause(autograd.is_training()):  # what shares memory keeps its own place on the tape
                self._pass_down(array, None)
                self._pass_up(array)
        finally:
            self._passing = False

    def _pass_down(self, array: NDArray, besides: NDArray | None) -> None:
        for view in self._made.get(id(array), ()):
            if view is not besides:
                key = self._origin[id(view)][1]
                part = array if key is None else F._slice_view(array, key=key)
                view._data = F._reshape_to(part, shape=view.shape)._data
                self._pass_down(view, None)

    def _pass_up(self, view: NDArray) -> None:
        if id(view) not in self._origin:
            return
        array, key = self._origin[id(view)]
        made = F._reshape_to(view, shape=array.shape) if key is None else replaced(array, key, view)
        array._data = made._data
        self._pass_down(array, view)
        self._pass_up(array)


def replaced(array: NDArray, key: tuple, value: NDArray | numbers.Number) -> NDArray:
    """The array with the value, an array in the shape of the part or a number, at a basic index."""
    lengths, places = list(array.shape), []
    axes = sum(item is not None and item is not Ellipsis for item in key)
    for item in key:
        if item is Ellipsis:
            places += [slice(None)] * (len(lengths) - axes)
        elif item is not None:
            places.append(item if isinstance(item, slice) else slice(item, item + 1 or None))
    for axis, place in enumerate(places):
        lengths[axis] = length_of(place, lengths[axis])
    begin, end, step = ([getattr(place, bound) for place in places] for bound in ("start", "stop", "step"))
    bounds = {"begin": tuple(begin), "end": tuple(end), "step": tuple(step)}
    if isinstance(value, numbers.Number):
        return F._slice_assign_scalar(array, scalar=value, **bounds)
    return F._slice_assign(array, F._reshape_to(value, shape=tuple(lengths)), **bounds)
