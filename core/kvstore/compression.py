"""Gradient compression to two bits per element, with error feedback: what is lost is added to the next gradient."""

from __future__ import annotations

import numpy as np

from core.base import MXNetError
from core.kernels import communication, compression
from core.ndarray import NDArray


class TwoBit:
    """Sends +threshold, -threshold or 0 for each element and keeps the rest for the next time, by key."""

    def __init__(self, threshold: float):
        if not threshold > 0:
            raise MXNetError(f"the threshold of 2bit compression is positive, got {threshold}")
        self.threshold = float(np.float32(threshold))  # as MXNet keeps it
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
        flat, rest = self._flat(key, gradient)
        self.sum(flat, rest, self.pack(flat, rest).unsqueeze(0), 0)
        return NDArray._wrap(flat.view(gradient.shape), gradient.context)

    def sum_over_processes(self, key, gradient: NDArray, group=None) -> NDArray:
        """The sum of the lossy gradients of all processes; each sends a quarter of a byte per element."""
        flat, rest = self._flat(key, gradient)
        parts, pending = communication.begin_all_gather(self.pack(flat, rest), f"the gradient {key!r} in bits", group)
        pending.wait()
        self.sum(flat, rest, parts, communication.rank())
        return NDArray._wrap(flat.view(gradient.shape), gradient.context)

    def pack(self, flat, rest):
        """The bits of a flat gradient and of what was kept of the ones before; changes neither."""
        return compression.pack_two_bits(flat, rest, self.threshold)

    def sum(self, flat, rest, parts, own: int) -> None:
        """The gradient becomes the sum of parts, by process, and the rest what was lost of the gradient in part `own`."""
        compression.sum_two_bits_(flat, rest, parts, own, self.threshold)

    def _flat(self, key, gradient: NDArray) -> tuple:
        """A flat copy of a gradient, and what is kept."""
        flat = communication.joined([gradient._data])
        if key not in self._kept:
            self._kept[key] = flat.new_zeros(flat.shape)
        return flat, self._kept[key]
