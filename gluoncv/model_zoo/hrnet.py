"""High-resolution networks for classification and segmentation (Wang et al., 2021)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluon.contrib.nn import Identity
from gluon.model_zoo.vision import BasicBlockV1, BottleneckV1
from gluoncv.model_zoo.model_zoo import model
from gluoncv.nn import conv_norm_act, sequence

# name -> blocks of the first stage and its width; blocks of each branch of the other stages; modules of each of those;
# channels of the first branch: each further branch has twice those of the one before
CONFIGURATIONS = {
    "w18": (4, 64, 4, (1, 4, 3), 18),
    "w18_small_v1": (1, 32, 2, (1, 1, 1), 16),
    "w18_small_v2": (2, 64, 2, (1, 3, 2), 18),
    **{f"w{width}": (4, 64, 4, (1, 4, 3), width) for width in (30, 32, 40, 44, 48, 64)},
}
SEGMENTATION = ("w18_small_v1", "w18_small_v2", "w48")
# channels of the branches before classification, and of what is pooled
HEAD, POOLED = (128, 256, 512, 1024), 2048


class HRBottleneck(BottleneckV1):
    """A 3x3 convolution, which strides, between two 1x1 convolutions, all without bias."""

    def _add_body(self, channels, stride, in_channels, norm):
        narrow = channels // 4
        self.body.add(*conv_norm_act(norm, narrow), *conv_norm_act(norm, narrow, 3, stride))
        self.body.add(nn.Conv2D(channels, 1, use_bias=False))


class HighResolutionModule(HybridBlock):
    """Blocks on each branch, and sums of all branches brought to the size of each: `n` images in, a list of `n` out.

    channels: of each branch. interpolation: one of `RESIZES`.
    """

    def __init__(self, channels, blocks, interpolation, norm, block):
        super().__init__()
        self._interpolation = interpolation
        self.branches = sequence(prefix=None)
        for width in channels:
            self.branches.add(sequence(*(block(width, 1, in_channels=width) for _ in range(blocks)), prefix=None))
        self.fuse_layers = sequence(prefix=None)
        for i, after in enumerate(channels):
            row = [_fuse(i, j, before, after, norm) for j, before in enumerate(channels)]
            self.fuse_layers.add(sequence(*row, prefix=None))

    def hybrid_forward(self, F, *inputs):
        seen = [branch(x) for branch, x in zip(self.branches, inputs, strict=True)]
        fused = []
        for i, row in enumerate(self.fuse_layers):
            total = None
            for j, (layer, x) in enumerate(zip(row, seen, strict=True)):
                x = layer(x)
                if j > i:
                    x = RESIZES[self._interpolation](F, x, seen[i], 2 ** (j - i))
                total = x if total is None else F.broadcast_add(total, x)
            fused.append(F.Activation(total, act_type="relu"))
        return fused


class _HRNet(HybridBlock):
    """Stem, a stage of one branch, and three stages of two to four branches.

    config: a row of `CONFIGURATIONS`. stage_interp_type: how branches are brought to the size of others; "nearest",
    "bilinear", or "bilinear_like", which fits images of any size. ValueError for others.
    """

    def __init__(self, config, stage_interp_type, norm_layer=nn.BatchNorm, norm_kwargs=None):
        super().__init__()
        if stage_interp_type not in RESIZES:
            raise ValueError(f"stage_interp_type is one of {', '.join(RESIZES)}, got {stage_interp_type!r}")
        self._norm = norm = partial(norm_layer, **(norm_kwargs or {}))
        blocks, width, branch_blocks, modules, first = config
        settings = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        self._bottleneck, basic = partial(HRBottleneck, **settings), partial(BasicBlockV1, **settings)
        self.conv1 = nn.Conv2D(64, 3, 2, 1, use_bias=False)
        self.bn1 = norm()
        self.conv2 = nn.Conv2D(64, 3, 2, 1, use_bias=False)
        self.bn2 = norm()
        before = [4 * width]
        rows = [self._bottleneck(before[0], 1, i == 0, 64 if i == 0 else before[0]) for i in range(blocks)]
        self.layer1 = sequence(*rows, prefix=None)
        for i, count in enumerate(modules, 1):
            channels = [first << k for k in range(i + 1)]
            setattr(self, f"transition{i}", _transition(before, channels, norm))
            parts = [
                HighResolutionModule(channels, branch_blocks, stage_interp_type, norm, basic) for _ in range(count)
            ]
            setattr(self, f"stage{i + 1}", sequence(*parts, prefix=None))
            before = channels
        self._channels = before

    def _branches(self, F, x):
        """The images of all branches, largest first."""
        x = F.Activation(self.bn1(self.conv1(x)), act_type="relu")
        x = F.Activation(self.bn2(self.conv2(x)), act_type="relu")
        images = [self.layer1(x)]
        for i in (1, 2, 3):
            layers = getattr(self, f"transition{i}")
            # The new branch starts from the smallest images.
            images = [layer(images[min(k, len(images) - 1)]) for k, layer in enumerate(layers)]
            for module in getattr(self, f"stage{i + 1}"):
                images = module(*images)
        return images


class HighResolutionClsNet(_HRNet):
    """Input (batch, 3, 224, 224), output (batch, num_classes); `classes` is what other networks call these.

    >>> net = gluoncv.model_zoo.get_model("hrnet_w18_small_v1_c")
    >>> isinstance(net, gluoncv.model_zoo.HighResolutionClsNet)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    def __init__(
        self, config, stage_interp_type="nearest", norm_layer=nn.BatchNorm, norm_kwargs=None, num_classes=1000,
        classes=None,
    ):  # fmt: skip
        super().__init__(config, stage_interp_type, norm_layer, norm_kwargs)
        norm = self._norm
        self.incre_blocks = sequence(prefix=None)
        for before, after in zip(self._channels, HEAD, strict=True):
            self.incre_blocks.add(sequence(self._bottleneck(after, 1, before != after, before), prefix=None))
        rows = [sequence(*conv_norm_act(norm, after, 3, 2, use_bias=True), prefix=None) for after in HEAD[1:]]
        self.downsamp_blocks = sequence(*rows, prefix=None)
        self.final_layer = sequence(*conv_norm_act(norm, POOLED, use_bias=True), prefix=None)
        self.avg = nn.GlobalAvgPool2D()
        self.classifier = nn.Dense(classes or num_classes, in_units=POOLED)

    def hybrid_forward(self, F, x):
        images = [layer(x) for layer, x in zip(self.incre_blocks, self._branches(F, x), strict=True)]
        x = images[0]
        for layer, smaller in zip(self.downsamp_blocks, images[1:], strict=True):
            x = smaller + layer(x)
        return self.classifier(self.avg(self.final_layer(x)))


class HighResolutionSegNet(_HRNet):
    """Input (batch, 3, height, width), output (batch, num_classes, height / 4, width / 4).

    >>> net = gluoncv.model_zoo.get_model("hrnet_w18_small_v1_s", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.HighResolutionSegNet)
    True
    >>> len(net.collect_params())
    363
    """

    def __init__(
        self, config, stage_interp_type="bilinear_like", norm_layer=nn.BatchNorm, norm_kwargs=None, num_classes=19,
        final_conv_kernel=1,
    ):  # fmt: skip
        super().__init__(config, stage_interp_type, norm_layer, norm_kwargs)
        total = sum(self._channels)
        self.last_layer = sequence(*conv_norm_act(self._norm, total, use_bias=True), prefix=None)
        self.last_layer.add(nn.Conv2D(num_classes, final_conv_kernel, padding=final_conv_kernel // 2))

    def hybrid_forward(self, F, x):
        first, *others = self._branches(F, x)
        resized = [_like(F, x, first, None) for x in others]
        return self.last_layer(F.concat(first, *resized, dim=1))


def _nearest(F, x, like, scale):
    return F.UpSampling(x, scale=scale, sample_type="nearest")


def _bilinear(F, x, like, scale):
    return F.contrib.BilinearResize2D(x, scale_height=scale, scale_width=scale, align_corners=False)


def _like(F, x, like, scale):
    return F.contrib.BilinearResize2D(x, like, mode="like", align_corners=False)


RESIZES = {"nearest": _nearest, "bilinear": _bilinear, "bilinear_like": _like}


def _fuse(i, j, before, after, norm):
    """What brings branch j to the channels of branch i, and, where i is smaller, to its size."""
    if i == j:
        return Identity()
    if j > i:
        return sequence(*conv_norm_act(norm, after, act=None), prefix=None)
    rows = [conv_norm_act(norm, before, 3, 2) for _ in range(i - j - 1)] + [conv_norm_act(norm, after, 3, 2, act=None)]
    return sequence(*(layer for row in rows for layer in row), prefix=None)


def _transition(before, after, norm):
    """What makes the branches of the next stage, of `after` channels, from those of `before`."""
    layers = sequence(prefix=None)
    for i, width in enumerate(after):
        if i >= len(before):
            layers.add(sequence(sequence(*conv_norm_act(norm, width, 3, 2), prefix=None), prefix=None))
        elif before[i] == width:
            layers.add(Identity())
        else:
            layers.add(sequence(*conv_norm_act(norm, width, 3), prefix=None))
    return layers


def _classification(name):
    return model(f"hrnet_{name}_c", lambda **kw: HighResolutionClsNet(CONFIGURATIONS[name], **kw))


def _segmentation(name):
    settings = {"norm_kwargs": {"momentum": 0.99}}
    return model(f"hrnet_{name}_s", lambda **kw: HighResolutionSegNet(CONFIGURATIONS[name], **{**settings, **kw}))


(
    hrnet_w18_c, hrnet_w18_small_v1_c, hrnet_w18_small_v2_c, hrnet_w30_c, hrnet_w32_c, hrnet_w40_c, hrnet_w44_c,
    hrnet_w48_c, hrnet_w64_c,
) = (_classification(name) for name in CONFIGURATIONS)  # fmt: skip
hrnet_w18_small_v1_s, hrnet_w18_small_v2_s, hrnet_w48_s = (_segmentation(name) for name in SEGMENTATION)
