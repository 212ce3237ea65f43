"""Xception (Chollet, 2017) as modified for segmentation (Chen et al., 2018)."""

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import model

# output stride -> strides of blocks 3 and 20; dilations of the middle blocks, of block 20, and of what follows
OUTPUT_STRIDES = {32: (2, 2, 1, 1, 1), 16: (2, 1, 1, 1, 2), 8: (1, 1, 2, 2, 4)}
# (channels, stride) of the blocks of the second part of the entry
ENTRIES = {65: ((256, 2),), 71: ((256, 1), (256, 2), (728, 2))}
MIDDLE = 16


class SeparableConv2d(HybridBlock):
    """Depthwise 3x3 convolution, normalisation, 1x1 convolution."""

    def __init__(self, inplanes, planes, stride, dilation, norm):
        super().__init__()
        self.conv1 = nn.Conv2D(
            inplanes, 3, stride, dilation, dilation, groups=inplanes, in_channels=inplanes, use_bias=False
        )
        self.bn = norm(inplanes)
        self.pointwise = nn.Conv2D(planes, 1, in_channels=inplanes, use_bias=False)

    def hybrid_forward(self, F, x):
        return self.pointwise(self.bn(self.conv1(x)))


class XceptionBlock(HybridBlock):
    """Separable convolutions of the given (channels, stride, dilation), each normalised, beside a shortcut.

    start_with_relu: relu comes before the first one, too.
    """

    def __init__(self, inplanes, rows, norm, start_with_relu=True):
        super().__init__()
        planes, stride = rows[-1][0], rows[-1][1]
        self.skip = self.skipbn = None
        if planes != inplanes or stride != 1:
            self.skip = nn.Conv2D(planes, 1, stride, in_channels=inplanes, use_bias=False)
            self.skipbn = norm(planes)
        self.rep = nn.HybridSequential()
        for i, (channels, strides, dilation) in enumerate(rows):
            if i > 0 or start_with_relu:
                self.rep.add(nn.Activation("relu"))
            self.rep.add(SeparableConv2d(inplanes, channels, strides, dilation, norm), norm(channels))
            inplanes = channels

    def hybrid_forward(self, F, x):
        return self.rep(x) + (x if self.skip is None else self.skipbn(self.skip(x)))


class _Xception(HybridBlock):
    """Input (batch, 3, 299, 299), output (batch, classes).

    output_stride: 32, 16 or 8, by dilation of the last blocks.
    """

    def __init__(self, entry, classes=1000, output_stride=32, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs):
        super().__init__(**kwargs)
        if output_stride not in OUTPUT_STRIDES:
            raise ValueError(f"output_stride is one of {', '.join(map(str, OUTPUT_STRIDES))}, got {output_stride!r}")
        stride3, stride20, middle, dilation20, last = OUTPUT_STRIDES[output_stride]

        def norm(channels):
            return norm_layer(in_channels=channels, **(norm_kwargs or {}))

        with self.name_scope():
            self.conv1 = nn.Conv2D(32, 3, 2, 1, in_channels=3, use_bias=False)
            self.bn1 = norm(32)
            self.relu = nn.Activation("relu")
            self.conv2 = nn.Conv2D(64, 3, 1, 1, in_channels=32, use_bias=False)
            self.bn2 = norm(64)
            self.block1 = _strided(64, 128, 2, norm)
            inplanes, blocks = 128, []
            for channels, stride in entry:
                blocks.append(_strided(inplanes, channels, stride, norm))
                inplanes = channels
            self.block2 = blocks[0] if len(blocks) == 1 else nn.HybridSequential()
            if len(blocks) > 1:
                self.block2.add(*blocks)
            self.block3 = XceptionBlock(inplanes, [(728, 1, 1), (728, 1, 1), (728, stride3, 1)], norm)
            self.midflow = nn.HybridSequential()
            for _ in range(MIDDLE):
                self.midflow.add(XceptionBlock(728, [(728, 1, middle)] * 3, norm))
            rows = [(728, 1, dilation20), (1024, 1, dilation20), (1024, stride20, dilation20 if stride20 == 1 else 1)]
            self.block20 = XceptionBlock(728, rows, norm)
            self.conv3, self.bn3 = SeparableConv2d(1024, 1536, 1, last, norm), norm(1536)
            self.conv4, self.bn4 = SeparableConv2d(1536, 1536, 1, last, norm), norm(1536)
            self.conv5, self.bn5 = SeparableConv2d(1536, 2048, 1, last, norm), norm(2048)
            self.avgpool = nn.GlobalAvgPool2D()
            self.flat = nn.Flatten()
            self.fc = nn.Dense(classes, in_units=2048)

    def hybrid_forward(self, F, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        x = self.block3(self.block2(self.relu(self.block1(x))))
        x = self.relu(self.block20(self.midflow(x)))
        x = self.relu(self.bn3(self.conv3(x)))
        x = self.relu(self.bn4(self.conv4(x)))
        x = self.relu(self.bn5(self.conv5(x)))
        return self.fc(self.flat(self.avgpool(x)))


class Xception65(_Xception):
    """Input (batch, 3, 299, 299), output (batch, classes).

    output_stride: 32, 16 or 8, by dilation of the last blocks.

    >>> net = gluoncv.model_zoo.Xception65(classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 299, 299))[1]
    [(1, 10)]
    """

    def __init__(self, **kwargs):
        super().__init__(ENTRIES[65], **kwargs)


class Xception71(_Xception):
    """Input (batch, 3, 299, 299), output (batch, classes).

    output_stride: 32, 16 or 8, by dilation of the last blocks.

    >>> net = gluoncv.model_zoo.get_model("xception71")
    >>> isinstance(net, gluoncv.model_zoo.Xception71)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 299, 299))[1]
    [(1, 1000)]
    """

    def __init__(self, **kwargs):
        super().__init__(ENTRIES[71], **kwargs)


def _strided(inplanes, planes, stride, norm):
    """A block of the entry: the third convolution is there for its stride."""
    rows = [(planes, 1, 1)] * 2 + ([(planes, stride, 1)] if stride > 1 else [])
    return XceptionBlock(inplanes, rows, norm, start_with_relu=False)


xception = model("xception", Xception65)
xception71 = model("xception71", Xception71)
