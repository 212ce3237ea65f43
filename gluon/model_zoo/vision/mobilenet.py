"""MobileNet (Howard et al., 2017) and MobileNetV2 (Sandler et al., 2018)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluon.model_zoo.vision.registry import MODELS, Classifier, model

# channels and stride of each depthwise separable convolution
SEPARABLE = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1), (512, 1), (512, 1),
    (1024, 2), (1024, 1),
)  # fmt: skip
# expansion, channels, repetitions and stride of the first one, of the bottlenecks
BOTTLENECKS = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
# multiplier -> how it is written in names
MULTIPLIERS = {1.0: "1.0", 0.75: "0.75", 0.5: "0.5", 0.25: "0.25"}


class RELU6(HybridBlock):
    """min(max(x, 0), 6)."""

    def hybrid_forward(self, F, x):
        return F.clip(x, 0, 6, name="relu6")


class LinearBottleneck(HybridBlock):
    """Expansion by `t`, a depthwise convolution, and a projection without activation, beside a shortcut."""

    # Whether there is an expansion by 1, too.
    always_expands = True

    def __init__(self, in_channels, channels, t, stride, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs):
        super().__init__(**kwargs)
        norm = partial(norm_layer, **(norm_kwargs or {}))
        self.use_shortcut = stride == 1 and in_channels == channels
        wide = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential()
            if t != 1 or self.always_expands:
                _add_conv(self.out, norm, wide, act=RELU6)
            _add_conv(self.out, norm, wide, 3, stride, 1, wide, RELU6)
            _add_conv(self.out, norm, channels, act=None)

    def hybrid_forward(self, F, x):
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNet(Classifier):
    """Input (batch, 3, 224, 224), output (batch, classes); `multiplier` scales all channels.

    >>> net = gluon.model_zoo.vision.MobileNet(multiplier=0.25, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """

    def __init__(self, multiplier=1.0, classes=1000, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs):
        super().__init__(**kwargs)
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                width = int(32 * multiplier)
                _add_conv(self.features, norm, width, 3, 2, 1)
                for channels, stride in SEPARABLE:
                    _add_conv(self.features, norm, width, 3, stride, 1, width)
                    width = int(channels * multiplier)
                    _add_conv(self.features, norm, width)
                self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


class MobileNetV2(Classifier):
    """Input (batch, 3, 224, 224), output (batch, classes); `multiplier` scales all channels.

    output_bias: the last layer has a bias, as that of other libraries has.

    >>> net = gluon.model_zoo.vision.MobileNetV2(multiplier=0.25, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """

    bottleneck = LinearBottleneck

    def __init__(
        self, multiplier=1.0, classes=1000, norm_layer=nn.BatchNorm, norm_kwargs=None, output_bias=False, **kwargs
    ):
        super().__init__(**kwargs)
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                width = int(32 * multiplier)
                _add_conv(self.features, norm, width, 3, 2, 1, act=RELU6)
                for t, channels, count, stride in BOTTLENECKS:
                    for i in range(count):
                        after = int(channels * multiplier)
                        strides = stride if i == 0 else 1
                        self.features.add(self.bottleneck(width, after, t, strides, norm_layer, norm_kwargs))
                        width = after
                _add_conv(self.features, norm, int(1280 * multiplier) if multiplier > 1.0 else 1280, act=RELU6)
                self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=output_bias, prefix="pred_"), nn.Flatten())


def get_mobilenet(multiplier, pretrained=False, ctx=None, root=None, **kwargs):
    """MobileNet with the given multiplier; weights are published for 1.0, 0.75, 0.5 and 0.25.

    >>> net = gluon.model_zoo.vision.get_mobilenet(0.25, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    if multiplier not in MULTIPLIERS and not pretrained:
        return MobileNet(multiplier, **kwargs)
    return MODELS[f"mobilenet{MULTIPLIERS.get(multiplier, multiplier)}"](pretrained, ctx, root, **kwargs)


def get_mobilenet_v2(multiplier, pretrained=False, ctx=None, root=None, **kwargs):
    """MobileNetV2 with the given multiplier; weights are published for 1.0, 0.75, 0.5 and 0.25.

    >>> net = gluon.model_zoo.vision.get_mobilenet_v2(0.25, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    if multiplier not in MULTIPLIERS and not pretrained:
        return MobileNetV2(multiplier, **kwargs)
    return MODELS[f"mobilenetv2_{MULTIPLIERS.get(multiplier, multiplier)}"](pretrained, ctx, root, **kwargs)


def _add_conv(out, norm, channels, kernel=1, stride=1, padding=0, groups=1, act=lambda: nn.Activation("relu")):
    out.add(nn.Conv2D(channels, kernel, stride, padding, groups=groups, use_bias=False), norm())
    if act is not None:
        out.add(act())


def _mobilenet(prefix, network, multiplier):
    return model(f"{prefix}{MULTIPLIERS[multiplier]}", lambda **kw: network(multiplier, **kw))


mobilenet1_0, mobilenet0_75, mobilenet0_5, mobilenet0_25 = (
    _mobilenet("mobilenet", MobileNet, multiplier) for multiplier in MULTIPLIERS
)
mobilenet_v2_1_0, mobilenet_v2_0_75, mobilenet_v2_0_5, mobilenet_v2_0_25 = (
    _mobilenet("mobilenetv2_", MobileNetV2, multiplier) for multiplier in MULTIPLIERS
)
