"""Residual networks for pictures of 32x32: versions 1 and 2 (He et al., 2016) and wide ones
(Zagoruyko, Komodakis, 2016).
"""

from functools import partial

from gluon.model_zoo.vision import BasicBlockV1, BasicBlockV2, ResNetV1, ResNetV2
from gluoncv.model_zoo.model_zoo import model

CHANNELS = (16, 16, 32, 64)
# number of layers of networks of versions 1 and 2
LAYERS = (20, 56, 110)
# number of layers and factor of the channels of wide networks
WIDE = ((16, 10), (28, 10), (40, 8))


class CIFARBasicBlockV1(BasicBlockV1):
    """Two 3x3 convolutions beside a shortcut.

    >>> block = gluoncv.model_zoo.CIFARBasicBlockV1(16, 1)
    >>> block.initialize()
    >>> block(nd.ones((1, 16, 8, 8))).shape
    (1, 16, 8, 8)
    """


class CIFARBasicBlockV2(BasicBlockV2):
    """Two 3x3 convolutions, each after normalisation and relu; the shortcut starts before the first normalisation.

    >>> block = gluoncv.model_zoo.CIFARBasicBlockV2(16, 1)
    >>> block.initialize()
    >>> block(nd.ones((1, 16, 8, 8))).shape
    (1, 16, 8, 8)
    """

    def hybrid_forward(self, F, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.conv1(F.Activation(self.bn1(x), act_type="relu"))
        return self.conv2(F.Activation(self.bn2(x), act_type="relu")) + shortcut


class CIFARWideBlock(BasicBlockV2):
    """Two 3x3 convolutions, each after normalisation and relu; a strided shortcut starts after the first relu.

    drop_rate: share dropped between the convolutions.

    >>> block = gluoncv.model_zoo.CIFARWideBlock(16, 1)
    >>> block.initialize()
    >>> block(nd.ones((1, 16, 8, 8))).shape
    (1, 16, 8, 8)
    """

    def __init__(self, channels, stride, downsample=False, drop_rate=0.0, in_channels=0, **kwargs):
        super().__init__(channels, stride, downsample, in_channels, **kwargs)
        self.droprate = drop_rate

    def _residual(self, F, x):
        x = F.Activation(self.bn2(self.conv1(x)), act_type="relu")
        if self.droprate > 0:
            x = F.Dropout(x, p=self.droprate)
        return self.conv2(x)


class CIFARResNetV1(ResNetV1):
    """Input (batch, 3, 32, 32), output (batch, classes).

    layers: blocks of each stage. channels: of the stem and of each stage. The stem is normalised and not activated.

    >>> net = gluoncv.model_zoo.get_model("cifar_resnet20_v1")
    >>> isinstance(net, gluoncv.model_zoo.CIFARResNetV1)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 32, 32))[1]
    [(1, 10)]
    """

    def __init__(self, block, layers, channels, classes=10, **kwargs):
        super().__init__(block, layers, channels, classes, thumbnail=True, **kwargs)

    def _add_stem(self, channels, thumbnail):
        super()._add_stem(channels, thumbnail)
        self.features.add(self._norm())


class CIFARResNetV2(ResNetV2):
    """Input (batch, 3, 32, 32), output (batch, classes); arguments as those of `CIFARResNetV1`.

    >>> net = gluoncv.model_zoo.get_model("cifar_resnet20_v2")
    >>> isinstance(net, gluoncv.model_zoo.CIFARResNetV2)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 32, 32))[1]
    [(1, 10)]
    """

    def __init__(self, block, layers, channels, classes=10, **kwargs):
        super().__init__(block, layers, channels, classes, thumbnail=True, **kwargs)


class CIFARWideResNet(ResNetV2):
    """Input (batch, 3, 32, 32), output (batch, classes); `drop_rate` is the share dropped inside of each block.

    >>> net = gluoncv.model_zoo.get_model("cifar_wideresnet16_10")
    >>> isinstance(net, gluoncv.model_zoo.CIFARWideResNet)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 32, 32))[1]
    [(1, 10)]
    """

    def __init__(self, block, layers, channels, drop_rate=0.0, classes=10, **kwargs):
        super().__init__(partial(block, drop_rate=drop_rate), layers, channels, classes, thumbnail=True, **kwargs)

    def _add_stem(self, channels, thumbnail):
        super()._add_stem(channels, thumbnail)
        self.features.add(self._norm())


def plain(version, layers, **kwargs):
    """A network of version 1 or 2 with so many layers; AssertionError unless these are 2 more than a multiple of 6."""
    network, block = {1: (CIFARResNetV1, CIFARBasicBlockV1), 2: (CIFARResNetV2, CIFARBasicBlockV2)}[version]
    return network(block, _blocks(layers, 2), CHANNELS, **kwargs)


def wide(layers, factor, **kwargs):
    """A network with `factor` times the channels; AssertionError unless layers are 4 more than a multiple of 6."""
    channels = (CHANNELS[0], *(factor * c for c in CHANNELS[1:]))
    return CIFARWideResNet(CIFARWideBlock, _blocks(layers, 4), channels, **kwargs)


def _blocks(layers, besides):
    """Blocks of two layers in each of three stages."""
    count, rest = divmod(layers - besides, 6)
    if rest:
        raise AssertionError(f"num_layers is {besides} more than a multiple of 6, got {layers}")
    return [count] * 3


def _enter(layers, version):
    return model(f"cifar_resnet{layers}_v{version}", partial(plain, version, layers))


cifar_resnet20_v1, cifar_resnet56_v1, cifar_resnet110_v1 = (_enter(n, 1) for n in LAYERS)
cifar_resnet20_v2, cifar_resnet56_v2, cifar_resnet110_v2 = (_enter(n, 2) for n in LAYERS)
cifar_wideresnet16_10, cifar_wideresnet28_10, cifar_wideresnet40_8 = (
    model(f"cifar_wideresnet{layers}_{factor}", partial(wide, layers, factor)) for layers, factor in WIDE
)
