"""GoogLeNet (Szegedy et al., 2015) with normalisation (Ioffe and Szegedy, 2015)."""

from functools import partial

from gluon import nn
from gluon.block import HybridBlock
from gluon.contrib.nn import HybridConcurrent
from gluoncv.model_zoo.model_zoo import model
from gluoncv.nn import conv_norm_act, sequence

# Of each module: channels of the branch of one 1x1 convolution, of the 1x1 and the 3x3 one of the next two branches,
# and of the 1x1 one after pooling.
MODULES = {
    "3a": (64, (96, 128), (16, 32), 32),
    "3b": (128, (128, 192), (32, 96), 64),
    "4a": (192, (96, 208), (16, 48), 64),
    "4b": (160, (112, 224), (24, 64), 64),
    "4c": (128, (128, 256), (24, 64), 64),
    "4d": (112, (144, 288), (32, 64), 64),
    "4e": (256, (160, 320), (32, 128), 128),
    "5a": (256, (160, 320), (32, 128), 128),
    "5b": (384, (192, 384), (48, 128), 128),
}
FEATURES = 1024
# modules whose outputs the two auxiliary classifiers see
AUXILIARY = {"inception4a": "aux1", "inception4d": "aux2"}
# what gives (batch, 1024, height / 32, width / 32) of (batch, 3, height, width)
TRUNK = (
    "conv1", "maxpool1", "conv2", "conv3", "maxpool2", "inception3a", "inception3b", "maxpool3",
    *(f"inception4{letter}" for letter in "abcde"), "maxpool4", "inception5a", "inception5b",
)  # fmt: skip


class GoogLeNet(HybridBlock):
    """Input (batch, 3, 224, 224), output (batch, classes);
    with `aux_logits` that and those of the two auxiliary classifiers.

    dropout_ratio: share dropped before the last layer. partial_bn: all normalisation but the first uses the running
    statistics.

    >>> net = gluoncv.model_zoo.get_model("googlenet")
    >>> isinstance(net, gluoncv.model_zoo.GoogLeNet)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    def __init__(
        self, classes=1000, norm_layer=nn.BatchNorm, dropout_ratio=0.4, aux_logits=False, norm_kwargs=None,
        partial_bn=False, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        self.aux_logits = aux_logits
        norm = partial(norm_layer, **{"epsilon": 0.001, **(norm_kwargs or {})})
        with self.name_scope():
            self.conv1 = sequence(*conv_norm_act(norm, 64, 7, 2))
            self.maxpool1 = nn.MaxPool2D(3, 2, ceil_mode=True)
            if partial_bn:
                norm = partial(norm, use_global_stats=True)
            self.conv2 = sequence(*conv_norm_act(norm, 64))
            self.conv3 = sequence(*conv_norm_act(norm, 192, 3))
            self.maxpool2 = nn.MaxPool2D(3, 2, ceil_mode=True)
            for name, row in MODULES.items():
                setattr(self, f"inception{name}", inception_module(name, row, norm))
            self.maxpool3 = nn.MaxPool2D(3, 2, ceil_mode=True)
            self.maxpool4 = nn.MaxPool2D(2, 2)
            if aux_logits:
                for name in AUXILIARY.values():
                    setattr(self, name, _auxiliary(classes, norm))
            self.avgpool = nn.AvgPool2D(pool_size=7)
            self.dropout = nn.Dropout(dropout_ratio)
            self.output = nn.Dense(classes, in_units=FEATURES)
            self.head = sequence(self.avgpool, self.dropout, self.output)

    def hybrid_forward(self, F, x):
        seen = {}
        for part in TRUNK:
            x = getattr(self, part)(x)
            if part in AUXILIARY:
                seen[part] = x
        x = self.head(x)
        if not self.aux_logits:
            return x
        return x, self.aux2(seen["inception4d"]), self.aux1(seen["inception4a"])


def inception_module(name, row, norm, dimensions=2):
    """A module of four branches, for pictures, or for videos if `dimensions` is 3; row: one of `MODULES`."""

    def conv(channels, kernel):
        return sequence(*conv_norm_act(norm, channels, (kernel,) * dimensions))

    first, second, third, pooled = row
    pool = nn.MaxPool2D if dimensions == 2 else nn.MaxPool3D
    module = HybridConcurrent(axis=1, prefix=f"Mixed_{name}_")
    with module.name_scope():
        module.add(sequence(conv(first, 1)))
        for narrow, wide in (second, third):
            module.add(sequence(conv(narrow, 1), conv(wide, 3)))
        module.add(sequence(pool(3, 1, 1), conv(pooled, 1)))
    return module


def _auxiliary(classes, norm):
    return sequence(
        nn.AvgPool2D(5, 3), sequence(*conv_norm_act(norm, 128)), nn.Flatten(),
        nn.Dense(1024, in_units=2048), nn.Activation("relu"), nn.Dropout(0.7), nn.Dense(classes, in_units=1024),
    )  # fmt: skip


googlenet = model("googlenet", GoogLeNet)
