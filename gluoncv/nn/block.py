"""Small layers: activations of networks for small devices (Howard et al., 2019),
and what makes coordinates of heat maps.
"""

from gluon import nn
from gluon.block import HybridBlock
from gluon.contrib.nn import PixelShuffle2D
from gluon.nn import Identity as Identity


class BatchNormCudnnOff(nn.BatchNorm):
    """`nn.BatchNorm` by another name: it kept MXNet from a defect of cuDNN, which is not used here.

    >>> from gluoncv.nn import BatchNormCudnnOff
    >>> layer = BatchNormCudnnOff()
    >>> layer.initialize()
    >>> layer(nd.array([[1, -1]]))
    [[ 1. -1.]]
    <NDArray 1x2 @cpu(0)>
    """


class Consensus(HybridBlock):
    """Scores (batch * num_segments, nclass) to their means over the segments, (batch, nclass).

    >>> from gluoncv.nn.block import Consensus
    >>> Consensus(nclass=2, num_segments=2)(nd.array([[1, 2], [3, 6]]))
    [[2. 4.]]
    <NDArray 1x2 @cpu(0)>
    """

    def __init__(self, nclass, num_segments, **kwargs):
        super().__init__(**kwargs)
        self.nclass, self.num_segments = nclass, num_segments

    def hybrid_forward(self, F, x):
        return F.mean(F.reshape(x, (-1, self.num_segments, self.nclass)), axis=1)


class DUC(HybridBlock):
    """A 3x3 convolution to `planes` channels whose positions become `upscale_factor` times as many in both directions.

    >>> from gluoncv.nn.block import DUC
    >>> layer = DUC(planes=8)
    >>> layer.initialize()
    >>> layer(nd.ones((1, 3, 4, 4))).shape
    (1, 2, 8, 8)
    """

    def __init__(self, planes, upscale_factor=2, norm_layer=BatchNormCudnnOff, norm_kwargs=None, **kwargs):
        super().__init__(**kwargs)
        self.conv = nn.Conv2D(planes, 3, padding=1, use_bias=False)
        self.bn = norm_layer(**(norm_kwargs or {}))
        self.relu = nn.Activation("relu")
        self.pixel_shuffle = PixelShuffle2D(upscale_factor)

    def hybrid_forward(self, F, x):
        return self.pixel_shuffle(self.relu(self.bn(self.conv(x))))


class SoftmaxHD(HybridBlock):
    """softmax over several axes.

    >>> from gluoncv.nn.block import SoftmaxHD
    >>> SoftmaxHD()(nd.zeros((1, 1, 2, 2)))
    [[[[0.25 0.25]
       [0.25 0.25]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """

    def __init__(self, axis=(2, 3), **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def hybrid_forward(self, F, x):
        x = F.exp(F.broadcast_sub(x, F.max(x, axis=self.axis, keepdims=True)))
        return F.broadcast_div(x, F.sum(x, axis=self.axis, keepdims=True))


class DSNT(HybridBlock):
    """Heat maps (batch, joints, height, width) to coordinates (batch, joints, 2), x first,
    and the maps with a sum of 1.

    size: (width, height), or one number for both. Coordinates are shares of the map, of its cells' centers (Nibali et
    al., 2018).
    norm: "sum" or "softmax"; ValueError for others.

    >>> from gluoncv.nn.block import DSNT
    >>> places, maps = DSNT(size=3)(nd.array([[[[0, 0, 1], [0, 0, 0], [0, 0, 0]]]]))
    >>> places
    [[[0.8333 0.1667]]]
    <NDArray 1x1x2 @cpu(0)>
    """

    def __init__(self, size, norm="sum", axis=(2, 3), **kwargs):
        super().__init__(**kwargs)
        if norm not in ("sum", "softmax"):
            raise ValueError(f"norm is sum or softmax, got {norm!r}")
        self.size, self.norm, self.axis = (size, size) if isinstance(size, int) else size, norm, axis
        if norm == "softmax":
            self.softmax = SoftmaxHD(axis)

    def hybrid_forward(self, F, x):
        if self.norm == "softmax":
            x = self.softmax(x)
        else:
            x = F.broadcast_div(x, F.sum(x, axis=self.axis, keepdims=True))
        width, height = self.size
        columns = F.reshape((F.arange(width) + 0.5) / width, (1, 1, 1, -1))
        rows = F.reshape((F.arange(height) + 0.5) / height, (1, 1, -1, 1))
        places = [F.sum(F.broadcast_mul(x, along), axis=self.axis) for along in (columns, rows)]
        return F.stack(*places, axis=2), x


class ReLU6(HybridBlock):
    """min(max(x, 0), 6).

    >>> from gluoncv.nn import ReLU6
    >>> ReLU6()(nd.array([-1, 3, 9]))
    [0. 3. 6.]
    <NDArray 3 @cpu(0)>
    """

    def hybrid_forward(self, F, x):
        return F.clip(x, 0, 6, name="relu6")


class HardSigmoid(HybridBlock):
    """min(max(x + 3, 0), 6) / 6.

    >>> from gluoncv.nn import HardSigmoid
    >>> HardSigmoid()(nd.array([-4, 0, 1]))
    [0.     0.5    0.6667]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.act = ReLU6()

    def hybrid_forward(self, F, x):
        return self.act(x + 3.0) / 6.0


class HardSwish(HybridBlock):
    """x * min(max(x + 3, 0), 6) / 6.

    >>> from gluoncv.nn import HardSwish
    >>> HardSwish()(nd.array([-4, 0, 1]))
    [-0.      0.      0.6667]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.act = HardSigmoid()

    def hybrid_forward(self, F, x):
        return x * self.act(x)
