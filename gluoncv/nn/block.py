"""Activations of networks for small devices (Howard et al., 2019)."""

from gluon.block import HybridBlock


class ReLU6(HybridBlock):
    """min(max(x, 0), 6)."""

    def hybrid_forward(self, F, x):
        return F.clip(x, 0, 6)


class HardSigmoid(HybridBlock):
    """min(max(x + 3, 0), 6) / 6."""

    def hybrid_forward(self, F, x):
        return F.clip(x + 3.0, 0, 6) / 6.0


class HardSwish(HybridBlock):
    """x * min(max(x + 3, 0), 6) / 6."""

    def hybrid_forward(self, F, x):
        return x * (F.clip(x + 3.0, 0, 6) / 6.0)
