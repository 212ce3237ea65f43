"""A symbol as a function of arrays, as hybridized blocks of MXNet hold one."""

from __future__ import annotations

from core.ndarray.ndarray import NDArray
from core.symbol import graph


class CachedOp:
    """Calls a symbol with arrays in the order of `symbol.list_inputs()`; `flags` are accepted and change nothing."""

    def __init__(self, symbol, flags=(), thread_safe: bool = False):
        self._symbol, self._names = symbol, symbol.list_inputs()

    def __call__(self, *args, out=None, default_ctx=None):
        """The outputs: an array, or a list of several. ValueError where the number of arrays does not fit."""
        if len(args) != len(self._names):
            raise ValueError(f"the symbol has {len(self._names)} inputs ({', '.join(self._names)}), given {len(args)}")
        kind = type(args[0]) if args else NDArray
        ctx = args[0].context if args else default_ctx
        results = graph.run(self._symbol._entries, dict(zip(self._names, args, strict=True)), ctx, kind)
        if out is not None:
            for target, source in zip(out if isinstance(out, (list, tuple)) else [out], results, strict=True):
                source.copyto(target)
            return out
        return results[0] if len(results) == 1 else results
