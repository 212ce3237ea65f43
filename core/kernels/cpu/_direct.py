"""ATen's operators that torch has no binding of in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from torch._ops import OpOverload


def direct(overload: OpOverload) -> Callable[..., Any]:
    """What an operator of `torch.ops` calls itself: its own wrapper in Python takes 0.3 us a call."""
    return cast(Callable[..., Any], overload._op)
