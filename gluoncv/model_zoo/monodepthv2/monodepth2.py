"""The networks: disparities of one picture, and the motion between two (Godard et al., 2019)."""

from functools import partial

from core import ndarray as nd
from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import builder, get_model, model
from gluoncv.nn import sequence

BACKBONES = {
    "resnet18": "resnet18_v1b",
    "resnet34": "resnet34_v1b",
    **{f"resnet{layers}": f"resnet{layers}_v1s" for layers in (50, 101, 152)},
}
# channels of the decoder at each size, the full size first
WIDTHS = (16, 32, 64, 128, 256)
TRAININGS = ("kitti_stereo_640x192", "kitti_mono_640x192", "kitti_mono_stereo_640x192")
POSENET_TRAININGS = ("posenet_kitti_mono_640x192", "posenet_kitti_mono_stereo_640x192")


class MonoDepth2(HybridBlock):
    """Input (batch, 3, height, width), output a list of disparities in (0, 1), of an eighth, a quarter, a half,
    the full size.

    `predict` gives them as {("disp", scale): disparities}, scale 0 the full size. backbone: a key of `BACKBONES`.

    >>> net = gluoncv.model_zoo.get_model("monodepth2_resnet18_kitti_stereo_640x192", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.MonoDepth2)
    True
    >>> len(net.collect_params())
    130
    """

    def __init__(
        self, backbone="resnet18", pretrained_base=True, num_input_images=1, scales=range(4), num_output_channels=1,
        use_skips=True, root=None, ctx=None, **kwargs,
    ):  # fmt: skip
        super().__init__()
        with self.name_scope():
            self.encoder = ResnetEncoder(backbone, pretrained_base, num_input_images, root, ctx, **kwargs)
            self.decoder = DepthDecoder(self.encoder.num_ch_enc, scales, num_output_channels, use_skips)
            self.decoder.initialize(ctx=ctx)

    def hybrid_forward(self, F, x):
        return self.decoder(self.encoder(x))

    def predict(self, x):
        """The disparities of `scales` by ("disp", scale)."""
        scales = sorted(self.decoder.scales, reverse=True)
        return {("disp", scale): disparity for scale, disparity in zip(scales, self(x), strict=True)}

    def demo(self, x):
        """`predict` under an older name."""
        return self.predict(x)


class MonoDepth2PoseNet(HybridBlock):
    """Input (batch, 3 * num_input_images, height, width), output rotations and translations (batch, frames, 1, 3).

    A rotation is its axis times its angle in radians.

    >>> net = gluoncv.model_zoo.get_model("monodepth2_resnet18_posenet_kitti_mono_640x192", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.MonoDepth2PoseNet)
    True
    >>> len(net.collect_params())
    110
    """

    def __init__(
        self, backbone="resnet18", pretrained_base=True, num_input_images=2, num_input_features=1,
        num_frames_to_predict_for=2, stride=1, root=None, ctx=None, **kwargs,
    ):  # fmt: skip
        super().__init__()
        with self.name_scope():
            self.encoder = ResnetEncoder(backbone, pretrained_base, num_input_images, root, ctx, **kwargs)
            self.decoder = PoseDecoder(self.encoder.num_ch_enc, num_input_features, num_frames_to_predict_for, stride)
            self.decoder.initialize(ctx=ctx)

    def hybrid_forward(self, F, x):
        return self.decoder([self.encoder(x)])

    def predict(self, x):
        """What calling the network gives."""
        return self(x)

    def demo(self, x):
        """`predict` under an older name."""
        return self.predict(x)


class ResnetEncoder(HybridBlock):
    """Pictures in [0, 1] to a list of features, from a half to a 32nd of the size; `num_ch_enc` are their channels.

    pretrained: loads the backbone's weights; for several pictures, the first convolution sees their mean to begin with.
    """

    def __init__(self, backbone, pretrained, num_input_images=1, root=None, ctx=None, **kwargs):
        super().__init__()
        if backbone not in BACKBONES:
            raise ValueError(f"the backbone is one of {', '.join(BACKBONES)}, got {backbone!r}")
        factor = 1 if backbone in ("resnet18", "resnet34") else 4
        self.num_ch_enc = [64, *(factor * width for width in (64, 128, 256, 512))]
        make = partial(get_model, BACKBONES[backbone], root=root, ctx=ctx, **kwargs)
        self.encoder = make(pretrained=pretrained and num_input_images == 1)
        if num_input_images > 1 and pretrained:
            parameters = self.encoder._collect_params_with_prefix()
            for name, parameter in make(pretrained=True)._collect_params_with_prefix().items():
                value = parameter.data()
                if name == ("conv1.weight" if "conv1.weight" in parameters else "conv1.0.weight"):
                    value = nd.concat(*[value] * num_input_images, dim=1) / num_input_images
                parameters[name].shape = value.shape
                parameters[name].initialize(ctx=ctx)
                parameters[name].set_data(value)
        if not pretrained:
            self.encoder.initialize(ctx=ctx)

    def hybrid_forward(self, F, x):
        net = self.encoder
        seen = [net.relu(net.bn1(net.conv1((x - 0.45) / 0.225)))]
        x = net.maxpool(seen[0])
        for stage in (net.layer1, net.layer2, net.layer3, net.layer4):
            x = stage(x)
            seen.append(x)
        return seen


class DepthDecoder(HybridBlock):
    """A list of features, largest first, to disparities of each of `scales`, smallest picture first.

    use_skips: features of each size are seen, not only the smallest ones.
    """

    def __init__(self, num_ch_enc, scales=range(4), num_output_channels=1, use_skips=True):
        super().__init__()
        self.scales, self.use_skips, self._depth = scales, use_skips, len(WIDTHS)
        with self.name_scope():
            layers, before = [], num_ch_enc[-1]
            for i in reversed(range(self._depth)):
                skip = num_ch_enc[i - 1] if use_skips and i > 0 else 0
                layers += [ConvBlock(before, WIDTHS[i]), ConvBlock(WIDTHS[i] + skip, WIDTHS[i])]
                before = WIDTHS[i]
            layers += [Conv3x3(WIDTHS[scale], num_output_channels) for scale in scales]
            for layer in layers:
                self.register_child(layer)
            self.decoder = sequence(*layers, prefix=None)

    def hybrid_forward(self, F, features):
        x, outputs = features[-1], []
        for k, i in enumerate(reversed(range(self._depth))):
            x = F.UpSampling(self.decoder[2 * k](x), scale=2, sample_type="nearest")
            if self.use_skips and i > 0:
                x = F.concat(x, features[i - 1], dim=1)
            x = self.decoder[2 * k + 1](x)
            if i in self.scales:
                head = self.decoder[2 * self._depth + list(self.scales).index(i)]
                outputs.append(F.sigmoid(head(x)))
        return outputs


class PoseDecoder(HybridBlock):
    """A list of lists of features, of which the smallest ones count, to rotations and translations.

    num_frames_to_predict_for: None for one less than `num_input_features`.
    """

    def __init__(self, num_ch_enc, num_input_features, num_frames_to_predict_for=2, stride=1):
        super().__init__()
        self._frames = num_input_features - 1 if num_frames_to_predict_for is None else num_frames_to_predict_for
        layers = [
            nn.Conv2D(256, 1, in_channels=num_ch_enc[-1]),
            nn.Conv2D(256, 3, stride, 1, in_channels=256 * num_input_features),
            nn.Conv2D(256, 3, stride, 1, in_channels=256),
            nn.Conv2D(6 * self._frames, 1, in_channels=256),
        ]
        for layer in layers:
            self.register_child(layer)
        self.net = sequence(*layers, prefix=None)

    def hybrid_forward(self, F, features):
        squeeze, first, second, last = self.net
        x = F.concat(*[F.relu(squeeze(maps[-1])) for maps in features], dim=1)
        x = F.mean(last(F.relu(second(F.relu(first(x))))), axis=(2, 3))
        x = 0.01 * F.reshape(x, (-1, self._frames, 1, 6))
        return F.slice_axis(x, axis=3, begin=0, end=3), F.slice_axis(x, axis=3, begin=3, end=6)


class ConvBlock(HybridBlock):
    """A convolution and ELU."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        with self.name_scope():
            self.conv = Conv3x3(in_channels, out_channels)
            self.nonlin = nn.ELU()

    def hybrid_forward(self, F, x):
        return self.nonlin(self.conv(x))


class Conv3x3(HybridBlock):
    """A 3x3 convolution that keeps the size; beyond the border the picture is mirrored, or zero without `use_refl`."""

    def __init__(self, in_channels, out_channels, use_refl=True):
        super().__init__()
        with self.name_scope():
            self.pad = nn.ReflectionPad2D(1) if use_refl else None
            self.conv = nn.Conv2D(out_channels, 3, padding=0 if use_refl else 1, in_channels=in_channels)

    def hybrid_forward(self, F, x):
        return self.conv(x if self.pad is None else self.pad(x))


def get_monodepth2(backbone="resnet18", pretrained_model=TRAININGS[0], **kwargs):
    """The network for disparities, trained as `pretrained_model` says if `pretrained`.

    >>> type(gluoncv.model_zoo.get_monodepth2("resnet18", pretrained_base=False)).__name__
    'MonoDepth2'
    """
    return _named(MonoDepth2, backbone, pretrained_model)(**kwargs)


def get_monodepth2posenet(backbone="resnet18", pretrained_model=POSENET_TRAININGS[0], **kwargs):
    """The network for motion, trained as `pretrained_model` says if `pretrained`.

    >>> type(gluoncv.model_zoo.get_monodepth2posenet("resnet18", pretrained_base=False)).__name__
    'MonoDepth2PoseNet'
    """
    return _named(MonoDepth2PoseNet, backbone, pretrained_model)(**kwargs)


def _named(network, backbone, training, enter=builder):
    return enter(f"monodepth2_{backbone}_{training}", partial(network, backbone), base=True)


(
    get_monodepth2_resnet18_kitti_stereo_640x192, get_monodepth2_resnet18_kitti_mono_640x192,
    get_monodepth2_resnet18_kitti_mono_stereo_640x192,
) = (_named(MonoDepth2, "resnet18", training, model) for training in TRAININGS)  # fmt: skip
get_monodepth2_resnet18_posenet_kitti_mono_640x192, get_monodepth2_resnet18_posenet_kitti_mono_stereo_640x192 = (
    _named(MonoDepth2PoseNet, "resnet18", training, model) for training in POSENET_TRAININGS
)
