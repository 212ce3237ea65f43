"""P3D: convolutions over space and over time, one after the other or side by side (Qiu et al., 2017)."""

from functools import partial

from core import initializer
from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.action_recognition.recognizer import Recognizer, enter, frozen_statistics, scores
from gluoncv.model_zoo.resnetv1b import LAYERS
from gluoncv.nn import scoped, sequence


class Bottleneck(HybridBlock):
    """A middle convolution between two 1x1 ones, beside a shortcut.

    design: of a video's middle convolution: "A" time after space, "B" time beside space, "C" time after space and
    beside it.
    None is for pictures. stride: of the first convolution, in space.
    """

    expansion = 4

    def __init__(self, inplanes, planes, stride, downsample, design, norm):
        super().__init__()
        self.downsample, self.design = downsample, design
        with self.name_scope():
            self.conv1 = _point(planes, inplanes, stride, design is not None)
            self.bn1 = norm(in_channels=planes)
            shared = {"in_channels": planes, "use_bias": False}
            if design is None:
                self.conv2 = nn.Conv2D(planes, 3, padding=1, **shared)
            else:
                self.conv2 = nn.Conv3D(planes, (1, 3, 3), padding=(0, 1, 1), **shared)
            self.bn2 = norm(in_channels=planes)
            if design is not None:
                self.conv_temporal = nn.Conv3D(planes, (3, 1, 1), padding=(1, 0, 0), **shared)
                self.bn_temporal = norm(in_channels=planes)
            self.conv3 = _point(4 * planes, planes, 1, design is not None)
            self.bn3 = norm(in_channels=4 * planes)
            self.relu = nn.Activation("relu")

    def hybrid_forward(self, F, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        space = self.relu(self.bn2(self.conv2(x)))
        if self.design is None:
            x = space
        else:
            x = self.relu(self.bn_temporal(self.conv_temporal(x if self.design == "B" else space)))
            x = x if self.design == "A" else space + x
        return F.Activation(self.bn3(self.conv3(x)) + shortcut, act_type="relu")


class P3D(Recognizer):
    """Input (batch * segments * crops, 3, 16, 112, 112), output (batch, nclass).

    layers: blocks of each stage; the last stage is for pictures. block_design: designs of the blocks, by turns.
    partial_bn: all normalisation but the first uses the running statistics.

    >>> net = gluoncv.model_zoo.get_model("p3d_resnet50_kinetics400", pretrained_base=False)
    >>> isinstance(net, gluoncv.model_zoo.P3D)
    True
    >>> net(sym.var("data")).infer_shape(data=(1, 3, 16, 224, 224))[1]
    [(1, 400)]
    """

    def __init__(
        self, nclass, block=Bottleneck, layers=LAYERS[50][1], block_design=("A", "B", "C"), dropout_ratio=0.5,
        num_segments=1, num_crop=1, feat_ext=False, init_std=0.001, partial_bn=False, norm_layer=nn.BatchNorm,
        norm_kwargs=None, pretrained_base=True, root=None, ctx=None,
    ):  # fmt: skip
        super().__init__(512 * block.expansion, num_segments, num_crop, feat_ext)
        norm = partial(norm_layer, **(norm_kwargs or {}))
        with self.name_scope():
            self.conv1 = nn.Conv3D(64, (1, 7, 7), (1, 2, 2), (0, 3, 3), in_channels=3, use_bias=False)
            self.bn1 = norm(in_channels=64)
            self.relu = nn.Activation("relu")
            self.pool = nn.MaxPool3D((2, 3, 3), 2, (0, 1, 1))
            self.pool2 = nn.MaxPool3D((2, 1, 1), (2, 1, 1))
            norm = frozen_statistics(norm, partial_bn)
            before, number = 64, 0
            for i, count in enumerate(layers):
                planes, name, videos = 64 << i, f"layer{i + 1}", i < len(layers) - 1
                stride, channels, stage = 2 if i > 0 else 1, planes * block.expansion, sequence(prefix=f"{name}_")
                shortcut = scoped(f"{name}_downsample_", _shortcut, channels, before, stride, videos, norm)
                with stage.name_scope():
                    for _ in range(count):
                        design = block_design[number % len(block_design)] if videos else None
                        stage.add(block(before, planes, stride, shortcut, design, norm))
                        before, number, stride, shortcut = channels, number + 1, 1, None
                setattr(self, name, stage)
            self.avgpool = nn.GlobalAvgPool2D()
            self.dropout = nn.Dropout(dropout_ratio)
            self.fc = scores(nclass, init_std, self.feat_dim)
        self.initialize(initializer.MSRAPrelu(), ctx=ctx)

    def hybrid_forward(self, F, x):
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        for stage in (self.layer1, self.layer2, self.layer3):
            x = self.pool2(stage(x))
        # By now the time is one frame long.
        x = F.squeeze(F.reshape(x, (-1, 0, 1, 0, 0)), axis=2)
        x = self._mean(F, self.avgpool(self.layer4(x)))
        return x if self.feat_ext else self.fc(self.dropout(x))


def _point(channels, before, stride, videos):
    """A 1x1 convolution of videos or pictures, that strides in space only."""
    if videos:
        return nn.Conv3D(channels, 1, (1, stride, stride), in_channels=before, use_bias=False)
    return nn.Conv2D(channels, 1, stride, in_channels=before, use_bias=False)


def _shortcut(channels, before, stride, videos, norm):
    return [_point(channels, before, stride, videos), norm(in_channels=channels)]


p3d_resnet50_kinetics400, p3d_resnet101_kinetics400 = (
    enter(f"p3d_resnet{depth}", "kinetics400", partial(P3D, layers=LAYERS[depth][1])) for depth in (50, 101)
)
