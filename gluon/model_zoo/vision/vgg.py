"""VGG (Simonyan and Zisserman, 2015)."""

from core.initializer import Xavier
from gluon import nn
from gluon.model_zoo.vision.registry import MODELS, Classifier, model

FILTERS = (64, 128, 256, 512, 512)
# number of layers -> (convolutions of each size of the image, their channels)
vgg_spec = {
    11: ((1, 1, 2, 2, 2), FILTERS),
    13: ((2, 2, 2, 2, 2), FILTERS),
    16: ((2, 2, 3, 3, 3), FILTERS),
    19: ((2, 2, 4, 4, 4), FILTERS),
}


class VGG(Classifier):
    """Input (batch, 3, 224, 224), output (batch, classes).

    layers, filters: convolutions of each size of the image, and their channels. batch_norm: whether each one is
    followed by `norm_layer`.

    >>> net = gluon.model_zoo.vision.VGG([1, 1], [8, 16], classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 32, 32))[1]
    [(1, 10)]
    """

    def __init__(
        self, layers, filters, classes=1000, batch_norm=False, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs
    ):
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise AssertionError(f"layers and filters differ in length: {layers}, {filters}")
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            for count, channels in zip(layers, filters):
                for _ in range(count):
                    init = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
                    self.features.add(nn.Conv2D(channels, kernel_size=3, padding=1, weight_initializer=init))
                    if batch_norm:
                        self.features.add(norm_layer(**(norm_kwargs or {})))
                    self.features.add(nn.Activation("relu"))
                self.features.add(nn.MaxPool2D(strides=2))
            for _ in range(2):
                self.features.add(nn.Dense(4096, activation="relu", weight_initializer="normal"), nn.Dropout(0.5))
            self.output = nn.Dense(classes, weight_initializer="normal")


def get_vgg(num_layers, pretrained=False, ctx=None, root=None, **kwargs):
    """VGG with 11, 13, 16 or 19 layers.

    >>> net = gluon.model_zoo.vision.get_vgg(11, classes=10)
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 10)]
    """
    name = f"vgg{num_layers}{'_bn' if kwargs.pop('batch_norm', False) else ''}"
    return MODELS[name](pretrained, ctx, root, **kwargs)


def _vgg(layers, batch_norm=False):
    name = f"vgg{layers}{'_bn' if batch_norm else ''}"
    return model(name, lambda **kw: VGG(*vgg_spec[layers], **{"batch_norm": batch_norm, **kw}))


vgg11, vgg13, vgg16, vgg19 = (_vgg(layers) for layers in vgg_spec)
vgg11_bn, vgg13_bn, vgg16_bn, vgg19_bn = (_vgg(layers, batch_norm=True) for layers in vgg_spec)
