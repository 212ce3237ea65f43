"""Last layers of detectors."""

from core.initializer import Xavier
from gluon import nn
from gluon.block import HybridBlock


class ConvPredictor(HybridBlock):
    """A convolution, by default 3x3, to `num_channel` channels."""

    def __init__(
        self, num_channel, kernel=(3, 3), pad=(1, 1), stride=(1, 1), activation=None, use_bias=True, in_channels=0,
        **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        with self.name_scope():
            self.predictor = nn.Conv2D(
                num_channel, kernel, stride, pad, activation=activation, use_bias=use_bias, in_channels=in_channels,
                weight_initializer=Xavier(magnitude=2), bias_initializer="zeros",
            )  # fmt: skip

    def hybrid_forward(self, F, x):
        return self.predictor(x)


class FCPredictor(HybridBlock):
    """A dense layer of `num_output` numbers."""

    def __init__(self, num_output, activation=None, use_bias=True, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.predictor = nn.Dense(num_output, activation=activation, use_bias=use_bias)

    def hybrid_forward(self, F, x):
        return self.predictor(x)
