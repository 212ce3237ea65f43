"""NumPy's functions called with arrays of `np`: they run here, on the arrays' device, and keep their gradients."""

from __future__ import annotations

import operator

import numpy as onp

from core.ndarray.ndarray import NDArray

_OTHERWISE = ("linalg.svd",)  # MXNet's has another form of the result, and does not answer to NumPy's


def array_function(self, func, types, args, kwargs):
    """What `func` of NumPy gives for arrays of `np` among its arguments (NEP 18)."""
    home = getattr(func, "__module__", "") or ""
    name = f"linalg.{func.__name__}" if home == "numpy.linalg" else func.__name__
    own = _own(name) if home in ("numpy", "numpy.linalg") and name not in _OTHERWISE else None
    if own is None:
        return _device(func(*_host(args), **_host(kwargs)))
    if name in ("shares_memory", "may_share_memory"):  # of the arrays themselves, not of copies
        return own(*args)
    try:
        return own(*_device(args), **_device(kwargs))
    except NotImplementedError:  # what MXNet's function of this name leaves out, NumPy's own has
        return _device(func(*_host(args), **_host(kwargs)))


def array_ufunc(self, ufunc, method, *inputs, out=None, **kwargs):
    """What a universal function of NumPy gives for arrays of `np` among its operands (NEP 13)."""
    if method != "__call__":
        return NotImplemented
    target = out[0] if out else None
    own = _own(ufunc.__name__)
    if own is None or isinstance(target, onp.ndarray):
        result = ufunc(*_host(inputs), **({} if target is None else {"out": out}), **kwargs)
        return result if isinstance(target, onp.ndarray) else _device(result)
    return own(*_device(inputs), **({} if target is None else {"out": target}), **kwargs)


def _own(name: str):
    from core import numpy

    try:
        return operator.attrgetter(name)(numpy)
    except AttributeError:
        return None


def _mapped(value, convert):
    if isinstance(value, dict):
        return {key: _mapped(v, convert) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_mapped(v, convert) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return convert(value)


def _host(value):
    return _mapped(value, lambda v: v.asnumpy() if isinstance(v, NDArray) else v)


def _device(value):
    from core.numpy.multiarray import array

    return _mapped(value, lambda v: array(v, dtype=v.dtype) if isinstance(v, onp.ndarray) else v)
