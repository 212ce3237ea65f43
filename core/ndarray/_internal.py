"""`nd._internal`: operators whose names begin with an underscore, and every other one, of the table by name."""

from core.ndarray._namespace import listing, lookup

__getattr__ = lookup(("",), "nd._internal")
__dir__ = listing(("",))
