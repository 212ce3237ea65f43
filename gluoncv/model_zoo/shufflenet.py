"""ShuffleNet, versions 1 (Zhang et al., 2018) and 2 (Ma et al., 2018)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluon.model_zoo.vision.registry import Classifier
from gluoncv.model_zoo.model_zoo import model
from gluoncv.nn import conv_norm_act, sequence

# groups of version 1, multiplier of version 2 -> channels of the three stages
CHANNELS_V1 = {1: (144, 288, 567), 2: (200, 400, 800), 3: (240, 480, 960), 4: (272, 544, 1088), 8: (384, 768, 1536)}
CHANNELS_V2 = {0.5: (48, 96, 192), 1: (116, 232, 464), 1.5: (176, 352, 704), 2: (244, 488, 976)}
STEM = 24
# units of each stage
UNITS = (4, 8, 4)


class ShuffleUnit(HybridBlock):
    """1x1 convolution, shuffled channels, depthwise convolution, 1x1 convolution, beside its input.

    stride 1 adds the input, stride 2 appends the input's means. The 1x1 convolutions have `groups` groups; of the first
    one it is the case when `grouped`.
    """

    def __init__(self, before, after, stride, groups, grouped, norm):
        super().__init__()
        self._stride, self._groups, self._grouped = stride, groups, grouped
        after -= before if stride == 2 else 0
        narrow = after // 4
        with self.name_scope():
            first = conv_norm_act(norm, narrow, groups=groups if grouped else 1, use_bias=True)
            self.conv_beforshuffle = sequence(sequence(*first), prefix=None)
            self.conv_aftershuffle = sequence(
                sequence(*conv_norm_act(norm, narrow, 3, stride, groups=narrow, act=None, use_bias=True)),
                sequence(*conv_norm_act(norm, after, groups=groups, act=None, use_bias=True)),
                prefix=None,
            )

    def hybrid_forward(self, F, x):
        out = self.conv_beforshuffle(x)
        out = self.conv_aftershuffle(_shuffle(F, out, self._groups) if self._grouped else out)
        if self._stride == 1:
            return F.Activation(x + out, act_type="relu")
        means = F.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg")
        return F.Activation(F.concat(means, out, dim=1), act_type="relu")


class ShuffleUnitV2(HybridBlock):
    """Shuffles the channels of two branches: of stride 2 both convolve,
    else one takes half of the channels as they are.
    """

    def __init__(self, before, after, stride, norm):
        super().__init__()
        self._half = None if stride == 2 else before // 2
        wide = after // 2
        with self.name_scope():
            if stride == 2:
                self.branch1_conv = sequence(
                    sequence(*conv_norm_act(norm, before, 3, stride, groups=before, act=None)),
                    sequence(*conv_norm_act(norm, wide)),
                    prefix=None,
                )
            self.branch2_conv = sequence(
                sequence(*conv_norm_act(norm, wide)),
                sequence(*conv_norm_act(norm, wide, 3, stride, groups=wide, act=None)),
                sequence(*conv_norm_act(norm, wide)),
                prefix=None,
            )

    def hybrid_forward(self, F, x):
        if self._half is None:
            first, second = self.branch1_conv(x), x
        else:
            first = F.slice_axis(x, axis=1, begin=0, end=self._half)
            second = F.slice_axis(x, axis=1, begin=self._half, end=None)
        return _shuffle(F, F.concat(first, self.branch2_conv(second), dim=1), 2)


class ShuffleNetV1(Classifier):
    """Input (batch, 3, 224, 224), output (batch, classes).

    groups: of the 1x1 convolutions; ValueError if not 1, 2, 3, 4 or 8.

    >>> net = gluoncv.model_zoo.get_model("shufflenet_v1")
    >>> isinstance(net, gluoncv.model_zoo.ShuffleNetV1)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    def __init__(self, groups=3, classes=1000, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs):
        super().__init__(**kwargs)
        norm, before = partial(norm_layer, **(norm_kwargs or {})), STEM
        with self.name_scope():
            self.features = sequence(nn.Conv2D(STEM, 3, 2, 1), nn.MaxPool2D(3, 2, 1))
            for i, after in enumerate(_row(CHANNELS_V1, "groups", groups)):
                # The stem has too few channels to be taken in groups.
                units = [ShuffleUnit(before, after, 2, groups, i > 0, norm)]
                units += [ShuffleUnit(after, after, 1, groups, True, norm) for _ in range(UNITS[i] - 1)]
                self.features.add(sequence(*units, prefix=None))
                before = after
            self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes)


class ShuffleNetV2(Classifier):
    """Input (batch, 3, 224, 224), output (batch, classes).

    multiplier: of the channels; ValueError if not 0.5, 1, 1.5 or 2.

    >>> net = gluoncv.model_zoo.get_model("shufflenet_v2")
    >>> isinstance(net, gluoncv.model_zoo.ShuffleNetV2)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    def __init__(self, classes=1000, norm_layer=nn.BatchNorm, norm_kwargs=None, multiplier=1, **kwargs):
        super().__init__(**kwargs)
        norm, before = partial(norm_layer, **(norm_kwargs or {})), STEM
        with self.name_scope():
            self.features = sequence(sequence(*conv_norm_act(norm, STEM, 3, 2)), nn.MaxPool2D(3, 2, 1))
            for count, after in zip(UNITS, _row(CHANNELS_V2, "multiplier", multiplier), strict=True):
                units = [ShuffleUnitV2(before, after, 2, norm)]
                units += [ShuffleUnitV2(after, after, 1, norm) for _ in range(count - 1)]
                self.features.add(sequence(*units, prefix=None))
                before = after
            self.features.add(sequence(*conv_norm_act(norm, 1024)), nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes)


def _shuffle(F, x, groups):
    """Interleaves the channels of the groups."""
    x = F.swapaxes(F.reshape(x, (0, -4, groups, -1, -2)), 1, 2)
    return F.reshape(x, (0, -3, -2))


def _row(table, name, value):
    if value not in table:
        raise ValueError(f"{name} is one of {', '.join(map(str, table))}, got {value!r}")
    return table[value]


shufflenet_v1 = model("shufflenet_v1", ShuffleNetV1)
shufflenet_v2 = model("shufflenet_v2", ShuffleNetV2)
