"""Arrays that are computed when something first asks for their values: results that few programs look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core import tape
from core.context import Context
from core.ndarray.ndarray import NDArray
from core.ops.values import Array

_data, _entry = (vars(NDArray)[name] for name in ("_data", "_entry"))  # the slots of every array


class Lazy(NDArray):
    """An array whose values nobody asked for yet: an `NDArray` from then on. Until then it holds what computes them."""

    __slots__ = ()
    _dense_kind = NDArray  # what operators make of such arrays

    def _computed(self) -> Any:
        """The array with its values, as recorded, or not, where it was made."""
        array: Any = self
        if type(self) is Lazy:
            compute, recording, training = _data.__get__(self)
            tracer = tape.state.tracer
            tape.engage(tape.state.recording, None)  # it is no part of what is being traced by now
            try:
                with tape.Scope(recording, training):
                    made = compute()
            finally:
                tape.engage(tape.state.recording, tracer)
            _data.__set__(self, made._data)
            _entry.__set__(self, made._entry)
            array.__class__ = NDArray
        return array

    def __reduce__(self) -> Any:
        return NDArray.__reduce__(self._computed())

    @property
    def _data(self) -> Any:
        return self._computed()._data

    @_data.setter
    def _data(self, tensor: Any) -> None:
        self._computed()._data = tensor

    @property
    def _entry(self) -> Any:
        return self._computed()._entry

    @_entry.setter
    def _entry(self, entry: Any) -> None:
        self._computed()._entry = entry


def lazy(compute: Callable[[], Array], ctx: Context) -> Array:
    """An array on `ctx` that `compute()` gives when its shape, values or gradients are first asked for.

    Until then it takes what `compute` refers to, which the caller must not write to. Where a graph is traced it is
    computed at once, for a graph drops what nobody reads.
    """
    if tape.state.tracer is not None:
        return compute()
    array: Any = object.__new__(Lazy)
    array._ctx = ctx
    _data.__set__(array, (compute, tape.state.recording, tape.state.training))
    return array
