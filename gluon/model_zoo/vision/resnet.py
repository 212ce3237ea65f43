"""Residual networks: version 1 (He et al., 2016a) and 2, with activation before convolution (He et al., 2016b)."""

from __future__ import annotations

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluon.model_zoo.vision.registry import MODELS, Classifier, model

# number of layers -> (kind of the blocks, blocks of each stage, channels of the stem and of each stage)
resnet_spec = {
    18: ("basic_block", (2, 2, 2, 2), (64, 64, 128, 256, 512)),
    34: ("basic_block", (3, 4, 6, 3), (64, 64, 128, 256, 512)),
    50: ("bottle_neck", (3, 4, 6, 3), (64, 256, 512, 1024, 2048)),
    101: ("bottle_neck", (3, 4, 23, 3), (64, 256, 512, 1024, 2048)),
    152: ("bottle_neck", (3, 8, 36, 3), (64, 256, 512, 1024, 2048)),
}


class _Block(HybridBlock):
    """A residual block of `channels`, strided by `stride`."""

    def __init__(
        self, channels, stride, downsample=False, in_channels=0, last_gamma=False,
        norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        norm = partial(norm_layer, **(norm_kwargs or {}))
        last = partial(norm, gamma_initializer="zeros") if last_gamma else norm
        self._add(channels, stride, downsample, in_channels, norm, last)


class _BlockV1(_Block):
    """relu(body(x) + shortcut(x)); `downsample` makes the shortcut a strided 1x1 convolution.

    last_gamma: the last normalisation starts with zeros, so that the block starts as its shortcut.
    """

    def _add(self, channels, stride, downsample, in_channels, norm, last):
        self.body = nn.HybridSequential(prefix="")
        self._add_body(channels, stride, in_channels, norm)
        self.body.add(last())
        self.downsample = None
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            self.downsample.add(_conv1x1(channels, stride, in_channels), norm())

    def hybrid_forward(self, F, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        return F.Activation(self._joined(self._residual(F, x), shortcut), act_type="relu")

    def _residual(self, F, x):
        return self.body(x)

    def _joined(self, residual, shortcut):
        return residual + shortcut


class BasicBlockV1(_BlockV1):
    """Two 3x3 convolutions.

    >>> block = gluon.model_zoo.vision.BasicBlockV1(16, 2, downsample=True)
    >>> block.initialize()
    >>> block(nd.ones((1, 8, 8, 8))).shape
    (1, 16, 4, 4)
    """

    def _add_body(self, channels, stride, in_channels, norm):
        self.body.add(_conv3x3(channels, stride, in_channels), norm(), nn.Activation("relu"))
        self.body.add(_conv3x3(channels, 1, channels))

    def _joined(self, residual, shortcut):  # so that the arguments of a symbol come in MXNet's order
        return shortcut + residual


class BottleneckV1(_BlockV1):
    """A 3x3 convolution of a quarter of the channels between two 1x1 convolutions.

    >>> block = gluon.model_zoo.vision.BottleneckV1(16, 2, downsample=True)
    >>> block.initialize()
    >>> block(nd.ones((1, 8, 8, 8))).shape
    (1, 16, 4, 4)
    """

    def _add_body(self, channels, stride, in_channels, norm):
        narrow = channels // 4
        self.body.add(nn.Conv2D(narrow, kernel_size=1, strides=stride), norm(), nn.Activation("relu"))
        self.body.add(_conv3x3(narrow, 1, narrow), norm(), nn.Activation("relu"))
        self.body.add(nn.Conv2D(channels, kernel_size=1, strides=1))


class _BlockV2(_Block):
    """residual(active) + shortcut, where active = relu(norm(x)); the shortcut is of x, or strided and of active.

    last_gamma: the last normalisation starts with zeros.
    """

    def _add(self, channels, stride, downsample, in_channels, norm, last):
        self.bn1 = norm()
        self._add_layers(channels, stride, in_channels, norm, last)
        self.downsample = _conv1x1(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F, x):
        active = F.Activation(self.bn1(x), act_type="relu")
        shortcut = x if self.downsample is None else self.downsample(active)
        return self._residual(F, active) + shortcut


class BasicBlockV2(_BlockV2):
    """Two 3x3 convolutions, each after normalisation and relu.

    >>> block = gluon.model_zoo.vision.BasicBlockV2(16, 2, downsample=True)
    >>> block.initialize()
    >>> block(nd.ones((1, 8, 8, 8))).shape
    (1, 16, 4, 4)
    """

    def _add_layers(self, channels, stride, in_channels, norm, last):
        self.conv1 = _conv3x3(channels, stride, in_channels)
        self.bn2 = last()
        self.conv2 = _conv3x3(channels, 1, channels)

    def _residual(self, F, x):
        x = F.Activation(self.bn2(self.conv1(x)), act_type="relu")
        return self.conv2(x)


class BottleneckV2(_BlockV2):
    """1x1, 3x3 and 1x1 convolutions, each after normalisation and relu.

    >>> block = gluon.model_zoo.vision.BottleneckV2(16, 2, downsample=True)
    >>> block.initialize()
    >>> block(nd.ones((1, 8, 8, 8))).shape
    (1, 16, 4, 4)
    """

    def _add_layers(self, channels, stride, in_channels, norm, last):
        self.conv1 = nn.Conv2D(channels // 4, kernel_size=1, strides=1, use_bias=False)
        self.bn2 = norm()
        self.conv2 = _conv3x3(channels // 4, stride, channels // 4)
        self.bn3 = last()
        self.conv3 = nn.Conv2D(channels, kernel_size=1, strides=1, use_bias=False)

    def _residual(self, F, x):
        x = F.Activation(self.bn2(self.conv1(x)), act_type="relu")
        x = F.Activation(self.bn3(self.conv2(x)), act_type="relu")
        return self.conv3(x)


class _ResNet(Classifier):
    """Stem, stages and pooling.

    block: class of the blocks. layers: blocks of each stage. channels: of the stem and of each stage. thumbnail: the
    stem is one 3x3 convolution, for small images. last_gamma: as that of the blocks.
    """

    def __init__(
        self, block, layers, channels, classes=1000, thumbnail=False, last_gamma=False,
        norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        self._norm = partial(norm_layer, **(norm_kwargs or {}))
        block = partial(block, last_gamma=last_gamma, norm_layer=norm_layer, norm_kwargs=norm_kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self._add_features(block, layers, channels, thumbnail)
            self.output = nn.Dense(classes, in_units=channels[-1])

    def _add_stem(self, channels, thumbnail):
        if thumbnail:
            self.features.add(_conv3x3(channels, 1, 0))
        else:
            self.features.add(nn.Conv2D(channels, 7, 2, 3, use_bias=False), self._norm(), nn.Activation("relu"))
            self.features.add(nn.MaxPool2D(3, 2, 1))

    def _add_stages(self, block, layers, channels):
        if len(layers) != len(channels) - 1:
            raise AssertionError(f"channels has one number more than layers, got {channels} and {layers}")
        for i, count in enumerate(layers):
            stage = nn.HybridSequential(prefix=f"stage{i + 1}_")
            before, after = channels[i], channels[i + 1]
            with stage.name_scope():
                stage.add(block(after, 1 if i == 0 else 2, after != before, in_channels=before, prefix=""))
                for _ in range(count - 1):
                    stage.add(block(after, 1, False, in_channels=after, prefix=""))
            self.features.add(stage)


class ResNetV1(_ResNet):
    """Input (batch, 3, 224, 224), output (batch, classes).

    >>> net = gluon.model_zoo.vision.ResNetV1(gluon.model_zoo.vision.BasicBlockV1, [1, 1], [8, 8, 16], classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 64, 64))[1]
    [(1, 10)]
    """

    def _add_features(self, block, layers, channels, thumbnail):
        self._add_stem(channels[0], thumbnail)
        self._add_stages(block, layers, channels)
        self.features.add(nn.GlobalAvgPool2D())


class ResNetV2(_ResNet):
    """Input (batch, 3, 224, 224), output (batch, classes).

    >>> net = gluon.model_zoo.vision.ResNetV2(gluon.model_zoo.vision.BasicBlockV2, [1, 1], [8, 8, 16], classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 64, 64))[1]
    [(1, 10)]
    """

    def _add_features(self, block, layers, channels, thumbnail):
        self.features.add(self._norm(scale=False, center=False))
        self._add_stem(channels[0], thumbnail)
        self._add_stages(block, layers, channels)
        self.features.add(self._norm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())


# of versions 1 and 2
resnet_net_versions = (ResNetV1, ResNetV2)
resnet_block_versions = (
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
)


def get_resnet(version, num_layers, pretrained=False, ctx=None, root=None, **kwargs):
    """ResNet of version 1 or 2 with 18, 34, 50, 101 or 152 layers.

    >>> net = gluon.model_zoo.vision.get_resnet(version=1, num_layers=18, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    name = f"resnet{num_layers}_v{version}"
    if name not in MODELS:
        raise AssertionError(f"there is no {name}: versions are 1 and 2, layers {', '.join(map(str, resnet_spec))}")
    return MODELS[name](pretrained, ctx, root, **kwargs)


def _conv3x3(channels, stride, in_channels):
    return nn.Conv2D(channels, kernel_size=3, strides=stride, padding=1, use_bias=False, in_channels=in_channels)


def _conv1x1(channels, stride, in_channels):
    return nn.Conv2D(channels, kernel_size=1, strides=stride, use_bias=False, in_channels=in_channels)


def _resnet(version, layers):
    kind, counts, channels = resnet_spec[layers]
    network, block = resnet_net_versions[version - 1], resnet_block_versions[version - 1][kind]
    return model(f"resnet{layers}_v{version}", lambda **kw: network(block, counts, channels, **kw))


resnet18_v1, resnet34_v1, resnet50_v1, resnet101_v1, resnet152_v1 = (_resnet(1, n) for n in resnet_spec)
resnet18_v2, resnet34_v2, resnet50_v2, resnet101_v2, resnet152_v2 = (_resnet(2, n) for n in resnet_spec)
