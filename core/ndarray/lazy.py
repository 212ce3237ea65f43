"""Arrays that are computed when something first asks for their values: results that few programs look at."""

from __future__ import annotations

from collections.abc import Callable

from core import tape
from core.ndarray.ndarray import NDArray

_data, _entry = NDArray._data, NDArray._entry  # the slots of every array


class Lazy(NDArray):
    """An array whose values nobody asked for yet: an `NDArray` from then on. Until then it holds what computes them."""

    __slots__ = ()
    _dense_kind = NDArray  # what operators make of such arrays

    def _computed(self) -> NDArray:
        """The array with its values, as recorded, or not, where it was made."""
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
            self.__class__ = NDArray
        return self

    def __reduce__(self):
        return NDArray.__reduce__(self._computed())

    @property
    def _data(self):
        return self._computed()._data

    @_data.setter
    def _data(self, tensor):
        self._computed()._data = tensor

    @property
    def _entry(self):
        return self._computed()._entry

    @_entry.setter
    def _entry(self, entry):
        self._computed()._entry = entry


def lazy(compute: Callable[[], NDArray], ctx) -> NDArray:
    """An array on `ctx` that `compute()` gives when its shape, values or gradients are first asked for.

    Until then it takes what `compute` refers to, which the caller must not write to. Where a graph is traced it is
    computed at once, for a graph drops what nobody reads.
    """
    if tape.state.tracer is not None:
        return compute()
    array = object.__new__(Lazy)
    array._ctx = ctx
    _data.__set__(array, (compute, tape.state.recording, tape.state.training))
    return array
