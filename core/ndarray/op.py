"""`nd.op`: every operator of the table by name."""

from core.ndarray._namespace import listing, lookup

__getattr__ = lookup(("",), "nd.op")
__dir__ = listing(("",))
