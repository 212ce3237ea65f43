"""A residual network that tells persons apart: its features, and in training one class a person."""

from __future__ import annotations

from gluon import nn
from gluon.block import HybridBlock
from gluoncv.model_zoo import get_model

DEPTHS = (18, 34, 50, 101, 152)


class PersonNet(HybridBlock):
    """Input (B, 3, H, W), output (B, num_classes); `features` gives (B, C), by which persons are found again.

    The last stage of the residual network keeps its input's size. depth: number of layers. num_classes: persons to
    train on. pretrained: the body's published weights, or a file of them.
    """

    def __init__(self, depth: int, num_classes: int, pretrained=False, ctx=None):
        super().__init__()
        body = get_model(f"resnet{depth}_v1", pretrained=pretrained, ctx=ctx).features[:-1]
        for layer in (body[-1][0].body[0], body[-1][0].downsample[0]):
            layer._kwargs["stride"] = (1, 1)
        with self.name_scope():
            self.base = nn.HybridSequential()
            self.base.add(*body)
            self.avgpool, self.flatten = nn.GlobalAvgPool2D(), nn.Flatten()
            self.bn = nn.BatchNorm(center=False)
            self.classifier = nn.Dense(num_classes, use_bias=False, weight_initializer="normal")

    def hybrid_forward(self, F, x):
        return self.classifier(self.features(x))

    def features(self, x):
        """What a person looks like, (B, C)."""
        return self.bn(self.flatten(self.avgpool(self.base(x))))
