"""Convolutions and transposed convolutions over 1 to 3 spatial dimensions, and padding."""

from __future__ import annotations

import numbers

from gluon.block import HybridBlock
from gluon.nn.activations import Activation

LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


class _Conv(HybridBlock):
    """All convolutions.

    channels: of the output. kernel_size, strides, padding, dilation: numbers, or tuples of one number for each spatial
    dimension; padding is with zeros on both sides. groups: parts that the channels are split into, each convolved by
    itself. layout: with channels first (the default) or, not for transposed ones, last. activation: the name of one for
    the result, as "relu". in_channels: found out in the first call where it is 0. AssertionError for another layout and
    for tuples of another length.

    Parameters: weight (channels, in_channels / groups, *kernel), for the layouts with channels last (channels, *kernel,
    in_channels / groups), for transposed ones (in_channels, channels / groups, *kernel); bias (channels,).
    """

    _ndim = 2
    _op_name = "Convolution"

    def __init__(
        self,
        channels,
        kernel_size,
        strides,
        padding,
        dilation,
        groups,
        layout,
        in_channels=0,
        activation=None,
        use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        adj=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        n = self._ndim
        allowed = LAYOUTS[n] if self._op_name == "Convolution" else LAYOUTS[n][:1]
        if layout not in allowed:
            raise AssertionError(f"layout of {type(self).__name__} is one of {', '.join(allowed)}, got {layout!r}")
        self._channels = channels
        self._in_channels = in_channels
        kernel = _sizes(kernel_size, n, "kernel_size")
        self._kwargs = {
            "kernel": kernel,
            "stride": _sizes(strides, n, "strides"),
            "dilate": _sizes(dilation, n, "dilation"),
            "pad": _sizes(padding, n, "padding"),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        if adj is not None:
            self._kwargs["adj"] = _sizes(adj, n, "output_padding")
        if self._op_name == "Deconvolution":
            shape = (in_channels, channels // groups, *kernel)
        elif layout.endswith("C"):
            shape = (channels, *kernel, in_channels // groups)
        else:
            shape = (channels, in_channels // groups, *kernel)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=shape, init=weight_initializer, allow_deferred_init=True)
            # What a convolution with such a weight gives lies channels-last too, so a network stays that way.
            self.weight._channels_last = self._op_name == "Convolution" and layout.startswith("NC")
            self.bias = (
                self.params.get("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True)
                if use_bias
                else None
            )
            self.act = Activation(activation, prefix=activation + "_") if activation is not None else None

    def _alias(self):
        return "conv"

    def hybrid_forward(self, F, x, weight, bias=None):
        operator = F.Convolution if self._op_name == "Convolution" else F.Deconvolution
        out = operator(x, weight, bias, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def _advice(self, shape=None, *_):
        channels, last = self._in_channels or self.weight.shape[1] * self._kwargs["num_group"], self._ndim + 1
        first = self._op_name == "Convolution" and self._kwargs["layout"].startswith("NC")
        if first and shape is not None and len(shape) == last + 1 and shape[1] != channels == shape[-1]:
            return (
                f"the data look as if their channels came last; {type(self).__name__} takes {self._kwargs['layout']}: "
                f"x.transpose({(0, last, *range(1, last))})"
            )
        return None

    def __repr__(self):
        return _conv_repr(self, self.weight, self.bias, self._kwargs, self.act)


class _Forward(_Conv):
    """Convolutions that are not transposed."""

    def __init__(
        self,
        channels,
        kernel_size,
        strides=1,
        padding=0,
        dilation=1,
        groups=1,
        layout=None,
        activation=None,
        use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        in_channels=0,
        **kwargs,
    ):
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout or LAYOUTS[self._ndim][0],
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            **kwargs,
        )


class Conv1D(_Forward):
    """Convolution of (batch, channels, width).

    Cross-correlation, as everywhere in deep learning: (batch, in_channels, width) -> (batch, channels, positions) with
    ``(width + 2 padding - dilation (kernel_size - 1) - 1) // strides + 1`` positions.

    >>> layer = nn.Conv1D(channels=2, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(nd.zeros((1, 4, 10))).shape
    (1, 2, 10)
    """

    _ndim = 1


class Conv2D(_Forward):
    """Convolution of (batch, channels, height, width).

    Cross-correlation, as everywhere in deep learning: each length of the output is
    ``(length + 2 padding - dilation (kernel_size - 1) - 1) // strides + 1``. groups = in_channels makes it depthwise.

    >>> layer = nn.Conv2D(channels=8, kernel_size=3, strides=2, padding=1)
    >>> layer.initialize()
    >>> layer(nd.zeros((1, 3, 32, 32))).shape
    (1, 8, 16, 16)
    >>> layer.weight.shape
    (8, 3, 3, 3)
    """

    _ndim = 2


class Conv3D(_Forward):
    """Convolution of (batch, channels, depth, height, width).

    Cross-correlation, as everywhere in deep learning: each length of the output is
    ``(length + 2 padding - dilation (kernel_size - 1) - 1) // strides + 1``. Clips of video and volumes are its input.

    >>> layer = nn.Conv3D(channels=2, kernel_size=(1, 3, 3), padding=(0, 1, 1))
    >>> layer.initialize()
    >>> layer(nd.zeros((1, 3, 4, 8, 8))).shape
    (1, 2, 4, 8, 8)
    """

    _ndim = 3


class _Transposed(_Conv):
    """Transposed convolutions.

    output_padding: a number, or a tuple, added to one side of the output.
    """

    _op_name = "Deconvolution"

    def __init__(
        self,
        channels,
        kernel_size,
        strides=1,
        padding=0,
        output_padding=0,
        dilation=1,
        groups=1,
        layout=None,
        activation=None,
        use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        in_channels=0,
        **kwargs,
    ):
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout or LAYOUTS[self._ndim][0],
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            output_padding,
            **kwargs,
        )
        self.outpad = self._kwargs["adj"]


class Conv1DTranspose(_Transposed):
    """Transposed convolution of (batch, channels, width).

    The adjoint of `Conv1D`: (batch, in_channels, width) -> (batch, channels, positions) with
    ``(width - 1) strides - 2 padding + dilation (kernel_size - 1) + 1 + output_padding`` positions.

    >>> layer = nn.Conv1DTranspose(channels=2, kernel_size=4, strides=2, padding=1)
    >>> layer.initialize()
    >>> layer(nd.zeros((1, 3, 10))).shape
    (1, 2, 20)
    """

    _ndim = 1


class Conv2DTranspose(_Transposed):
    """Transposed convolution of (batch, channels, height, width).

    The adjoint of `Conv2D`, which makes maps larger: each length of the output is
    ``(length - 1) strides - 2 padding + dilation (kernel_size - 1) + 1 + output_padding``.

    >>> layer = nn.Conv2DTranspose(channels=2, kernel_size=4, strides=2, padding=1)
    >>> layer.initialize()
    >>> layer(nd.zeros((1, 3, 8, 8))).shape
    (1, 2, 16, 16)
    """

    _ndim = 2


class Conv3DTranspose(_Transposed):
    """Transposed convolution of (batch, channels, depth, height, width).

    The adjoint of `Conv3D`: each length of the output is
    ``(length - 1) strides - 2 padding + dilation (kernel_size - 1) + 1 + output_padding``.

    >>> layer = nn.Conv3DTranspose(channels=2, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(nd.zeros((1, 3, 2, 4, 4))).shape
    (1, 2, 4, 8, 8)
    """

    _ndim = 3


class ReflectionPad2D(HybridBlock):
    """Pads height and width by reflection at the borders.

    padding: a number for all sides, or 8 numbers, two for each dimension of (batch, channels, height, width).

    The outermost row is not repeated: [1, 2, 3] padded by 1 is [2, 1, 2, 3, 2]. Style transfer pads so because zeros would show at
    the borders. MXNetError where the padding is not smaller than the image.

    >>> nn.ReflectionPad2D(1)(nd.array([[[[1, 2], [3, 4]]]]))
    [[[[4. 3. 4. 3.]
       [2. 1. 2. 1.]
       [4. 3. 4. 3.]
       [2. 1. 2. 1.]]]]
    <NDArray 1x1x4x4 @cpu(0)>
    """

    def __init__(self, padding=0, **kwargs):
        super().__init__(**kwargs)
        if isinstance(padding, int):
            padding = (0, 0, 0, 0, padding, padding, padding, padding)
        if len(padding) != 8:
            raise AssertionError(f"padding is a number or 8 numbers, got {padding!r}")
        self._padding = tuple(padding)

    def hybrid_forward(self, F, x):
        return F.pad(x, mode="reflect", pad_width=self._padding)


def _sizes(value, ndim, what):
    """A tuple of `ndim` numbers from one number or a tuple."""
    sizes = (value,) * ndim if isinstance(value, numbers.Number) else tuple(value)
    if len(sizes) != ndim:
        raise AssertionError(f"{what} is a number or a tuple of {ndim}, got {value!r}")
    return sizes


def _conv_repr(layer, weight, bias, k, act):
    """A convolution as text: its channels, its window, and what differs from the default."""
    n, shape = len(k["kernel"]), weight.shape
    parts = [f"{shape[1] or None} -> {shape[0]}", f"kernel_size={k['kernel']}", f"stride={k['stride']}"]
    if k["pad"] != (0,) * n:
        parts.append(f"padding={k['pad']}")
    if k["dilate"] != (1,) * n:
        parts.append(f"dilation={k['dilate']}")
    if k.get("adj", (0,) * n) != (0,) * n:
        parts.append(f"output_padding={k['adj']}")
    if k["num_group"] != 1:
        parts.append(f"groups={k['num_group']}")
    if bias is None:
        parts.append("bias=False")
    if act is not None:
        parts.append(repr(act))
    return f"{type(layer).__name__}({', '.join(parts)})"
