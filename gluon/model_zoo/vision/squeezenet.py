"""SqueezeNet (Iandola et al., 2016)."""

from gluon import nn
from gluon.contrib.nn import HybridConcurrent
from gluon.model_zoo.vision.registry import MODELS, Classifier, model

# version -> (channels and kernel of the first convolution, the squeezed channels of each fire module; None is
# a pooling)
CONFIGURATIONS = {
    "1.0": ((96, 7), (None, 16, 16, 32, None, 32, 48, 48, 64, None, 64)),
    "1.1": ((64, 3), (None, 16, 16, None, 32, 32, None, 48, 48, 64, 64)),
}


class SqueezeNet(Classifier):
    """Input (batch, 3, 224, 224), output (batch, classes); version "1.0" or "1.1".

    >>> net = gluon.model_zoo.vision.SqueezeNet("1.1", classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """

    def __init__(self, version, classes=1000, **kwargs):
        super().__init__(**kwargs)
        if version not in CONFIGURATIONS:
            raise AssertionError(f"versions of SqueezeNet are {', '.join(CONFIGURATIONS)}, got {version!r}")
        (channels, kernel), modules = CONFIGURATIONS[version]
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.Conv2D(channels, kernel_size=kernel, strides=2), nn.Activation("relu"))
            for squeezed in modules:
                self.features.add(
                    nn.MaxPool2D(pool_size=3, strides=2, ceil_mode=True) if squeezed is None else _fire(squeezed)
                )
            self.features.add(nn.Dropout(0.5))
            self.output = nn.HybridSequential(prefix="")
            self.output.add(nn.Conv2D(classes, kernel_size=1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten())


def get_squeezenet(version, pretrained=False, ctx=None, root=None, **kwargs):
    """SqueezeNet of version "1.0" or "1.1"."""
    return MODELS[f"squeezenet{version}"](pretrained, ctx, root, **kwargs)


def _fire(squeezed):
    """A 1x1 convolution to few channels, then 1x1 and 3x3 convolutions to four times as many side by side."""
    module = nn.HybridSequential(prefix="")
    module.add(_convolution(squeezed, 1))
    paths = HybridConcurrent(axis=1, prefix="")
    paths.add(_convolution(4 * squeezed, 1), _convolution(4 * squeezed, 3, 1))
    module.add(paths)
    return module


def _convolution(channels, kernel, padding=0):
    part = nn.HybridSequential(prefix="")
    part.add(nn.Conv2D(channels, kernel, padding=padding), nn.Activation("relu"))
    return part


squeezenet1_0 = model("squeezenet1.0", lambda **kw: SqueezeNet("1.0", **kw))
squeezenet1_1 = model("squeezenet1.1", lambda **kw: SqueezeNet("1.1", **kw))
