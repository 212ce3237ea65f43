"""`nd._internal`: operators whose names begin with an underscore, and every other one, of the table by name."""

from core.ndarray._namespace import listing, lookup
from core.ndarray.draws import unique_zipfian as _sample_unique_zipfian  # noqa: F401
from core.ndarray.ndarray import NDArray as NDArrayBase  # noqa: F401

__getattr__ = lookup(("",), "nd._internal")
__dir__ = listing(("",))
