"""Networks of CycleGAN (Zhu et al., 2017): residual generators, and discriminators of patches."""

from __future__ import annotations

from gluon import nn
from gluon.block import HybridBlock

GENERATORS = {"resnet_9blocks": 9, "resnet_6blocks": 6}


def generator(kind: str, channels: int = 3, width: int = 64, dropout: bool = False) -> nn.HybridSequential:
    """Pictures (B, 3, H, W) to pictures (B, channels, H, W) between -1 and 1; H and W are multiples of 4.

    kind: a key of `GENERATORS`, which says how many residual blocks there are. width: channels of the outer maps.
    """
    net = nn.HybridSequential()
    net.add(nn.ReflectionPad2D(3), nn.Conv2D(width, 7), nn.InstanceNorm(), nn.Activation("relu"))
    for factor in (2, 4):
        net.add(nn.Conv2D(factor * width, 3, 2, 1), nn.InstanceNorm(), nn.Activation("relu"))
    for _ in range(GENERATORS[kind]):
        net.add(_Residual(4 * width, dropout))
    for factor in (2, 1):
        net.add(nn.Conv2DTranspose(factor * width, 3, 2, 1, 1), nn.InstanceNorm(), nn.Activation("relu"))
    net.add(nn.ReflectionPad2D(3), nn.Conv2D(channels, 7), nn.Activation("tanh"))
    return net


def discriminator(width: int = 64, layers: int = 3) -> nn.HybridSequential:
    """Pictures to one number a patch, (B, 1, h, w): near 1 for real ones. layers: convolutions that halve the size."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(width, 4, 2, 1), nn.LeakyReLU(0.2))
    for k in range(1, layers + 1):
        stride = 2 if k < layers else 1
        net.add(nn.Conv2D(width * min(2**k, 8), 4, stride, 1), nn.InstanceNorm(), nn.LeakyReLU(0.2))
    net.add(nn.Conv2D(1, 4, 1, 1))
    return net


class _Residual(HybridBlock):
    """x and two convolutions of it."""

    def __init__(self, width, dropout):
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(nn.ReflectionPad2D(1), nn.Conv2D(width, 3), nn.InstanceNorm(), nn.Activation("relu"))
        if dropout:
            self.body.add(nn.Dropout(0.5))
        self.body.add(nn.ReflectionPad2D(1), nn.Conv2D(width, 3), nn.InstanceNorm())

    def hybrid_forward(self, F, x):
        return x + self.body(x)
