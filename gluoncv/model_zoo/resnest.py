"""Residual networks with split attention (Zhang et al., 2022)."""

from math import prod

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import model
from gluoncv.model_zoo.resnetv1b import ResNetV1b
from gluoncv.nn import DropBlock, SplitAttentionConv

# number of layers -> blocks of each stage, further keywords of the network
CONFIGURATIONS = {
    14: ((1, 1, 1, 1), {"dropblock_prob": 0.0}),
    26: ((2, 2, 2, 2), {}),
    50: ((3, 4, 6, 3), {}),
    101: ((3, 4, 23, 3), {"stem_width": 64}),
    200: ((3, 24, 36, 3), {"stem_width": 64, "final_drop": 0.2}),
    269: ((3, 30, 48, 8), {"stem_width": 64, "final_drop": 0.2}),
}
SHARED = {"deep_stem": True, "avg_down": True, "avd": True, "use_splat": True, "dropblock_prob": 0.1}
STEM_STRIDES = 4
# dilation of the network -> strides and dilation of its last two stages
STEPS = {1: ((2, 1), (2, 1)), 2: ((2, 1), (1, 2)), 3: ((1, 2), (2, 2)), 4: ((1, 2), (1, 4))}


class Bottleneck(HybridBlock):
    """A 3x3 convolution between two 1x1 convolutions, beside a shortcut.

    planes: channels of each convolution. cardinality, bottleneck_width: groups of the middle one, and channels of a
    group when the first has 64. use_splat: the middle one has split attention of `radix` splits, with
    `split_drop_ratio`. avd: averages stride, after the middle convolution or, with `avd_first`, before it.
    dropblock_prob: share that `DropBlock` drops, for which `size`, the height and width of the output, has to be known.
    """

    expansion = 4
    factors = (1, 1, 4)

    def __init__(
        self, planes, strides=1, dilation=1, downsample=None, previous_dilation=1, norm_layer=nn.BatchNorm,
        norm_kwargs=None, last_gamma=False, cardinality=1, bottleneck_width=64, dropblock_prob=0, size=None,
        use_splat=False, radix=2, avd=False, avd_first=False, split_drop_ratio=0,
    ):  # fmt: skip
        super().__init__()
        norm_kwargs = norm_kwargs or {}
        width, last = int(planes[0] * bottleneck_width / 64) * cardinality, planes[-1]
        self._use_splat, self._avd_first = use_splat, avd_first
        self._averages = avd and (strides > 1 or previous_dilation != dilation)
        self._drops = dropblock_prob > 0
        if self._drops:
            before = [strides * s for s in size]
            sizes = (before, before if self._averages and not avd_first else size, size)
            for i, (channels, shape) in enumerate(zip((width, width, last), sizes, strict=True), 1):
                setattr(self, f"dropblock{i}", DropBlock(dropblock_prob, 3, channels, *shape))
        self.conv1 = nn.Conv2D(width, 1, use_bias=False)
        self.bn1 = norm_layer(in_channels=width, **norm_kwargs)
        # Blocks of their own: feature pyramids find the outputs of stages by the names of activations.
        self.relu1 = nn.Activation("relu")
        middle = {"channels": width, "kernel_size": 3, "strides": 1 if self._averages else strides}
        middle |= {"padding": dilation, "dilation": dilation, "groups": cardinality, "in_channels": width}
        if use_splat:
            norm = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
            self.conv2 = SplitAttentionConv(**middle, use_bias=False, radix=radix, drop_ratio=split_drop_ratio, **norm)
        else:
            self.conv2 = nn.Conv2D(**middle, use_bias=False)
            self.bn2 = norm_layer(in_channels=width, **norm_kwargs)
            self.relu2 = nn.Activation("relu")
        self.conv3 = nn.Conv2D(last, 1, use_bias=False, in_channels=width)
        init = {"gamma_initializer": "zeros"} if last_gamma else {}
        self.bn3 = norm_layer(in_channels=last, **init, **norm_kwargs)
        self.relu3 = nn.Activation("relu")
        if self._averages:
            self.avd_layer = nn.AvgPool2D(3, strides, padding=1)
        self.downsample = downsample

    def hybrid_forward(self, F, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.bn1(self.conv1(x))
        x = self.relu1(self.dropblock1(x) if self._drops else x)
        if self._averages and self._avd_first:
            x = self.avd_layer(x)
        x = self.conv2(x)
        if not self._use_splat:
            x = self.bn2(x)
        if self._drops:
            x = self.dropblock2(x)
        if not self._use_splat:
            x = self.relu2(x)
        if self._averages and not self._avd_first:
            x = self.avd_layer(x)
        x = self.bn3(self.conv3(x))
        return self.relu3((self.dropblock3(x) if self._drops else x) + shortcut)


class ResNeSt(ResNetV1b):
    """Input (batch, 3, input_size, input_size), output (batch, classes).

    Arguments as those of `ResNetV1b` and `Bottleneck`.

    dilation: 1, or 2 to 4 for last stages that dilate and stride less; 4 is what `dilated` says. DropBlock is in the
    last two stages.

    >>> net = gluoncv.model_zoo.get_model("resnest14")
    >>> isinstance(net, gluoncv.model_zoo.ResNeSt)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    def __init__(
        self, block, layers, cardinality=1, bottleneck_width=64, dilation=1, dropblock_prob=0, input_size=224,
        use_splat=False, radix=2, avd=False, avd_first=False, split_drop_ratio=0, **kwargs,
    ):  # fmt: skip
        if dilation not in STEPS:
            raise ValueError(f"dilation is one of {', '.join(map(str, STEPS))}, got {dilation!r}")
        self._dilation, self._dropblock = dilation, dropblock_prob
        self._size = (input_size, input_size) if isinstance(input_size, int) else tuple(input_size)
        self._settings = {
            "cardinality": cardinality, "bottleneck_width": bottleneck_width, "use_splat": use_splat, "radix": radix,
            "avd": avd, "avd_first": avd_first, "split_drop_ratio": split_drop_ratio,
        }  # fmt: skip
        super().__init__(block, layers, **kwargs)

    def _steps(self, dilated):
        steps = ((1, 1), (2, 1), *STEPS[4 if dilated else self._dilation])
        self._strides = (STEM_STRIDES, *(strides for strides, _ in steps))
        return steps

    def _block_settings(self, index):
        smaller = prod(self._strides[: index + 1])
        drop = {"dropblock_prob": self._dropblock, "size": [-(-s // smaller) for s in self._size]} if index > 2 else {}
        return {**super()._block_settings(index), **self._settings, **drop}


def _resnest(layers):
    counts, settings = CONFIGURATIONS[layers]
    settings = {"name_prefix": "resnest_", **SHARED, **settings}
    return model(f"resnest{layers}", lambda **kw: ResNeSt(Bottleneck, counts, **{**settings, **kw}))


resnest14, resnest26, resnest50, resnest101, resnest200, resnest269 = (_resnest(layers) for layers in CONFIGURATIONS)
