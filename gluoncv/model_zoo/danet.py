"""Dual attention between positions and between channels (Fu et al., 2019)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.segbase import SegBaseModel, enter, family
from gluoncv.nn import conv_norm_act, sequence


class DANet(SegBaseModel):
    """Scores of both attentions, of that between positions, of that between channels.

    Arguments as those of `SegBaseModel`.

    >>> net = gluoncv.model_zoo.get_model("danet_resnet50_citys", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.DANet)
    True
    >>> len(net.collect_params())
    309
    """

    def __init__(
        self, nclass, backbone="resnet50", aux=False, ctx=None, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs
    ):
        norm = {"norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        super().__init__(nclass, aux, backbone, ctx=ctx, **norm, **kwargs)
        with self.name_scope():
            self.head = self._begin(DANetHead(2048, nclass, **norm), ctx)

    def _maps(self, F, x, size):
        _, features = self.base_forward(x)
        return tuple(F.contrib.BilinearResize2D(scores, **size) for scores in self.head(features))


class DANetHead(HybridBlock):
    """Features to the three scores of `DANet`."""

    def __init__(self, in_channels, out_channels, norm_layer=nn.BatchNorm, norm_kwargs=None):
        super().__init__()
        norm = partial(norm_layer, **(norm_kwargs or {}))
        width = in_channels // 4
        self.conv5a, self.conv5c = (
            sequence(*conv_norm_act(norm, width, 3, in_channels=in_channels), prefix=None) for _ in range(2)
        )
        self.sa, self.sc = PAM_Module(width), CAM_Module()
        self.conv51, self.conv52 = (
            sequence(*conv_norm_act(norm, width, 3, in_channels=width), prefix=None) for _ in range(2)
        )
        self.conv6, self.conv7, self.conv8 = (
            sequence(nn.Conv2D(out_channels, 1, in_channels=width), prefix=None) for _ in range(3)
        )

    def hybrid_forward(self, F, x):
        places = self.conv51(self.sa(self.conv5a(x)))
        channels = self.conv52(self.sc(self.conv5c(x)))
        return self.conv8(places + channels), self.conv6(places), self.conv7(channels)


class PAM_Module(HybridBlock):
    """x + gamma * attention of each position to all positions; gamma starts as 0."""

    def __init__(self, in_channels):
        super().__init__()
        narrow = in_channels // 8
        self.query_conv = nn.Conv2D(narrow, 1, in_channels=in_channels)
        self.key_conv = nn.Conv2D(narrow, 1, in_channels=in_channels)
        self.value_conv = nn.Conv2D(in_channels, 1, in_channels=in_channels)
        self.gamma = self.params.get("gamma", shape=(1,), init="zeros")

    def hybrid_forward(self, F, x, gamma):
        query, key, value = (
            F.reshape(conv(x), (0, 0, -1)) for conv in (self.query_conv, self.key_conv, self.value_conv)
        )
        attention = F.softmax(F.batch_dot(query, key, transpose_a=True))
        return _blended(F, x, F.batch_dot(value, attention, transpose_b=True), gamma)


class CAM_Module(HybridBlock):
    """x + gamma * attention of each channel to those most unlike it; gamma starts as 0."""

    def __init__(self):
        super().__init__()
        self.gamma = self.params.get("gamma", shape=(1,), init="zeros")

    def hybrid_forward(self, F, x, gamma):
        flat = F.reshape(x, (0, 0, -1))
        energy = F.batch_dot(flat, flat, transpose_b=True)
        attention = F.softmax(F.broadcast_sub(F.max(energy, axis=-1, keepdims=True), energy))
        return _blended(F, x, F.batch_dot(attention, flat), gamma)


def _blended(F, x, attended, gamma):
    return F.broadcast_mul(gamma, F.reshape_like(attended, x)) + x


get_danet = family("danet", "danet", DANet)
get_danet_resnet50_citys = enter(get_danet, "danet_resnet50_citys", "citys", "resnet50")
get_danet_resnet101_citys = enter(get_danet, "danet_resnet101_citys", "citys", "resnet101")
