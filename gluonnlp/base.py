"""Where files are kept, and the error of arguments that are not accepted."""

from __future__ import annotations

import os

from gluon.store import home as get_home_dir

__all__ = ["InvalidArgument", "get_home_dir", "kept_in"]


class InvalidArgument(ValueError, AssertionError):
    """A value that is not accepted, where GluonNLP asserts: programs that expect its AssertionError go on working."""


def kept_in(root: str | None, *names: str) -> str:
    """The user's folder `root`, or where that is None the folder `names` below `$MXNET_HOME`."""
    return os.path.expanduser(root) if root else os.path.join(get_home_dir(), *names)
