"""Densely connected networks (Huang et al., 2017)."""

from functools import partial

from gluon import nn
from gluon.contrib.nn import HybridConcurrent, Identity
from gluon.model_zoo.vision.registry import MODELS, Classifier, model

# number of layers -> (channels of the stem, growth, layers of each block)
densenet_spec = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}


class DenseNet(Classifier):
    """Input (batch, 3, 224, 224), output (batch, classes).

    Each layer adds `growth_rate` channels, computed from `bn_size` times as many; transitions between the blocks halve
    the channels.

    >>> net = gluon.model_zoo.vision.DenseNet(16, 8, [2, 2], classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """

    def __init__(
        self, num_init_features, growth_rate, block_config, bn_size=4, dropout=0, classes=1000,
        norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs,
    ):  # fmt: skip
        super().__init__(**kwargs)
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                nn.Conv2D(num_init_features, kernel_size=7, strides=2, padding=3, use_bias=False),
                norm(),
                nn.Activation("relu"),
                nn.MaxPool2D(pool_size=3, strides=2, padding=1),
            )
            channels = num_init_features
            for i, layers in enumerate(block_config):
                block = nn.HybridSequential(prefix=f"stage{i + 1}_")
                with block.name_scope():
                    for _ in range(layers):
                        block.add(_layer(growth_rate, bn_size, dropout, norm))
                self.features.add(block)
                channels += layers * growth_rate
                if i != len(block_config) - 1:
                    channels //= 2
                    self.features.add(_transition(channels, norm))
            self.features.add(norm(), nn.Activation("relu"), nn.AvgPool2D(pool_size=7), nn.Flatten())
            self.output = nn.Dense(classes)


def get_densenet(num_layers, pretrained=False, ctx=None, root=None, **kwargs):
    """DenseNet with 121, 161, 169 or 201 layers."""
    return MODELS[f"densenet{num_layers}"](pretrained, ctx, root, **kwargs)


def _layer(growth_rate, bn_size, dropout, norm):
    new = nn.HybridSequential(prefix="")
    new.add(norm(), nn.Activation("relu"))
    new.add(nn.Conv2D(bn_size * growth_rate, kernel_size=1, use_bias=False))
    new.add(norm(), nn.Activation("relu"))
    new.add(nn.Conv2D(growth_rate, kernel_size=3, padding=1, use_bias=False))
    if dropout:
        new.add(nn.Dropout(dropout))
    layer = HybridConcurrent(axis=1, prefix="")
    layer.add(Identity(), new)
    return layer


def _transition(channels, norm):
    part = nn.HybridSequential(prefix="")
    part.add(norm(), nn.Activation("relu"), nn.Conv2D(channels, kernel_size=1, use_bias=False))
    part.add(nn.AvgPool2D(pool_size=2, strides=2))
    return part


def _densenet(layers):
    return model(f"densenet{layers}", lambda **kw: DenseNet(*densenet_spec[layers], **kw))


densenet121, densenet161, densenet169, densenet201 = (_densenet(layers) for layers in densenet_spec)
