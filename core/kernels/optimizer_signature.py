"""The two keywords that both backends add to the rule of an optimizer."""

from __future__ import annotations

import inspect
from collections.abc import Callable


def with_master_and_segments(rule: Callable) -> inspect.Signature:
    """The signature of `rule` with `w32` and `segments` (see `core.kernels.contracts.optimizer`)."""
    signature = inspect.signature(rule)
    added = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None) for n in ("w32", "segments")]
    return signature.replace(parameters=[*signature.parameters.values(), *added])
