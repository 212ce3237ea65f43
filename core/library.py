"""Libraries of operators in C++, which MXNet loads."""

from __future__ import annotations

from core.base import NotSupportedError


def load(path: str, verbose: bool = True) -> None:
    """Raises NotSupportedError: libraries for MXNet are compiled against its C++ interface."""
    raise NotSupportedError(
        f"{path!r} is compiled for MXNet's C++ interface, which does not exist here; write the operator in Python "
        "(mx.operator.CustomOp) or in Triton (mx.rtc.register)"
    )
