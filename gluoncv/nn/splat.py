"""Split attention (Zhang et al., 2022)."""

from gluon import nn
from gluon.block import HybridBlock


class SplitAttentionConv(HybridBlock):
    """A convolution to `radix` times `channels`, and the sum of its splits, weighed for each channel by what is in all.

    groups: of each split. r: by which the channels of the layer that computes the weights are fewer. drop_ratio: share
    of its outputs to drop. norm_layer None: nothing is normalised. Further keywords go to the convolution.

    >>> from gluoncv.nn import SplitAttentionConv
    >>> layer = SplitAttentionConv(8, 3, padding=(1, 1), in_channels=4)
    >>> layer.initialize()
    >>> layer(nd.ones((1, 4, 6, 6))).shape
    (1, 8, 6, 6)
    """

    def __init__(
        self, channels, kernel_size, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, radix=2,
        in_channels=None, r=2, norm_layer=nn.BatchNorm, norm_kwargs=None, drop_ratio=0, **kwargs,
    ):  # fmt: skip
        super().__init__()
        norm_kwargs = norm_kwargs or {}
        narrow = max(in_channels * radix // 2 // r, 32)
        self.radix, self.cardinality, self.channels = radix, groups, channels
        self.conv = nn.Conv2D(
            channels * radix, kernel_size, strides, padding, dilation, groups * radix, in_channels=in_channels, **kwargs
        )
        self.bn = self.bn1 = None
        if norm_layer is not None:
            self.bn = norm_layer(in_channels=channels * radix, **norm_kwargs)
        self.relu = nn.Activation("relu")
        self.fc1 = nn.Conv2D(narrow, 1, in_channels=channels, groups=groups)
        if norm_layer is not None:
            self.bn1 = norm_layer(in_channels=narrow, **norm_kwargs)
        self.relu1 = nn.Activation("relu")
        self.drop = nn.Dropout(drop_ratio) if drop_ratio > 0 else None
        self.fc2 = nn.Conv2D(channels * radix, 1, in_channels=narrow, groups=groups)

    def hybrid_forward(self, F, x):
        x = self.conv(x)
        x = self.relu(x if self.bn is None else self.bn(x))
        splits = F.reshape(F.expand_dims(x, axis=1), (0, self.radix, self.channels, 0, 0)) if self.radix > 1 else None
        weights = self.fc1(
            F.contrib.AdaptiveAvgPooling2D(x if splits is None else F.sum(splits, axis=1), output_size=1)
        )
        weights = self.relu1(weights if self.bn1 is None else self.bn1(weights))
        weights = self.fc2(weights if self.drop is None else self.drop(weights))
        weights = F.swapaxes(F.reshape(weights, (0, self.cardinality, self.radix, -1)), 1, 2)
        if splits is None:
            return F.broadcast_mul(F.reshape(F.sigmoid(weights), (0, -1, 1, 1)), x)
        weights = F.reshape(F.softmax(weights, axis=1), (0, self.radix, -1, 1, 1))
        return F.sum(F.broadcast_mul(weights, splits), axis=1)
