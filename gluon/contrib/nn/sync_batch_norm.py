"""Batch normalisation over the batches of several contexts and processes."""

from __future__ import annotations

from core import autograd
from core import ndarray as nd
from core.base import MXNetError
from core.graph.trace import Untraceable
from core.kvstore import processes
from gluon.contrib.nn import barrier
from gluon.nn.norm_layers import BatchNorm

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(BatchNorm):
    """`nn.BatchNorm` with statistics over the batches of `num_devices` devices.

    Devices are the contexts of this process and of the others of a distributed kvstore, equally many in each; None, the
    default, means one context of every process, 1 this process alone. Statistics cross processes in one sum a layer and
    direction. A hybridized network with such layers over several devices computes without a plan in training. In
    training a network with such layers is called for each context, in threads or one after the other; between these
    calls only blocks can be applied to the results (`gluon.contrib.nn.barrier`). Gradients of all contexts are computed
    in one backward pass, `autograd.backward(losses)`. Zhang et al., "Context encoding for semantic segmentation"
    (2018).

    >>> from gluon.contrib.nn import SyncBatchNorm
    >>> layer = SyncBatchNorm(in_channels=2)
    >>> layer.initialize()
    >>> layer(nd.array([[1, -2]]))
    [[ 1. -2.]]
    <NDArray 1x2 @cpu(0)>
    """

    _barrier = None

    def __init__(
        self, in_channels=0, num_devices=None, momentum=0.9, epsilon=1e-5, center=True, scale=True,
        use_global_stats=False, beta_initializer="zeros", gamma_initializer="ones", running_mean_initializer="zeros",
        running_variance_initializer="ones", **kwargs,
    ):  # fmt: skip
        super().__init__(
            1, momentum, epsilon, center, scale, use_global_stats, beta_initializer, gamma_initializer,
            running_mean_initializer, running_variance_initializer, in_channels, **kwargs,
        )  # fmt: skip
        count = processes.count()
        self._num_devices = count if num_devices is None else num_devices
        if self._num_devices > 1 and not use_global_stats:
            if self._num_devices % count:
                raise MXNetError(f"num_devices={num_devices} is to be a multiple of the number of processes, {count}")
            self._barrier = barrier.Barrier(self._num_devices // count)
            if self._num_devices > count:
                barrier.watch()

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):
        if self._barrier is None or not autograd.is_training():
            return super().hybrid_forward(F, x, gamma, beta, running_mean, running_var)
        if autograd.state.tracer is not None:
            raise Untraceable("the statistics of other devices are values")
        arrays = (_of_shape(a, (x.shape[1],)) for a in (gamma, beta, running_mean, running_var))
        return self._barrier.join(x.context, (x, *arrays), self._normalise)

    def _normalise(self, rows):
        """The results for all contexts, of rows (x, gamma, beta, running mean, running variance)."""
        columns = list(zip(*rows))
        function = _NormOverDevices(self._kwargs["eps"], self._kwargs["momentum"], list(zip(*columns[3:])))
        return function(*columns[0], *columns[1], *columns[2])


def _of_shape(array, shape):
    """An array, made now if it is a parameter that waits for its shape."""
    if not array._is_placeholder:
        return array
    array.materialise(shape)
    return array._array()


class _NormOverDevices(autograd.Function):
    """Batch normalisation along axis 1 of the batches of all contexts and processes.

    Moves the running ones going back.
    """

    def __init__(self, epsilon, momentum, running):
        super().__init__()
        self._epsilon, self._momentum, self._running = epsilon, momentum, running

    def forward(self, *arrays):
        count = len(arrays) // 3
        self._inputs, gammas, betas = arrays[:count], arrays[count : 2 * count], arrays[2 * count :]
        x = self._inputs[0]
        self._axes, self._shape = (0, *range(2, x.ndim)), (1, -1, *[1] * (x.ndim - 2))
        channels = x.shape[1]
        wide = [x.astype("float32", copy=False) for x in self._inputs]
        sums = self._total(
            nd.concat(
                w.sum(axis=self._axes),
                w.square().sum(axis=self._axes),
                nd.full((1,), w.size // channels, ctx=w.context),
                dim=0,
            )
            for w in wide
        )
        self._count = float(sums[-1].asscalar())
        mean = sums[:channels] / self._count
        variance = nd.maximum(sums[channels:-1] / self._count - mean.square(), 0)
        self._statistics = mean, variance
        scale = (variance + self._epsilon).rsqrt()
        self._normal, self._slopes, outputs = [], [], []
        for x, w, gamma, beta in zip(self._inputs, wide, gammas, betas):
            here = x.context
            self._normal.append((w - self._spread(mean, here)) * self._spread(scale, here))
            self._slopes.append(gamma * scale.as_in_context(here))
            output = self._normal[-1] * gamma.reshape(self._shape) + beta.reshape(self._shape)
            outputs.append(output.astype(x.dtype, copy=False))
        return outputs

    def backward(self, *heads):
        wide = [h.astype("float32", copy=False).as_in_context(x.context) for h, x in zip(heads, self._inputs)]
        # Each context gives the share of its own samples; the trainer sums shares.
        to_gamma = [(w * n).sum(axis=self._axes) for w, n in zip(wide, self._normal)]
        to_beta = [w.sum(axis=self._axes) for w in wide]
        both = self._total(nd.concat(g, b, dim=0) for g, b in zip(to_gamma, to_beta)) / self._count
        along, mean = both[: to_beta[0].shape[0]], both[to_beta[0].shape[0] :]
        to_x = []
        for x, w, normal, slope in zip(self._inputs, wide, self._normal, self._slopes):
            here = x.context
            change = w - self._spread(mean, here) - normal * self._spread(along, here)
            to_x.append((change * slope.reshape(self._shape)).astype(x.dtype, copy=False))
        for running in self._running:
            for array, new in zip(running, self._statistics):
                array[:] = array * self._momentum + new.as_in_context(array.context) * (1 - self._momentum)
        return [*to_x, *to_gamma, *to_beta]

    @staticmethod
    def _total(arrays):
        """The sum over contexts and processes, on the first context."""
        first, *others = arrays
        for other in others:
            first = first + other.as_in_context(first.context)
        return processes.sum_statistics(first) if processes.count() > 1 else first

    def _spread(self, channels, context):
        return channels.as_in_context(context).reshape(self._shape)
