"""Where tests run: context, environment variables, retries."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import sys

from core.context import Context, current_context, num_gpus
from core.ndarray import waitall
from core.runtime import Features
from core.util import get_cuda_compute_capability as get_cuda_compute_capability


def default_context() -> Context:
    """The context on which tests run."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Makes a context the one on which tests run."""
    Context._state.current = ctx


default_device, set_default_device = default_context, set_default_context  # as MXNet 2 calls them
current_device = current_context


def list_gpus() -> range:
    """The numbers of the GPUs."""
    return range(num_gpus())


@contextlib.contextmanager
def environment(*args):
    """A scope with other environment variables: `environment(name, value)` or one dictionary; None removes one."""
    if len(args) == 1 and isinstance(args[0], dict):
        wanted = args[0]
    elif len(args) == 2:
        wanted = {args[0]: args[1]}
    else:
        raise AssertionError("environment takes a dictionary, or a name and a value")
    before = {name: os.environ.get(name) for name in wanted}
    _set(wanted)
    try:
        yield
    finally:
        waitall()
        _set(before)


class EnvManager:
    """A scope in which one environment variable has another value."""

    def __init__(self, key, val):
        self._scope = environment(key, val)

    def __enter__(self):
        return self._scope.__enter__()

    def __exit__(self, *exception):
        return self._scope.__exit__(*exception)


@contextlib.contextmanager
def discard_stderr():
    """A scope in which nothing written to the standard error appears, by libraries neither."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)


def retry(n):
    """Decorator: a test of random numbers may fail `n` - 1 times."""
    if n <= 0:
        raise AssertionError(f"a test runs at least once, got {n}")

    def decorate(test):
        @functools.wraps(test)
        def run(*args, **kwargs):
            for left in reversed(range(n)):
                try:
                    return test(*args, **kwargs)
                except AssertionError:
                    if not left:
                        raise
                    waitall()
            return None

        return run

    return decorate


def is_cd_run() -> bool:
    """Whether MXNet's own deployment runs the tests."""
    return os.environ.get("CD_JOB") == "1"


def is_aarch64_run() -> bool:
    """Whether the processor is a 64-bit ARM."""
    return platform.machine() == "aarch64"


def has_tvm_ops() -> bool:
    """Whether there are operators made by TVM: there are not."""
    return Features().is_enabled("TVM_OP")


def is_op_runnable() -> bool:
    """Whether every operator runs on the current context."""
    return True


def _set(variables: dict) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
