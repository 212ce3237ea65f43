"""Residual networks whose bottlenecks stride in the 3x3 convolution, and their variants c, d,
e and s (He et al., 2019).
"""

import json
from functools import cache
from importlib.resources import files

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import model
from gluoncv.nn import GroupNorm

# number of layers -> (whether blocks are bottlenecks, blocks of each stage)
LAYERS = {
    18: (False, (2, 2, 2, 2)),
    34: (False, (3, 4, 6, 3)),
    50: (True, (3, 4, 6, 3)),
    101: (True, (3, 4, 23, 3)),
    152: (True, (3, 8, 36, 3)),
}
# variant -> keywords of the network
VARIANTS = {
    "b": {},
    "b_gn": {"norm_layer": GroupNorm},
    "c": {"deep_stem": True},
    "d": {"deep_stem": True, "avg_down": True},
    "e": {"deep_stem": True, "avg_down": True, "stem_width": 64},
    "s": {"deep_stem": True, "stem_width": 64},
}


class _Block(HybridBlock):
    """relu(convolutions(x) + shortcut(x)); children conv1, bn1, conv2, bn2 and so on.

    rows: (channels, kernel, strides, dilation) of each convolution. downsample: the shortcut, None for x itself.
    """

    def __init__(self, rows, downsample, norm_layer, norm_kwargs, last_gamma):
        super().__init__()
        self._depth = len(rows)
        for i, (channels, kernel, strides, dilation) in enumerate(rows, 1):
            padding = dilation if kernel == 3 else 0
            conv = nn.Conv2D(channels, kernel, strides, padding, dilation, use_bias=False)
            setattr(self, f"conv{i}", conv)
            init = {"gamma_initializer": "zeros"} if last_gamma and i == len(rows) else {}
            setattr(self, f"bn{i}", norm_layer(in_channels=channels, **init, **(norm_kwargs or {})))
            # A block of its own: feature pyramids find the outputs of stages by its name.
            setattr(self, f"relu{i}", nn.Activation("relu"))
        self.downsample = downsample

    def hybrid_forward(self, F, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        for i in range(1, self._depth + 1):
            x = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x))
            x = getattr(self, f"relu{i}")(x + shortcut if i == self._depth else x)
        return x


class BasicBlockV1b(_Block):
    """Two 3x3 convolutions of `planes` channels, or of those of each in a list.

    >>> block = gluoncv.model_zoo.BasicBlockV1b(16)
    >>> block.initialize()
    >>> block(nd.ones((1, 16, 8, 8))).shape
    (1, 16, 8, 8)
    """

    expansion = 1
    factors = (1, 1)

    def __init__(
        self, planes, strides=1, dilation=1, downsample=None, previous_dilation=1,
        norm_layer=nn.BatchNorm, norm_kwargs=None, last_gamma=False,
    ):  # fmt: skip
        first, last = _widths(planes, self)
        rows = ((first, 3, strides, dilation), (last, 3, 1, previous_dilation))
        super().__init__(rows, downsample, norm_layer, norm_kwargs, last_gamma=False)


class BottleneckV1b(_Block):
    """A 3x3 convolution between two 1x1 convolutions; `last_gamma` starts it as the shortcut alone.

    planes: channels of all but the last, which has four times as many; or a list with those of each.

    >>> block = gluoncv.model_zoo.BottleneckV1b(4)
    >>> block.initialize()
    >>> block(nd.ones((1, 16, 8, 8))).shape
    (1, 16, 8, 8)
    """

    expansion = 4
    factors = (1, 1, 4)

    def __init__(
        self, planes, strides=1, dilation=1, downsample=None, previous_dilation=1,
        norm_layer=nn.BatchNorm, norm_kwargs=None, last_gamma=False,
    ):  # fmt: skip
        first, middle, last = _widths(planes, self)
        rows = ((first, 1, 1, 1), (middle, 3, strides, dilation), (last, 1, 1, 1))
        super().__init__(rows, downsample, norm_layer, norm_kwargs, last_gamma)


class ResNetV1b(HybridBlock):
    """Input (batch, 3, 224, 224), output (batch, classes).

    layers: blocks of each of four stages. dilated: the last two stages dilate and do not stride (Yu and Koltun, 2016).
    deep_stem: three 3x3 convolutions, of `stem_width` channels, in place of one of 7x7. avg_down: shortcuts average
    before they convolve. final_drop: share dropped before the last layer. use_global_stats: normalisation always uses
    the running statistics. widths: the channels of every convolution, those of a network that was pruned, as {"stem":
    [...], "stages": four lists of lists, one for each block}.

    >>> net = gluoncv.model_zoo.get_model("resnet18_v1b")
    >>> isinstance(net, gluoncv.model_zoo.ResNetV1b)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    def __init__(
        self, block, layers, classes=1000, dilated=False, norm_layer=nn.BatchNorm, norm_kwargs=None, last_gamma=False,
        deep_stem=False, stem_width=32, avg_down=False, final_drop=0.0, use_global_stats=False, name_prefix="",
        widths=None,
    ):  # fmt: skip
        super().__init__(prefix=name_prefix)
        self.norm_kwargs = {**(norm_kwargs or {}), **({"use_global_stats": True} if use_global_stats else {})}
        self._norm_layer, self._avg_down, self._last_gamma = norm_layer, avg_down, last_gamma
        self._pruned = widths is not None
        if widths is None:
            stem = (stem_width, stem_width, 2 * stem_width) if deep_stem else (64,)
            stages = [[[(64 << i) * factor for factor in block.factors]] * count for i, count in enumerate(layers)]
        else:
            stem, stages = widths["stem"], widths["stages"]
        self.inplanes = stem[-1]
        with self.name_scope():
            self.conv1 = self._deep_stem(stem) if deep_stem else nn.Conv2D(stem[0], 7, 2, 3, use_bias=False)
            self.bn1 = self._norm(self.inplanes)
            self.relu = nn.Activation("relu")
            self.maxpool = nn.MaxPool2D(pool_size=3, strides=2, padding=1)
            before = 1
            for i, (rows, (strides, dilation)) in enumerate(zip(stages, self._steps(dilated), strict=True), 1):
                setattr(self, f"layer{i}", self._stage(i, block, rows, strides, dilation, before))
                before = dilation
            self.avgpool = nn.GlobalAvgPool2D()
            self.flat = nn.Flatten()
            self.drop = nn.Dropout(final_drop) if final_drop > 0 else None
            self.fc = nn.Dense(classes, in_units=self.inplanes)

    def hybrid_forward(self, F, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = self.flat(self.avgpool(x))
        return self.fc(x if self.drop is None else self.drop(x))

    def _norm(self, channels):
        return self._norm_layer(in_channels=channels, **self.norm_kwargs)

    def _deep_stem(self, widths):
        stem = nn.HybridSequential(prefix="conv1")
        for width, strides in zip(widths[:2], (2, 1), strict=True):
            stem.add(nn.Conv2D(width, 3, strides, 1, use_bias=False), self._norm(width), nn.Activation("relu"))
        stem.add(nn.Conv2D(widths[2], 3, 1, 1, use_bias=False))
        return stem

    def _steps(self, dilated):
        """Strides and dilation of each stage."""
        return ((1, 1), (2, 1), (1, 2), (1, 4)) if dilated else ((1, 1), (2, 1), (2, 1), (2, 1))

    def _block_settings(self, index):
        """What all blocks of a stage are told, besides channels, strides and dilation."""
        return {"norm_layer": self._norm_layer, "norm_kwargs": self.norm_kwargs, "last_gamma": self._last_gamma}

    def _stage(self, index, block, rows, strides, dilation, before):
        """A stage of blocks, of the channels in each of `rows`; the first one dilates as the stage before does."""
        shared = {"previous_dilation": dilation, **self._block_settings(index)}
        channels = rows[0][-1]
        # Pruning leaves the shortcut's convolution where it makes the channels equal.
        convolves = strides > 1 or self.inplanes != channels or (self._pruned and block.expansion > 1)
        downsample = self._shortcut(index, channels, strides, before) if convolves else None
        self.inplanes = channels
        stage = nn.HybridSequential(prefix=f"layers{index}_")
        with stage.name_scope():
            stage.add(block(rows[0], strides, before, downsample, **shared))
            for row in rows[1:]:
                stage.add(block(row, 1, dilation, **shared))
        return stage

    def _shortcut(self, index, channels, strides, dilation):
        shortcut = nn.HybridSequential(prefix=f"down{index}_")
        with shortcut.name_scope():
            if self._avg_down:
                dilates = strides > 1 and dilation > 1
                pooled, padding = (dilation * strides, 1) if dilates else (strides, 0)
                shortcut.add(nn.AvgPool2D(pooled, strides, padding, ceil_mode=True, count_include_pad=False))
                strides = 1
            shortcut.add(nn.Conv2D(channels, 1, strides, use_bias=False), self._norm(channels))
        return shortcut


def _widths(planes, block):
    return planes if isinstance(planes, (list, tuple)) else [planes * factor for factor in block.factors]


def _resnet(layers, variant):
    bottleneck, counts = LAYERS[layers]
    settings = {"name_prefix": f"resnetv1{variant[0]}_", **VARIANTS[variant]}
    block = BottleneckV1b if bottleneck else BasicBlockV1b
    return model(f"resnet{layers}_v1{variant}", lambda **kw: ResNetV1b(block, counts, **{**settings, **kw}))


resnet18_v1b, resnet34_v1b, resnet50_v1b, resnet101_v1b, resnet152_v1b = (_resnet(n, "b") for n in LAYERS)
resnet50_v1b_gn, resnet101_v1b_gn = (_resnet(n, "b_gn") for n in (50, 101))
resnet50_v1c, resnet101_v1c, resnet152_v1c = (_resnet(n, "c") for n in (50, 101, 152))
resnet50_v1d, resnet101_v1d, resnet152_v1d = (_resnet(n, "d") for n in (50, 101, 152))
resnet50_v1e, resnet101_v1e, resnet152_v1e = (_resnet(n, "e") for n in (50, 101, 152))
resnet50_v1s, resnet101_v1s, resnet152_v1s = (_resnet(n, "s") for n in (50, 101, 152))


@cache
def _pruned_widths():
    return json.loads(files("gluoncv.model_zoo").joinpath("pruned.json").read_text(encoding="utf-8"))


def _pruned(layers, variant, share):
    """A pruned network; its channels are in pruned.json."""
    bottleneck, counts = LAYERS[layers]
    settings = {"name_prefix": f"resnetv1{variant}_", **VARIANTS[variant]}
    block = BottleneckV1b if bottleneck else BasicBlockV1b
    name = f"resnet{layers}_v1{variant}_{share}"
    return model(name, lambda **kw: ResNetV1b(block, counts, **{**settings, "widths": _pruned_widths()[name], **kw}))


resnet18_v1b_89 = _pruned(18, "b", "0.89")
resnet50_v1d_86, resnet50_v1d_48, resnet50_v1d_37, resnet50_v1d_11 = (
    _pruned(50, "d", share) for share in ("0.86", "0.48", "0.37", "0.11")
)
resnet101_v1d_76, resnet101_v1d_73 = (_pruned(101, "d", share) for share in ("0.76", "0.73"))
