"""Recurrent cells whose gates see pictures through convolutions."""

from __future__ import annotations

import functools

from core import symbol as sym
from core.rnn.cells import BaseRNNCell, _GRUStep, _LSTMStep, _PlainStep

_LEAKY = functools.partial(sym.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(BaseRNNCell):
    """Base of the cells.

    input_shape: of a batch, such as (1, channels, height, width). num_hidden: channels of the states. i2h_...: the
    convolution of inputs; h2h_...: that of states, with odd kernels, which keeps their size.
    """

    _states = 1

    def __init__(self, input_shape, num_hidden, h2h_kernel=(3, 3), h2h_dilate=(1, 1), i2h_kernel=(3, 3),
                 i2h_stride=(1, 1), i2h_pad=(1, 1), i2h_dilate=(1, 1), i2h_weight_initializer=None,
                 h2h_weight_initializer=None, i2h_bias_initializer="zeros", h2h_bias_initializer="zeros",
                 activation=_LEAKY, prefix="", params=None, conv_layout="NCHW"):  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        if any(k % 2 == 0 for k in h2h_kernel):
            raise AssertionError(f"the kernel of states has odd extents, got {h2h_kernel}")
        pad = tuple(d * (k - 1) // 2 for d, k in zip(h2h_dilate, h2h_kernel))
        self._of_states = {"kernel": h2h_kernel, "dilate": h2h_dilate, "pad": pad, "stride": (1, 1)}
        self._of_inputs = {"kernel": i2h_kernel, "dilate": i2h_dilate, "pad": i2h_pad, "stride": i2h_stride}
        for settings in (self._of_states, self._of_inputs):
            settings["layout"] = conv_layout
        self._num_hidden, self._activation, self._layout = num_hidden, activation, conv_layout
        self._axis = conv_layout.find("C")
        once = sym.Convolution(sym.var("data"), num_filter=num_hidden, **self._of_inputs)
        self._shape = (0, *once.infer_shape(data=input_shape)[1][0][1:])
        self._iW = self._params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self._params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self._params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self._params.get("h2h_bias", init=h2h_bias_initializer)

    @property
    def state_info(self):
        return [{"shape": self._shape, "__layout__": self._layout} for _ in range(self._states)]

    def _projections(self, inputs, state, name):
        filters = self._num_hidden * len(self._gate_names)
        return (
            sym.Convolution(data, weight, bias, num_filter=filters, name=f"{name}{group}", **settings)
            for data, weight, bias, group, settings in (
                (inputs, self._iW, self._iB, "i2h", self._of_inputs),
                (state, self._hW, self._hB, "h2h", self._of_states),
            )
        )


class ConvRNNCell(_PlainStep, BaseConvRNNCell):
    """`RNNCell` with convolutions."""

    def __init__(self, *args, prefix="ConvRNN_", **kwargs):
        super().__init__(*args, prefix=prefix, **kwargs)


class ConvLSTMCell(_LSTMStep, BaseConvRNNCell):
    """`LSTMCell` with convolutions (Shi et al., 2015)."""

    def __init__(self, *args, prefix="ConvLSTM_", **kwargs):
        super().__init__(*args, prefix=prefix, **kwargs)


class ConvGRUCell(_GRUStep, BaseConvRNNCell):
    """`GRUCell` with convolutions."""

    _separator = ""

    def __init__(self, *args, prefix="ConvGRU_", **kwargs):
        super().__init__(*args, prefix=prefix, **kwargs)
