"""How blocks get their names."""

from __future__ import annotations

import threading

from core.name import NameManager, Prefix
from gluon.parameter import ParameterDict

__all__ = ["BlockScope"]


class BlockScope:
    """Names for blocks made inside `with block.name_scope():`, counted by class."""

    _current = threading.local()

    def __init__(self, block):
        self._block = block
        self._counter: dict[str, int] = {}
        self._stack: list = []

    @staticmethod
    def create(prefix, params, hint):
        """Prefix and parameter dictionary of a new block, whose class suggests the name `hint`."""
        scope = getattr(BlockScope._current, "value", None)
        if scope is None:
            if prefix is None:
                prefix = NameManager.current.get(None, hint) + "_"
            return prefix, ParameterDict(prefix) if params is None else ParameterDict(params.prefix, params)
        if prefix is None:
            count = scope._counter.get(hint, 0)
            scope._counter[hint] = count + 1
            prefix = f"{hint}{count}_"
        if params is None:
            parent = scope._block._params
            params = ParameterDict(parent.prefix + prefix, parent._shared)
        else:
            params = ParameterDict(params.prefix, params)
        return scope._block.prefix + prefix, params

    def __enter__(self):
        if not self._block._empty_prefix:
            names = Prefix(self._block.prefix)
            names.__enter__()
            self._stack.append((getattr(BlockScope._current, "value", None), names))
            BlockScope._current.value = self
        return self

    def __exit__(self, *exception):
        if not self._block._empty_prefix:
            BlockScope._current.value, names = self._stack.pop()
            names.__exit__(*exception)
