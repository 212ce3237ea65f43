"""`npx.image`: operators whose names begin with `_image_`, on `np` arrays."""

from core.ndarray._namespace import listing, lookup
from core.numpy import ndarray

__getattr__ = lookup(("_image_",), "npx.image", ndarray)
__dir__ = listing(("_image_",))
