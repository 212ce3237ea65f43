"""Deformable convolutions."""

from __future__ import annotations

from core.util import require
from gluon.block import HybridBlock
from gluon.nn.activations import Activation
from gluon.nn.conv_layers import _conv_repr, _sizes

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


class DeformableConvolution(HybridBlock):
    """Convolution at positions that a second convolution shifts (Dai et al., 2017).

    Arguments are those of `nn.Conv2D`; num_deformable_group: parts of the channels with shifts of their own.
    Parameters: deformable_conv_weight, deformable_conv_bias, and offset_weight, offset_bias of the convolution for the
    shifts.
    """

    # Numbers for each place of the kernel that the second convolution gives: shifts in two directions.
    _offsets = 2
    _operator = "DeformableConvolution"
    # Trainers number parameters in the order in which layers make them.
    _offset_first = True

    def __init__(
        self,
        channels,
        kernel_size=(1, 1),
        strides=(1, 1),
        padding=(0, 0),
        dilation=(1, 1),
        groups=1,
        num_deformable_group=1,
        layout="NCHW",
        use_bias=True,
        in_channels=0,
        activation=None,
        weight_initializer=None,
        bias_initializer="zeros",
        offset_weight_initializer="zeros",
        offset_bias_initializer="zeros",
        offset_use_bias=True,
        op_name=None,
        adj=None,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        if layout != "NCHW":
            raise AssertionError(f"layout of {type(self).__name__} is 'NCHW', got {layout!r}")
        require(type(self).__name__, "op_name", op_name, None, self._operator)
        require(type(self).__name__, "adj", adj, None)
        self._channels = channels
        self._in_channels = in_channels
        kernel = _sizes(kernel_size, 2, "kernel_size")
        window = {
            "kernel": kernel,
            "stride": _sizes(strides, 2, "strides"),
            "dilate": _sizes(dilation, 2, "dilation"),
            "pad": _sizes(padding, 2, "padding"),
            "num_group": groups,
        }
        self._places = kernel[0] * kernel[1] * num_deformable_group
        offset_channels = self._offsets * self._places
        self._kwargs_offset = {**window, "num_filter": offset_channels, "no_bias": not offset_use_bias}
        self._kwargs = {
            **window,
            "num_filter": channels,
            "num_deformable_group": num_deformable_group,
            "no_bias": not use_bias,
        }
        width = in_channels // groups
        offset = (
            ("offset_weight", (offset_channels, width, *kernel), offset_weight_initializer),
            ("offset_bias", (offset_channels,) if offset_use_bias else None, offset_bias_initializer),
        )
        convolution = (
            ("deformable_conv_weight", (channels, width, *kernel), weight_initializer),
            ("deformable_conv_bias", (channels,) if use_bias else None, bias_initializer),
        )
        with self.name_scope():
            for name, shape, init in offset + convolution if self._offset_first else convolution + offset:
                parameter = None
                if shape is not None:
                    parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True)
                setattr(self, name, parameter)
            self.act = Activation(activation, prefix=activation + "_") if activation else None

    def hybrid_forward(self, F, x, offset_weight, deformable_conv_weight, offset_bias=None, deformable_conv_bias=None):
        offset = F.Convolution(x, offset_weight, offset_bias, **self._kwargs_offset)
        operator = getattr(F.contrib, self._operator)
        inputs = (x, *self._guides(F, offset), deformable_conv_weight, deformable_conv_bias)
        out = operator(*inputs, **self._kwargs)
        return out if self.act is None else self.act(out)

    def _guides(self, F, offset):
        return (offset,)

    def _alias(self):
        return "deformable_conv"

    def __repr__(self):
        return _conv_repr(self, self.deformable_conv_weight, self.deformable_conv_bias, self._kwargs, self.act)


class ModulatedDeformableConvolution(DeformableConvolution):
    """Deformable convolution that also weights every place, between 0 and 2 (Zhu et al., 2019)."""

    _offsets = 3
    _operator = "ModulatedDeformableConvolution"
    _offset_first = False

    def _guides(self, F, offset):
        split = 2 * self._places
        mask = F.sigmoid(F.slice_axis(offset, axis=1, begin=split, end=None)) * 2
        return F.slice_axis(offset, axis=1, begin=0, end=split), mask

    def _alias(self):
        return "modulated_deformable_conv"
