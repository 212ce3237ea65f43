"""The order in which an iterator over a file visits its samples, pass after pass."""

from __future__ import annotations

import numpy as np


class Rounds:
    """Batches of sample numbers 0..`count` - 1.

    The last batch of a pass is filled with samples from the beginning if `round_batch`; the next pass then goes on
    behind those. Otherwise its free positions repeat what stood there in the batch before. `drop` leaves it out instead.
    `rng` (a NumPy Generator) shuffles every round.
    """

    def __init__(self, count: int, batch_size: int, round_batch: bool = True, rng=None, drop: bool = False):
        self.count, self.batch_size, self.round_batch, self.rng, self.drop = count, batch_size, round_batch, rng, drop
        self._batch = np.zeros(batch_size, np.int64)
        self._overflowed = False
        self._begin()

    def next(self) -> tuple[np.ndarray, int] | None:
        """Sample numbers and how many at the end only fill up; None at the end of the pass."""
        left = self.count - self._position
        if self._overflowed or left <= 0 or (self.drop and left < self.batch_size):
            return None
        taken = min(left, self.batch_size)
        self._batch[:taken] = self._take(taken)
        pad = self.batch_size - taken
        if pad and self.round_batch:
            filled = taken
            while filled < self.batch_size:
                self._begin()
                part = min(self.count, self.batch_size - filled)
                self._batch[filled : filled + part] = self._take(part)
                filled += part
            self._overflowed = True
        return self._batch.copy(), pad

    def reset(self) -> None:
        """Begins the next pass."""
        if not self._overflowed:
            self._begin()
        self._overflowed = False

    def _begin(self) -> None:
        self._position = 0
        self._order = np.arange(self.count) if self.rng is None else self.rng.permutation(self.count)

    def _take(self, count: int) -> np.ndarray:
        part = self._order[self._position : self._position + count]
        self._position += count
        return part
