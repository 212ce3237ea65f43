"""Limits to what a file may cost its reader, each lifted by a keyword or by an environment variable.

- `MXNET_MAX_IMAGE_PIXELS`: pixels of one decoded image, default 64,000,000.
- `MXNET_MAX_UNPACK_RATIO`: how many times the size of a packed file its content may have, default 100, where the
  content is above 64 MiB.
- `MXNET_MAX_DOWNLOAD_BYTES`: bytes of one download, default 32 GiB.
- `MXNET_DOWNLOAD_SECONDS`: seconds for one download with all its repetitions, default 21,600 (6 hours).

The value 0 lifts a limit.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from core.base import MXNetError


@dataclass(frozen=True)
class Limit:
    """A number that the environment variable `variable` overrides."""

    variable: str
    default: int

    def value(self, given: float | None = None) -> float:
        """`given`, or where that is None the variable's value, or the default; infinity where that is 0."""
        value = self._from_environment() if given is None else given
        if value < 0:
            raise ValueError(f"a limit must be 0 (none) or more, got {value}")
        return value or math.inf

    def lifted_by(self, keyword: str | None = None) -> str:
        """How users lift it, for the end of an error message."""
        return f"{self.variable}{f' or {keyword}=' if keyword else ''} sets the limit, 0 lifts it"

    def _from_environment(self) -> float:
        text = os.environ.get(self.variable, "")
        try:
            return float(text or self.default)
        except ValueError:
            raise MXNetError(f"the environment variable {self.variable} is {text!r}; a number is expected") from None


IMAGE_PIXELS = Limit("MXNET_MAX_IMAGE_PIXELS", 64_000_000)
UNPACK_RATIO = Limit("MXNET_MAX_UNPACK_RATIO", 100)
DOWNLOAD_BYTES = Limit("MXNET_MAX_DOWNLOAD_BYTES", 32 << 30)
DOWNLOAD_SECONDS = Limit("MXNET_DOWNLOAD_SECONDS", 6 * 3600)
UNPACKED_FREELY = 64 << 20


def unpacked_limit(packed: int, max_ratio: float | None = None) -> float:
    """How many bytes may come out of `packed` bytes."""
    return max(UNPACKED_FREELY, packed * UNPACK_RATIO.value(max_ratio))


def too_large(name: str, what: str, size: float, packed: int, max_ratio: float | None = None) -> MXNetError:
    """The error for something that unpacks to more than `unpacked_limit` bytes."""
    return MXNetError(
        f"{name!r}: {what} unpacks to {size:.0f} bytes or more from {packed}, beyond the limit of "
        f"{UNPACK_RATIO.value(max_ratio):g} times; {UNPACK_RATIO.lifted_by('max_ratio')}"
    )
