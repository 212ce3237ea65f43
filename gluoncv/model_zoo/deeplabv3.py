"""DeepLab, version 3: convolutions that dilate by several rates side by side (Chen et al., 2017)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluon.contrib.nn import HybridConcurrent
from gluoncv.model_zoo.fcn import FCN, head_layers
from gluoncv.model_zoo.segbase import enter, family
from gluoncv.nn import conv_norm_act, scoped, sequence

RATES = (12, 24, 36)
# channels of each of the parts that are side by side
WIDTH = 256


class DeepLabV3(FCN):
    """An FCN whose head dilates by several rates; arguments as those of `FCN`.

    >>> net = gluoncv.model_zoo.get_model("deeplab_resnet50_ade", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.DeepLabV3)
    True
    >>> len(net.collect_params())
    319
    """

    def _head(self, nclass, norm):
        return _DeepLabHead(nclass, **norm)


class _DeepLabHead(HybridBlock):
    """2,048 channels to `nclass` scores."""

    def __init__(self, nclass, norm_layer=nn.BatchNorm, norm_kwargs=None):
        super().__init__()
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.aspp = _ASPP(2048, norm)
            self.block = sequence(*head_layers(norm, WIDTH, WIDTH, nclass), prefix=None)

    def hybrid_forward(self, F, x):
        return self.block(self.aspp(x))


class _ASPP(HybridBlock):
    """A 1x1 convolution, three of 3x3 that dilate, and the mean over the picture, projected to 256 channels."""

    def __init__(self, in_channels, norm):
        super().__init__()
        self.concurent = HybridConcurrent(axis=1)
        self.concurent.add(scoped(None, conv_norm_act, norm, WIDTH, in_channels=in_channels))
        self.concurent.add(*wide_parts(in_channels, norm))
        self.project = scoped(None, self._projection, norm)

    def hybrid_forward(self, F, x):
        return self.project(self.concurent(x))

    def _projection(self, norm):
        return [*conv_norm_act(norm, WIDTH, in_channels=5 * WIDTH), nn.Dropout(0.5)]


class _AsppPooling(HybridBlock):
    """The mean over the picture, convolved, at every place."""

    def __init__(self, in_channels, norm):
        super().__init__()
        self.gap = scoped(None, self._layers, in_channels, norm)

    def hybrid_forward(self, F, x):
        return F.contrib.BilinearResize2D(self.gap(x), x, mode="like")

    def _layers(self, in_channels, norm):
        return [nn.GlobalAvgPool2D(), *conv_norm_act(norm, WIDTH, in_channels=in_channels)]


def wide_parts(in_channels, norm):
    """The parts of `_ASPP` that see more than one pixel."""
    dilated = [
        scoped(None, conv_norm_act, norm, WIDTH, 3, padding=rate, dilation=rate, in_channels=in_channels)
        for rate in RATES
    ]
    return [*dilated, _AsppPooling(in_channels, norm)]


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
