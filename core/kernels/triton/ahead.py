"""Kernels are compiled side by side before they are needed: the configurations of a choice, the kernels of a program.

Triton compiles where a kernel is launched, one after the other. Within `compiling`, launches only hand their kernels to
threads, which wait for the compiler's passes and for ptxas most of the time, outside of Python's lock.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from triton.runtime._async_compile import AsyncCompileMode

from core.kernels.triton import _kernel

MOST = 16  # threads


class Ahead:
    """Stands where a recording of launches does: each launch of this thread compiles its kernel and runs nothing."""

    provisional = muted = False

    def launch(self, kernel, run: Callable, grid, args: tuple, kwargs: dict) -> None:
        run(*args, grid=grid, warmup=True, **kwargs)


@contextlib.contextmanager
def compiling(threads: int | None = None) -> Iterator[None]:
    """Launches of this thread compile, by default on as many threads as there are processors, and compute nothing.

    Results are memory as it was; reading a value back gives any number. At the end all are compiled; those that cannot
    be raise where they are launched. Within another such block this is a part of it.
    """
    if is_active():
        yield
        return
    with (
        ThreadPoolExecutor(threads or min(MOST, len(os.sched_getaffinity(0)))) as pool,
        AsyncCompileMode(pool, ignore_errors=True),
        _kernel.recorded_by(Ahead()),
    ):
        yield


def is_active() -> bool:
    """Whether this thread is within `compiling`."""
    return isinstance(_kernel.recording(), Ahead)
