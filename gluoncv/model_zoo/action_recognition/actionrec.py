"""Networks for pictures on parts of a video (temporal segment networks, Wang et al., 2016)."""

from functools import partial

from gluon import nn
from gluon.model_zoo.vision import Inception3
from gluoncv.model_zoo.action_recognition.recognizer import Recognizer, adopt, enter, freeze_statistics, scores
from gluoncv.model_zoo.googlenet import FEATURES, TRUNK
from gluoncv.model_zoo.model_zoo import get_model
from gluoncv.model_zoo.resnetv1b import LAYERS

SMALL = (
    "ucf101",
    "hmdb51",
)  # data sets on which more is dropped before the last layer, whose first weights are smaller
RESNETS = {
    "sthsthv2": (18, 34, 50, 101, 152),
    "kinetics400": (18, 34, 50, 101, 152),
    "ucf101": (50,),
    "hmdb51": (50,),
    "custom": (50, 18),
}
RESNET_PARTS = ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4", "avgpool", "flat")


class ActionRecVGG16(Recognizer):
    """Input (batch * segments * crops, 3, 224, 224), output (batch, nclass).

    >>> net = gluoncv.model_zoo.get_model("vgg16_ucf101", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.ActionRecVGG16)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 101)]
    """

    def __init__(
        self, nclass, pretrained_base=True, dropout_ratio=0.5, init_std=0.001, num_segments=1, num_crop=1, root=None,
        ctx=None, **kwargs,
    ):  # fmt: skip
        super().__init__(4096, num_segments, num_crop)
        self.features = get_model("vgg16", pretrained=pretrained_base, root=root, ctx=ctx, **kwargs).features
        _add_output(self, nclass, dropout_ratio, init_std, ctx)

    def hybrid_forward(self, F, x):
        return self.output(self._mean(F, self.features(x)))


class ActionRecInceptionV3(Recognizer):
    """Input (batch * segments * crops, 3, 299, 299), output (batch, nclass); partial_bn: as that of `Inception3`.

    >>> net = gluoncv.model_zoo.get_model("inceptionv3_kinetics400", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.ActionRecInceptionV3)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 299, 299))[1]
    [(1, 400)]
    """

    def __init__(
        self, nclass, pretrained_base=True, partial_bn=True, dropout_ratio=0.5, init_std=0.001, num_segments=1,
        num_crop=1, root=None, ctx=None, **kwargs,
    ):  # fmt: skip
        super().__init__(2048, num_segments, num_crop)
        self.features = Inception3(partial_bn=partial_bn, **kwargs).features
        _add_output(self, nclass, dropout_ratio, init_std, ctx)
        if pretrained_base:
            base = get_model("inceptionv3", pretrained=True, root=root, ctx=ctx)
            adopt(self, base, ctx, skip=lambda name: name.startswith("output."))

    def hybrid_forward(self, F, x):
        return self.output(self._mean(F, self.features(x)))


class ActionRecInceptionV1(Recognizer):
    """Input (batch * segments * crops, 3, 224, 224), output (batch, nclass); partial_bn: as that of `GoogLeNet`.

    >>> net = gluoncv.model_zoo.get_model("inceptionv1_kinetics400", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.ActionRecInceptionV1)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 400)]
    """

    def __init__(
        self, nclass, pretrained_base=True, partial_bn=True, dropout_ratio=0.5, init_std=0.001, num_segments=1,
        num_crop=1, root=None, ctx=None, **kwargs,
    ):  # fmt: skip
        super().__init__(FEATURES, num_segments, num_crop)
        settings = {"partial_bn": partial_bn, **kwargs}
        body = get_model("googlenet", pretrained=pretrained_base, root=root, ctx=ctx, **settings)
        for part in TRUNK:
            setattr(self, part, getattr(body, part))
        self.avgpool = nn.AvgPool2D(pool_size=7)
        self.dropout = nn.Dropout(dropout_ratio)
        _add_output(self, nclass, dropout_ratio, init_std, ctx)

    def hybrid_forward(self, F, x):
        for part in TRUNK:
            x = getattr(self, part)(x)
        return self.output(self._mean(F, self.dropout(self.avgpool(x))))


class ActionRecResNetV1b(Recognizer):
    """Input (batch * segments * crops, 3, 224, 224), output (batch, nclass); depth: layers of the residual network.

    partial_bn: all normalisation but the first uses the running statistics.

    >>> net = gluoncv.model_zoo.get_model("resnet18_v1b_kinetics400", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.ActionRecResNetV1b)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 224, 224))[1]
    [(1, 400)]
    """

    def __init__(
        self, depth, nclass, pretrained_base=True, dropout_ratio=0.5, init_std=0.01, num_segments=1, num_crop=1,
        partial_bn=False, root=None, ctx=None, **kwargs,
    ):  # fmt: skip
        if depth not in LAYERS:
            raise ValueError(f"the depth is one of {', '.join(map(str, LAYERS))}, got {depth!r}")
        super().__init__(2048 if LAYERS[depth][0] else 512, num_segments, num_crop)
        body = get_model(f"resnet{depth}_v1b", pretrained=pretrained_base, root=root, ctx=ctx, **kwargs)
        with self.name_scope():
            for part in RESNET_PARTS:
                setattr(self, part, getattr(body, part))
            if partial_bn:
                freeze_statistics(*(getattr(self, part) for part in RESNET_PARTS if part != "bn1"))
            self.drop = nn.Dropout(dropout_ratio)
            _add_output(self, nclass, dropout_ratio, init_std, ctx)

    def hybrid_forward(self, F, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.output(self._mean(F, self.drop(self.flat(self.avgpool(x)))))


def _add_output(net, nclass, dropout_ratio, init_std, ctx):
    """Sets the share that all layers drop, and adds the last layer."""
    net.apply(lambda block: setattr(block, "_rate", dropout_ratio) if isinstance(block, nn.Dropout) else None)
    net.output = scores(nclass, init_std, net.feat_dim)
    net.output.initialize(ctx=ctx)


def _enter(network, dataset, make, dropped):
    small = dataset in SMALL
    settings = {"init_std": 0.001 if small else 0.01, "dropout_ratio": dropped if small else 0.5}
    return enter(network, dataset, partial(make, **settings), transfer=dataset == "custom")


vgg16_ucf101, vgg16_hmdb51, vgg16_kinetics400, vgg16_sthsthv2 = (
    _enter("vgg16", dataset, ActionRecVGG16, 0.9) for dataset in ("ucf101", "hmdb51", "kinetics400", "sthsthv2")
)
inceptionv1_ucf101, inceptionv1_hmdb51, inceptionv1_kinetics400, inceptionv1_sthsthv2 = (
    _enter("inceptionv1", dataset, ActionRecInceptionV1, 0.8)
    for dataset in ("ucf101", "hmdb51", "kinetics400", "sthsthv2")
)
inceptionv3_ucf101, inceptionv3_hmdb51, inceptionv3_kinetics400, inceptionv3_sthsthv2 = (
    _enter("inceptionv3", dataset, ActionRecInceptionV3, 0.8)
    for dataset in ("ucf101", "hmdb51", "kinetics400", "sthsthv2")
)
for _dataset, _depths in RESNETS.items():
    for _depth in _depths:
        _enter(f"resnet{_depth}_v1b", _dataset, partial(ActionRecResNetV1b, _depth), 0.9)
