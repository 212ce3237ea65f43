"""The body of SSD on a residual network whose third stage does not stride."""

from core.initializer import Xavier
from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo.model_zoo import get_model


class ResNetV1bSSD(HybridBlock):
    """Input (B, 3, 300, 300), output: maps of falling size.

    network: name of a ResNet v1b with basic blocks. add_filters: channels of each further map, whose first convolution
    has `reduce_ratio` times as many, but `min_depth` at least; use_bn: they are normalised.
    """

    def __init__(
        self, network, add_filters, norm_layer=nn.BatchNorm, norm_kwargs=None, use_bn=False, reduce_ratio=1.0,
        min_depth=128, **kwargs,
    ):  # fmt: skip
        super().__init__()
        if not network.endswith("v1b"):
            raise AssertionError(f"the body is a ResNet v1b, got {network!r}")
        base = get_model(network, **kwargs)
        init = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)

        def add_conv(stage, channels, kernel, strides=1, padding=0):
            stage.add(
                nn.Conv2D(channels, kernel, strides, padding, use_bias=not use_bn, weight_initializer=init),
                *([norm_layer(**(norm_kwargs or {}))] if use_bn else []),
                nn.Activation("relu"),
            )

        with self.name_scope():
            self.stage1 = nn.HybridSequential("stage1")
            self.stage1.add(base.conv1, base.bn1, base.relu, base.maxpool, base.layer1, base.layer2)
            self.stage2 = nn.HybridSequential("stage2")
            self.stage2.add(base.layer3, base.layer4)
            for conv in (base.layer3[0].conv1, base.layer3[0].downsample[0]):
                conv._kwargs["stride"] = (1, 1)
            self.more_stages = nn.HybridSequential("more_stages")
            for i, channels in enumerate(add_filters):
                stage = nn.HybridSequential(f"more_stages_{i}")
                add_conv(stage, max(min_depth, round(channels * reduce_ratio)), 1)
                add_conv(stage, channels, 3, 2, 0 if i == len(add_filters) - 1 else 1)
                self.more_stages.add(stage)

    def hybrid_forward(self, F, x):
        x = self.stage1(x)
        outputs = [x]
        for stage in (self.stage2, *self.more_stages):
            x = stage(x)
            outputs.append(x)
        return outputs


def resnet34_v1b_ssd(**kwargs):
    """`ResNetV1bSSD` on ResNet-34."""
    return ResNetV1bSSD(network="resnet34_v1b", add_filters=[256, 256, 128, 128], **kwargs)
