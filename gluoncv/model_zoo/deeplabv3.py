"""DeepLab, version 3: convolutions that dilate by several rates side by side (Chen et al., 2017)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluon.contrib.nn import HybridConcurrent
from gluoncv.model_zoo.fcn import FCN
from gluoncv.model_zoo.segbase import enter, family
from gluoncv.nn import conv_norm_act, sequence

RATES = (12, 24, 36)
# channels of each of the parts that are side by side
WIDTH = 256


class DeepLabV3(FCN):
    """An FCN whose head dilates by several rates; arguments as those of `FCN`."""

    def _head(self, nclass, norm):
        return DeepLabHead(nclass, **norm)


class DeepLabHead(HybridBlock):
    """2,048 channels to `nclass` scores."""

    def __init__(self, nclass, norm_layer=nn.BatchNorm, norm_kwargs=None):
        super().__init__()
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.aspp = ASPP(2048, norm)
            layers = conv_norm_act(norm, WIDTH, 3, in_channels=WIDTH)
            self.block = sequence(*layers, nn.Dropout(0.1), nn.Conv2D(nclass, 1), prefix=None)

    def hybrid_forward(self, F, x):
        return self.block(self.aspp(x))


class ASPP(HybridBlock):
    """A 1x1 convolution, three of 3x3 that dilate, and the mean over the picture, projected to 256 channels."""

    def __init__(self, in_channels, norm):
        super().__init__()
        self.concurent = HybridConcurrent(axis=1)
        with self.concurent.name_scope():
            self.concurent.add(*parallel_parts(in_channels, norm))
        layers = conv_norm_act(norm, WIDTH, in_channels=5 * WIDTH)
        self.project = sequence(*layers, nn.Dropout(0.5), prefix=None)

    def hybrid_forward(self, F, x):
        return self.project(self.concurent(x))


class ASPPPooling(HybridBlock):
    """The mean over the picture, convolved, at every place."""

    def __init__(self, in_channels, norm):
        super().__init__()
        layers = conv_norm_act(norm, WIDTH, in_channels=in_channels)
        self.gap = sequence(nn.GlobalAvgPool2D(), *layers, prefix=None)

    def hybrid_forward(self, F, x):
        return F.contrib.BilinearResize2D(self.gap(x), x, mode="like")


def parallel_parts(in_channels, norm):
    """The five parts of `ASPP`."""
    parts = [sequence(*conv_norm_act(norm, WIDTH, in_channels=in_channels), prefix=None)]
    for rate in RATES:
        layers = conv_norm_act(norm, WIDTH, 3, padding=rate, dilation=rate, in_channels=in_channels)
        parts.append(sequence(*layers, prefix=None))
    return [*parts, ASPPPooling(in_channels, norm)]


get_deeplab = family("deeplab", "deeplab", DeepLabV3)
get_deeplab_resnet101_coco = enter(get_deeplab, "deeplab_resnet101_coco", "coco", "resnet101")
get_deeplab_resnet152_coco = enter(get_deeplab, "deeplab_resnet152_coco", "coco", "resnet152")
get_deeplab_resnet101_voc = enter(get_deeplab, "deeplab_resnet101_voc", "pascal_voc", "resnet101")
get_deeplab_resnet152_voc = enter(get_deeplab, "deeplab_resnet152_voc", "pascal_voc", "resnet152")
get_deeplab_resnet50_ade = enter(get_deeplab, "deeplab_resnet50_ade", "ade20k", "resnet50")
get_deeplab_resnet101_ade = enter(get_deeplab, "deeplab_resnet101_ade", "ade20k", "resnet101")
get_deeplab_resnest50_ade = enter(get_deeplab, "deeplab_resnest50_ade", "ade20k", "resnest50")
get_deeplab_resnest101_ade = enter(get_deeplab, "deeplab_resnest101_ade", "ade20k", "resnest101")
get_deeplab_resnest200_ade = enter(get_deeplab, "deeplab_resnest200_ade", "ade20k", "resnest200")
get_deeplab_resnest269_ade = enter(get_deeplab, "deeplab_resnest269_ade", "ade20k", "resnest269")
get_deeplab_resnet50_citys = enter(get_deeplab, "deeplab_resnet50_citys", "citys", "resnet50")
get_deeplab_resnet101_citys = enter(get_deeplab, "deeplab_resnet101_citys", "citys", "resnet101")
