"""Version checks."""

from __future__ import annotations

import re
import warnings

__all__ = ["check_version"]


def check_version(min_version, warning_only=False, library=None):
    """AssertionError (or a warning) when `library`, by default GluonNLP's interface, is older than `min_version`."""
    from .. import __version__

    name, version = ("GluonNLP", __version__) if library is None else (library.__name__, library.__version__)
    if _numbers(version) < _numbers(min_version):
        message = f"{name} {version} is installed, but {min_version} or newer is needed."
        if not warning_only:
            raise AssertionError(message)
        warnings.warn(message)


def _numbers(version):
    """The leading numbers of each part of a version, without zeros at the end: 2.0rc1 is as good as 2."""
    numbers = [int(part) for part in re.match(r"\d+(?:\.\d+)*", version).group().split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers
