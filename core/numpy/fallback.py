"""Functions of the `np` namespace that NumPy itself computes on the host, for arrays without a gradient."""

from __future__ import annotations

import numpy as onp

from core import autograd
from core.context import current_context
from core.ndarray.ndarray import NDArray
from core.numpy.multiarray import array

NAMES = (
    "apply_along_axis apply_over_axes argpartition argwhere array_equiv choose compress corrcoef correlate cov "
    "digitize divmod extract frexp heaviside histogram2d histogram_bin_edges histogramdd i0 intersect1d isin ix_ "
    "lexsort min_scalar_type modf nanargmax nanargmin nancumprod nancumsum nanmax nanmedian nanmin nanpercentile "
    "nanprod nanquantile nanstd nansum nanvar ndim packbits partition piecewise poly polyadd polydiv polyfit polyint "
    "polymul polysub promote_types ptp real real_if_close result_type roots searchsorted select setdiff1d setxor1d "
    "shape size spacing tril_indices_from trim_zeros union1d unpackbits unwrap vander"
).split()


def on_the_host(function, name: str):
    """`function` of NumPy for `np` arrays: they are copied to the host, and what is an array comes back as one.

    ValueError inside `autograd.record()` for arrays that it tracks where the result is fractions, because no gradient
    would pass.
    """

    def call(*args, **kwargs):
        arrays: list[NDArray] = []
        args, kwargs = _to_host(args, arrays), _to_host(kwargs, arrays)
        result = function(*args, **kwargs)
        if autograd.is_recording() and any(a._entry is not None for a in arrays) and _has_fractions(result):
            raise ValueError(
                f"np.{name} runs in NumPy, which has no gradients; call it outside of record() or on x.detach()"
            )
        return _back(result, arrays[0]._ctx if arrays else current_context())

    call.__name__ = name
    call.__doc__ = f"NumPy's `{name}`, computed by NumPy on the host; no gradient passes."
    return call


def _to_host(value, arrays: list):
    if isinstance(value, NDArray):
        arrays.append(value)
        return value.asnumpy()
    if isinstance(value, dict):
        return {k: _to_host(v, arrays) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_to_host(v, arrays) for v in value)
    return value


def _has_fractions(value) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_fractions(v) for v in value)
    return isinstance(value, (onp.ndarray, onp.generic)) and value.dtype.kind == "f"


def _back(value, ctx):
    if isinstance(value, onp.ndarray):
        return array(value, dtype=value.dtype, ctx=ctx)
    if isinstance(value, (list, tuple)) and any(isinstance(v, onp.ndarray) for v in value):
        return [_back(v, ctx) for v in value] if isinstance(value, list) else tuple(_back(v, ctx) for v in value)
    return value


def _with_interpolation(function):
    """NumPy's function of quantiles under the older name of its `method`, too."""

    def call(*args, interpolation=None, **kwargs):
        return function(*args, **kwargs, **({} if interpolation is None else {"method": interpolation}))

    return call


globals().update({_name: on_the_host(getattr(onp, _name), _name) for _name in NAMES})
nanpercentile = on_the_host(_with_interpolation(onp.nanpercentile), "nanpercentile")
nanquantile = on_the_host(_with_interpolation(onp.nanquantile), "nanquantile")
in1d = on_the_host(lambda ar1, ar2, *args, **kwargs: onp.isin(onp.ravel(ar1), ar2, *args, **kwargs), "in1d")
msort = on_the_host(lambda a: onp.sort(a, axis=0), "msort")
trapz = on_the_host(getattr(onp, "trapezoid", None) or onp.trapz, "trapz")

__all__ = [*NAMES, "in1d", "msort", "trapz"]
