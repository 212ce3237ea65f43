"""Where files are kept."""

from __future__ import annotations

import os

from gluon.store import home as get_home_dir

__all__ = ["get_home_dir", "kept_in"]


def kept_in(root: str | None, *names: str) -> str:
    """The user's folder `root`, or where that is None the folder `names` below `$MXNET_HOME`."""
    return os.path.expanduser(root) if root else os.path.join(get_home_dir(), *names)
