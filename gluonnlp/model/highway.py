"""Highway layers (Srivastava, Greff and Schmidhuber, 2015)."""

from __future__ import annotations

from gluon import HybridBlock, nn

from ..initializer import HighwayBias

__all__ = ["Highway"]


class Highway(HybridBlock):
    """(1 - gate) x + gate act(W x + b), `num_layers` times; x is (..., input_size).

    highway_bias: initializer of the biases, by default such that the gates are nearly closed at first.

    >>> net = gluonnlp.model.Highway(4, 2)
    >>> net.initialize()
    >>> net(nd.ones((1, 4))).shape
    (1, 4)
    """

    def __init__(self, input_size, num_layers, activation="relu", highway_bias=None, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._input_size = input_size
        bias = HighwayBias() if highway_bias is None else highway_bias
        with self.name_scope():
            self.hnet = nn.HybridSequential()
            with self.hnet.name_scope():
                for _ in range(num_layers):
                    self.hnet.add(nn.Dense(2 * input_size, in_units=input_size, flatten=False, bias_initializer=bias))
            self._activation = nn.Activation(activation)

    def hybrid_forward(self, F, inputs):
        for layer in self.hnet:
            projected = layer(inputs)
            new = self._activation(F.slice_axis(projected, axis=-1, begin=0, end=self._input_size))
            gate = F.sigmoid(F.slice_axis(projected, axis=-1, begin=self._input_size, end=None))
            inputs = (1 - gate) * inputs + gate * new
        return inputs
