"""Wide residual networks with activation before convolution (Wu et al., 2019; Rota Bulo et al., 2018)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.nn import sequence

# channels of the convolutions of a block, and share dropped in it, of modules 2 to 7
MODULES = (
    ((128, 128), 0), ((256, 256), 0), ((512, 512), 0), ((512, 1024), 0), ((512, 1024, 2048), 0.3),
    ((1024, 2048, 4096), 0.5),
)  # fmt: skip
# modules whose first block strides, and dilation of each module, of networks that do not dilate and that do
PLAIN = ((3, 4, 5), (1, 1, 1, 1, 1, 1))
DILATED = ((3,), (1, 1, 1, 2, 4, 4))


class IdentityResidualBlock(HybridBlock):
    """Two 3x3 convolutions, or a 3x3 one between two 1x1 ones, each after normalisation and relu.

    channels: of each convolution. dropout: share dropped before the last one. A shortcut that convolves starts after
    the first relu.
    """

    def __init__(self, in_channels, channels, strides, dilation, norm, dropout=0):
        super().__init__()
        kernels = (3, 3) if len(channels) == 2 else (1, 3, 1)
        self.bn1 = sequence(norm(in_channels=in_channels), nn.Activation("relu"))
        self.convs, before = sequence(), in_channels
        for i, (width, kernel) in enumerate(zip(channels, kernels, strict=True)):
            if i:
                self.convs.add(sequence(norm(in_channels=before), nn.Activation("relu")))
                if dropout and i == len(channels) - 1:
                    self.convs.add(nn.Dropout(dropout))
            rate, padding = (dilation, dilation) if kernel == 3 else (1, 0)
            stride = strides if i == 0 else 1
            self.convs.add(nn.Conv2D(width, kernel, stride, padding, rate, use_bias=False, in_channels=before))
            before = width
        self.proj_conv = None
        if strides != 1 or in_channels != before:
            self.proj_conv = nn.Conv2D(before, 1, strides, use_bias=False, in_channels=in_channels)

    def hybrid_forward(self, F, x):
        active = self.bn1(x)
        return self.convs(active) + (x if self.proj_conv is None else self.proj_conv(active))


class WiderResNetA2(HybridBlock):
    """Input (batch, 3, height, width), output (batch, classes), or features when `classes` is 0.

    structure: blocks of each of six modules. dilation: features an eighth of the size, not a 32nd. ValueError for a
    structure of another length.
    """

    def __init__(self, structure, classes=0, dilation=False, norm_layer=nn.BatchNorm, norm_kwargs=None):
        super().__init__()
        if len(structure) != len(MODULES):
            raise ValueError(f"structure is the number of blocks of {len(MODULES)} modules, got {structure}")
        norm = partial(norm_layer, **(norm_kwargs or {}))
        striding, rates = DILATED if dilation else PLAIN
        before = 64
        self.mod1 = sequence(nn.Conv2D(before, 3, 1, 1, use_bias=False, in_channels=3), prefix="mod1")
        for i, (count, (channels, dropout), rate) in enumerate(zip(structure, MODULES, rates, strict=True), 2):
            module = sequence(prefix=f"mod{i}")
            for k in range(count):
                strides = 2 if k == 0 and i - 1 in striding else 1
                module.add(IdentityResidualBlock(before, channels, strides, rate, norm, dropout))
                before = channels[-1]
            if i < 4:
                setattr(self, f"pool{i}", nn.MaxPool2D(3, 2, 1))
            setattr(self, f"mod{i}", module)
        self.bn_out = sequence(norm(in_channels=before), nn.Activation("relu"))
        self.classifier = None
        if classes:
            self.classifier = sequence(nn.GlobalAvgPool2D(), nn.Dense(classes, in_units=before), prefix="classifier")

    def hybrid_forward(self, F, x):
        x = self.mod3(self.pool3(self.mod2(self.pool2(self.mod1(x)))))
        x = self.bn_out(self.mod7(self.mod6(self.mod5(self.mod4(x)))))
        return x if self.classifier is None else self.classifier(x)


wider_resnet16_a2 = partial(WiderResNetA2, (1, 1, 1, 1, 1, 1))
wider_resnet20_a2 = partial(WiderResNetA2, (1, 1, 1, 3, 1, 1))
wider_resnet38_a2 = partial(WiderResNetA2, (3, 3, 6, 3, 1, 1))
