"""Pictures of four times the size (Ledig et al., 2017): the generator and the discriminator."""

from __future__ import annotations

from gluon import nn
from gluon.block import HybridBlock
from gluon.contrib.nn import PixelShuffle2D

SCALE = 4


class SRGenerator(HybridBlock):
    """Pictures (B, 3, H, W) between -1 and 1 to (B, 3, 4H, 4W); `blocks` residual blocks of `width` channels."""

    def __init__(self, blocks: int = 16, width: int = 64):
        super().__init__()
        self.conv1 = nn.Conv2D(width, 3, padding=1, activation="relu")
        self.res_block = nn.HybridSequential()
        for _ in range(blocks):
            self.res_block.add(_Residual(_plain(width), nn.Activation("relu"), _plain(width)))
        self.res_block.add(_plain(width))
        self.subpix_block1, self.subpix_block2 = _doubled(width), _doubled(width)
        self.conv4 = nn.Conv2D(3, 1, activation="tanh")

    def hybrid_forward(self, F, x):
        x = self.conv1(x)
        x = self.res_block(x) + x
        return self.conv4(self.subpix_block2(self.subpix_block1(x)))


class SRDiscriminator(HybridBlock):
    """Pictures (B, 3, H, W), sides of 64 pixels or more, to one number each, (B, 1): larger for real ones."""

    def __init__(self, width: int = 64):
        super().__init__()
        self.model = nn.HybridSequential()
        self.model.add(nn.Conv2D(width, 4, 2, 1), nn.LeakyReLU(0.2))
        for factor in (2, 4, 8, 16, 32):
            self.model.add(_active(width * factor, 4, 2, 1))
        self.model.add(_active(width * 16, 1), _plain(width * 8, 1, 0))
        self.res_block = _Residual(_active(width * 2, 1), _active(width * 2, 3, 1, 1), _plain(width * 8))
        self.lrelu = nn.LeakyReLU(0.2)
        self.dense = nn.Dense(1)

    def hybrid_forward(self, F, x):
        return self.dense(self.lrelu(self.res_block(self.model(x))))


class _Residual(nn.HybridSequential):
    """What the layers make of the input, and the input itself."""

    def __init__(self, *layers):
        super().__init__()
        self.add(*layers)

    def hybrid_forward(self, F, x):
        return super().hybrid_forward(F, x) + x


def _plain(width, kernel=3, padding=1):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(width, kernel, padding=padding, use_bias=False), nn.BatchNorm())
    return net


def _active(width, kernel, stride=1, padding=0):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(width, kernel, stride, padding, use_bias=False), nn.BatchNorm(), nn.LeakyReLU(0.2))
    return net


def _doubled(width):
    net = nn.HybridSequential()
    net.add(nn.Conv2D(width * 4, 3, padding=1), PixelShuffle2D(2), nn.Activation("relu"))
    return net
