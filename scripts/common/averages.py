"""Means of parameters over the steps of training."""

from __future__ import annotations


class Mean:
    """The running mean of the parameters of `net` after each step, in the network `into`."""

    def __init__(self, net, into, context):
        self._net, self._context, self.net, self.count = net, context, into, 0
        into.initialize(ctx=context)

    def add(self) -> None:
        """Adds the parameters as they are now; the first ones since `count` was 0 are the mean."""
        self.count += 1
        for mean, new in zip(self.net.collect_params().values(), self._net.collect_params().values(), strict=True):
            if new._data is not None:
                value = new.data(self._context)
                if mean.shape != value.shape:  # which only a forward pass would tell
                    mean.shape = value.shape
                    mean.initialize(ctx=self._context, force_reinit=True)
                mean.set_data(value if self.count == 1 else mean.data() + (value - mean.data()) / self.count)
