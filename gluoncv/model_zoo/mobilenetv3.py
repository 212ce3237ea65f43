"""MobileNetV3 (Howard et al., 2019)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluon.model_zoo.vision.registry import Classifier
from gluoncv.model_zoo.model_zoo import model
from gluoncv.nn import HardSigmoid, HardSwish

RELU, SWISH = partial(nn.Activation, "relu"), HardSwish

# Of each unit: kernel, expanded channels, channels, whether channels are weighed, activation, stride; then the channels
# of the last convolution before pooling.
CONFIGURATIONS = {
    "large": (
        (
            (3, 16, 16, False, RELU, 1),
            (3, 64, 24, False, RELU, 2),
            (3, 72, 24, False, RELU, 1),
            (5, 72, 40, True, RELU, 2),
            (5, 120, 40, True, RELU, 1),
            (5, 120, 40, True, RELU, 1),
            (3, 240, 80, False, SWISH, 2),
            (3, 200, 80, False, SWISH, 1),
            (3, 184, 80, False, SWISH, 1),
            (3, 184, 80, False, SWISH, 1),
            (3, 480, 112, True, SWISH, 1),
            (3, 672, 112, True, SWISH, 1),
            (5, 672, 160, True, SWISH, 2),
            (5, 960, 160, True, SWISH, 1),
            (5, 960, 160, True, SWISH, 1),
        ),
        960,
    ),
    "small": (
        (
            (3, 16, 16, True, RELU, 2),
            (3, 72, 24, False, RELU, 2),
            (3, 88, 24, False, RELU, 1),
            (5, 96, 40, True, SWISH, 2),
            (5, 240, 40, True, SWISH, 1),
            (5, 240, 40, True, SWISH, 1),
            (5, 120, 48, True, SWISH, 1),
            (5, 144, 48, True, SWISH, 1),
            (5, 288, 96, True, SWISH, 2),
            (5, 576, 96, True, SWISH, 1),
            (5, 576, 96, True, SWISH, 1),
        ),
        576,
    ),
}


class _MobileNetV3(Classifier):
    """Input (batch, 3, 224, 224), output (batch, classes).

    units, last: a configuration. multiplier: scales all channels before pooling, rounded up to multiples of 8.
    final_drop: share dropped before the last layer. pooled, pooled_bias: channels of the convolution after pooling, and
    whether it has a bias, as it has in other libraries.
    """

    def __init__(
        self, units, last, multiplier=1.0, classes=1000, norm_layer=nn.BatchNorm, norm_kwargs=None, final_drop=0.0,
        pooled=1280, pooled_bias=False, prefix="", **kwargs,
    ):  # fmt: skip
        super().__init__(prefix=prefix, **kwargs)
        norm = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            before = _multiple_of_8(16 * multiplier)
            self._add_conv("first-3x3-conv", before, 3, 2, **norm)
            for i, (kernel, wide, channels, use_se, act, stride) in enumerate(units):
                wide, after = _multiple_of_8(wide * multiplier), _multiple_of_8(channels * multiplier)
                self.features.add(_ResUnit(f"seq-{i}", before, wide, after, kernel, act, use_se, stride, **norm))
                before = after
            self._add_conv("last-1x1-conv1", _multiple_of_8(last * multiplier), 1, 1, **norm)
            self.features.add(nn.GlobalAvgPool2D())
            self.features.add(nn.Conv2D(pooled, 1, use_bias=pooled_bias, prefix="last-1x1-conv2-conv2d_"), HardSwish())
            if final_drop > 0:
                self.features.add(nn.Dropout(final_drop))
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, in_channels=pooled, prefix="fc_"), nn.Flatten())

    def _add_conv(self, name, *args, **norm):
        self.features.add(*_conv_norm(name, *args, **norm), HardSwish())


class _ResUnit(HybridBlock):
    """1x1 expansion (if it expands), depthwise convolution, weighed channels, 1x1 projection, beside a shortcut.

    name: begins the names of the layers.
    """

    def __init__(self, name, before, wide, after, kernel, act, use_se, stride, **norm):
        super().__init__()
        self._shortcut = before == after and stride == 1
        with self.name_scope():
            self.expand = _Unit(f"{name}-exp", wide, act=act, **norm) if wide != after else None
            self.conv1 = _Unit(f"{name}-depthwise", wide, kernel, stride, wide, act, **norm)
            self.se = _SE(f"{name}-se", wide) if use_se else None
            self.conv2 = _Unit(f"{name}-linear", after, **norm)

    def hybrid_forward(self, F, x):
        out = self.conv1(x if self.expand is None else self.expand(x))
        out = self.conv2(out if self.se is None else self.se(out))
        return x + out if self._shortcut else out


class _Unit(HybridBlock):
    """Convolution that keeps the size, but for strides; normalisation; activation, if there is one."""

    def __init__(self, name, channels, kernel=1, stride=1, groups=1, act=None, **norm):
        super().__init__()
        self.conv, self.bn = _conv_norm(name, channels, kernel, stride, groups, **norm)
        self.act = None if act is None else act()

    def hybrid_forward(self, F, x):
        x = self.bn(self.conv(x))
        return x if self.act is None else self.act(x)


class _SE(HybridBlock):
    """Multiplies each channel by a number in [0, 1] computed from the means of all channels."""

    def __init__(self, name, channels):
        super().__init__()
        self.pool = nn.GlobalAvgPool2D()
        self.conv1 = nn.Conv2D(_multiple_of_8(channels // 4), 1, prefix=f"{name}_fc1_")
        self.act1 = nn.Activation("relu")
        self.conv2 = nn.Conv2D(channels, 1, prefix=f"{name}_fc2_")
        self.act2 = HardSigmoid()

    def hybrid_forward(self, F, x):
        return F.broadcast_mul(x, self.act2(self.conv2(self.act1(self.conv1(self.pool(x))))))


def _conv_norm(name, channels, kernel, stride, groups=1, norm_layer=nn.BatchNorm, norm_kwargs=None):
    conv = nn.Conv2D(channels, kernel, stride, kernel // 2, groups=groups, use_bias=False, prefix=f"{name}-conv2d_")
    return conv, norm_layer(prefix=f"{name}-batchnorm_", **(norm_kwargs or {}))


def _multiple_of_8(channels):
    return int(-(-channels // 8) * 8)


def mobilenet_v3(size, **kwargs):
    """The network "large" or "small", with the dropout that it is trained with; ValueError for others."""
    if size not in CONFIGURATIONS:
        raise ValueError(f"there is no MobileNetV3 {size!r}: there are {', '.join(CONFIGURATIONS)}")
    return _MobileNetV3(*CONFIGURATIONS[size], **{"final_drop": 0.2, **kwargs})


mobilenet_v3_large, mobilenet_v3_small = (
    model(f"mobilenetv3_{size}", partial(mobilenet_v3, size)) for size in CONFIGURATIONS
)
