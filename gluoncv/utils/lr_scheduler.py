"""Learning rates by update, for recipes made of several stretches."""

from __future__ import annotations

from math import cos, pi

from core.base import BadArgument
from core.lr_scheduler import LRScheduler as Base

__all__ = ["LRScheduler", "LRSequential"]

MODES = ("constant", "step", "linear", "poly", "cosine")


class LRSequential(Base):
    """Schedules one after the other; each knows how many updates it lasts.

    >>> from gluoncv.utils import LRScheduler, LRSequential
    >>> schedule = LRSequential([LRScheduler("linear", 0, 1, niters=2), LRScheduler("constant", 1, niters=2)])
    >>> [schedule(i) for i in range(4)]
    [0.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, schedulers):
        super().__init__()
        if not schedulers:
            raise BadArgument("LRSequential needs at least one schedule")
        self.update_sep: list[int] = []
        self.count, self.learning_rate, self.schedulers = 0, 0, []
        for scheduler in schedulers:
            self.add(scheduler)

    def add(self, scheduler):
        """Puts a schedule at the end."""
        if not isinstance(scheduler, LRScheduler):
            raise BadArgument(f"LRSequential takes gluoncv.utils.LRScheduler, given {type(scheduler).__name__}")
        scheduler.offset = self.count
        self.count += scheduler.niters
        self.update_sep.append(self.count)
        self.schedulers.append(scheduler)

    def __call__(self, num_update):
        self.update(num_update)
        return self.learning_rate

    def update(self, num_update):
        """Sets `learning_rate` for an update."""
        which = sum(end <= num_update for end in self.update_sep)
        scheduler = self.schedulers[min(which, len(self.schedulers) - 1)]
        scheduler.update(num_update)
        self.learning_rate = scheduler.learning_rate


class LRScheduler(Base):
    """One stretch from `base_lr` to `target_lr`, counted in updates from `offset` on.

    mode: constant; step, by `step_factor` at the updates `step_iter` or epochs `step_epoch`; linear; poly of `power`;
    cosine. Its length is `niters` updates, or `nepochs` epochs of `iters_per_epoch`.

    >>> from gluoncv.utils import LRScheduler
    >>> schedule = LRScheduler("linear", base_lr=0, target_lr=1, niters=5)
    >>> [schedule(i) for i in range(5)]
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    def __init__(
        self, mode, base_lr=0.1, target_lr=0, niters=0, nepochs=0, iters_per_epoch=0, offset=0, power=2, step_iter=None,
        step_epoch=None, step_factor=0.1, baselr=None, targetlr=None,
    ):  # fmt: skip
        super().__init__()
        if mode not in MODES:
            raise BadArgument(f"mode is one of {', '.join(MODES)}, given {mode!r}")
        if mode == "step" and step_iter is None and step_epoch is None:
            raise BadArgument("the mode step needs step_iter or step_epoch")
        self.mode = mode
        # The old names mean something only where the new ones say nothing.
        self.base_lr = baselr if baselr is not None and base_lr == 0.1 else base_lr
        self.target_lr = targetlr if targetlr is not None and target_lr == 0 else target_lr
        if mode == "constant":
            self.target_lr = self.base_lr
        self.niters = nepochs * iters_per_epoch or niters
        by_epoch = nepochs * iters_per_epoch > 0 and step_epoch is not None
        self.step = [epoch * iters_per_epoch for epoch in step_epoch] if by_epoch else step_iter or ()
        self.offset, self.power, self.step_factor = offset, power, step_factor
        self.learning_rate = 0

    def __call__(self, num_update):
        self.update(num_update)
        return self.learning_rate

    def update(self, num_update):
        """Sets `learning_rate` for an update."""
        last = self.niters - 1
        at = min(max(num_update - self.offset, 0), last)
        gone = at / last if last > 0 else 0.0
        if self.mode == "step":
            factor = self.step_factor ** sum(s <= at for s in self.step)
        else:
            factor = {
                "constant": 0.0,
                "linear": 1 - gone,
                "poly": (1 - gone) ** self.power,
                "cosine": (1 + cos(pi * gone)) / 2,
            }[self.mode]
        if self.mode == "step":
            self.learning_rate = self.base_lr * factor
        else:
            self.learning_rate = self.target_lr + (self.base_lr - self.target_lr) * factor
