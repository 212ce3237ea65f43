"""DeepLab, version 3+: fine features beside those of version 3 (Chen et al., 2018),
on Xception and on a wide residual network.
"""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.deeplabv3 import _ASPP, WIDTH, wide_parts
from gluoncv.model_zoo.fcn import _FCNHead
from gluoncv.model_zoo.model_zoo import get_model
from gluoncv.model_zoo.segbase import Segmenter, enter, family
from gluoncv.model_zoo.wideresnet import wider_resnet38_a2
from gluoncv.nn import conv_norm_act, sequence

FINE = 48
XCEPTION_PARTS = (
    "conv1", "bn1", "relu", "conv2", "bn2", "block1", "block2", "block3", "midflow", "block20", "conv3", "bn3", "conv4",
    "bn4", "conv5", "bn5",
)  # fmt: skip
WIDERESNET_PARTS = ("mod1", "mod2", "mod3", "mod4", "mod5", "mod6", "mod7", "pool2", "pool3")


class DeepLabV3Plus(Segmenter):
    """On Xception, whatever `backbone` says; with `aux` the scores of a second head, too.

    dilated: features an eighth of the size, not a 32nd.

    >>> net = gluoncv.model_zoo.DeepLabV3Plus(nclass=5, pretrained_base=False)
    >>> net.nclass
    5
    """

    def __init__(
        self, nclass, backbone="xception", aux=True, ctx=None, pretrained_base=True, root=None, base_size=576,
        crop_size=512, dilated=True, height=None, width=None, norm_layer=nn.BatchNorm, norm_kwargs=None,
    ):  # fmt: skip
        super().__init__(nclass, aux, height, width, base_size, crop_size)
        norm = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        stride = 8 if dilated else 32
        with self.name_scope():
            body = get_model("xception", pretrained=pretrained_base, root=root, ctx=ctx, output_stride=stride, **norm)
            for part in XCEPTION_PARTS:
                setattr(self, part, getattr(body, part))
            self.head = self._begin(DeepLabPlusHead(nclass, **norm), ctx, lr_mult=10)
            if aux:
                self.auxlayer = self._begin(_FCNHead(728, nclass, **norm), ctx, lr_mult=10)

    def _maps(self, F, x, size):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        fine = self.relu(self.block1(x))
        before = self.midflow(self.block3(self.block2(fine)))
        x = self.relu(self.block20(before))
        for i in (3, 4, 5):
            x = self.relu(getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x)))
        scores = [self.head(x, fine), *([self.auxlayer(before)] if self.aux else [])]
        return tuple(F.contrib.BilinearResize2D(x, **size) for x in scores)


class DeepLabPlusHead(HybridBlock):
    """2,048 channels, and fine features of 128, to `nclass` scores of the size of the fine ones."""

    def __init__(self, nclass, norm_layer=nn.BatchNorm, norm_kwargs=None):
        super().__init__()
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.aspp = _ASPP(2048, norm)
            self.c1_block = sequence(*conv_norm_act(norm, FINE, 3, in_channels=128), prefix=None)
            self.block = sequence(
                *conv_norm_act(norm, WIDTH, 3, in_channels=WIDTH + FINE), nn.Dropout(0.5),
                *conv_norm_act(norm, WIDTH, 3, in_channels=WIDTH), nn.Dropout(0.1), nn.Conv2D(nclass, 1),
                prefix=None,
            )  # fmt: skip

    def hybrid_forward(self, F, x, fine):
        fine = self.c1_block(fine)
        return self.block(F.concat(F.contrib.BilinearResize2D(self.aspp(x), fine, mode="like"), fine, dim=1))

    def _alias(self):
        return "_deeplabhead"


class DeepLabWV3Plus(Segmenter):
    """On WiderResNet38 (Zhu et al., 2019), which has no published weights of its own; output a tuple of one.

    >>> net = gluoncv.model_zoo.get_model("deeplab_v3b_plus_wideresnet_citys", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.DeepLabWV3Plus)
    True
    >>> len(net.collect_params())
    225
    """

    def __init__(
        self, nclass, backbone="wideresnet", aux=False, ctx=None, pretrained_base=True, root=None, height=None,
        width=None, base_size=520, crop_size=480, norm_layer=nn.BatchNorm, norm_kwargs=None,
    ):  # fmt: skip
        super().__init__(nclass, aux, height, width, base_size, crop_size)
        norm = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        with self.name_scope():
            body = wider_resnet38_a2(dilation=True, **norm)
            for part in WIDERESNET_PARTS:
                setattr(self, part, self._begin(getattr(body, part), ctx))
            self.head = self._begin(DeepLabWideHead(nclass, **norm), ctx)

    def _maps(self, F, x, size):
        fine = self.mod2(self.pool2(self.mod1(x)))
        x = self.mod3(self.pool3(fine))
        x = self.mod7(self.mod6(self.mod5(self.mod4(x))))
        return (F.contrib.BilinearResize2D(self.head(x, fine), **size),)


class DeepLabWideHead(HybridBlock):
    """4,096 channels, and fine features of 128, to `nclass` scores of the size of the fine ones."""

    def __init__(self, nclass, norm_layer=nn.BatchNorm, norm_kwargs=None):
        super().__init__()
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.aspp = _WideASPP(4096, norm)
            self.c1_block = sequence(nn.Conv2D(FINE, 1, in_channels=128, use_bias=False), prefix="bot_fine_")
            self.block = sequence(
                *conv_norm_act(norm, WIDTH, 3, in_channels=WIDTH + FINE), *conv_norm_act(norm, WIDTH, 3),
                nn.Conv2D(nclass, 1, use_bias=False), prefix="final_",
            )  # fmt: skip

    def hybrid_forward(self, F, x, fine):
        fine = self.c1_block(fine)
        return self.block(F.concat(fine, F.contrib.BilinearResize2D(self.aspp(x), fine, mode="like"), dim=1))

    def _alias(self):
        return "_deeplabhead"


class _WideASPP(HybridBlock):
    """The parts of `_ASPP`, the mean over the picture first, projected without normalisation."""

    def __init__(self, in_channels, norm):
        super().__init__()
        self.b0 = sequence(*conv_norm_act(norm, WIDTH, in_channels=in_channels), prefix=None)
        for i, part in enumerate(wide_parts(in_channels, norm), 1):
            setattr(self, f"b{i}", part)
        self.project = sequence(nn.Conv2D(WIDTH, 1, in_channels=5 * WIDTH, use_bias=False), prefix="bot_aspp_")

    def hybrid_forward(self, F, x):
        parts = (self.b4, self.b0, self.b1, self.b2, self.b3)
        return self.project(F.concat(*[part(x) for part in parts], dim=1))

    def _alias(self):
        return "_aspp"


get_deeplab_plus = family("deeplabplus", "deeplab", DeepLabV3Plus, "xception")
get_deeplab_plus_xception_coco = partial(get_deeplab_plus, "coco", "xception")
get_deeplabv3b_plus = family("deeplabplusv3b", "deeplab_v3b_plus", DeepLabWV3Plus, "wideresnet", "citys")
get_deeplab_v3b_plus_wideresnet_citys = enter(
    get_deeplabv3b_plus, "deeplab_v3b_plus_wideresnet_citys", "citys", "wideresnet"
)
