"""Inception v3 (Szegedy et al., 2016)."""

from functools import partial

from gluon import nn
from gluon.contrib.nn import HybridConcurrent
from gluon.model_zoo.vision.registry import Classifier, model

# A convolution is (channels, kernel, strides, padding). A branch is a list of convolutions and pooling names; a module
# is a list of branches.
AVERAGE, MAXIMUM, STEM_MAXIMUM = "average", "maximum", "maximum in the stem"


def _same(channels, kernel):
    """A convolution that keeps the size."""
    padding = tuple(k // 2 for k in kernel) if isinstance(kernel, tuple) else kernel // 2
    return channels, kernel, 1, padding


def _module_a(pooled):
    return [
        [_same(64, 1)],
        [_same(48, 1), _same(64, 5)],
        [_same(64, 1), _same(96, 3), _same(96, 3)],
        [AVERAGE, _same(pooled, 1)],
    ]


def _module_c(narrow):
    tall, wide = (7, 1), (1, 7)
    return [
        [_same(192, 1)],
        [_same(narrow, 1), _same(narrow, wide), _same(192, tall)],
        [_same(narrow, 1), _same(narrow, tall), _same(narrow, wide), _same(narrow, tall), _same(192, wide)],
        [AVERAGE, _same(192, 1)],
    ]


MODULE_B = [[(384, 3, 2, 0)], [_same(64, 1), _same(96, 3), (96, 3, 2, 0)], [MAXIMUM]]
MODULE_D = [
    [_same(192, 1), (320, 3, 2, 0)],
    [_same(192, 1), _same(192, (1, 7)), _same(192, (7, 1)), (192, 3, 2, 0)],
    [MAXIMUM],
]
SPLIT = ([_same(384, (1, 3))], [_same(384, (3, 1))])

STEM = [(32, 3, 2, 0), (32, 3, 1, 0), (64, 3, 1, 1), STEM_MAXIMUM, (80, 1, 1, 0), (192, 3, 1, 0), STEM_MAXIMUM]
MODULES = {
    "A1_": _module_a(32),
    "A2_": _module_a(64),
    "A3_": _module_a(64),
    "B_": MODULE_B,
    "C1_": _module_c(128),
    "C2_": _module_c(160),
    "C3_": _module_c(160),
    "C4_": _module_c(192),
    "D_": MODULE_D,
}


class Inception3(Classifier):
    """Input (batch, 3, 299, 299), output (batch, classes).

    partial_bn: all normalisation but the first uses the running statistics.

    >>> net = gluon.model_zoo.vision.Inception3(classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 299, 299))[1]
    [(1, 10)]
    """

    def __init__(self, classes=1000, norm_layer=nn.BatchNorm, norm_kwargs=None, partial_bn=False, **kwargs):
        super().__init__(**kwargs)
        norm = partial(norm_layer, **{"epsilon": 0.001, **(norm_kwargs or {})})
        first, norm = norm, partial(norm, use_global_stats=True) if partial_bn else norm
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(_layer(STEM[0], first), *inception_features(lambda row: _layer(row, norm)))
            self.features.add(nn.AvgPool2D(pool_size=8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


def inception_features(layer):
    """All blocks between the first convolution and the pooling at the end.

    `layer(row)` makes one of a convolution or a pooling.
    """
    blocks = [layer(row) for row in STEM[1:]]
    for prefix, branches in MODULES.items():
        module = HybridConcurrent(axis=1, prefix=prefix)
        with module.name_scope():
            module.add(*[_branch(rows, layer) for rows in branches])
        blocks.append(module)
    return [*blocks, *(_module_e(prefix, layer) for prefix in ("E1_", "E2_"))]


def _module_e(prefix, layer):
    module = HybridConcurrent(axis=1, prefix=prefix)
    with module.name_scope():
        module.add(_branch([_same(320, 1)], layer))
        for rows in ([_same(384, 1)], [_same(448, 1), _same(384, 3)]):
            split = HybridConcurrent(axis=1, prefix="")
            branch = nn.HybridSequential(prefix="")
            branch.add(_branch(rows, layer))
            split.add(*[_branch(part, layer) for part in SPLIT])
            branch.add(split)
            module.add(branch)
        module.add(_branch([AVERAGE, _same(192, 1)], layer))
    return module


def _branch(rows, layer):
    branch = nn.HybridSequential(prefix="")
    branch.add(*[layer(row) for row in rows])
    return branch


def _layer(row, norm):
    if row == AVERAGE:
        return nn.AvgPool2D(pool_size=3, strides=1, padding=1)
    if row in (MAXIMUM, STEM_MAXIMUM):
        return nn.MaxPool2D(pool_size=3, strides=2)
    layer = nn.HybridSequential(prefix="")
    layer.add(nn.Conv2D(*row, use_bias=False), norm(), nn.Activation("relu"))
    return layer


inception_v3 = model("inceptionv3", Inception3)
