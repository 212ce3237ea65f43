"""Where files are kept, errors of arguments that are not accepted, and numba's names, which compile nothing here."""

from __future__ import annotations

import os

from core.base import MXNetError
from gluon.store import home as get_home_dir

__all__ = [
    "InvalidArgument", "MissingArgument", "NumbaTypes", "UnknownKey", "get_home_dir", "identity", "kept_in",
    "numba_jitclass", "numba_njit", "numba_prange", "numba_types",
]  # fmt: skip


class InvalidArgument(MXNetError, ValueError, AssertionError):
    """A value that is not accepted, where GluonNLP asserts: programs that expect its AssertionError go on working."""


class UnknownKey(InvalidArgument, KeyError):
    """A name that GluonNLP looks up in a dictionary, or asserts to be in one."""

    __str__ = Exception.__str__  # not KeyError's, which quotes the message


class MissingArgument(MXNetError, ValueError, TypeError):
    """Nothing is given where something is needed, for which GluonNLP raises TypeError."""


def kept_in(root: str | None, *names: str) -> str:
    """The user's folder `root`, or where that is None the folder `names` below `$MXNET_HOME`."""
    return os.path.expanduser(root) if root else os.path.join(get_home_dir(), *names)


def identity(f):
    """f itself."""
    return f


def numba_jitclass(spec):
    """A decorator that gives the class itself; spec: the types of its fields, which are not looked at."""
    return identity


class NumbaTypes:
    """Types of every name, of every shape: `numba_types.int32[:]`, `numba_types.float32(2)`."""

    def __getattr__(self, name):
        return self

    def __getitem__(self, key):
        return self

    def __call__(self, *args):
        return self


numba_njit = identity
numba_prange = range
numba_types = NumbaTypes()
