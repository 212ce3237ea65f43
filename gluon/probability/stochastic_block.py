"""Blocks that collect losses on their way forward, such as the divergence of a Bayesian layer."""

from __future__ import annotations

from functools import wraps

from gluon.block import HybridBlock


class StochasticBlock(HybridBlock):
    """A block whose `forward`, decorated with `StochasticBlock.collectLoss`, may call `add_loss`.

    `losses` has them after a call.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._losses, self._collecting, self._decorated = [], [], False

    def add_loss(self, loss):
        """Adds a loss to those of this call."""
        self._collecting.append(loss)

    @property
    def losses(self):
        """The losses of the last call."""
        return self._losses

    @staticmethod
    def collectLoss(func):
        """Decorates `forward` (or `hybrid_forward`): its result goes together with the losses that it added."""

        @wraps(func)
        def collecting(self, *args, **kwargs):
            self._collecting = []
            out = func(self, *args, **kwargs)
            self._decorated = True
            return out, self._collecting

        return collecting

    def __call__(self, *args, **kwargs):
        out = super().__call__(*args, **kwargs)
        if not self._decorated:
            raise ValueError(f"{type(self).__name__}.forward is to be decorated with StochasticBlock.collectLoss")
        result, self._losses = out
        return result


class StochasticSequential(StochasticBlock):
    """Blocks one after the other; their losses are collected, a list for each block that has some."""

    def add(self, *blocks):
        """Puts blocks at the end."""
        for block in blocks:
            self.register_child(block)

    @StochasticBlock.collectLoss
    def forward(self, x, *args):
        for block in self._children.values():
            x = block(x, *args)
            args = ()
            if isinstance(x, (tuple, list)):
                x, *args = x
            if isinstance(block, StochasticBlock):
                self.add_loss(block.losses)
        return (x, *args) if args else x

    def __getitem__(self, key):
        layers = list(self._children.values())[key]
        if not isinstance(layers, list):
            return layers
        part = type(self)()
        part.add(*layers)
        return part

    def __len__(self):
        return len(self._children)
