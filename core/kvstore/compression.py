"""Gradient compression to two bits per element, with error feedback: what is lost is added to the next gradient."""

from __future__ import annotations

from core import ndarray as nd
from core.base import MXNetError
from core.kernels import communication
from core.ndarray import NDArray

_PLACES = (1.0, 4.0, 16.0, 64.0)  # of four elements in a byte


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

    def sum_over_processes(self, key, gradient: NDArray) -> NDArray:
        """The sum of the lossy gradients of all processes; each sends a quarter of a byte per element."""
        signs = self.lossy(key, gradient) / self.threshold
        kind, context, count = gradient.dtype, gradient.context, gradient.size
        codes = (
            nd.concat(signs.reshape((-1,)) + 1, nd.zeros((-count % 4,), context, kind), dim=0)
            if count % 4
            else signs + 1
        )
        places = nd.array([_PLACES], ctx=context, dtype=kind)
        packed = (codes.reshape((-1, 4)) * places).sum(axis=1).astype("uint8")
        total = None
        for tensor in communication.all_gather(packed._data):
            rest, digits = NDArray._wrap(tensor, context).astype(kind), []
            for _ in _PLACES:
                quotient = (rest / 4).floor()
                digits.append(rest - quotient * 4)
                rest = quotient
            values = nd.stack(*digits, axis=1).reshape((-1,))[:count] - 1
            total = values if total is None else total + values
        return (total * self.threshold).reshape(gradient.shape)
