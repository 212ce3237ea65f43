"""Files from the network; the checks and the work are `gluon.utils`'."""

import re

from gluon.utils import check_sha1, download

__all__ = ["check_sha1", "download", "is_valid_url"]

_URL = re.compile(
    r"(?:http|ftp)s?://"
    r"(?:(?:[A-Z0-9](?:[A-Z0-9-]{0,61}[A-Z0-9])?\.)+(?:[A-Z]{2,6}\.?|[A-Z0-9-]{2,}\.?)|localhost|\d{1,3}(?:\.\d{1,3}){3})"
    r"(?::\d+)?(?:/?|[/?]\S+)$",
    re.IGNORECASE,
)


def is_valid_url(url):
    """Whether a text has the form of an address on the web."""
    return _URL.match(url) is not None
