"""VGG with dilated convolutions in place of its dense layers, the body of SSD (Liu et al., 2016)."""

import numpy as np

from core.initializer import Constant, Xavier
from gluon import nn
from gluon.block import HybridBlock
from gluon.model_zoo.vision.vgg import vgg_spec
from gluoncv.model_zoo.model_store import get_model_file

# size of the picture -> (channels, kernel, stride, padding) of the convolutions of each further map
EXTRAS = {
    300: (
        ((256, 1, 1, 0), (512, 3, 2, 1)),
        ((128, 1, 1, 0), (256, 3, 2, 1)),
        ((128, 1, 1, 0), (256, 3, 1, 0)),
        ((128, 1, 1, 0), (256, 3, 1, 0)),
    ),
    512: (
        ((256, 1, 1, 0), (512, 3, 2, 1)),
        ((128, 1, 1, 0), (256, 3, 2, 1)),
        ((128, 1, 1, 0), (256, 3, 2, 1)),
        ((128, 1, 1, 0), (256, 3, 2, 1)),
        ((128, 1, 1, 0), (256, 4, 1, 1)),
    ),
}


class Normalize(HybridBlock):
    """Divides the channels of each position by their length and scales each one, at first by `initial`."""

    def __init__(self, n_channel, initial=1, eps=1e-5):
        super().__init__()
        self.eps = eps
        with self.name_scope():
            self.scale = self.params.get("normalize_scale", shape=(1, n_channel, 1, 1), init=Constant(initial))

    def hybrid_forward(self, F, x, scale):
        return F.broadcast_mul(F.L2Normalization(x, mode="channel", eps=self.eps), scale)


class VGGAtrousBase(HybridBlock):
    """What detectors on VGG share; subclasses say which maps they give.

    layers, filters: convolutions of each stage and their channels. batch_norm: each one is followed by `BatchNorm`.
    """

    def __init__(self, layers, filters, batch_norm=False, **kwargs):
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise AssertionError(f"layers and filters differ in length: {layers}, {filters}")
        self._batch_norm = batch_norm
        with self.name_scope():
            # The published weights are for pixels that were not divided by the deviation.
            scale = np.array([0.229, 0.224, 0.225], "float32").reshape(1, 3, 1, 1) * 255
            self.init_scale = self.params.get_constant("init_scale", scale)
            self.stages = nn.HybridSequential()
            for count, channels in zip(layers, filters, strict=True):
                stage = nn.HybridSequential(prefix="")
                with stage.name_scope():
                    for _ in range(count):
                        self._add_conv(stage, channels, kernel_size=3, padding=1)
                self.stages.add(stage)
            dilated = nn.HybridSequential(prefix="dilated_")
            with dilated.name_scope():
                self._add_conv(dilated, 1024, kernel_size=3, padding=6, dilation=6)
                self._add_conv(dilated, 1024, kernel_size=1)
            self.stages.add(dilated)
            self.norm4 = Normalize(filters[3], 20)

    def _add_conv(self, stage, channels, **window):
        init = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
        stage.add(nn.Conv2D(channels, **window, weight_initializer=init, bias_initializer="zeros"))
        if self._batch_norm:
            stage.add(nn.BatchNorm())
        stage.add(nn.Activation("relu"))


class VGGAtrousExtractor(VGGAtrousBase):
    """Input (B, 3, H, W), output: maps of falling size; extras: convolutions of the maps after the first two."""

    def __init__(self, layers, filters, extras, batch_norm=False, **kwargs):
        super().__init__(layers, filters, batch_norm, **kwargs)
        with self.name_scope():
            self.extras = nn.HybridSequential()
            for i, rows in enumerate(extras):
                extra = nn.HybridSequential(prefix=f"extra{i}_")
                with extra.name_scope():
                    for channels, kernel, stride, padding in rows:
                        self._add_conv(extra, channels, kernel_size=kernel, strides=stride, padding=padding)
                self.extras.add(extra)

    def hybrid_forward(self, F, x, init_scale):
        def pool(x, kernel, stride, pad):
            window = {"kernel": (kernel, kernel), "stride": (stride, stride), "pad": (pad, pad)}
            return F.Pooling(x, pool_type="max", pooling_convention="full", **window)

        first, second, third, fourth, fifth, dilated = self.stages
        x = F.broadcast_mul(x, init_scale)
        for stage in (first, second, third):
            x = pool(stage(x), 2, 2, 0)
        x = fourth(x)
        outputs = [self.norm4(x)]
        x = dilated(pool(fifth(pool(x, 2, 2, 0)), 3, 1, 1))
        outputs.append(x)
        for extra in self.extras:
            x = extra(x)
            outputs.append(x)
        return outputs


def get_vgg_atrous_extractor(num_layers, im_size, pretrained=False, ctx=None, root=None, **kwargs):
    """The body of SSD with 11, 13, 16 or 19 layers of VGG for pictures of 300 or 512 pixels."""
    net = VGGAtrousExtractor(*vgg_spec[num_layers], EXTRAS[im_size], **kwargs)
    if pretrained:
        name = f"vgg{num_layers}_atrous{'_bn' if kwargs.get('batch_norm') else ''}"
        net.initialize(ctx=ctx)
        net.load_parameters(get_model_file(name, root), ctx=ctx, allow_missing=True)
    return net


def vgg16_atrous_300(**kwargs):
    """`get_vgg_atrous_extractor` with 16 layers for 300 pixels."""
    return get_vgg_atrous_extractor(16, 300, **kwargs)


def vgg16_atrous_512(**kwargs):
    """`get_vgg_atrous_extractor` with 16 layers for 512 pixels."""
    return get_vgg_atrous_extractor(16, 512, **kwargs)
