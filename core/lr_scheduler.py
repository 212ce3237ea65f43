"""Learning rate schedules: callables from the number of updates to a learning rate."""

from __future__ import annotations

import itertools
import logging
from math import cos, pi

from core.documentation.classes import complete as _complete


def _number(update):
    """The number of an update, which may come as an array of one element."""
    return float(update.item() if hasattr(update, "item") else update)


class LRScheduler:
    """Base of the schedules, with the warm-up that they share.

    For the first `warmup_steps` updates the rate is `warmup_begin_lr` (`warmup_mode="constant"`) or rises linearly from
    it to `base_lr` (`"linear"`).

    >>> schedule = lr_scheduler.LRScheduler(base_lr=0.1, warmup_steps=4)
    >>> schedule.get_warmup_lr(2)
    0.05
    """

    def __init__(self, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        if not isinstance(warmup_steps, int):
            raise AssertionError(f"warmup_steps is an integer, got {warmup_steps!r}")
        if warmup_begin_lr > base_lr:
            raise ValueError(f"warmup_begin_lr {warmup_begin_lr} is above base_lr {base_lr}")
        if warmup_steps < 0:
            raise ValueError(f"warmup_steps is at least 0, got {warmup_steps}")
        if warmup_mode not in ("linear", "constant"):
            raise ValueError(f"warmup_mode is 'linear' or 'constant', got {warmup_mode!r}")
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_final_lr = base_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update):
        """The rate of an update before the end of the warm-up."""
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = (self.warmup_final_lr - self.warmup_begin_lr) * _number(num_update) / self.warmup_steps
        return self.warmup_begin_lr + rise

    def __call__(self, num_update):
        """The learning rate of the given update (counted from 1; an array with one element will do), a Python number."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__(num_update)")


class FactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` after every `step` updates, down to `stop_factor_lr`.

    >>> schedule = lr_scheduler.FactorScheduler(step=10, factor=0.5, base_lr=1)
    >>> [schedule(step) for step in (1, 11, 21)]
    [1, 0.5, 0.25]
    """

    def __init__(
        self, step, factor=1, stop_factor_lr=1e-8, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0,
        warmup_mode="linear",
    ):  # fmt: skip
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise ValueError(f"step is at least 1 update, got {step}")
        _check_factor(factor)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr *= self.factor
            if self.base_lr < self.stop_factor_lr:
                self.base_lr = self.stop_factor_lr
            logging.info("update %d: learning rate changes to %.5e", num_update, self.base_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` once the number of updates passes each of the increasing numbers in `step`.

    >>> schedule = lr_scheduler.MultiFactorScheduler(step=[10, 20], factor=0.1, base_lr=1)
    >>> [round(schedule(step), 4) for step in (1, 11, 21)]
    [1, 0.1, 0.01]
    """

    def __init__(self, step, factor=1, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not (isinstance(step, list) and step):
            raise AssertionError(f"step is a list with at least one number of updates, got {step!r}")
        if any(s < 1 for s in step) or any(a >= b for a, b in itertools.pairwise(step)):
            raise ValueError(f"step is an increasing list of numbers of at least 1, got {step}")
        _check_factor(factor)
        self.step = step
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            logging.info("update %d: learning rate changes to %.5e", num_update, self.base_lr)
        return self.base_lr


class _DecayToMaxUpdate(LRScheduler):
    """Falls from `base_lr` at the end of the warm-up to `final_lr` at `max_update`, along a curve on [0, 1]."""

    def __init__(self, max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(max_update, int):
            raise AssertionError(f"max_update is an integer, got {max_update!r}")
        if max_update < 1:
            raise ValueError(f"max_update is at least 1, got {max_update}")
        self.base_lr_orig = base_lr
        self.final_lr = final_lr
        self.max_update = max_update
        self.max_steps = max_update - warmup_steps

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            remaining = self._remaining((_number(num_update) - self.warmup_steps) / self.max_steps)
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * remaining
        return self.base_lr

    def _remaining(self, progress):
        raise NotImplementedError


class PolyScheduler(_DecayToMaxUpdate):
    """Falls like a polynomial of power `pwr` from `base_lr` to `final_lr` over `max_update` updates.

    >>> schedule = lr_scheduler.PolyScheduler(max_update=10, base_lr=1, pwr=2)
    >>> [round(schedule(step), 4) for step in (0, 5, 10)]
    [1.0, 0.25, 0.0]
    """

    def __init__(
        self, max_update, base_lr=0.01, pwr=2, final_lr=0, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"
    ):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _remaining(self, progress):
        return pow(1 - progress, self.power)


class CosineScheduler(_DecayToMaxUpdate):
    """Falls along half a cosine from `base_lr` to `final_lr` in `max_update` updates (Loshchilov and Hutter, 2017).

    >>> schedule = lr_scheduler.CosineScheduler(max_update=10, base_lr=1)
    >>> [round(schedule(step), 4) for step in (0, 5, 10)]
    [1.0, 0.5, 0.0]
    """

    def __init__(self, max_update, base_lr=0.01, final_lr=0, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _remaining(self, progress):
        return (1 + cos(pi * progress)) / 2


def _check_factor(factor):
    if factor > 1.0:
        raise ValueError(f"factor is at most 1, so that the learning rate falls; got {factor}")


_complete(globals())
