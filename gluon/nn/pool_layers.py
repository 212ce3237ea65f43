"""Pooling layers over 1 to 3 spatial dimensions."""

from __future__ import annotations

from gluon.block import HybridBlock
from gluon.nn.conv_layers import LAYOUTS, _sizes


class _Pooling(HybridBlock):
    """All poolings.

    layout: with channels first (the default) or last; AssertionError for another.
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


class _Windows(_Pooling):
    """Poolings over windows.

    pool_size, strides, padding: numbers, or tuples of one number for each spatial dimension; strides default to the
    pool size. ceil_mode: whether a last window that hangs over the border counts. count_include_pad: whether averages
    count padding.
    """


class MaxPool1D(_Windows):
    """Maximum over windows of (batch, channels, width).

    >>> nn.MaxPool1D()(nd.array([[[1, 5, 2, 4]]]))
    [[[5. 4.]]]
    <NDArray 1x1x2 @cpu(0)>
    """

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


class MaxPool2D(_Windows):
    """Maximum over windows of (batch, channels, height, width).

    >>> nn.MaxPool2D(pool_size=3, strides=2, padding=1)(nd.zeros((1, 3, 32, 32))).shape
    (1, 3, 16, 16)
    """

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


class MaxPool3D(_Windows):
    """Maximum over windows of (batch, channels, depth, height, width).

    >>> nn.MaxPool3D()(nd.zeros((1, 3, 4, 8, 8))).shape
    (1, 3, 2, 4, 4)
    """

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


class AvgPool1D(_Windows):
    """Average over windows of (batch, channels, width).

    >>> nn.AvgPool1D()(nd.array([[[1, 5, 2, 4]]]))
    [[[3. 3.]]]
    <NDArray 1x1x2 @cpu(0)>
    """

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


class AvgPool2D(_Windows):
    """Average over windows of (batch, channels, height, width).

    >>> nn.AvgPool2D()(nd.zeros((1, 3, 8, 8))).shape
    (1, 3, 4, 4)
    """

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


class AvgPool3D(_Windows):
    """Average over windows of (batch, channels, depth, height, width).

    >>> nn.AvgPool3D()(nd.zeros((1, 3, 4, 8, 8))).shape
    (1, 3, 2, 4, 4)
    """

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


class _Global(_Pooling):
    """Poolings over all of space."""

    _pool_type = "max"

    def __init__(self, layout=None, **kwargs):
        super().__init__(1, None, 0, True, True, self._pool_type, layout or LAYOUTS[self._ndim][0], **kwargs)


class GlobalMaxPool1D(_Global):
    """Maximum over all of the space of (batch, channels, width).

    The spatial dimension stays, with length 1: (batch, channels, width) -> (batch, channels, 1). Networks for sentences take the
    strongest answer of each filter with it (Kim, 2014). The layer has no parameters.

    >>> nn.GlobalMaxPool1D()(nd.array([[[1, 5, 2, 4]]]))
    [[[5.]]]
    <NDArray 1x1x1 @cpu(0)>
    """

    _ndim = 1


class GlobalMaxPool2D(_Global):
    """Maximum over all of the space of (batch, channels, height, width).

    Spatial dimensions stay, with length 1: (batch, channels, height, width) -> (batch, channels, 1, 1). The layer has no parameters
    and takes inputs of any size; the gradient goes to the positions of the maxima.

    >>> nn.GlobalMaxPool2D()(nd.array([[[[1, 2], [3, 4]]]]))
    [[[[4.]]]]
    <NDArray 1x1x1x1 @cpu(0)>
    """

    _ndim = 2


class GlobalMaxPool3D(_Global):
    """Maximum over all of the space of (batch, channels, depth, height, width).

    Spatial dimensions stay, with length 1: (batch, channels, depth, height, width) -> (batch, channels, 1, 1, 1). The layer has no
    parameters and takes inputs of any size; the gradient goes to the positions of the maxima.

    >>> nn.GlobalMaxPool3D()(nd.ones((1, 2, 2, 2, 2))).shape
    (1, 2, 1, 1, 1)
    """

    _ndim = 3


class GlobalAvgPool1D(_Global):
    """Average over all of the space of (batch, channels, width).

    The spatial dimension stays, with length 1: (batch, channels, width) -> (batch, channels, 1). The layer has no parameters and
    takes inputs of any width, so that what follows always sees one vector of channels.

    >>> nn.GlobalAvgPool1D()(nd.array([[[1, 5, 2, 4]]]))
    [[[3.]]]
    <NDArray 1x1x1 @cpu(0)>
    """

    _ndim = 1
    _pool_type = "avg"


class GlobalAvgPool2D(_Global):
    """Average over all of the space of (batch, channels, height, width).

    Spatial dimensions stay, with length 1: (batch, channels, height, width) -> (batch, channels, 1, 1). Classifiers end with it, so
    that they take pictures of any size (Lin et al., 2013). The layer has no parameters.

    >>> nn.GlobalAvgPool2D()(nd.array([[[[1, 2], [3, 4]]]]))
    [[[[2.5]]]]
    <NDArray 1x1x1x1 @cpu(0)>
    """

    _ndim = 2
    _pool_type = "avg"


class GlobalAvgPool3D(_Global):
    """Average over all of the space of (batch, channels, depth, height, width).

    Spatial dimensions stay, with length 1: (batch, channels, depth, height, width) -> (batch, channels, 1, 1, 1). Networks for
    video end with it. The layer has no parameters and takes inputs of any size.

    >>> nn.GlobalAvgPool3D()(nd.ones((1, 2, 2, 2, 2))).shape
    (1, 2, 1, 1, 1)
    """

    _ndim = 3
    _pool_type = "avg"
