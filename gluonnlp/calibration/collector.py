"""The values that the layers of a BERT network put out, watched while calibration data run through it."""

from __future__ import annotations

import numpy as np

__all__ = ["BertLayerCollector"]

# How the names end of the operators whose outputs feed a layer that computes with integers.
_WATCHED = ("_output", "reshape10_0", "_mul0_0", "_squeeze0_0")


class BertLayerCollector:
    """Keeps the smallest and the largest value of each layer's output in `min_max_dict`.

    clip_min: no range of a layer normalisation starts below; its few outliers would cost all others precision.
    clip_max: no range of a GELU ends above.
    logger: gets a line for each range if given.
    """

    def __init__(self, clip_min=None, clip_max=None, logger=None):
        self.clip_min, self.clip_max, self.logger = clip_min, clip_max, logger
        self.min_max_dict: dict[str, tuple[float, float]] = {}

    def include_layer(self, name):
        """Whether a layer is watched, by its name."""
        return name.endswith(_WATCHED)

    def collect(self, name, *output):
        """Widen the range of `name` to an array, the last argument: monitors put the operator's name before it."""
        if not self.include_layer(name):
            return
        arr = output[-1]
        values = np.asarray(arr.asnumpy() if hasattr(arr, "asnumpy") else arr)
        low, high = float(values.min()), float(values.max())
        if "gelu0_leakyrelu0" in name and self.clip_max is not None:
            high = min(high, self.clip_max)
        if "layernorm0_layernorm0" in name and self.clip_min is not None:
            low = max(low, self.clip_min)
        if name in self.min_max_dict:
            known = self.min_max_dict[name]
            low, high = min(low, known[0]), max(high, known[1])
        self.min_max_dict[name] = (low, high)
        if self.logger:
            self.logger.debug("%s: from %g to %g", name, low, high)
