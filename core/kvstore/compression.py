"""Gradient compression to two bits per element, with error feedback: what is lost is added to the next gradient."""

from __future__ import annotations

import numpy as np

from core import ndarray as nd
from core.base import MXNetError
from core.kernels import communication
from core.ndarray import NDArray

_PLACES = (1.0, 4.0, 16.0, 64.0)  # of four elements in a byte
# What the four elements of each byte are, in thresholds.
_DIGITS = (np.arange(256)[:, None] // np.array(_PLACES, int) % 4 - 1).astype("float32")


class TwoBit:
    """Sends +threshold, -threshold or 0 for each element and keeps the rest for the next time, by key.

    As in Seide et al., "1-bit stochastic gradient descent" (2014), with a dead zone.
    """

    def __init__(self, threshold: float):
        if not threshold > 0:
            raise MXNetError(f"the threshold of 2bit compression is positive, got {threshold}")
        self.threshold = threshold
        self._kept: dict = {}

    @classmethod
    def of(cls, parameters: dict) -> TwoBit:
        """From `{"type": "2bit", "threshold": 0.5}`."""
        given = dict(parameters)
        kind, threshold = given.pop("type", "2bit"), given.pop("threshold", 0.5)
        if kind != "2bit" or given:
            raise MXNetError(f"gradient compression is of type '2bit' and has a threshold, got {parameters}")
        return cls(float(threshold))

    def lossy(self, key, gradient: NDArray) -> NDArray:
        """What of a gradient arrives at the other side."""
        before = self._kept.get(key)
        wanted = gradient if before is None else gradient + before
        sent = ((wanted >= self.threshold) - (wanted <= -self.threshold)) * self.threshold
        self._kept[key] = wanted - sent
        return sent

    def encode(self, gradient: NDArray, rest: NDArray | None) -> tuple[NDArray, NDArray]:
        """A flat gradient, and what was kept of the ones before, as bytes of four elements; and what is kept now."""
        wanted = gradient if rest is None else gradient + rest
        signs = (wanted >= self.threshold) - (wanted <= -self.threshold)
        count = gradient.size
        codes = signs + 1
        if count % 4:
            codes = nd.concat(codes, nd.zeros((-count % 4,), gradient.context, gradient.dtype), dim=0)
        places = nd.array(_PLACES, ctx=gradient.context, dtype=gradient.dtype)
        packed = nd.dot(codes.reshape((-1, 4)), places).astype("uint8")
        return packed, wanted - signs * self.threshold

    def decode(self, parts: list[NDArray], count: int, dtype) -> NDArray:
        """The sum of what processes have sent, of `count` elements."""
        table = nd.array(_DIGITS * self.threshold, ctx=parts[0].context, dtype=dtype)
        total = None
        for part in parts:
            values = nd.take(table, part.astype("int32"))
            total = values if total is None else total + values
        return total.reshape((-1,))[:count]

    def sum_over_processes(self, key, gradient: NDArray, group=None) -> NDArray:
        """The sum of the lossy gradients of all processes; each sends a quarter of a byte per element."""
        packed, self._kept[key] = self.encode(gradient.reshape((-1,)), self._kept.get(key))
        parts = communication.all_gather(packed._data, f"the compressed gradient {key!r}", group)
        wrapped = [NDArray._wrap(part, gradient.context) for part in parts]
        return self.decode(wrapped, gradient.size, gradient.dtype).reshape(gradient.shape)
