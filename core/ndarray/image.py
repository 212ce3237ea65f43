"""`nd.image`: operators whose names begin with `_image_`."""

from core.ndarray._namespace import listing, lookup

__getattr__ = lookup(("_image_",), "nd.image")
__dir__ = listing(("_image_",))
