"""How large the maps are that a detector sees of a picture."""

from __future__ import annotations

from functools import lru_cache

from core import sym


class FeatureSizes:
    """Called with height and width of a picture in pixels: a list of (height, width) of the maps of `net.features`.

    ValueError for networks without features, which are no Faster R-CNN.
    """

    def __init__(self, net):
        if not hasattr(net, "features"):
            raise ValueError(f"{type(net).__name__} has no features: is it a network of the R-CNN family?")
        maps = net.features(sym.var("data"))
        self._maps = sym.Group(maps) if isinstance(maps, list | tuple) else maps
        self._sizes = lru_cache(maxsize=256)(self._infer)

    def __call__(self, height, width):
        return self._sizes(height, width)

    def _infer(self, height, width):
        _, shapes, _ = self._maps.infer_shape(data=(1, 3, height, width))
        return [shape[2:] for shape in shapes]
