"""R(2+1)D: each convolution is one over space and one over time (Tran et al., 2018)."""

from functools import partial

from core import initializer
from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.action_recognition.recognizer import Recognizer, enter, frozen_statistics, scores
from gluoncv.model_zoo.resnetv1b import LAYERS
from gluoncv.nn import conv_norm_act, scoped, sequence


class Conv2Plus1D(HybridBlock):
    """A convolution over space to `midplanes` channels, and one over time to `planes`."""

    def __init__(self, inplanes, planes, midplanes, stride, norm):
        super().__init__()
        with self.name_scope():
            self.conv1, self.bn1, self.relu = conv_norm_act(
                norm, midplanes, (1, 3, 3), (1, stride, stride), in_channels=inplanes
            )
            time = {"padding": (1, 0, 0), "in_channels": midplanes, "use_bias": False}
            self.conv2 = nn.Conv3D(planes, (3, 1, 1), (stride, 1, 1), **time)

    def hybrid_forward(self, F, x):
        return self.conv2(self.relu(self.bn1(self.conv1(x))))


class _Block(HybridBlock):
    """relu(convolutions(x) + shortcut(x)); children conv1, bn1, conv2, bn2 and so on.

    rows: what makes a convolution, and its channels.
    """

    def __init__(self, rows, downsample, norm):
        super().__init__()
        self.downsample, self._depth = downsample, len(rows)
        with self.name_scope():
            self.relu = nn.Activation("relu")
            for i, (make, channels) in enumerate(rows, 1):
                setattr(self, f"conv{i}", make())
                setattr(self, f"bn{i}", norm(in_channels=channels))

    def hybrid_forward(self, F, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        for i in range(1, self._depth + 1):
            x = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x))
            x = F.Activation(x + shortcut, act_type="relu") if i == self._depth else self.relu(x)
        return x


class BasicBlock(_Block):
    """Two convolutions of three in space and time, each taken apart."""

    expansion = 1

    def __init__(self, inplanes, planes, stride, downsample, norm):
        middle = _middle(inplanes, planes)
        first = partial(Conv2Plus1D, inplanes, planes, middle, stride, norm)
        second = partial(Conv2Plus1D, planes, planes, middle, 1, norm)
        super().__init__([(first, planes), (second, planes)], downsample, norm)


class Bottleneck(_Block):
    """One such convolution between two of one."""

    expansion = 4

    def __init__(self, inplanes, planes, stride, downsample, norm):
        first = partial(nn.Conv3D, planes, 1, in_channels=inplanes, use_bias=False)
        middle = partial(Conv2Plus1D, planes, planes, _middle(inplanes, planes), stride, norm)
        last = partial(nn.Conv3D, 4 * planes, 1, in_channels=planes, use_bias=False)
        super().__init__([(first, planes), (middle, planes), (last, 4 * planes)], downsample, norm)


class R2Plus1D(Recognizer):
    """Input (batch * segments * crops, 3, 16, 112, 112), output (batch, nclass).

    layers: blocks of each stage. partial_bn: all normalisation but that of the stem uses the running statistics.

    >>> net = gluoncv.model_zoo.get_model("r2plus1d_resnet18_kinetics400", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.R2Plus1D)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 16, 112, 112))[1]
    [(1, 400)]
    """

    def __init__(
        self, nclass, block, layers, dropout_ratio=0.5, num_segments=1, num_crop=1, feat_ext=False, init_std=0.001,
        partial_bn=False, norm_layer=nn.BatchNorm, norm_kwargs=None, pretrained_base=True, root=None, ctx=None,
    ):  # fmt: skip
        super().__init__(512 * block.expansion, num_segments, num_crop, feat_ext)
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.conv1, self.bn1, self.relu = conv_norm_act(norm, 45, (1, 7, 7), (1, 2, 2), in_channels=3)
            self.conv2, self.bn2 = conv_norm_act(norm, 64, (3, 1, 1), act=None, in_channels=45)
            norm, before = frozen_statistics(norm, partial_bn), 64
            for i, count in enumerate(layers):
                planes, stride, shortcut, name = 64 << i, 2 if i > 0 else 1, None, f"layer{i + 1}"
                channels, stage = planes * block.expansion, sequence(prefix=f"{name}_")
                if stride > 1 or before != channels:
                    shortcut = scoped(f"{name}_downsample_", conv_norm_act, norm, channels, (1, 1, 1), stride, act=None)
                with stage.name_scope():
                    for _ in range(count):
                        stage.add(block(before, planes, stride, shortcut, norm))
                        before, stride, shortcut = channels, 1, None
                setattr(self, name, stage)
            self.avgpool = nn.GlobalAvgPool3D()
            self.dropout = nn.Dropout(dropout_ratio)
            self.fc = scores(nclass, init_std, self.feat_dim)
        self.initialize(initializer.MSRAPrelu(), ctx=ctx)

    def hybrid_forward(self, F, x):
        x = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = self._mean(F, self.avgpool(x))
        return x if self.feat_ext else self.fc(self.dropout(x))


def _middle(inplanes, planes):
    """Channels with which both convolutions together have as many weights as one of 3x3x3."""
    return inplanes * planes * 27 // (inplanes * 9 + 3 * planes)


def _r2plus1d(depth):
    bottleneck, counts = LAYERS[depth]
    block = Bottleneck if bottleneck else BasicBlock
    return enter(f"r2plus1d_resnet{depth}", "kinetics400", partial(R2Plus1D, block=block, layers=counts))


(
    r2plus1d_resnet18_kinetics400, r2plus1d_resnet34_kinetics400, r2plus1d_resnet50_kinetics400,
    r2plus1d_resnet101_kinetics400, r2plus1d_resnet152_kinetics400,
) = (_r2plus1d(depth) for depth in LAYERS)  # fmt: skip
