"""Containers side by side, synchronised batch normalisation, and pixel shuffling."""

from __future__ import annotations

from core import autograd
from core import ndarray as nd
from core.base import NotSupportedError
from core.kvstore import processes
from gluon.block import Block, HybridBlock
from gluon.nn.basic_layers import Identity
from gluon.nn.containers import Concatenate, HybridConcatenate
from gluon.nn.norm_layers import BatchNorm

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
    """Gives its input to every block and concatenates what they give along `axis`."""


class HybridConcurrent(HybridConcatenate):
    """`Concurrent` for hybrid blocks."""


class SparseEmbedding(Block):
    """`nn.Embedding` whose weight (input_dim, output_dim) and gradient are row-sparse."""

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


class SyncBatchNorm(BatchNorm):
    """`nn.BatchNorm` with statistics over the batches of all processes, `num_devices` of them.

    With one device the statistics are those of its own batch. Several are the processes of a distributed kvstore, each
    with one device: the contexts of one process compute one after the other, so they cannot wait for each other's
    statistics. Zhang et al., "Context encoding for semantic segmentation" (2018).
    """

    def __init__(
        self,
        in_channels=0,
        num_devices=None,
        momentum=0.9,
        epsilon=1e-5,
        center=True,
        scale=True,
        use_global_stats=False,
        beta_initializer="zeros",
        gamma_initializer="ones",
        running_mean_initializer="zeros",
        running_variance_initializer="ones",
        **kwargs,
    ):
        super().__init__(
            1,
            momentum,
            epsilon,
            center,
            scale,
            use_global_stats,
            beta_initializer,
            gamma_initializer,
            running_mean_initializer,
            running_variance_initializer,
            in_channels,
            **kwargs,
        )
        self._num_devices = num_devices or 1

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):
        options = self._kwargs
        if self._num_devices == 1 or not autograd.is_training() or options["use_global_stats"]:
            return super().hybrid_forward(F, x, gamma, beta, running_mean, running_var)
        if processes.count() != self._num_devices:
            raise NotSupportedError(
                f"SyncBatchNorm(num_devices={self._num_devices}) trains in {self._num_devices} processes, but there "
                f"are {processes.count()}; start them with scripts/launch.py or torchrun, or use num_devices=1"
            )
        gamma, beta, *running = (_of_shape(a, (x.shape[1],)) for a in (gamma, beta, running_mean, running_var))
        return _NormOverProcesses(options["eps"], options["momentum"], *running)(x, gamma, beta)


def _of_shape(array, shape):
    """An array, made now if it is a parameter that waits for its shape."""
    if not array._is_placeholder:
        return array
    array.materialise(shape)
    return array._array()


class _NormOverProcesses(autograd.Function):
    """Batch normalisation along axis 1 with the statistics of all processes; moves the running ones going back."""

    def __init__(self, epsilon, momentum, running_mean, running_var):
        super().__init__()
        self._epsilon, self._momentum, self._running = epsilon, momentum, (running_mean, running_var)

    def forward(self, x, gamma, beta):
        self._axes = (0, *range(2, x.ndim))
        self._shape = (1, -1, *[1] * (x.ndim - 2))
        channels = x.shape[1]
        wide = x.astype("float32", copy=False)
        sums = [wide.sum(axis=self._axes), wide.square().sum(axis=self._axes)]
        sums = processes.all_sum(nd.concat(*sums, nd.full((1,), x.size // channels, ctx=x.context), dim=0))
        self._count = float(sums[-1].asscalar())
        mean = sums[:channels] / self._count
        variance = nd.maximum(sums[channels:-1] / self._count - mean.square(), 0)
        self._statistics = mean, variance
        scale = (variance + self._epsilon).rsqrt()
        normal = (wide - mean.reshape(self._shape)) * scale.reshape(self._shape)
        self.save_for_backward(normal, gamma * scale)
        return (normal * gamma.reshape(self._shape) + beta.reshape(self._shape)).astype(x.dtype, copy=False)

    def backward(self, head):
        normal, slope = self.saved_tensors
        wide = head.astype("float32", copy=False)
        # Each process gives the share of its own samples; the trainer sums shares.
        to_gamma, to_beta = (wide * normal).sum(axis=self._axes), wide.sum(axis=self._axes)
        both = processes.all_sum(nd.concat(to_gamma, to_beta, dim=0)) / self._count
        channels = to_beta.shape[0]
        along, mean = both[:channels].reshape(self._shape), both[channels:].reshape(self._shape)
        to_x = (wide - mean - normal * along) * slope.reshape(self._shape)
        for running, new in zip(self._running, self._statistics):
            running[:] = running * self._momentum + new * (1 - self._momentum)
        return to_x.astype(head.dtype, copy=False), to_gamma, to_beta


class _PixelShuffle(HybridBlock):
    """Moves blocks of channels to space: (batch, f1 ... fn channels, d1, ..., dn) to (batch, channels, f1 d1, ..., fn dn).

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
    """(batch, f channels, width) to (batch, channels, f width)."""

    _ndim = 1


class PixelShuffle2D(_PixelShuffle):
    """(batch, f1 f2 channels, height, width) to (batch, channels, f1 height, f2 width)."""


class PixelShuffle3D(_PixelShuffle):
    """(batch, f1 f2 f3 channels, depth, height, width) to (batch, channels, f1 depth, f2 height, f3 width)."""

    _ndim = 3
