"""Pooling layers over 1 to 3 spatial dimensions."""

from __future__ import annotations

from gluon.block import HybridBlock
from gluon.nn.conv_layers import LAYOUTS, _sizes


class _Pooling(HybridBlock):
    """All poolings.

    pool_size, strides, padding: numbers, or tuples of one number for each spatial dimension; strides default to the
    pool size. layout: with channels first (the default) or last. ceil_mode: whether a last window that hangs over the
    border counts. count_include_pad: whether averages count padding. AssertionError for another layout.
    """

    _ndim = 2

    def __init__(
        self, pool_size, strides, padding, ceil_mode, global_pool, pool_type, layout, count_include_pad=None, **kwargs
    ):
        super().__init__(**kwargs)
        n = self._ndim
        if layout not in LAYOUTS[n]:
            raise AssertionError(f"layout of {type(self).__name__} is one of {', '.join(LAYOUTS[n])}, got {layout!r}")
        self._kwargs = {
            "kernel": _sizes(pool_size, n, "pool_size"),
            "stride": _sizes(pool_size if strides is None else strides, n, "strides"),
            "pad": _sizes(padding, n, "padding"),
            "global_pool": global_pool,
            "pool_type": pool_type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self):
        return "pool"

    def hybrid_forward(self, F, x):
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self):
        k = self._kwargs
        return (
            f"{type(self).__name__}(size={k['kernel']}, stride={k['stride']}, padding={k['pad']}, "
            f"ceil_mode={k['pooling_convention'] == 'full'}, global_pool={k['global_pool']}, "
            f"pool_type={k['pool_type']}, layout={k['layout']})"
        )


class MaxPool1D(_Pooling):
    """Maximum over windows of (batch, channels, width)."""

    _ndim = 1

    def __init__(
        self,
        pool_size=2,
        strides=None,
        padding=0,
        layout="NCW",
        ceil_mode=False,
        **kwargs,
    ):
        super().__init__(pool_size, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class MaxPool2D(_Pooling):
    """Maximum over windows of (batch, channels, height, width)."""

    _ndim = 2

    def __init__(
        self,
        pool_size=(2, 2),
        strides=None,
        padding=0,
        layout="NCHW",
        ceil_mode=False,
        **kwargs,
    ):
        super().__init__(pool_size, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class MaxPool3D(_Pooling):
    """Maximum over windows of (batch, channels, depth, height, width)."""

    _ndim = 3

    def __init__(
        self,
        pool_size=(2, 2, 2),
        strides=None,
        padding=0,
        ceil_mode=False,
        layout="NCDHW",
        **kwargs,
    ):
        super().__init__(pool_size, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class AvgPool1D(_Pooling):
    """Average over windows of (batch, channels, width)."""

    _ndim = 1

    def __init__(
        self,
        pool_size=2,
        strides=None,
        padding=0,
        layout="NCW",
        ceil_mode=False,
        count_include_pad=True,
        **kwargs,
    ):
        super().__init__(pool_size, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs)


class AvgPool2D(_Pooling):
    """Average over windows of (batch, channels, height, width)."""

    _ndim = 2

    def __init__(
        self,
        pool_size=(2, 2),
        strides=None,
        padding=0,
        ceil_mode=False,
        layout="NCHW",
        count_include_pad=True,
        **kwargs,
    ):
        super().__init__(pool_size, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs)


class AvgPool3D(_Pooling):
    """Average over windows of (batch, channels, depth, height, width)."""

    _ndim = 3

    def __init__(
        self,
        pool_size=(2, 2, 2),
        strides=None,
        padding=0,
        ceil_mode=False,
        layout="NCDHW",
        count_include_pad=True,
        **kwargs,
    ):
        super().__init__(pool_size, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs)


class GlobalMaxPool1D(_Pooling):
    """Maximum over all of the space of (batch, channels, width)."""

    _ndim = 1

    def __init__(self, layout="NCW", **kwargs):
        super().__init__(1, None, 0, True, True, "max", layout, **kwargs)


class GlobalMaxPool2D(_Pooling):
    """Maximum over all of the space of (batch, channels, height, width)."""

    _ndim = 2

    def __init__(self, layout="NCHW", **kwargs):
        super().__init__(1, None, 0, True, True, "max", layout, **kwargs)


class GlobalMaxPool3D(_Pooling):
    """Maximum over all of the space of (batch, channels, depth, height, width)."""

    _ndim = 3

    def __init__(self, layout="NCDHW", **kwargs):
        super().__init__(1, None, 0, True, True, "max", layout, **kwargs)


class GlobalAvgPool1D(_Pooling):
    """Average over all of the space of (batch, channels, width)."""

    _ndim = 1

    def __init__(self, layout="NCW", **kwargs):
        super().__init__(1, None, 0, True, True, "avg", layout, **kwargs)


class GlobalAvgPool2D(_Pooling):
    """Average over all of the space of (batch, channels, height, width)."""

    _ndim = 2

    def __init__(self, layout="NCHW", **kwargs):
        super().__init__(1, None, 0, True, True, "avg", layout, **kwargs)


class GlobalAvgPool3D(_Pooling):
    """Average over all of the space of (batch, channels, depth, height, width)."""

    _ndim = 3

    def __init__(self, layout="NCDHW", **kwargs):
        super().__init__(1, None, 0, True, True, "avg", layout, **kwargs)
