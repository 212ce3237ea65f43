"""The version of MXNet whose behaviour this is, and where things lie."""

from __future__ import annotations

from core.base import NotSupportedError

__version__ = "1.9.1"


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """There is no shared library: raises RuntimeError."""
    raise RuntimeError(f"there is no {prefix}.so: this project is Python, its kernels are compiled on first use")


def find_include_path() -> str:
    """There are no C headers: raises NotSupportedError."""
    raise NotSupportedError("there are no C headers: operators are written in Python or Triton, see core.rtc")
