"""SlowFast: a path of few frames and many channels, and one of many frames and few channels
(Feichtenhofer et al., 2019).
"""

from functools import partial

from core import initializer
from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.action_recognition.recognizer import Recognizer, enter, frozen_statistics, scores
from gluoncv.model_zoo.resnetv1b import LAYERS
from gluoncv.nn import conv_norm_act, scoped, sequence

# name -> layers, further keywords of the network
CONFIGURATIONS = {
    "4x16_resnet50": (50, {}),
    "8x8_resnet50": (50, {"alpha": 4, "fusion_kernel_size": 7, "slow_frames": 8}),
    "4x16_resnet101": (101, {}),
    "8x8_resnet101": (101, {"alpha": 4, "slow_frames": 8}),
    "16x8_resnet101": (101, {"alpha": 4, "slow_frames": 16, "fast_frames": 64}),
    "16x8_resnet101_50_50": (
        101,
        {
            "alpha": 4, "slow_frames": 16, "fast_frames": 64, "num_block_temp_kernel_fast": 6,
            "num_block_temp_kernel_slow": 6,
        },
    ),
}  # fmt: skip


class Bottleneck(HybridBlock):
    """A 3x3 convolution of single frames between one of `head_conv` frames and one of 1x1, beside a shortcut.

    inner: begins the names of the layers, after those that the blocks around it give.
    """

    expansion = 4

    def __init__(self, inplanes, planes, strides, downsample, head_conv, norm, inner=""):
        super().__init__()
        last = partial(norm, gamma_initializer="zeros")
        with sequence(prefix=inner).name_scope():
            self.conv1, self.bn1, self.relu = conv_norm_act(norm, planes, (head_conv, 1, 1), in_channels=inplanes)
            self.conv2, self.bn2 = conv_norm_act(
                norm, planes, (1, 3, 3), (1, strides, strides), act=None, in_channels=planes
            )
            self.conv3, self.bn3 = conv_norm_act(last, 4 * planes, (1, 1, 1), act=None, in_channels=planes)
        self.downsample = downsample

    def hybrid_forward(self, F, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return F.Activation(self.bn3(self.conv3(x)) + shortcut, act_type="relu")


class SlowFast(Recognizer):
    """Input (batch * segments * crops, 3, fast_frames + slow_frames, height, width), the fast path's frames first.

    Output (batch, nclass). layers: blocks of each stage. alpha: frames of the fast path for one of the slow path.
    beta_inv: by which the fast path's channels are fewer. fusion_conv_channel_ratio, fusion_kernel_size: of the
    convolutions from the fast path to the slow one. num_block_temp_kernel_fast, _slow: blocks of the third stage that
    see several frames, None for all. partial_bn: all normalisation but the first uses the running statistics.

    >>> net = gluoncv.model_zoo.get_model("slowfast_4x16_resnet50_kinetics400", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.SlowFast)
    True
    >>> len(net.collect_params())
    552
    """

    def __init__(
        self, nclass, layers=LAYERS[50][1], num_block_temp_kernel_fast=None, num_block_temp_kernel_slow=None,
        pretrained_base=False, feat_ext=False, num_segments=1, num_crop=1, partial_bn=False, dropout_ratio=0.5,
        init_std=0.01, alpha=8, beta_inv=8, fusion_conv_channel_ratio=2, fusion_kernel_size=5, width_per_group=64,
        num_groups=1, slow_frames=4, fast_frames=32, norm_layer=nn.BatchNorm, norm_kwargs=None, root=None, ctx=None,
    ):  # fmt: skip
        width = width_per_group
        super().__init__(width * 32 // beta_inv + width * 32, num_segments, num_crop, feat_ext)
        self.slow_frames, self.fast_frames = slow_frames, fast_frames
        norm = partial(norm_layer, **(norm_kwargs or {}))
        inner = num_groups * width
        lateral = {"stride": (alpha, 1, 1), "kernel": (fusion_kernel_size, 1, 1)}
        # Channels before each stage, in both paths, without those that come from the other path.
        befores = (width, *(width * 4 << i for i in range(3)))
        with self.name_scope():
            self._add_stem("fast", width // beta_inv, 5, norm)
            norm = frozen_statistics(norm, partial_bn)
            for i, (count, before) in enumerate(zip(layers, befores, strict=True)):
                several = num_block_temp_kernel_fast if i == 2 else None
                self._add_stage("fast", i, before // beta_inv, (inner << i) // beta_inv, count, 3, several, norm)
            for name, before in zip(("p1", "res2", "res3", "res4"), befores, strict=True):
                channels = before // beta_inv * fusion_conv_channel_ratio
                lateral["in_channels"] = before // beta_inv
                stack = scoped(f"lateral_{name}_", conv_norm_act, norm, channels, **lateral)
                setattr(self, f"lateral_{name}", stack)
            self._add_stem("slow", width, 1, norm)
            for i, (count, before) in enumerate(zip(layers, befores, strict=True)):
                several = num_block_temp_kernel_slow if i == 2 else None
                before += before // beta_inv * fusion_conv_channel_ratio
                self._add_stage("slow", i, before, inner << i, count, 1 if i < 2 else 3, several, norm)
            self.avg = nn.GlobalAvgPool3D()
            self.dp = nn.Dropout(dropout_ratio)
            self.fc = scores(nclass, init_std, self.feat_dim)
        self.initialize(initializer.MSRAPrelu(), ctx=ctx)

    def _add_stem(self, path, channels, frames, norm):
        rows = scoped(f"{path}_", _stem, norm, channels, frames)
        for name, layer in zip(("conv1", "bn1", "relu", "maxpool"), rows, strict=True):
            setattr(self, f"{path}_{name}", layer)

    def _add_stage(self, path, index, before, planes, count, head_conv, several, norm):
        """Blocks of one path; from the block `several` on, if that is a number, only single frames are seen."""
        name, strides, channels, shortcut = f"{path}_res{index + 2}", 2 if index > 0 else 1, 4 * planes, None
        if strides != 1 or before != channels:
            shortcut = scoped(
                f"{name}_downsample_", conv_norm_act, norm, channels, (1, 1, 1), (1, strides, strides), act=None,
                in_channels=before,
            )  # fmt: skip
        stage = sequence(prefix=f"{name}_")
        with stage.name_scope():
            for k in range(count):
                head = head_conv if several is None or k < max(several, 1) else 1
                stage.add(Bottleneck(before, planes, strides, shortcut, head, norm, f"block{k}_"))
                before, strides, shortcut = channels, 1, None
        setattr(self, name, stage)

    def hybrid_forward(self, F, x):
        fast = F.slice_axis(x, axis=2, begin=0, end=self.fast_frames)
        slow = F.slice_axis(x, axis=2, begin=self.fast_frames, end=self.fast_frames + self.slow_frames)
        fast, slow = (
            getattr(self, f"{path}_maxpool")(getattr(self, f"{path}_relu")(self._stem(path, frames)))
            for path, frames in (("fast", fast), ("slow", slow))
        )
        for i, name in enumerate(("p1", "res2", "res3", "res4"), 2):
            slow = getattr(self, f"slow_res{i}")(F.concat(slow, getattr(self, f"lateral_{name}")(fast), dim=1))
            fast = getattr(self, f"fast_res{i}")(fast)
        x = self._mean(F, F.concat(self.avg(slow), self.avg(fast), dim=1))
        return x if self.feat_ext else self.fc(self.dp(x))

    def _stem(self, path, x):
        return getattr(self, f"{path}_bn1")(getattr(self, f"{path}_conv1")(x))


def _stem(norm, channels, frames):
    rows = conv_norm_act(norm, channels, (frames, 7, 7), (1, 2, 2), in_channels=3)
    return [*rows, nn.MaxPool3D((1, 3, 3), (1, 2, 2), (0, 1, 1))]


def _slowfast(name, dataset="kinetics400", transfer=False):
    depth, settings = CONFIGURATIONS[name]
    make = partial(_make, {"layers": LAYERS[depth][1], **settings})
    return enter(f"slowfast_{name}", dataset, make, transfer=transfer)


def _make(settings, nclass, **kwargs):
    return SlowFast(nclass, **{**settings, **kwargs})


(
    slowfast_4x16_resnet50_kinetics400, slowfast_8x8_resnet50_kinetics400, slowfast_4x16_resnet101_kinetics400,
    slowfast_8x8_resnet101_kinetics400, slowfast_16x8_resnet101_kinetics400, slowfast_16x8_resnet101_50_50_kinetics400,
) = (_slowfast(name) for name in CONFIGURATIONS)  # fmt: skip
slowfast_4x16_resnet50_custom = _slowfast("4x16_resnet50", "custom", transfer=True)
