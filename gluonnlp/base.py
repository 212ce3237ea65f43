"""Where files are kept."""

from gluon.store import home as get_home_dir

__all__ = ["get_home_dir"]
