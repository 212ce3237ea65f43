"""Containers side by side, embeddings with sparse weights, and pixel shuffling."""

from __future__ import annotations

from core import ndarray as nd
from gluon.block import Block, HybridBlock
from gluon.contrib.nn.sync_batch_norm import SyncBatchNorm
from gluon.nn.basic_layers import Identity
from gluon.nn.containers import Concatenate, HybridConcatenate

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
]


class Concurrent(Concatenate):
    """Gives its input to every block and concatenates what they give along `axis`.

    MXNet 1's name of `nn.Concatenate`: every block gets the same input, and their outputs have to agree in all lengths but that of
    `axis`. `add` appends blocks.

    >>> from gluon.contrib.nn import Concurrent
    >>> net = Concurrent(axis=1)
    >>> net.add(nn.Flatten(), nn.Flatten())
    >>> net(nd.array([[1, 2]]))
    [[1. 2. 1. 2.]]
    <NDArray 1x4 @cpu(0)>
    """


class HybridConcurrent(HybridConcatenate):
    """`Concurrent` for hybrid blocks.

    MXNet 1's name of `nn.HybridConcatenate`: every block gets the same input, and their outputs have to agree in all lengths but that
    of `axis`. It can be compiled by `hybridize`.

    >>> from gluon.contrib.nn import HybridConcurrent
    >>> net = HybridConcurrent(axis=1)
    >>> net.add(nn.Flatten(), nn.Flatten())
    >>> net(nd.array([[1, 2]]))
    [[1. 2. 1. 2.]]
    <NDArray 1x4 @cpu(0)>
    """


class SparseEmbedding(Block):
    """`nn.Embedding` whose weight (input_dim, output_dim) and gradient are row-sparse.

    For vocabularies of millions: only the rows that a batch names are moved between devices and updated. Its weight is to be read
    by `row_sparse_data`.

    >>> from gluon.contrib.nn import SparseEmbedding
    >>> layer = SparseEmbedding(4, 2)
    >>> layer.initialize()
    >>> trainer = gluon.Trainer(layer.collect_params(), "sgd")
    >>> layer(nd.array([0, 3])).shape
    (2, 2)
    """

    def __init__(self, input_dim, output_dim, dtype="float32", weight_initializer=None, **kwargs):
        super().__init__(**kwargs)
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": True}
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            grad_stype="row_sparse",
            stype="row_sparse",
        )

    def forward(self, x):
        return nd.Embedding(x, self.weight.row_sparse_data(x), name="fwd", **self._kwargs)

    def __repr__(self):
        return "{}({input_dim} -> {output_dim}, {dtype})".format(type(self).__name__, **self._kwargs)


class _PixelShuffle(HybridBlock):
    """Moves blocks of channels to space: (batch, f1 ... fn channels, d1, ..., dn) to
    (batch, channels, f1 d1, ..., fn dn).

    For sub-pixel convolution (Shi et al., 2016). factor: one number, or one for each spatial dimension.
    """

    _ndim = 2

    def __init__(self, factor):
        super().__init__()
        self._factors = (factor,) * self._ndim if isinstance(factor, int) else tuple(map(int, factor))
        if len(self._factors) != self._ndim:
            raise AssertionError(f"factor is a number or a tuple of {self._ndim}, got {factor!r}")

    def hybrid_forward(self, F, x):
        n = self._ndim
        # The channel axis is split into the channels and one axis of extent f_i for each spatial dimension.
        *outer, last = self._factors
        split = (-4, -1, last)
        x = F.reshape(x, shape=(0, *split, *(0,) * n))
        for done, factor in enumerate(reversed(outer), 1):
            x = F.reshape(x, shape=(0, -4, -1, factor, *(0,) * (done + n)))
        order = [0, 1]
        for i in range(n):
            order += [2 + n + i, 2 + i]
        x = F.transpose(x, axes=tuple(order))
        return F.reshape(x, shape=(0, 0, *(-3,) * n))

    def __repr__(self):
        return f"{type(self).__name__}({self._factors if self._ndim > 1 else self._factors[0]})"


class PixelShuffle1D(_PixelShuffle):
    """(batch, f channels, width) to (batch, channels, f width).

    >>> from gluon.contrib.nn import PixelShuffle1D
    >>> PixelShuffle1D(2)(nd.array([[[1, 2], [3, 4]]]))
    [[[1. 3. 2. 4.]]]
    <NDArray 1x1x4 @cpu(0)>
    """

    _ndim = 1


class PixelShuffle2D(_PixelShuffle):
    """(batch, f1 f2 channels, height, width) to (batch, channels, f1 height, f2 width).

    >>> from gluon.contrib.nn import PixelShuffle2D
    >>> PixelShuffle2D((2, 3))(nd.zeros((1, 12, 3, 5))).shape
    (1, 2, 6, 15)
    """


class PixelShuffle3D(_PixelShuffle):
    """(batch, f1 f2 f3 channels, depth, height, width) to (batch, channels, f1 depth, f2 height, f3 width).

    >>> from gluon.contrib.nn import PixelShuffle3D
    >>> PixelShuffle3D(2)(nd.zeros((1, 8, 1, 2, 3))).shape
    (1, 1, 2, 4, 6)
    """

    _ndim = 3
