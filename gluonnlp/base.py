"""Where files are kept."""

from __future__ import annotations

import os

__all__ = ["get_home_dir"]


def get_home_dir() -> str:
    """The folder for downloaded data, vocabularies and weights: `$MXNET_HOME`, else `~/.mxnet`."""
    return os.path.expanduser(os.environ.get("MXNET_HOME", os.path.join("~", ".mxnet")))
