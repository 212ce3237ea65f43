"""Fully convolutional networks (Long et al., 2015)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.segbase import SegBaseModel, enter, family
from gluoncv.nn import conv_norm_act, scoped


class FCN(SegBaseModel):
    """Scores of a head on the last features, and with `aux` of one on those before.

    Arguments as those of `SegBaseModel`.

    >>> net = gluoncv.model_zoo.get_model("fcn_resnet50_ade", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.FCN)
    True
    >>> len(net.collect_params())
    289
    """

    def __init__(
        self, nclass, backbone="resnet50", aux=True, ctx=None, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs
    ):
        norm = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        super().__init__(nclass, aux, backbone, ctx=ctx, **norm, **kwargs)
        with self.name_scope():
            self.head = self._begin(self._head(nclass, norm), ctx, lr_mult=10)
            if aux:
                self.auxlayer = self._begin(_FCNHead(1024, nclass, **norm), ctx, lr_mult=10)

    def _head(self, nclass, norm):
        return _FCNHead(2048, nclass, **norm)

    def _maps(self, F, x, size):
        before, features = self.base_forward(x)
        scores = [self.head(features), *([self.auxlayer(before)] if self.aux else [])]
        return tuple(F.contrib.BilinearResize2D(x, **size) for x in scores)


class _FCNHead(HybridBlock):
    """A 3x3 convolution to a quarter of the channels, and one of 1x1 to `channels` scores."""

    def __init__(self, in_channels, channels, norm_layer=nn.BatchNorm, norm_kwargs=None):
        super().__init__()
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.block = scoped(None, head_layers, norm, in_channels, in_channels // 4, channels)

    def hybrid_forward(self, F, x):
        return self.block(x)


def head_layers(norm, in_channels, middle, channels):
    """A 3x3 convolution to `middle` channels, and one of 1x1 to `channels` scores."""
    return [*conv_norm_act(norm, middle, 3, in_channels=in_channels), nn.Dropout(0.1), nn.Conv2D(channels, 1)]


get_fcn = family("fcn", "fcn", FCN)
get_fcn_resnet50_voc = enter(get_fcn, "fcn_resnet50_voc", "pascal_voc", "resnet50")
get_fcn_resnet101_voc = enter(get_fcn, "fcn_resnet101_voc", "pascal_voc", "resnet101")
get_fcn_resnet101_coco = enter(get_fcn, "fcn_resnet101_coco", "coco", "resnet101")
get_fcn_resnet50_ade = enter(get_fcn, "fcn_resnet50_ade", "ade20k", "resnet50")
get_fcn_resnet101_ade = enter(get_fcn, "fcn_resnet101_ade", "ade20k", "resnet101")
