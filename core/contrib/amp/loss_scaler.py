"""The factor that keeps gradients within the range of float16."""

import logging

from core import autograd


class LossScaler:
    """A loss scale that halves when a gradient overflows, and doubles after 2,000 steps without
    (Micikevicius et al., 2018).
    """

    HIGHEST = 2.0**24
    GROWTH_INTERVAL = 2000

    def __init__(self):
        self.loss_scale = 2.0**16
        self._next = self.loss_scale
        self._unskipped = 0

    def has_overflow(self, params) -> bool:
        """Whether a gradient of the parameters is infinite or NaN; then the step is to be skipped."""
        from core import ndarray as nd

        gradients = [gradient for p in params for gradient in p._grad or ()]
        with autograd.pause():
            finite = not gradients or bool(nd.multi_all_finite(*gradients, num_arrays=len(gradients)).asscalar())
        self.loss_scale = self._next
        if not finite:
            self._next = self.loss_scale / 2
            self._unskipped = 0
            logging.info("amp: a gradient overflowed, the loss scale falls to %g", self._next)
        else:
            self._unskipped += 1
            if self._unskipped == self.GROWTH_INTERVAL:
                self._unskipped = 0
                self._next = min(self.HIGHEST, self.loss_scale * 2)
                logging.info("amp: the loss scale rises to %g", self._next)
        return not finite
