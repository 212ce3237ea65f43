"""`nd.contrib`: operators whose names begin with `_contrib_`."""

from core.ndarray._namespace import listing, lookup
from core.ndarray.control_flow import cond, foreach, while_loop
from core.ndarray.sparse import getnnz

__getattr__ = lookup(("_contrib_",), "nd.contrib")
__dir__ = listing(("_contrib_",))
__all__ = ["cond", "foreach", "getnnz", "while_loop"]
