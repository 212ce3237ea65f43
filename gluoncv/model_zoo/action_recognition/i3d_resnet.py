"""Residual networks inflated to videos (Carreira and Zisserman, 2017),
with non-local blocks or not (Wang et al., 2018).
"""

from contextlib import nullcontext
from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.action_recognition.non_local import NonLocal
from gluoncv.model_zoo.action_recognition.recognizer import Recognizer, adopt, enter, frozen_statistics, scores
from gluoncv.model_zoo.model_zoo import get_model
from gluoncv.model_zoo.resnetv1b import LAYERS
from gluoncv.nn import conv_norm_act, scoped, sequence

# number of layers -> for each stage, which blocks look at several frames (1) and which at single ones (0)
INFLATED = {
    50: ((1, 1, 1), (1, 0, 1, 0), (1, 0, 1, 0, 1, 0), (0, 1, 0)),
    101: ((1, 1, 1), (1, 0, 1, 0), (1, 0) * 11 + (1,), (0, 1, 0)),
}
# number of non-local blocks, number of layers -> for each stage, which blocks are followed by one
NONLOCAL = {
    (5, 50): ((0,) * 3, (0, 1) * 2, (0, 1) * 3, (0,) * 3),
    (10, 50): ((0,) * 3, (1,) * 4, (1,) * 6, (0,) * 3),
    (5, 101): ((0,) * 3, (0, 1) * 2, tuple(int(i in (6, 13, 20)) for i in range(23)), (0,) * 3),
    (10, 101): ((0,) * 3, (1,) * 4, tuple(int(i % 4 == 2) for i in range(23)), (0,) * 3),
}
SMALL = {"dropout_ratio": 0.8, "init_std": 0.001}


class Bottleneck(HybridBlock):
    """A 3x3 convolution of single frames between two 1x1 ones, beside a shortcut; perhaps a non-local block.

    inflates: three frames are seen, by the first convolution if `inflate_style` is 3x1x1, by the middle one if it is
    3x3x3.
    nested: the layers are children of `bottleneck`, too, a container whose prefix this is; None without it.
    """

    expansion = 4

    def __init__(
        self, inplanes, planes, spatial_stride, temporal_stride, dilation, downsample, norm, inflates=True,
        inflate_style="3x1x1", nonlocal_cfg=None, nested="",
    ):  # fmt: skip
        super().__init__()
        if inflate_style not in ("3x1x1", "3x3x3"):
            raise ValueError(f"inflate_style is 3x1x1 or 3x3x3, got {inflate_style!r}")
        if nested is not None:
            self.bottleneck = sequence(prefix=nested)
        first = 3 if inflates and inflate_style == "3x1x1" else 1
        middle = 3 if inflates and inflate_style == "3x3x3" else 1
        strides = (temporal_stride if inflates else 1, spatial_stride, spatial_stride)
        pads, rates = (middle // 2, dilation, dilation), (1, dilation, dilation)
        follows = nonlocal_cfg is not None
        with nullcontext() if nested is None else self.bottleneck.name_scope():
            conv1, bn1, relu = conv_norm_act(norm, planes, (first, 1, 1), in_channels=inplanes)
            conv2, bn2 = conv_norm_act(
                norm, planes, (middle, 3, 3), strides, pads, act=None, dilation=rates, in_channels=planes
            )
            self.conv1, self.conv2, self.bn1, self.bn2, self.relu = conv1, conv2, bn1, bn2, relu
            self.conv3, self.bn3 = conv_norm_act(norm, 4 * planes, (1, 1, 1), act=None, in_channels=planes)
            self.downsample = downsample
            self.nonlocal_block = NonLocal(**{**nonlocal_cfg, "in_channels": 4 * planes}) if follows else None
        if nested is not None:
            layers = (self.conv1, self.bn1, self.relu, self.conv2, self.bn2, self.relu, self.conv3, self.bn3)
            self.bottleneck.add(*layers, *([self.nonlocal_block] if follows else []))

    def hybrid_forward(self, F, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        x = F.Activation(self.bn3(self.conv3(x)) + shortcut, act_type="relu")
        return x if self.nonlocal_block is None else self.nonlocal_block(x)


class _I3DResNet(Recognizer):
    """Input (batch * segments * crops, 3, frames, height, width), output (batch, nclass).

    depth: layers, 50, 101 or 152. spatial_strides, temporal_strides, dilations: of each stage. inflate_freq,
    nonlocal_freq: for each stage 0 or 1 for all of its blocks, or a tuple of them: whether several frames are seen,
    whether there is a non-local block of the keywords `nonlocal_cfg`, which the stages numbered in `nonlocal_stages`
    can have. bn_frozen: all normalisation uses the running statistics; partial_bn: all but the first.
    """

    # Whether layers of blocks have two names; whether frames are halved after the first stage.
    nested, halves = True, True

    def __init__(
        self, nclass, depth, pretrained_base=True, feat_ext=False, num_segments=1, num_crop=1,
        spatial_strides=(1, 2, 2, 2), temporal_strides=(1, 1, 1, 1), dilations=(1, 1, 1, 1), conv1_kernel_t=5,
        conv1_stride_t=2, pool1_kernel_t=1, pool1_stride_t=2, inflate_freq=(1, 1, 1, 1), inflate_style="3x1x1",
        nonlocal_stages=(), nonlocal_freq=(0, 1, 1, 0), nonlocal_cfg=None, bn_frozen=False, partial_bn=False,
        dropout_ratio=0.5, init_std=0.01, norm_layer=nn.BatchNorm, norm_kwargs=None, root=None, ctx=None,
    ):  # fmt: skip
        bottleneck, counts = LAYERS.get(depth, (False, ()))
        if not bottleneck:
            raise ValueError(f"the depth is {', '.join(str(n) for n, row in LAYERS.items() if row[0])}, got {depth!r}")
        super().__init__(2048, num_segments, num_crop, feat_ext)
        norm = frozen_statistics(partial(norm_layer, **(norm_kwargs or {})), bn_frozen)
        stem = conv_norm_act(norm, 64, (conv1_kernel_t, 7, 7), (conv1_stride_t, 2, 2), in_channels=3)
        pool = (pool1_kernel_t, 3, 3), (pool1_stride_t, 2, 2), (pool1_kernel_t // 2, 1, 1)
        self.first_stage = sequence(*stem, nn.MaxPool3D(*pool))
        self.pool2 = nn.MaxPool3D((2, 1, 1), (2, 1, 1)) if self.halves else None
        norm, before = frozen_statistics(norm, partial_bn), 64
        self.res_layers = sequence()
        rows = zip(counts, spatial_strides, temporal_strides, dilations, inflate_freq, nonlocal_freq, strict=True)
        for i, (count, stride, time_stride, dilation, inflated, followed) in enumerate(rows):
            planes, name, shortcut = 64 << i, f"layer{i + 1}_", None
            if stride != 1 or before != 4 * planes:
                shortcut = scoped(
                    f"{name}downsample_", conv_norm_act, norm, 4 * planes, (1, 1, 1), (time_stride, stride, stride),
                    act=None, in_channels=before,
                )  # fmt: skip
            cfg = nonlocal_cfg if i in nonlocal_stages else None
            inflated, followed = (
                row if isinstance(row, (tuple, list)) else (row,) * count for row in (inflated, followed)
            )
            stage = sequence(prefix=name)
            with stage.name_scope():
                for k in range(count):
                    block = Bottleneck(
                        before, planes, stride, time_stride, dilation, shortcut, norm, bool(inflated[k]),
                        inflate_style, cfg if followed[k] else None, f"{k}_" if self.nested else None,
                    )  # fmt: skip
                    stage.add(block)
                    before, stride, time_stride, shortcut = 4 * planes, 1, 1, None
            self.res_layers.add(stage)
        self.st_avg = nn.GlobalAvgPool3D()
        self.head = sequence(nn.Dropout(dropout_ratio))
        self.fc = scores(nclass, init_std, self.feat_dim)
        self.head.add(self.fc)
        self.initialize(ctx=ctx)
        if pretrained_base:
            source = get_model(f"resnet{depth}_v1b", pretrained=True, root=root, ctx=ctx)
            adopt(self, source, ctx, _renamed, _is_of_videos)

    def hybrid_forward(self, F, x):
        x = self.first_stage(x)
        for i, stage in enumerate(self.res_layers):
            x = stage(x)
            if i == 0 and self.halves:
                x = self.pool2(x)
        x = self._mean(F, self.st_avg(x))
        return x if self.feat_ext else self.head(x)


class I3D_ResNetV1(_I3DResNet):
    """Input (batch * segments * crops, 3, frames, height, width), output (batch, nclass).

    depth: layers, 50, 101 or 152. spatial_strides, temporal_strides, dilations: of each stage. inflate_freq,
    nonlocal_freq: for each stage 0 or 1 for all of its blocks, or a tuple of them: whether several frames are seen,
    whether there is a non-local block of the keywords `nonlocal_cfg`, which the stages numbered in `nonlocal_stages`
    can have. bn_frozen: all normalisation uses the running statistics; partial_bn: all but the first.

    >>> net = gluoncv.model_zoo.get_model("i3d_resnet50_v1_kinetics400", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.I3D_ResNetV1)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 32, 224, 224))[1]
    [(1, 400)]
    """


class ResNet_SlowFast(_I3DResNet):
    """The slow path of SlowFast (Feichtenhofer et al., 2019) alone.

    Frames are seen by threes in the last two stages only.

    >>> net = gluoncv.model_zoo.get_model("i3d_slow_resnet101_f16s4_kinetics700", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.ResNet_SlowFast)
    True
    """

    nested, halves = False, False

    def __init__(self, nclass, depth, **kwargs):
        single = dict.fromkeys(("conv1_kernel_t", "conv1_stride_t", "pool1_kernel_t", "pool1_stride_t"), 1)
        super().__init__(nclass, depth, **{**single, "inflate_freq": (0, 0, 1, 1), **kwargs})


# A block's layers by their places in `bottleneck`.
_NESTED = {"0": "conv1", "1": "bn1", "3": "conv2", "4": "bn2", "6": "conv3", "7": "bn3"}


def _is_of_videos(name):
    """Whether the network for pictures has no such parameter: scores and non-local blocks."""
    _, inside, rest = name.partition(".bottleneck.")
    return (
        name.startswith(("fc.", "head.")) or "nonlocal" in name or (bool(inside) and rest.split(".")[0] not in _NESTED)
    )


def _renamed(name):
    """The name that a parameter has in the network for pictures."""
    parts = name.split(".")
    if parts[0] == "first_stage":
        return ".".join([("conv1", "bn1")[int(parts[1])], *parts[2:]])
    _, stage, block, *rest = parts
    if rest[0] == "bottleneck":
        rest = [_NESTED[rest[1]], *rest[2:]]
    return ".".join([f"layer{int(stage) + 1}", block, *rest])


def _i3d(dataset, depth=50, nonlocal_blocks=0, transfer=False, **settings):
    name = f"i3d_{f'nl{nonlocal_blocks}_' if nonlocal_blocks else ''}resnet{depth}_v1"
    settings["inflate_freq"] = INFLATED[depth]
    if nonlocal_blocks:
        settings |= {"nonlocal_stages": (1, 2), "nonlocal_cfg": {"nonlocal_type": "gaussian"}}
        settings["nonlocal_freq"] = NONLOCAL[nonlocal_blocks, depth]
    return enter(name, dataset, partial(_make, settings, depth=depth), transfer=transfer)


def _make(settings, nclass, depth, **kwargs):
    return I3D_ResNetV1(nclass, depth, **{**settings, **kwargs})


i3d_resnet50_v1_kinetics400, i3d_resnet101_v1_kinetics400 = (_i3d("kinetics400", depth) for depth in (50, 101))
i3d_nl5_resnet50_v1_kinetics400, i3d_nl10_resnet50_v1_kinetics400 = (_i3d("kinetics400", 50, n) for n in (5, 10))
i3d_nl5_resnet101_v1_kinetics400, i3d_nl10_resnet101_v1_kinetics400 = (_i3d("kinetics400", 101, n) for n in (5, 10))
i3d_resnet50_v1_sthsthv2 = _i3d("sthsthv2")
i3d_resnet50_v1_hmdb51 = _i3d("hmdb51", transfer=True, **SMALL)
i3d_resnet50_v1_ucf101 = _i3d("ucf101", transfer=True, partial_bn=True, **SMALL)
i3d_resnet50_v1_custom = _i3d("custom", transfer=True)
i3d_slow_resnet101_f16s4_kinetics700 = enter(
    "i3d_slow_resnet101_f16s4", "kinetics700", partial(ResNet_SlowFast, depth=101)
)
