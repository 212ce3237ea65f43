"""Arrays that nobody touches between two calls of a plan: what was made of parameters stands as long as they are sealed.

The version of a tensor tells whether somebody has written to it, but after a network has pushed it out of the caches it
takes four reads of main memory to find, 0.8 us, and networks have hundreds of parameters. A sealed array keeps its
tensor out of reach: whoever wants to read or to write it gets it by a property, which breaks the seal.
"""

from __future__ import annotations

import operator
import weakref
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from core import storage
from core.ndarray.ndarray import NDArray

_data = vars(NDArray)["_data"]  # the slot of every array
_PATIENCE = 1024  # unchanged calls between two seals, at most
_KINDS: dict[type, type] = {}  # of arrays, and of these when they are sealed
_WATCHES: weakref.WeakSet[Watch] = weakref.WeakSet()


class _Seal(NamedTuple):
    """In the slot of a sealed array: its tensor, and who relies on it."""

    tensor: Any
    watches: list[weakref.ref[Watch]]


def _broken(array: Any) -> Any:
    """The tensor of an array that was sealed: it is an array like others from now on."""
    held = _data.__get__(array)
    if type(held) is _Seal:
        _data.__set__(array, held.tensor)
        array.__class__ = array._dense_kind
        for watch in held.watches:
            if (found := watch()) is not None:
                found.lift()
        return held.tensor
    return held


def _replaced(array: Any, tensor: Any) -> None:
    _broken(array)
    _data.__set__(array, tensor)


def _reduced(array: Any) -> Any:
    _broken(array)
    return array.__reduce__()


def _kind(kind: type) -> type:
    """The class of sealed arrays of a kind, which looks like it."""
    if kind not in _KINDS:
        names = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
        members = {"_dense_kind": kind, "_data": property(_broken, _replaced), "__reduce__": _reduced}
        _KINDS[kind] = type(kind.__name__, (kind,), names | members | {"__slots__": ()})
    return _KINDS[kind]


def _seal_of(array: Any) -> _Seal | None:
    held = _data.__get__(array) if type(array) is _KINDS.get(array._dense_kind) else None
    return held if type(held) is _Seal else None


def _tensor(array: Any) -> Any:
    """An array's tensor for somebody who only reads it now: a seal stays."""
    seal = _seal_of(array)
    return array._data if seal is None else seal.tensor


class Watch:
    """Says whether arrays, or what they hold, are others than when it was last asked."""

    def __init__(self, arrays: Sequence[Any]):
        self.arrays = arrays
        self.tensors: list[Any] = []
        self._versions: list[int] = []
        self._open: list[int] | None = None  # places of the arrays without a seal, where the others have one
        self._calm, self._patience = 0, 1
        _WATCHES.add(self)

    def changed(self) -> bool:
        """Whether anything is another since the last question, or this is the first; `tensors` are those of now."""
        if self._open is not None and all(self._stands(k) for k in self._open):
            return False
        tensors, versions = self.tensors, self._versions
        self.look()
        same = versions == self._versions and all(map(operator.is_, tensors, self.tensors))
        self._calm = self._calm + 1 if same else 0
        if self._calm >= self._patience:
            tensors = []  # which would hold them once more
            self._seal()
        return not same

    def look(self) -> None:
        """Takes the arrays as they are now for unchanged."""
        self.tensors = [_tensor(a) for a in self.arrays]
        self._versions = [t._version for t in self.tensors]

    def lift(self) -> None:
        """Somebody touched an array that was sealed."""
        if self._open is not None:
            self._open, self._calm, self._patience = None, 0, min(2 * self._patience, _PATIENCE)

    def _stands(self, k: int) -> bool:
        return self.arrays[k]._data is self.tensors[k] and self.tensors[k]._version == self._versions[k]

    def _seal(self) -> None:
        """Seals the arrays whose memory nobody else can reach."""
        holders = Counter(id(t) for watch in _WATCHES for t in watch.tensors)
        self._open = []
        for k, array in enumerate(self.arrays):
            if not self._sealed(array, holders):
                self._open.append(k)
        wrote = [t._version for t in self.tensors] != self._versions  # another thread, meanwhile
        if wrote or 2 * len(self._open) > len(self.arrays):
            self.lift()

    def _sealed(self, array: Any, holders: Counter[int]) -> bool:
        """Whether the array is sealed now."""
        kind = type(array)
        if kind is array._dense_kind and array.stype == "default":
            array.__class__ = _kind(kind)
            tensor = _data.__get__(array)
            _data.__set__(array, _Seal(tensor, []))
            if not storage.is_reached_by(tensor, holders[id(tensor)] + 2):  # somebody took it before
                _broken(array)
        if (seal := _seal_of(array)) is None:
            return False
        if all(watch() is not self for watch in seal.watches):
            seal.watches.append(weakref.ref(self))
        return True
