"""Recurrent cells whose products are convolutions (Shi et al., 2015)."""

from __future__ import annotations

from gluon.nn.conv_layers import LAYOUTS, _sizes
from gluon.rnn.rnn_cell import HybridRecurrentCell

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
]


class _ConvCell(HybridRecurrentCell):
    """All convolutional cells.

    input_shape: of one instance of one step, in the order of `conv_layout` (by default that with channels first)
    without the batch. hidden_channels: of states and output. i2h_kernel, i2h_pad, i2h_dilate: of the convolution of
    inputs. h2h_kernel (odd), h2h_dilate: of the convolution of states, which is padded so that their size stays. All
    are numbers, or tuples of one number for each spatial dimension. Parameters: i2h_weight, h2h_weight, i2h_bias,
    h2h_bias with gates x hidden_channels filters.
    """

    _ndim = 2
    _gates = 1
    _states = 1

    def __init__(
        self,
        input_shape,
        hidden_channels,
        i2h_kernel,
        h2h_kernel,
        i2h_pad=0,
        i2h_dilate=1,
        h2h_dilate=1,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        conv_layout=None,
        activation="tanh",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        n = self._ndim
        conv_layout = conv_layout or LAYOUTS[n][0]
        self._hidden_channels = hidden_channels
        self._input_shape = tuple(input_shape)
        self._conv_layout = conv_layout
        self._activation = activation
        rows = self._gates * hidden_channels
        i2h = {
            "kernel": _sizes(i2h_kernel, n, "i2h_kernel"),
            "pad": _sizes(i2h_pad, n, "i2h_pad"),
            "dilate": _sizes(i2h_dilate, n, "i2h_dilate"),
        }
        h2h = {"kernel": _sizes(h2h_kernel, n, "h2h_kernel"), "dilate": _sizes(h2h_dilate, n, "h2h_dilate")}
        if any(k % 2 == 0 for k in h2h["kernel"]):
            raise AssertionError(f"h2h_kernel has odd sizes, so that states keep their size; got {h2h_kernel!r}")
        h2h["pad"] = tuple(d * (k - 1) // 2 for d, k in zip(h2h["dilate"], h2h["kernel"]))
        common = {"num_filter": rows, "stride": (1,) * n, "layout": conv_layout}
        self._i2h, self._h2h = {**i2h, **common}, {**h2h, **common}

        self._channels_last = conv_layout.endswith("C")
        in_channels = self._input_shape[-1 if self._channels_last else 0]
        space = self._input_shape[:-1] if self._channels_last else self._input_shape[1:]
        space = tuple(
            x + 2 * p - d * (k - 1) if x else 0 for x, k, p, d in zip(space, i2h["kernel"], i2h["pad"], i2h["dilate"])
        )
        self._state_shape = (*space, hidden_channels) if self._channels_last else (hidden_channels, *space)
        for name, shape, init in (
            ("i2h_weight", self._weight_shape(rows, in_channels, i2h["kernel"]), i2h_weight_initializer),
            ("h2h_weight", self._weight_shape(rows, hidden_channels, h2h["kernel"]), h2h_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def _weight_shape(self, rows, channels, kernel):
        return (rows, *kernel, channels) if self._channels_last else (rows, channels, *kernel)

    def state_info(self, batch_size=0):
        shape = (batch_size, *self._state_shape)
        return [{"shape": shape, "__layout__": self._conv_layout} for _ in range(self._states)]

    def _convolve(self, F, inputs, hidden, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        """What all gates take from the input and from the hidden state, before they are split."""
        name = f"t{self._counter}_"
        i2h = F.Convolution(inputs, i2h_weight, i2h_bias, name=name + "i2h", **self._i2h)
        return i2h, F.Convolution(hidden, h2h_weight, h2h_bias, name=name + "h2h", **self._h2h)

    def _split(self, F, gates):
        return F.SliceChannel(gates, num_outputs=self._gates, axis=self._conv_layout.find("C"))

    def __repr__(self):
        shape = self.i2h_weight.shape
        channels = shape[-1] if self._channels_last else shape[1]
        mapping = f"{channels or None} -> {shape[0]}"
        return f"{type(self).__name__}({mapping}, {self._activation}, {self._conv_layout})"


class _ConvRNNCell(_ConvCell):
    def _alias(self):
        return "conv_rnn"

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        i2h, h2h = self._convolve(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        output = self._get_activation(F, i2h + h2h, self._activation, name=f"t{self._counter}_out")
        return output, [output]


class _ConvLSTMCell(_ConvCell):
    _gates = 4
    _states = 2

    def _alias(self):
        return "conv_lstm"

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        i2h, h2h = self._convolve(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        in_gate, forget_gate, candidate, out_gate = self._split(F, i2h + h2h)
        candidate = self._get_activation(F, candidate, self._activation)
        kept, added = F.sigmoid(forget_gate) * states[1], F.sigmoid(in_gate) * candidate
        cell = F.elemwise_add(kept, added, name=f"t{self._counter}_state")
        squashed = self._get_activation(F, cell, self._activation)
        output = F.elemwise_mul(F.sigmoid(out_gate), squashed, name=f"t{self._counter}_out")
        return output, [output, cell]


class _ConvGRUCell(_ConvCell):
    _gates = 3

    def _alias(self):
        return "conv_gru"

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        i2h, h2h = self._convolve(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        i2h_reset, i2h_update, i2h_new = self._split(F, i2h)
        h2h_reset, h2h_update, h2h_new = self._split(F, h2h)
        reset = F.sigmoid(i2h_reset + h2h_reset)
        update = F.sigmoid(i2h_update + h2h_update)
        candidate = self._get_activation(F, i2h_new + reset * h2h_new, self._activation)
        output = F.elemwise_add((1.0 - update) * candidate, update * states[0], name=f"t{self._counter}_out")
        return output, [output]


class Conv1DRNNCell(_ConvRNNCell):
    """Elman's cell with convolutions over 1 spatial dimension.

    >>> from gluon.contrib.rnn import Conv1DRNNCell
    >>> cell = Conv1DRNNCell(input_shape=(3, 8), hidden_channels=2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> cell(nd.ones((1, 3, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 2, 8)
    """

    _ndim = 1


class Conv2DRNNCell(_ConvRNNCell):
    """Elman's cell with convolutions over 2 spatial dimensions.

    >>> from gluon.contrib.rnn import Conv2DRNNCell
    >>> cell = Conv2DRNNCell(input_shape=(3, 8, 8), hidden_channels=2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> cell(nd.ones((1, 3, 8, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 2, 8, 8)
    """

    _ndim = 2


class Conv3DRNNCell(_ConvRNNCell):
    """Elman's cell with convolutions over 3 spatial dimensions.

    >>> from gluon.contrib.rnn import Conv3DRNNCell
    >>> cell = Conv3DRNNCell(input_shape=(3, 4, 4, 4), hidden_channels=2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> cell(nd.ones((1, 3, 4, 4, 4)), cell.begin_state(batch_size=1))[0].shape
    (1, 2, 4, 4, 4)
    """

    _ndim = 3


class Conv1DLSTMCell(_ConvLSTMCell):
    """Long short-term memory with convolutions over 1 spatial dimension.

    >>> from gluon.contrib.rnn import Conv1DLSTMCell
    >>> cell = Conv1DLSTMCell(input_shape=(3, 8), hidden_channels=2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> cell(nd.ones((1, 3, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 2, 8)
    """

    _ndim = 1


class Conv2DLSTMCell(_ConvLSTMCell):
    """Long short-term memory with convolutions over 2 spatial dimensions.

    >>> from gluon.contrib.rnn import Conv2DLSTMCell
    >>> cell = Conv2DLSTMCell(input_shape=(3, 8, 8), hidden_channels=2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> cell(nd.ones((1, 3, 8, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 2, 8, 8)
    """

    _ndim = 2


class Conv3DLSTMCell(_ConvLSTMCell):
    """Long short-term memory with convolutions over 3 spatial dimensions.

    >>> from gluon.contrib.rnn import Conv3DLSTMCell
    >>> cell = Conv3DLSTMCell(input_shape=(3, 4, 4, 4), hidden_channels=2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> cell(nd.ones((1, 3, 4, 4, 4)), cell.begin_state(batch_size=1))[0].shape
    (1, 2, 4, 4, 4)
    """

    _ndim = 3


class Conv1DGRUCell(_ConvGRUCell):
    """Gated recurrent unit with convolutions over 1 spatial dimension.

    >>> from gluon.contrib.rnn import Conv1DGRUCell
    >>> cell = Conv1DGRUCell(input_shape=(3, 8), hidden_channels=2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> cell(nd.ones((1, 3, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 2, 8)
    """

    _ndim = 1


class Conv2DGRUCell(_ConvGRUCell):
    """Gated recurrent unit with convolutions over 2 spatial dimensions.

    >>> from gluon.contrib.rnn import Conv2DGRUCell
    >>> cell = Conv2DGRUCell(input_shape=(3, 8, 8), hidden_channels=2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> cell(nd.ones((1, 3, 8, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 2, 8, 8)
    """

    _ndim = 2


class Conv3DGRUCell(_ConvGRUCell):
    """Gated recurrent unit with convolutions over 3 spatial dimensions.

    >>> from gluon.contrib.rnn import Conv3DGRUCell
    >>> cell = Conv3DGRUCell(input_shape=(3, 4, 4, 4), hidden_channels=2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> cell(nd.ones((1, 3, 4, 4, 4)), cell.begin_state(batch_size=1))[0].shape
    (1, 2, 4, 4, 4)
    """

    _ndim = 3
