"""DropBlock: drops squares of neighbouring values (Ghiasi et al., 2018)."""

from functools import partial

from core import autograd
from gluon.block import HybridBlock


class DropBlock(HybridBlock):
    """Zeroes squares of `block_size` in training, about a share of `drop_prob` in all,
    and scales the rest up to make up for them.

    c, h, w: channels, height and width of the input (batch, c, h, w). All of a batch are dropped at the same positions.

    >>> from gluoncv.nn import DropBlock
    >>> layer = DropBlock(0.1, 3, 2, 8, 8)
    >>> layer(nd.ones((1, 2, 8, 8))).shape
    (1, 2, 8, 8)
    """

    def __init__(self, drop_prob, block_size, c, h, w):
        super().__init__()
        self.drop_prob, self.block_size = drop_prob, block_size
        self.c, self.h, self.w = c, h, w

    def hybrid_forward(self, F, x):
        if not autograd.is_training() or self.drop_prob <= 0:
            return x
        size = self.block_size
        centers = max(self.h - size + 1, 1) * max(self.w - size + 1, 1)
        share = self.drop_prob * self.h * self.w / size**2 / centers
        noise = F._random_uniform_like(F.slice_axis(x, axis=0, begin=0, end=1))
        pad = (size // 2, size // 2)
        kept = 1 - F.Pooling(F.cast(noise < share, "float32"), kernel=(size, size), pad=pad, pool_type="max")
        kept = F.broadcast_div(kept, F.mean(kept, axis=(0, 1, 2, 3), keepdims=True))
        return F.broadcast_mul(x, kept)

    def __repr__(self):
        return f"DropBlock(drop_prob={self.drop_prob}, block_size={self.block_size})"


def set_drop_prob(drop_prob, module):
    """Sets the share of a `DropBlock`; any other block is left as it is: `net.apply(partial(set_drop_prob, 0.1))`.

    >>> from gluoncv.nn.dropblock import DropBlock, set_drop_prob
    >>> layer = DropBlock(0, 3, 2, 8, 8)
    >>> set_drop_prob(0.1, layer)
    >>> layer.drop_prob
    0.1
    """
    if isinstance(module, DropBlock):
        module.drop_prob = drop_prob


class DropBlockScheduler:
    """Raises the share of all `DropBlock`s of a network linearly from `start_prob`.

    Called with each epoch from 0 on.

    >>> from gluoncv.nn.dropblock import DropBlock, DropBlockScheduler
    >>> net = nn.HybridSequential()
    >>> net.add(DropBlock(0, 3, 2, 8, 8))
    >>> schedule = DropBlockScheduler(net, 0, 0.1, 10)
    >>> schedule(5)
    >>> round(net[0].drop_prob, 3)
    0.06
    """

    def __init__(self, net, start_prob, end_prob, num_epochs):
        self.net, self.num_epochs = net, num_epochs
        self.start_prob, self.end_prob = start_prob, end_prob

    def __call__(self, epoch):
        share = self.start_prob + (self.end_prob - self.start_prob) * (epoch + 1) / self.num_epochs
        if not 0 <= share <= 1:
            raise AssertionError(f"the share to drop is between 0 and 1, but is {share} in epoch {epoch}")
        self.net.apply(partial(set_drop_prob, share))
        self.net.hybridize()
