"""Kernels that report their launches to a recording: `jit` stands where programs for Triton say `triton.jit`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

import triton
from triton.runtime.jit import JITFunction

INTERPRETED = triton.knobs.runtime.interpret
if INTERPRETED:
    from core.kernels.triton import _interpreter

    _interpreter.quicken()


class Kernel(JITFunction):
    """A kernel of Triton's, whose launches the recording of this thread gets to see."""

    def run(self, *args, grid, warmup, **kwargs):
        recording = _thread.recording
        if recording is None:
            return super().run(*args, grid=grid, warmup=warmup, **kwargs)
        return recording.launch(self, super().run, grid, args, kwargs)


def jit(function: Callable | None = None, **options):
    """`triton.jit`, with the same options."""
    if function is None:
        return lambda function: jit(function, **options)
    return triton.jit(function, **options) if INTERPRETED else Kernel(function, **options)


def recording():
    """The recording that runs on this thread, None where there is none."""
    return _thread.recording


@contextlib.contextmanager
def recorded_by(recording) -> Iterator[None]:
    """Shows launches of this thread to `recording`."""
    before, _thread.recording = _thread.recording, recording
    try:
        yield
    finally:
        _thread.recording = before


@contextlib.contextmanager
def unrecorded() -> Iterator[None]:
    """Launches in this block, such as those of tuning, are no part of the call that is recorded."""
    recording = _thread.recording
    if recording is None:
        yield
        return
    before, recording.muted = recording.muted, True
    try:
        yield
    finally:
        recording.muted = before


class _Thread(threading.local):
    recording = None


_thread = _Thread()
