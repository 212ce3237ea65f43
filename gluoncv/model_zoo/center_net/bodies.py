"""Bodies of CenterNet: networks whose last map is enlarged again to a quarter of the picture's size."""

import math
from functools import partial

import numpy as np

from core import ndarray as nd
from core.initializer import Initializer
from gluon import nn
from gluon.block import HybridBlock
from gluon.contrib.cnn import ModulatedDeformableConvolution
from gluoncv.model_zoo.model_zoo import get_model
from gluoncv.nn import DUC


class BilinearUpSample(Initializer):
    """Weights (in, out, k, k) of a transposed convolution that interpolates the first channel; others: small noise."""

    def _init_weight(self, name, arr):
        size = arr.shape[2]
        factor = math.ceil(size / 2)
        center = (2 * factor - 1 - factor % 2) / (2.0 * factor)
        line = 1 - np.abs(np.arange(size) / factor - center)
        weight = nd.random.normal(0, 0.01, arr.shape).asnumpy()
        weight[:, 0] = np.outer(line, line[: arr.shape[3]])
        arr[:] = weight


class DeconvResnet(HybridBlock):
    """A residual network, and pairs of a 3x3 convolution and a transposed one that doubles the size.

    base_network: name of a ResNet v1b. deconv_filters, deconv_kernels: channels and kernels (2, 3 or 4) of the pairs.
    use_dcnv2: the first ones are deformable (Zhu et al., 2019). ValueError for other kernels or networks.
    """

    def __init__(
        self, base_network="resnet18_v1b", deconv_filters=(256, 128, 64), deconv_kernels=(4, 4, 4),
        pretrained_base=True, norm_layer=nn.BatchNorm, norm_kwargs=None, use_dcnv2=False, root=None, ctx=None, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        if "v1b" not in base_network:
            raise ValueError(f"the body is a ResNet v1b, got {base_network!r}")
        net = get_model(base_network, pretrained=pretrained_base, root=root, ctx=ctx)
        self.base_network = nn.HybridSequential()
        self.base_network.add(net.conv1, net.bn1, net.relu, net.maxpool, net.layer1, net.layer2, net.layer3, net.layer4)
        norm = partial(norm_layer, **{"momentum": 0.9, **(norm_kwargs or {})})
        before = net.inplanes
        with self.name_scope():
            self.deconv = nn.HybridSequential("deconv_")
            for channels, kernel in zip(deconv_filters, deconv_kernels, strict=True):
                self.deconv.add(_conv3x3(channels, before, use_dcnv2), norm(), nn.Activation("relu"))
                if kernel not in _PADDING:
                    raise ValueError(f"kernels of transposed convolutions are 2, 3 or 4, got {kernel}")
                padding, output_padding = _PADDING[kernel]
                self.deconv.add(
                    nn.Conv2DTranspose(
                        channels, kernel, 2, padding, output_padding, use_bias=False, in_channels=channels,
                        weight_initializer=BilinearUpSample(),
                    ),
                    norm(),
                    nn.Activation("relu"),
                )  # fmt: skip
                before = channels

    def hybrid_forward(self, F, x):
        return self.deconv(self.base_network(x))


# kernel -> padding and output padding with which a stride of 2 doubles the size
_PADDING = {4: (1, 0), 3: (1, 1), 2: (0, 0)}


class DUCMobilenet(HybridBlock):
    """A MobileNetV3 up to its pooling, and `DUC`s of `up_filters` channels before they become positions."""

    def __init__(
        self, base_network="mobilenetv3_small", up_filters=(512, 256, 128), up_scales=(2, 2, 2), pretrained_base=True,
        root=None, ctx=None, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        layers = get_model(base_network, pretrained=pretrained_base, root=root, ctx=ctx).features
        end = next(i for i, layer in enumerate(layers) if isinstance(layer, nn.GlobalAvgPool2D))
        with self.name_scope():
            self.feature = layers[:end]
            self.upsampling = nn.HybridSequential(prefix="upsampling_")
            for channels, scale in zip(up_filters, up_scales, strict=True):
                self.upsampling.add(DUC(channels, scale))

    def hybrid_forward(self, F, x):
        return self.upsampling(self.feature(x))


class DeconvDLA(HybridBlock):
    """Deep layer aggregation whose levels are enlarged and joined again and again.

    down_ratio: pixels a place of the result. last_level: the level after the last one that is joined at the end.
    use_dcnv2: convolutions are deformable.
    """

    def __init__(
        self, base_network="dla34", pretrained_base=True, down_ratio=4, last_level=5, use_dcnv2=False,
        norm_layer=nn.BatchNorm, norm_kwargs=None, root=None, ctx=None, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        if down_ratio not in (2, 4, 8, 16):
            raise ValueError(f"down_ratio is one of 2, 4, 8, 16, got {down_ratio}")
        first = int(math.log2(down_ratio))
        settings = {"use_dcnv2": use_dcnv2, "norm_layer": norm_layer, "norm_kwargs": norm_kwargs}
        self._first, self._joined = first, last_level - first
        self.base = get_model(base_network, pretrained=pretrained_base, root=root, ctx=ctx, use_feature=True)
        channels = list(self.base.channels[first:])
        self.dla_up = DLAUp(first, channels, [2**i for i in range(len(channels))], **settings)
        up = [2**i for i in range(self._joined)]
        self.ida_up = IDAUp(channels[0], channels[: self._joined], up, **settings)

    def hybrid_forward(self, F, x):
        levels = self.dla_up(*self.base(x))
        return self.ida_up(*levels[: self._joined])[-1]


class DLAUp(HybridBlock):
    """Joins the levels from the last one down to `startp`; gives the results, the largest first."""

    def __init__(self, startp, channels, scales, **settings):
        super().__init__()
        self.startp = startp
        before, scales = list(channels), list(scales)
        with self.name_scope():
            self.idas = nn.HybridSequential("ida")
            for i in range(len(channels) - 2, -1, -1):
                up = [scale // scales[i] for scale in scales[i:]]
                self.idas.add(IDAUp(channels[i], before[i:], up, **settings))
                rest = len(channels) - i - 1
                scales[i + 1 :], before[i + 1 :] = [scales[i]] * rest, [channels[i]] * rest

    def hybrid_forward(self, F, *layers):
        out = [layers[-1]]
        for i, ida in enumerate(self.idas):
            start = len(layers) - i - 2
            layers = (*layers[:start], *ida(*layers[start:]))
            out.insert(0, layers[-1])
        return out


class IDAUp(HybridBlock):
    """Makes each layer as large as the first one and adds the one before, one after the other."""

    def __init__(self, out_channels, in_channels, up_f, **settings):
        super().__init__()
        with self.name_scope():
            self.projs = nn.HybridSequential("ida_proj")
            self.ups = nn.HybridSequential("ida_ups")
            self.nodes = nn.HybridSequential("ida_nodes")
            for before, factor in zip(in_channels[1:], up_f[1:], strict=True):
                self.projs.add(CustomConv(before, out_channels, **settings))
                self.nodes.add(CustomConv(out_channels, out_channels, **settings))
                self.ups.add(
                    nn.Conv2DTranspose(
                        out_channels, factor * 2, factor, factor // 2, groups=out_channels, use_bias=False,
                        in_channels=out_channels, weight_initializer=BilinearUpSample(),
                    )
                )  # fmt: skip

    def hybrid_forward(self, F, *layers):
        out = [layers[0]]
        for x, project, up, node in zip(layers[1:], self.projs, self.ups, self.nodes, strict=True):
            out.append(node(up(project(x)) + out[-1]))
        return out


class CustomConv(HybridBlock):
    """3x3 convolution, deformable if `use_dcnv2`, normalisation and relu."""

    def __init__(
        self, in_channels, out_channels, use_dcnv2=False, momentum=0.9, norm_layer=nn.BatchNorm, norm_kwargs=None
    ):
        super().__init__()
        with self.name_scope():
            self.actf = nn.HybridSequential()
            norm = {"in_channels": out_channels, "momentum": momentum, **(norm_kwargs or {})}
            self.actf.add(norm_layer(**norm), nn.Activation("relu"))
            self.conv = _conv3x3(out_channels, in_channels, use_dcnv2)

    def hybrid_forward(self, F, x):
        return self.actf(self.conv(x))


def _conv3x3(channels, in_channels, deformable):
    layer = ModulatedDeformableConvolution if deformable else nn.Conv2D
    return layer(channels, kernel_size=3, padding=1, in_channels=in_channels)
