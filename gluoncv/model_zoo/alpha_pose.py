"""The pose estimator of AlphaPose (Fang et al., 2017): a residual network with weighed channels, shuffled pixels."""

from functools import partial
from math import prod, sqrt

from core import initializer
from gluon import nn
from gluon.block import HybridBlock
from gluon.contrib.nn import PixelShuffle2D, SyncBatchNorm
from gluoncv.model_zoo.model_zoo import get_model, model, with_weights
from gluoncv.model_zoo.resnetv1b import LAYERS
from gluoncv.nn import conv_norm_act, sequence

# joints of a person in COCO
COCO_JOINTS = 17


class FanIn(initializer.Initializer):
    """Uniform within 1 / sqrt(inputs of an output)."""

    def _init_weight(self, name, arr):
        initializer.Uniform(1 / sqrt(prod(arr.shape[1:])))._init_weight(name, arr)


class ZeroUniform(initializer.Initializer):
    """Uniform between 0 and `scale`."""

    def __init__(self, scale=1):
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name, arr):
        initializer.Uniform(self.scale / 2)._init_weight(name, arr)
        arr += self.scale / 2


class PixelShuffle(PixelShuffle2D):
    """Positions of each `upscale_factor` squared channels become those of one, the factor as many in both directions."""


class SELayer(HybridBlock):
    """Multiplies each channel by a number in (0, 1) computed from the means of all channels."""

    def __init__(self, channel, reduction=1):
        super().__init__()
        with self.name_scope():
            first, second = nn.Dense(channel // reduction), nn.Dense(channel, activation="sigmoid")
            self.fc = sequence(first, nn.Activation("relu"), second, prefix=None)

    def hybrid_forward(self, F, x):
        weights = self.fc(F.contrib.AdaptiveAvgPooling2D(x, output_size=1))
        return F.broadcast_mul(x, F.reshape(weights, (0, 0, 1, 1)))


class Bottleneck(HybridBlock):
    """A 3x3 convolution between two 1x1 ones, beside a shortcut; it weighs its channels if that convolves.

    norm: gives a normalisation.
    """

    def __init__(self, planes, strides=1, downsample=None, norm=nn.BatchNorm):
        super().__init__()
        with self.name_scope():
            self.conv1, self.bn1 = conv_norm_act(norm, planes, act=None)
            self.conv2, self.bn2 = conv_norm_act(norm, planes, 3, strides, act=None)
            self.conv3, self.bn3 = conv_norm_act(norm, 4 * planes, act=None)
        self.se = None if downsample is None else SELayer(4 * planes)
        self.downsample = downsample

    def hybrid_forward(self, F, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            out, x = self.se(out), self.downsample(x)
        return F.relu(x + out)


class FastSEResNet(HybridBlock):
    """Input (batch, 3, height, width), output 2,048 channels of a 32nd of the size.

    architecture: a name with resnet50 or 101.
    """

    def __init__(self, architecture, norm_layer=nn.BatchNorm, **norm_kwargs):
        super().__init__()
        layers = architecture.split("_")[0].removeprefix("resnet")
        if layers not in ("50", "101"):
            raise AssertionError(f"the architecture is resnet50 or resnet101, got {architecture!r}")
        norm = partial(norm_layer, **norm_kwargs)
        self.conv1 = nn.Conv2D(64, 7, 2, 3, use_bias=False, in_channels=3)
        self.bn1 = norm()
        self.relu = nn.Activation("relu")
        self.maxpool = nn.MaxPool2D(3, 2, 1)
        for i, count in enumerate(LAYERS[int(layers)][1]):
            width, stage = 64 << i, sequence(prefix=None)
            for k in range(count):
                strides, shortcut = 2 if i > 0 and k == 0 else 1, None
                if k == 0:
                    shortcut = sequence(*conv_norm_act(norm, 4 * width, 1, strides, act=None), prefix=None)
                stage.add(Bottleneck(width, strides, shortcut, norm))
            setattr(self, f"layer{i + 1}", stage)

    def hybrid_forward(self, F, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        return self.layer4(self.layer3(self.layer2(self.layer1(x))))


class DUC(HybridBlock):
    """A 3x3 convolution to `planes` channels whose positions become `upscale_factor` times as many in both directions."""

    def __init__(self, planes, inplanes, upscale_factor, norm):
        super().__init__()
        with self.name_scope():
            self.conv = nn.Conv2D(planes, 3, padding=1, use_bias=False, in_channels=inplanes)
            self.bn = norm()
            self.relu = nn.Activation("relu")
            self.pixel_shuffle = PixelShuffle(upscale_factor)

    def hybrid_forward(self, F, x):
        return self.pixel_shuffle(self.relu(self.bn(self.conv(x))))


class AlphaPose(HybridBlock):
    """Input (batch, 3, height, width), output heat maps (batch, num_joints, height / 4, width / 4),
    from the features `preact`.

    >>> net = gluoncv.model_zoo.get_model("alpha_pose_resnet101_v1b_coco", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.AlphaPose)
    True
    """

    def __init__(self, preact, num_joints, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs):
        super().__init__(**kwargs)
        norm = partial(norm_layer, **(norm_kwargs or {}))
        self.preact, self.num_joints = preact, num_joints
        self.shuffle1 = PixelShuffle(2)
        self.duc1 = DUC(1024, 512, 2, norm)
        self.duc2 = DUC(512, 256, 2, norm)
        bias = initializer.Uniform(1 / sqrt(128 * 9))
        self.conv_out = nn.Conv2D(num_joints, 3, padding=1, in_channels=128, bias_initializer=bias)
        for name, parameter in self.collect_params(".*weight|.*gamma").items():
            parameter.init = ZeroUniform() if name.endswith("gamma") else FanIn()

    def hybrid_forward(self, F, x):
        return self.conv_out(self.duc2(self.duc1(self.shuffle1(self.preact(x)))))


def get_alphapose(
    name, dataset, num_joints, pretrained=False, pretrained_base=True, ctx=None, norm_layer=nn.BatchNorm,
    norm_kwargs=None, root=None, num_gpus=None,
):  # fmt: skip
    """The network on a residual network, with the weights of that where they fit if `pretrained_base`.

    pretrained: with the weights published for alpha_pose_NAME_DATASET. num_gpus: with several of them, statistics are
    those of all.
    """
    norm_kwargs = {"use_global_stats": False, **(norm_kwargs or {})}
    if num_gpus is not None and int(num_gpus) > 1:
        norm_layer, norm_kwargs = SyncBatchNorm, {**norm_kwargs, "num_devices": int(num_gpus)}
    net = AlphaPose(FastSEResNet(name, norm_layer, **norm_kwargs), num_joints, norm_layer, norm_kwargs)
    net.initialize(ctx=ctx)
    if pretrained_base and not pretrained:
        loaded = get_model(name, pretrained=True, root=root, ctx=ctx)._collect_params_with_prefix()
        for key, parameter in net.preact._collect_params_with_prefix().items():
            if key in loaded:
                parameter.shape = loaded[key].shape
                parameter.set_data(loaded[key].data())
    return with_weights(net, f"alpha_pose_{name}_{dataset}", pretrained, ctx, root)


alpha_pose_resnet101_v1b_coco = model(
    "alpha_pose_resnet101_v1b_coco", partial(get_alphapose, "resnet101_v1b", "coco", num_joints=COCO_JOINTS), base=True
)
