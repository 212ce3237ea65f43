"""Pyramid scene parsing (Zhao et al., 2017)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.fcn import FCN
from gluoncv.model_zoo.segbase import enter, family
from gluoncv.nn import conv_norm_act, scoped, sequence

# height and width that the features are averaged to
POOLED = (1, 2, 3, 6)


class PSPNet(FCN):
    """An FCN whose head sees averages over parts of the picture; arguments as those of `FCN`.

    >>> net = gluoncv.model_zoo.get_model("psp_resnet50_ade", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.PSPNet)
    True
    >>> len(net.collect_params())
    309
    """

    def _head(self, nclass, norm):
        return _PSPHead(nclass, **norm)


class _PyramidPooling(HybridBlock):
    """(batch, channels, height, width) to twice the channels: the input, and its averages at four resolutions."""

    def __init__(self, in_channels, norm):
        super().__init__()
        with self.name_scope():
            for i in range(1, len(POOLED) + 1):
                layers = scoped(None, conv_norm_act, norm, in_channels // 4, in_channels=in_channels)
                setattr(self, f"conv{i}", layers)

    def hybrid_forward(self, F, x):
        seen = [x]
        for i, size in enumerate(POOLED, 1):
            means = getattr(self, f"conv{i}")(F.contrib.AdaptiveAvgPooling2D(x, output_size=size))
            seen.append(F.contrib.BilinearResize2D(means, x, mode="like"))
        return F.concat(*seen, dim=1)


class _PSPHead(HybridBlock):
    """Pyramid pooling of 2,048 channels, a 3x3 convolution to 512 and, unless `nclass` is None, a 1x1 one to scores."""

    def __init__(self, nclass, norm_layer=nn.BatchNorm, norm_kwargs=None):
        super().__init__()
        norm = partial(norm_layer, **(norm_kwargs or {}))
        self.psp = _PyramidPooling(2048, norm)
        with self.name_scope():
            self.block = sequence(*conv_norm_act(norm, 512, 3, in_channels=4096), nn.Dropout(0.1))
            if nclass is not None:
                self.block.add(nn.Conv2D(nclass, 1))

    def hybrid_forward(self, F, x):
        return self.block(self.psp(x))


get_psp = family("psp", "psp", PSPNet)
get_psp_resnet101_coco = enter(get_psp, "psp_resnet101_coco", "coco", "resnet101")
get_psp_resnet101_voc = enter(get_psp, "psp_resnet101_voc", "pascal_voc", "resnet101")
get_psp_resnet50_ade = enter(get_psp, "psp_resnet50_ade", "ade20k", "resnet50")
get_psp_resnet101_ade = enter(get_psp, "psp_resnet101_ade", "ade20k", "resnet101")
get_psp_resnet101_citys = enter(get_psp, "psp_resnet101_citys", "citys", "resnet101")
