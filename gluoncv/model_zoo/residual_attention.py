"""Residual attention networks, for ImageNet and CIFAR (Wang et al., 2017)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import model
from gluoncv.nn import conv_norm_act, scoped

# number of layers -> attention modules of each stage; blocks before the branches, in the trunk, and between poolings
CONFIGURATIONS = {
    56: ((1, 1, 1), (1, 2, 1)),
    92: ((1, 2, 3), (1, 2, 1)),
    128: ((2, 3, 4), (1, 2, 1)),
    164: ((3, 4, 5), (1, 2, 1)),
    200: ((4, 5, 6), (1, 2, 1)),
    236: ((5, 6, 7), (1, 2, 1)),
    452: ((5, 6, 7), (2, 4, 3)),
}
CIFAR = (56, 92, 452)


class UpsamplingBilinear2d(HybridBlock):
    """Bilinear resize to `size` times `size`."""

    def __init__(self, size, **kwargs):
        super().__init__(**kwargs)
        self.size = size

    def hybrid_forward(self, F, x):
        return F.contrib.BilinearResize2D(x, height=self.size, width=self.size)


class ResidualBlock(HybridBlock):
    """1x1, 3x3 and 1x1 convolutions, each after normalisation and relu.

    A shortcut that convolves starts after the first.
    """

    def __init__(self, channels, norm, in_channels=None, stride=1):
        super().__init__()
        self._convolves = stride != 1 or in_channels not in (None, channels)
        with self.name_scope():
            self.bn1 = norm()
            self.conv1 = nn.Conv2D(channels // 4, 1, use_bias=False)
            self.bn2 = norm()
            self.conv2 = nn.Conv2D(channels // 4, 3, stride, 1, use_bias=False)
            self.bn3 = norm()
            self.conv3 = nn.Conv2D(channels, 1, use_bias=False)
            if self._convolves:
                self.conv4 = nn.Conv2D(channels, 1, stride, use_bias=False)

    def hybrid_forward(self, F, x):
        active = F.Activation(self.bn1(x), act_type="relu")
        out = F.Activation(self.bn2(self.conv1(active)), act_type="relu")
        out = F.Activation(self.bn3(self.conv2(out)), act_type="relu")
        return self.conv3(out) + (self.conv4(active) if self._convolves else x)


class AttentionModule(HybridBlock):
    """(1 + mask) * trunk between residual blocks.

    The mask is computed on images that are halved len(`sizes`) times and brought back; sizes: height and width of the
    images before each halving. scale: blocks before the branches, in the trunk, and between poolings.
    """

    def __init__(self, channels, sizes, scale, norm):
        depth = self._depth = len(sizes)
        super().__init__()
        before, trunk, between = scale
        with self.name_scope():
            self.first_residual_blocks = _blocks(before, channels, norm)
            self.trunk_branches = _blocks(trunk, channels, norm)
            # A module without pooling, too, has the blocks of the deepest size.
            for i in range(1, max(depth, 1) + 1):
                if depth:
                    setattr(self, f"mpool{i}", nn.MaxPool2D(3, 2, 1))
                deepest = i == max(depth, 1)
                setattr(self, f"softmax{i}_blocks", _blocks(2 * between if deepest else between, channels, norm))
                if not deepest:
                    setattr(self, f"skip{i}_connection_residual_block", ResidualBlock(channels, norm))
            for i in range(depth, 0, -1):
                setattr(self, f"interpolation{i}", UpsamplingBilinear2d(sizes[i - 1]))
                if i > 1:
                    setattr(self, f"softmax{2 * depth - i + 1}_blocks", _blocks(between, channels, norm))
            setattr(self, f"softmax{max(2 * depth, 2)}_blocks", scoped(None, _mask, channels, norm))
            self.last_blocks = ResidualBlock(channels, norm)

    def _alias(self):
        return f"attentionmodule_stage{4 - self._depth}"

    def hybrid_forward(self, F, x):
        x = self.first_residual_blocks(x)
        trunk, depth = self.trunk_branches(x), self._depth
        seen = []
        for i in range(1, max(depth, 1) + 1):
            x = getattr(self, f"softmax{i}_blocks")(getattr(self, f"mpool{i}")(x) if depth else x)
            seen.append(x)
        for i in range(depth, 0, -1):
            x = getattr(self, f"interpolation{i}")(x)
            if i > 1:
                skip = getattr(self, f"skip{i - 1}_connection_residual_block")(seen[i - 2])
                x = F.elemwise_add(F.elemwise_add(x, seen[i - 2]), skip)
                x = getattr(self, f"softmax{2 * depth - i + 1}_blocks")(x)
            else:
                x = F.elemwise_add(x, trunk)
        mask = getattr(self, f"softmax{max(2 * depth, 2)}_blocks")(x)
        return self.last_blocks(F.elemwise_mul(F.elemwise_add(F.ones_like(mask), mask), trunk))


class _ResidualAttention(HybridBlock):
    """Stem, three stages of a residual block and attention modules, three residual blocks, pooling, 1x1 convolution."""

    def _add(self, channels, sizes, strides, scale, modules, pooled, classes, norm):
        """channels: of the stem and of what follows. sizes: those of the attention modules of each stage."""
        for i in range(1, 4):
            block = ResidualBlock(channels[i], norm, channels[i - 1], strides[i - 1])
            setattr(self, f"residual_block{i}", block)
            stage = partial(AttentionModule, channels[i], sizes[i - 1], scale, norm)
            setattr(self, f"attention_module{i}", scoped(None, _several, modules[i - 1], stage))
        self.residual_block4 = ResidualBlock(channels[4], norm, channels[3], strides[3])
        self.residual_block5 = ResidualBlock(channels[4], norm)
        self.residual_block6 = ResidualBlock(channels[4], norm)
        self.mpool2 = scoped(None, lambda: [norm(), nn.Activation("relu"), nn.AvgPool2D(pooled, 1)])
        self.fc = nn.Conv2D(classes, 1)

    def _after_stem(self, F, x):
        for i in range(1, 4):
            x = getattr(self, f"attention_module{i}")(getattr(self, f"residual_block{i}")(x))
        x = self.residual_block6(self.residual_block5(self.residual_block4(x)))
        return F.Flatten(self.fc(self.mpool2(x)))


class ResidualAttentionModel(_ResidualAttention):
    """Input (batch, 3, 224, 224), output (batch, classes).

    scale, m: blocks in the attention modules and number of modules, rows of `CONFIGURATIONS`.

    >>> net = gluoncv.model_zoo.get_model("residualattentionnet56")
    >>> isinstance(net, gluoncv.model_zoo.ResidualAttentionModel)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    def __init__(self, scale, m, classes=1000, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs):
        super().__init__(**kwargs)
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.conv1 = scoped(None, conv_norm_act, norm, 64, 7, 2)
            self.mpool1 = nn.MaxPool2D(3, 2, 1)
            sizes = ((56, 28, 14), (28, 14), (14,))
            self._add((64, 256, 512, 1024, 2048), sizes, (1, 2, 2, 2), scale, m, 7, classes, norm)

    def hybrid_forward(self, F, x):
        return self._after_stem(F, self.mpool1(self.conv1(x)))


class cifar_ResidualAttentionModel(_ResidualAttention):
    """Input (batch, 3, 32, 32), output (batch, classes); arguments as those of `ResidualAttentionModel`.

    >>> net = gluoncv.model_zoo.cifar_ResidualAttentionModel((1, 1, 1), m=(0, 0, 0))
    >>> net.initialize()
    >>> net(nd.zeros((1, 3, 32, 32))).shape
    (1, 10)
    """

    def __init__(self, scale, m, classes=10, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs):
        super().__init__(**kwargs)
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.conv1 = scoped(None, conv_norm_act, norm, 32, 3)
            sizes = ((32, 16), (16,), ())
            self._add((32, 128, 256, 512, 1024), sizes, (1, 2, 2, 1), scale, m, 8, classes, norm)

    def hybrid_forward(self, F, x):
        return self._after_stem(F, self.conv1(x))


def _blocks(count, channels, norm):
    return scoped(None, _several, count, partial(ResidualBlock, channels, norm))


def _several(count, make):
    return [make() for _ in range(count)]


def _mask(channels, norm):
    layers = []
    for _ in range(2):
        layers += [norm(), nn.Activation("relu"), nn.Conv2D(channels, 1, use_bias=False)]
    return [*layers, nn.Activation("sigmoid")]


def _residual_attention(layers, network, prefix=""):
    modules, scale = CONFIGURATIONS[layers]
    return model(f"{prefix}residualattentionnet{layers}", lambda **kw: network(scale, modules, **kw))


(
    residualattentionnet56, residualattentionnet92, residualattentionnet128, residualattentionnet164,
    residualattentionnet200, residualattentionnet236, residualattentionnet452,
) = (_residual_attention(n, ResidualAttentionModel) for n in CONFIGURATIONS)  # fmt: skip
cifar_residualattentionnet56, cifar_residualattentionnet92, cifar_residualattentionnet452 = (
    _residual_attention(n, cifar_ResidualAttentionModel, "cifar_") for n in CIFAR
)
