"""Which GluonCV this stands for."""

import re
import warnings

__all__ = ["check_version"]


def check_version(min_version, warning_only=False):
    """AssertionError, or a warning, when `gluoncv.__version__` is below `min_version`.

    >>> gluoncv.utils.check_version("0.8.0")
    """
    from gluoncv import __version__

    given, wanted = ([int(n) for n in re.findall(r"\d+", version)[:3]] for version in (__version__, min_version))
    if given < wanted:
        text = (
            f"Installed GluonCV version ({__version__}) does not satisfy the minimum required version ({min_version})"
        )
        if not warning_only:
            raise AssertionError(text)
        warnings.warn(text)
