"""MobileNetV2 (Sandler et al., 2018) without the expansion by 1 of gluon's."""

from gluon.model_zoo.vision import mobilenet
from gluon.model_zoo.vision.mobilenet import MULTIPLIERS
from gluoncv.model_zoo.model_zoo import model


class LinearBottleneck(mobilenet.LinearBottleneck):
    """Expansion, unless by 1, a depthwise convolution, and a projection without activation, beside a shortcut."""

    always_expands = False


class MobileNetV2(mobilenet.MobileNetV2):
    """Input (batch, 3, 224, 224), output (batch, classes); arguments as those of gluon's.

    >>> net = gluoncv.model_zoo.get_model("mobilenetv2_1.0")
    >>> isinstance(net, gluoncv.model_zoo.MobileNetV2)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 1000)]
    """

    bottleneck = LinearBottleneck


def _mobilenet(multiplier):
    return model(f"mobilenetv2_{MULTIPLIERS[multiplier]}", lambda **kw: MobileNetV2(multiplier, **kw))


mobilenet_v2_1_0, mobilenet_v2_0_75, mobilenet_v2_0_5, mobilenet_v2_0_25 = map(_mobilenet, MULTIPLIERS)
