"""ResNeXt (Xie et al., 2017), for ImageNet and CIFAR, and with weighed channels, SENet-154 too (Hu et al., 2018)."""

from gluon import nn
from gluon.block import HybridBlock
from gluon.model_zoo.vision.registry import Classifier
from gluoncv.model_zoo.model_zoo import model
from gluoncv.model_zoo.se_resnet import SqueezeExcite

# number of layers -> blocks of each stage
BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
# name -> number of layers, groups of the 3x3 convolutions, width of one of them, further keywords of the network
EXTENDED = {"deep_stem": True, "avg_down": True}
CONFIGURATIONS = {
    "resnext50_32x4d": (50, 32, 4, {}),
    "resnext101_32x4d": (101, 32, 4, {}),
    "resnext101_64x4d": (101, 64, 4, {}),
    "resnext101e_64x4d": (101, 64, 4, EXTENDED),
}
SENETS = {"senet_154": {}, "senet_154e": {"avg_down": True}}
CIFAR = {"cifar_resnext29_32x4d": (32, 4), "cifar_resnext29_16x64d": (16, 64)}


class ResNextBlock(HybridBlock):
    """relu(body(x) + shortcut(x)) with 4 * `channels` channels.

    The 3x3 convolution in the body has `cardinality` groups.

    bottleneck_width: channels of a group when `channels` is 64. downsample: makes the shortcut a convolution, with the
    average of `stride` before it if `avg_down`. use_se: weighs the channels of the body. last_gamma: the last
    normalisation starts with ones; without it, with zeros, so that the block starts as its shortcut.

    >>> block = gluoncv.model_zoo.ResNextBlock(16, 4, 16, 1, downsample=True)
    >>> block.initialize()
    >>> block(nd.ones((1, 16, 8, 8))).shape
    (1, 64, 8, 8)
    """

    def __init__(
        self, channels, cardinality, bottleneck_width, stride, downsample=False, last_gamma=False, use_se=False,
        avg_down=False, norm_layer=nn.BatchNorm, norm_kwargs=None, first_width=1.0, down_kernel=1, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        norm_kwargs = norm_kwargs or {}
        width = cardinality * (channels * bottleneck_width // 64)
        self.body = nn.HybridSequential(prefix="")
        self.body.add(nn.Conv2D(int(width * first_width), kernel_size=1, use_bias=False))
        self.body.add(norm_layer(**norm_kwargs), nn.Activation("relu"))
        self.body.add(nn.Conv2D(width, 3, stride, 1, groups=cardinality, use_bias=False))
        self.body.add(norm_layer(**norm_kwargs), nn.Activation("relu"))
        self.body.add(nn.Conv2D(4 * channels, kernel_size=1, use_bias=False))
        self.body.add(norm_layer(gamma_initializer="ones" if last_gamma else "zeros", **norm_kwargs))
        self.se = SqueezeExcite(4 * channels, channels // 4, convolutions=True, prefix="") if use_se else None
        self.downsample = None
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            if avg_down:
                self.downsample.add(nn.AvgPool2D(stride, stride, ceil_mode=True, count_include_pad=False))
                stride, down_kernel = 1, 1
            self.downsample.add(nn.Conv2D(4 * channels, down_kernel, stride, down_kernel // 2, use_bias=False))
            self.downsample.add(norm_layer(**norm_kwargs))

    def hybrid_forward(self, F, x):
        return F.Activation(self._residual(x) + self._shortcut(x), act_type="relu")

    def _residual(self, x):
        x = self.body(x)
        return x if self.se is None else self.se(x)

    def _shortcut(self, x):
        return x if self.downsample is None else self.downsample(x)


class SENetBlock(ResNextBlock):
    """A block of SENet-154: weighed channels, and a first convolution of half the width.

    >>> block = gluoncv.model_zoo.SENetBlock(16, 4, 16, 1, downsample=True)
    >>> block.initialize()
    >>> block(nd.ones((1, 16, 8, 8))).shape
    (1, 64, 8, 8)
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, use_se=True, first_width=0.5, **kwargs)


class CIFARBlock(ResNextBlock):
    """A block of the networks for CIFAR: the shortcut is the first term of the sum."""

    def hybrid_forward(self, F, x):
        return F.Activation(self._shortcut(x) + self._residual(x), act_type="relu")


class _ResNext(Classifier):
    """Stem, stages, pooling."""

    def _add_conv(self, channels, kernel, stride, norm_layer, norm_kwargs):
        self.features.add(nn.Conv2D(channels, kernel, stride, kernel // 2, use_bias=False))
        self.features.add(norm_layer(**(norm_kwargs or {})), nn.Activation("relu"))

    def _add_deep_stem(self, width, norm_layer, norm_kwargs):
        for channels, stride in ((width, 2), (width, 1), (2 * width, 1)):
            self._add_conv(channels, 3, stride, norm_layer, norm_kwargs)

    def _add_stages(self, block, layers, first, **settings):
        """`first(i)` gives what else the first block of stage i is told."""
        for i, count in enumerate(layers):
            stage = nn.HybridSequential(prefix=f"stage{i + 1}_")
            with stage.name_scope():
                for k in range(count):
                    strides = 2 if i > 0 and k == 0 else 1
                    extra = {"downsample": True, **first(i)} if k == 0 else {}
                    stage.add(block(64 << i, stride=strides, prefix="", **settings, **extra))
            self.features.add(stage)
        self.features.add(nn.GlobalAvgPool2D())


class ResNext(_ResNext):
    """Input (batch, 3, 224, 224), output (batch, classes); arguments as those of `ResNextBlock` and `ResNetV1b`.

    >>> net = gluoncv.model_zoo.get_model("resnext50_32x4d")
    >>> isinstance(net, gluoncv.model_zoo.ResNext)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    def __init__(
        self, layers, cardinality, bottleneck_width, classes=1000, last_gamma=False, use_se=False, deep_stem=False,
        avg_down=False, stem_width=64, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        norm = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            if deep_stem:
                self._add_deep_stem(stem_width, **norm)
            else:
                self._add_conv(64, 7, 2, **norm)
            self.features.add(nn.MaxPool2D(3, 2, 1))
            self._add_stages(
                ResNextBlock, layers, lambda i: {"avg_down": avg_down and i > 0},
                cardinality=cardinality, bottleneck_width=bottleneck_width, last_gamma=last_gamma, use_se=use_se,
                **norm,
            )  # fmt: skip
            self.output = nn.Dense(classes)


class SENet(_ResNext):
    """Input (batch, 3, 224, 224), output (batch, classes); arguments as those of `ResNext`.

    >>> net = gluoncv.model_zoo.get_model("senet_154")
    >>> isinstance(net, gluoncv.model_zoo.SENet)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    def __init__(
        self, layers, cardinality, bottleneck_width, avg_down=False, classes=1000,
        norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        norm = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self._add_deep_stem(64, **norm)
            self.features.add(nn.MaxPool2D(3, 2, ceil_mode=True))
            self._add_stages(
                SENetBlock, layers, lambda i: {"avg_down": avg_down and i > 0, "down_kernel": 3 if i > 0 else 1},
                cardinality=cardinality, bottleneck_width=bottleneck_width, **norm,
            )  # fmt: skip
            self.features.add(nn.Dropout(0.2))
            self.output = nn.Dense(classes)


class CIFARResNext(_ResNext):
    """Input (batch, 3, 32, 32), output (batch, classes); arguments as those of `ResNext`.

    >>> net = gluoncv.model_zoo.get_model("cifar_resnext29_16x64d")
    >>> isinstance(net, gluoncv.model_zoo.CIFARResNext)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 32, 32))[1]
    [(1, 10)]
    """

    def __init__(
        self, layers, cardinality, bottleneck_width, classes=10, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs
    ):
        super().__init__(**kwargs)
        norm = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self._add_conv(64, 3, 1, **norm)
            self._add_stages(
                CIFARBlock, layers, lambda i: {},
                cardinality=cardinality, bottleneck_width=bottleneck_width, last_gamma=True, **norm,
            )  # fmt: skip
            self.output = nn.Dense(classes)


def _resnext(name, use_se=False):
    layers, cardinality, width, settings = CONFIGURATIONS[name]
    # Whether there is squeeze and excitation, the name says, not the caller.
    return model(
        "se_" * use_se + name,
        lambda **kw: ResNext(BLOCKS[layers], cardinality, width, **{**settings, **kw, "use_se": use_se}),
    )


def _senet(name):
    return model(name, lambda **kw: SENet(BLOCKS[152], 64, 4, **{**SENETS[name], **kw}))


def _cifar(name):
    return model(name, lambda **kw: CIFARResNext((3, 3, 3), *CIFAR[name], **kw))


resnext50_32x4d, resnext101_32x4d, resnext101_64x4d, resnext101e_64x4d = (_resnext(name) for name in CONFIGURATIONS)
se_resnext50_32x4d, se_resnext101_32x4d, se_resnext101_64x4d, se_resnext101e_64x4d = (
    _resnext(name, use_se=True) for name in CONFIGURATIONS
)
senet_154, senet_154e = (_senet(name) for name in SENETS)
cifar_resnext29_32x4d, cifar_resnext29_16x64d = (_cifar(name) for name in CIFAR)
