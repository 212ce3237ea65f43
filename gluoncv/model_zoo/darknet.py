"""Darknet, the body of YOLOv3 (Redmon and Farhadi, 2018)."""

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import model

# blocks of each stage, and channels of the stem and of each stage
LAYERS, CHANNELS = (1, 2, 8, 8, 4), (32, 64, 128, 256, 512, 1024)


class DarknetBasicBlockV3(HybridBlock):
    """x + two convolutions of it: 1x1 to `channel`, 3x3 to twice as many.

    >>> block = gluoncv.model_zoo.DarknetBasicBlockV3(8)
    >>> block.initialize()
    >>> block(nd.ones((1, 16, 8, 8))).shape
    (1, 16, 8, 8)
    """

    def __init__(self, channel, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs):
        super().__init__(**kwargs)
        self.body = nn.HybridSequential(prefix="")
        self.body.add(convolution(channel, 1, 1, norm_layer, norm_kwargs))
        self.body.add(convolution(2 * channel, 3, 1, norm_layer, norm_kwargs))

    def hybrid_forward(self, F, x):
        return x + self.body(x)


class DarknetV3(HybridBlock):
    """Input (batch, 3, 224, 224), output (batch, classes); layers: blocks of each stage.

    >>> net = gluoncv.model_zoo.get_model("darknet53")
    >>> isinstance(net, gluoncv.model_zoo.DarknetV3)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    def __init__(self, layers, channels, classes=1000, norm_layer=nn.BatchNorm, norm_kwargs=None, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential()
            self.features.add(convolution(channels[0], 3, 1, norm_layer, norm_kwargs))
            for count, channel in zip(layers, channels[1:], strict=True):
                self.features.add(convolution(channel, 3, 2, norm_layer, norm_kwargs))
                for _ in range(count):
                    self.features.add(DarknetBasicBlockV3(channel // 2, norm_layer, norm_kwargs))
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F, x):
        return self.output(F.Pooling(self.features(x), kernel=(7, 7), global_pool=True, pool_type="avg"))


def convolution(channels, kernel, strides, norm_layer=nn.BatchNorm, norm_kwargs=None):
    """Convolution that keeps the size, but for strides; normalisation; leaky relu."""
    cell = nn.HybridSequential(prefix="")
    cell.add(nn.Conv2D(channels, kernel, strides, kernel // 2, use_bias=False))
    cell.add(norm_layer(**{"epsilon": 1e-5, "momentum": 0.9, **(norm_kwargs or {})}), nn.LeakyReLU(0.1))
    return cell


darknet53 = model("darknet53", lambda **kw: DarknetV3(LAYERS, CHANNELS, **kw))
