"""Inception networks inflated to videos (Carreira and Zisserman, 2017)."""

from functools import partial

from gluon import nn
from gluon.model_zoo.vision.inception import AVERAGE, MAXIMUM, STEM, STEM_MAXIMUM, inception_features
from gluoncv.model_zoo.action_recognition.recognizer import Recognizer, adopt, enter, frozen_statistics, scores
from gluoncv.model_zoo.googlenet import MODULES, TRUNK, inception_module
from gluoncv.model_zoo.model_zoo import get_model
from gluoncv.nn import conv_norm_act, sequence

# (kernel, strides, padding) of the pooling before the module, or the end, of that name
POOLS_V1 = {"3a": ((1, 3, 3), (1, 2, 2), (0, 1, 1)), "4a": (3, 2, 1), "5a": (2, 2, 0)}


class _I3D(Recognizer):
    """`features` of a video, their means over space and time, and a `head`."""

    base = None

    def __init__(
        self, feat_dim, nclass, pretrained_base=True, num_segments=1, num_crop=1, feat_ext=False, dropout_ratio=0.5,
        init_std=0.01, partial_bn=False, norm_layer=nn.BatchNorm, norm_kwargs=None, root=None, ctx=None,
    ):  # fmt: skip
        super().__init__(feat_dim, num_segments, num_crop, feat_ext)
        norm = partial(norm_layer, **{"epsilon": 0.001, **(norm_kwargs or {})})
        with self.name_scope():
            blocks = self._features(norm, frozen_statistics(norm, partial_bn))
            self.features = sequence(*blocks, nn.GlobalAvgPool3D())
            self.head = sequence(nn.Dropout(dropout_ratio))
            self.output = scores(nclass, init_std, feat_dim)
            self.head.add(self.output)
        self.initialize(ctx=ctx)
        if pretrained_base:
            source = get_model(self.base, pretrained=True, root=root, ctx=ctx)
            adopt(self, source, ctx, self._renamed, skip=lambda name: name.startswith(("output.", "head.")))

    def hybrid_forward(self, F, x):
        x = self._mean(F, self.features(x))
        return x if self.feat_ext else self.head(x)


class I3D_InceptionV1(_I3D):
    """Input (batch * segments * crops, 3, 32, 224, 224), output (batch, nclass).

    pretrained_base: begins with the weights of GoogLeNet. partial_bn: all normalisation but the first uses the running
    statistics.

    >>> net = gluoncv.model_zoo.get_model("i3d_inceptionv1_kinetics400", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.I3D_InceptionV1)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 32, 224, 224))[1]
    [(1, 400)]
    """

    base = "googlenet"

    def __init__(self, nclass=1000, **kwargs):
        super().__init__(1024, nclass, **kwargs)

    def _features(self, first, norm):
        blocks = [sequence(*conv_norm_act(first, 64, (7, 7, 7), 2)), nn.MaxPool3D(*POOLS_V1["3a"])]
        blocks += [sequence(*conv_norm_act(norm, 64, (1, 1, 1))), sequence(*conv_norm_act(norm, 192, (3, 3, 3)))]
        for name, row in MODULES.items():
            if name in POOLS_V1:
                blocks.append(nn.MaxPool3D(*POOLS_V1[name]))
            blocks.append(inception_module(name, row, norm, dimensions=3))
        return blocks

    def _renamed(self, name):
        _, index, rest = name.split(".", 2)
        return f"{TRUNK[int(index)]}.{rest}"


class I3D_InceptionV3(_I3D):
    """Input (batch * segments * crops, 3, 32, 299, 299), output (batch, nclass).

    Arguments as those of `I3D_InceptionV1`.

    >>> net = gluoncv.model_zoo.get_model("i3d_inceptionv3_kinetics400", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.I3D_InceptionV3)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 32, 299, 299))[1]
    [(1, 400)]
    """

    base = "inceptionv3"

    def __init__(self, nclass=1000, **kwargs):
        super().__init__(2048, nclass, **kwargs)

    def _features(self, first, norm):
        return [_inflated(STEM[0], first), *inception_features(lambda row: _inflated(row, norm))]

    def _renamed(self, name):
        return name


def _inflated(row, norm):
    """A layer of Inception v3 for videos: as long in time as it is large in space,
    and padded in time such that it fits.
    """
    if row == AVERAGE:
        return nn.AvgPool3D(3, 1, 1)
    if row in (MAXIMUM, STEM_MAXIMUM):
        return nn.MaxPool3D(3, (1, 2, 2) if row == STEM_MAXIMUM else 2, (1, 0, 0))
    channels, kernel, stride, padding = row
    height, width = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    above, beside = padding if isinstance(padding, tuple) else (padding, padding)
    duration = max(height, width)
    layers = conv_norm_act(norm, channels, (duration, height, width), stride, (duration // 2, above, beside))
    return sequence(*layers)


i3d_inceptionv1_kinetics400 = enter("i3d_inceptionv1", "kinetics400", I3D_InceptionV1)
i3d_inceptionv3_kinetics400 = enter("i3d_inceptionv3", "kinetics400", I3D_InceptionV3)
