"""ICNet: a cascade of three resolutions (Zhao et al., 2018)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.pspnet import _PSPHead
from gluoncv.model_zoo.segbase import SegBaseModel, enter, family
from gluoncv.nn import conv_norm_act, scoped


class ICNet(SegBaseModel):
    """Scores of the full size, and of a quarter, an eighth and a 16th of it; arguments as those of `SegBaseModel`.

    lr_mult: by how much faster than the backbone the rest learns.

    >>> net = gluoncv.model_zoo.get_model("icnet_resnet50_citys", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.ICNet)
    True
    >>> len(net.collect_params())
    348
    """

    def __init__(
        self, nclass, backbone="resnet50", aux=False, ctx=None, lr_mult=10, norm_layer=nn.BatchNorm, norm_kwargs=None,
        **kwargs,
    ):  # fmt: skip
        norm_settings = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        super().__init__(nclass, aux, backbone, ctx=ctx, **norm_settings, **kwargs)
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            stem = scoped(None, lambda: [ConvBNReLU(width, 3, 2, norm) for width in (32, 32, 64)])
            self.conv_sub1 = self._begin(stem, ctx, lr_mult)
            self.psp_head = self._begin(_PSPHead(None, **norm_settings), ctx, lr_mult)
            self.head = self._begin(_ICHead(nclass, norm), ctx, lr_mult)
            self.conv_sub4 = self._begin(ConvBNReLU(256, 1, 1, norm), ctx, lr_mult)
            self.conv_sub2 = self._begin(ConvBNReLU(256, 1, 1, norm), ctx, lr_mult)

    def _maps(self, F, x, size):
        def resized(x, divisor):
            return F.contrib.BilinearResize2D(x, height=size["height"] // divisor, width=size["width"] // divisor)

        large = self.conv_sub1(x)
        x = self.maxpool(self.relu(self.bn1(self.conv1(resized(x, 2)))))
        middle = self.layer2(self.layer1(x))
        small = self.psp_head(self.layer4(self.layer3(resized(middle, 32))))
        *coarse, features = self.head(self.conv_sub4(small), self.conv_sub2(middle), large)
        quarter = self.head.conv_cls(resized(features, 4))
        return resized(quarter, 1), quarter, *reversed(coarse)


class _ICHead(HybridBlock):
    """Images of three sizes, smallest first, to the scores of the smaller two and the features of the largest."""

    def __init__(self, nclass, norm):
        super().__init__()
        self.cff_12 = CascadeFeatureFusion(128, 64, 128, nclass, norm)
        self.cff_24 = CascadeFeatureFusion(256, 256, 128, nclass, norm)
        with self.name_scope():
            self.conv_cls = nn.Conv2D(nclass, 1, in_channels=128, use_bias=False)

    def hybrid_forward(self, F, small, middle, large):
        fused, first = self.cff_24(small, middle)
        fused, second = self.cff_12(fused, large)
        return first, second, fused


class CascadeFeatureFusion(HybridBlock):
    """The sum of two images, the smaller one enlarged; and the scores of that one."""

    def __init__(self, low_channels, high_channels, out_channels, nclass, norm):
        super().__init__()
        with self.name_scope():
            normed = partial(
                scoped, None, conv_norm_act, partial(norm, in_channels=out_channels), out_channels, act=None
            )
            self.conv_low = normed(3, padding=2, dilation=2, in_channels=low_channels)
            self.conv_hign = normed(in_channels=high_channels)
            self.conv_low_cls = nn.Conv2D(nclass, 1, in_channels=out_channels, use_bias=False)

    def hybrid_forward(self, F, low, high):
        low = self.conv_low(F.contrib.BilinearResize2D(low, high, mode="like"))
        return F.Activation(low + self.conv_hign(high), act_type="relu"), self.conv_low_cls(low)


class ConvBNReLU(HybridBlock):
    """Convolution, normalisation, relu."""

    def __init__(self, channels, kernel, stride, norm):
        super().__init__()
        with self.name_scope():
            self.conv = nn.Conv2D(channels, kernel, stride, kernel // 2, use_bias=False)
            self.bn = norm(in_channels=channels)
            self.relu = nn.Activation("relu")

    def hybrid_forward(self, F, x):
        return self.relu(self.bn(self.conv(x)))


get_icnet = family("icnet", "icnet", ICNet, dataset="citys")
get_icnet_resnet50_citys = enter(get_icnet, "icnet_resnet50_citys", "citys", "resnet50")
get_icnet_resnet50_mhpv1 = enter(get_icnet, "icnet_resnet50_mhpv1", "mhpv1", "resnet50")
