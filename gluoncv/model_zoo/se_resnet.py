"""Residual networks whose blocks weigh their channels (Hu et al., 2018)."""

from gluon import nn
from gluon.block import HybridBlock
from gluon.model_zoo.vision import BasicBlockV1, BasicBlockV2, BottleneckV1, BottleneckV2, ResNetV1, ResNetV2
from gluon.model_zoo.vision.resnet import resnet_spec
from gluoncv.model_zoo.model_zoo import model


class SqueezeExcite(HybridBlock):
    """Multiplies each channel by a number in (0, 1) computed from the means of all channels.

    convolutions: the two layers are 1x1 convolutions with bias and not dense layers without.
    """

    def __init__(self, channels, narrow, convolutions=False, **kwargs):
        super().__init__(**kwargs)
        self._convolutions = convolutions
        for units, activation in ((narrow, "relu"), (channels, "sigmoid")):
            layer = nn.Conv2D(units, kernel_size=1) if convolutions else nn.Dense(units, use_bias=False)
            for child in (layer, nn.Activation(activation)):
                self.register_child(child)

    def hybrid_forward(self, F, x):
        weight = F.contrib.AdaptiveAvgPooling2D(x, output_size=1)
        for layer in self._children.values():
            weight = layer(weight)
        if not self._convolutions:
            weight = F.expand_dims(F.expand_dims(weight, axis=2), axis=3)
        return F.broadcast_mul(x, weight)


class _WithSqueezeExcite:
    """Weighs the channels of what a residual block adds to its shortcut."""

    def _add_body(self, channels, *args):
        super()._add_body(channels, *args)
        self._add_weights(channels)

    def _add_layers(self, channels, *args):
        super()._add_layers(channels, *args)
        self._add_weights(channels)

    def _add_weights(self, channels):
        self.se = SqueezeExcite(channels, channels // 16, prefix="")

    def _residual(self, F, x):
        return self.se(super()._residual(F, x))


class SE_BasicBlockV1(_WithSqueezeExcite, BasicBlockV1):
    """Two 3x3 convolutions.

    >>> block = gluoncv.model_zoo.SE_BasicBlockV1(16, 1)
    >>> block.initialize()
    >>> block(nd.ones((1, 16, 8, 8))).shape
    (1, 16, 8, 8)
    """


class SE_BottleneckV1(_WithSqueezeExcite, BottleneckV1):
    """A 3x3 convolution between two 1x1 convolutions.

    >>> block = gluoncv.model_zoo.SE_BottleneckV1(16, 1)
    >>> block.initialize()
    >>> block(nd.ones((1, 16, 8, 8))).shape
    (1, 16, 8, 8)
    """


class SE_BasicBlockV2(_WithSqueezeExcite, BasicBlockV2):
    """Two 3x3 convolutions, each after normalisation and relu.

    >>> block = gluoncv.model_zoo.SE_BasicBlockV2(16, 1)
    >>> block.initialize()
    >>> block(nd.ones((1, 16, 8, 8))).shape
    (1, 16, 8, 8)
    """


class SE_BottleneckV2(_WithSqueezeExcite, BottleneckV2):
    """1x1, 3x3 and 1x1 convolutions, each after normalisation and relu.

    >>> block = gluoncv.model_zoo.SE_BottleneckV2(16, 1)
    >>> block.initialize()
    >>> block(nd.ones((1, 16, 8, 8))).shape
    (1, 16, 8, 8)
    """


# of versions 1 and 2
BLOCKS = (
    {"basic_block": SE_BasicBlockV1, "bottle_neck": SE_BottleneckV1},
    {"basic_block": SE_BasicBlockV2, "bottle_neck": SE_BottleneckV2},
)


def _se_resnet(version, layers):
    kind, counts, channels = resnet_spec[layers]
    network = (ResNetV1, ResNetV2)[version - 1]
    block = BLOCKS[version - 1][kind]
    return model(f"se_resnet{layers}_v{version}", lambda **kw: network(block, counts, channels, **kw))


se_resnet18_v1, se_resnet34_v1, se_resnet50_v1, se_resnet101_v1, se_resnet152_v1 = (
    _se_resnet(1, layers) for layers in resnet_spec
)
se_resnet18_v2, se_resnet34_v2, se_resnet50_v2, se_resnet101_v2, se_resnet152_v2 = (
    _se_resnet(2, layers) for layers in resnet_spec
)
