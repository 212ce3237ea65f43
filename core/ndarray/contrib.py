"""`nd.contrib`: operators whose names begin with `_contrib_`."""

from core.ndarray._namespace import listing, lookup

__getattr__ = lookup(("_contrib_",), "nd.contrib")
__dir__ = listing(("_contrib_",))
