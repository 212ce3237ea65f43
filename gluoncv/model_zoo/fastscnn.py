"""Fast-SCNN: segmentation faster than real time (Poudel et al., 2019)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.fcn import head_layers
from gluoncv.model_zoo.pspnet import _PyramidPooling
from gluoncv.model_zoo.segbase import Segmenter, enter, family
from gluoncv.nn import conv_norm_act, scoped, sequence

# channels after each convolution of the first part
FINE = (32, 48, 64)
# channels, repetitions and stride of the bottlenecks of the second part; by what they expand; channels after them
BOTTLENECKS, EXPANSION, WIDTH = ((64, 3, 2), (96, 3, 2), (128, 3, 1)), 6, 128


class FastSCNN(Segmenter):
    """Arguments as those of `Segmenter`; with `aux` the scores of a head on the fine features, too.

    >>> net = gluoncv.model_zoo.get_model("fastscnn_citys", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.FastSCNN)
    True
    >>> len(net.collect_params())
    231
    """

    def __init__(
        self, nclass, aux=True, ctx=None, pretrained_base=False, root=None, height=None, width=None, base_size=2048,
        crop_size=1024, norm_layer=nn.BatchNorm, norm_kwargs=None,
    ):  # fmt: skip
        super().__init__(nclass, aux, height, width, base_size, crop_size)
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.learning_to_downsample = self._begin(LearningToDownsample(norm), ctx)
            self.global_feature_extractor = self._begin(GlobalFeatureExtractor(norm), ctx)
            self.feature_fusion = self._begin(FeatureFusionModule(norm), ctx)
            self.classifier = self._begin(Classifer(nclass, norm), ctx)
            if aux:
                self.auxlayer = self._begin(_auxHead(nclass, norm), ctx, lr_mult=10)

    def _maps(self, F, x, size):
        fine = self.learning_to_downsample(x)
        x = self.classifier(self.feature_fusion(fine, self.global_feature_extractor(fine)))
        scores = [x, *([self.auxlayer(fine)] if self.aux else [])]
        return tuple(F.contrib.BilinearResize2D(x, **size) for x in scores)


class LearningToDownsample(HybridBlock):
    """A picture to 64 channels of an eighth of the size."""

    def __init__(self, norm):
        super().__init__()
        first, second, third = FINE
        with self.name_scope():
            self.conv = _ConvBNReLU(partial(conv_norm_act, norm, first, 3, 2, padding=0, in_channels=3))
            self.dsconv1 = _separable(norm, first, second, 2)
            self.dsconv2 = _separable(norm, second, third, 2)

    def hybrid_forward(self, F, x):
        return self.dsconv2(self.dsconv1(self.conv(x)))


class GlobalFeatureExtractor(HybridBlock):
    """Bottlenecks to a 32nd of the picture's size, and pyramid pooling."""

    def __init__(self, norm):
        super().__init__()
        before = FINE[-1]
        with self.name_scope():
            for i, (width, count, stride) in enumerate(BOTTLENECKS, 1):
                setattr(self, f"bottleneck{i}", scoped(None, self._stage, before, width, count, stride, norm))
                before = width
            self.ppm = _FastPyramidPooling(before, norm)

    def hybrid_forward(self, F, x):
        return self.ppm(self.bottleneck3(self.bottleneck2(self.bottleneck1(x))))

    def _stage(self, before, width, count, stride, norm):
        first = LinearBottleneck(before, width, stride, norm)
        return [first, *(LinearBottleneck(width, width, 1, norm) for _ in range(count - 1))]


class LinearBottleneck(HybridBlock):
    """Expansion, depthwise convolution and a projection without activation,
    beside the input where the shapes are equal.
    """

    def __init__(self, before, after, stride, norm):
        super().__init__()
        self.use_shortcut = stride == 1 and before == after
        wide = before * EXPANSION
        with self.name_scope():
            self.block = sequence(
                _ConvBNReLU(partial(conv_norm_act, norm, wide, in_channels=before)),
                _DWConv(partial(conv_norm_act, norm, wide, 3, stride, groups=wide, in_channels=wide)),
                *conv_norm_act(norm, after, act=None, in_channels=wide),
                prefix=None,
            )

    def hybrid_forward(self, F, x):
        out = self.block(x)
        return x + out if self.use_shortcut else out


class FeatureFusionModule(HybridBlock):
    """The sum of the fine features and the enlarged coarse ones."""

    def __init__(self, norm):
        super().__init__()
        with self.name_scope():
            self.dwconv = _DWConv(partial(conv_norm_act, norm, WIDTH, 3, groups=WIDTH, in_channels=WIDTH))
            self.conv_lower_res = nn.Conv2D(WIDTH, 1, in_channels=WIDTH)
            self.conv_higher_res = nn.Conv2D(WIDTH, 1, in_channels=FINE[-1])
            self.bn, self.bn_high = norm(in_channels=WIDTH), norm(in_channels=WIDTH)
            self.relu = nn.Activation("relu")

    def hybrid_forward(self, F, fine, coarse):
        coarse = self.dwconv(F.contrib.BilinearResize2D(coarse, fine, mode="like"))
        return self.relu(self.bn_high(self.conv_higher_res(fine)) + self.bn(self.conv_lower_res(coarse)))


class Classifer(HybridBlock):
    """Two separable convolutions, and one of 1x1 to the scores."""

    def __init__(self, nclass, norm):
        super().__init__()
        with self.name_scope():
            self.dsconv1, self.dsconv2 = (_separable(norm, WIDTH, WIDTH, 1) for _ in range(2))
            self.dp = nn.Dropout(0.1)
            self.conv = nn.Conv2D(nclass, 1, in_channels=WIDTH)

    def hybrid_forward(self, F, x):
        return self.conv(self.dp(self.dsconv2(self.dsconv1(x))))


class _auxHead(HybridBlock):
    """Fine features to scores."""

    def __init__(self, nclass, norm):
        super().__init__()
        with self.name_scope():
            self.block = scoped(None, head_layers, norm, FINE[-1], FINE[-1], nclass)

    def hybrid_forward(self, F, x):
        return self.block(x)


class _FastPyramidPooling(_PyramidPooling):
    """Pyramid pooling, and a 1x1 convolution to 128 channels."""

    def __init__(self, in_channels, norm):
        super().__init__(in_channels, norm)
        with self.name_scope():
            self.out = _ConvBNReLU(partial(conv_norm_act, norm, WIDTH, in_channels=2 * in_channels))

    def hybrid_forward(self, F, x):
        return self.out(super().hybrid_forward(F, x))


class _Rows(HybridBlock):
    """The layers that the functions `rows` give, one after the other, as one child."""

    child = "conv"

    def __init__(self, *rows):
        super().__init__()
        with self.name_scope():
            self.register_child(sequence(*(layer for row in rows for layer in row()), prefix=None), self.child)

    def hybrid_forward(self, F, x):
        return self._children[self.child](x)


class _DWConv(_Rows):
    """A depthwise convolution."""


class _DSConv(_Rows):
    """A depthwise convolution and one of 1x1."""


class _ConvBNReLU(_Rows):
    """A convolution of all channels."""

    child = "block"


def _separable(norm, before, after, stride):
    depthwise = partial(conv_norm_act, norm, before, 3, stride, groups=before, in_channels=before)
    return _DSConv(depthwise, partial(conv_norm_act, norm, after, in_channels=before))


get_fastscnn = family("fastscnn", "fastscnn", FastSCNN, backbone=None, dataset="citys")
get_fastscnn_citys = enter(get_fastscnn, "fastscnn_citys", "citys", None)
