"""`nd.linalg`: operators whose names begin with `_linalg_`."""

from core.ndarray._namespace import listing, lookup

__getattr__ = lookup(("_linalg_",), "nd.linalg")
__dir__ = listing(("_linalg_",))
