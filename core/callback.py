"""Functions that a training loop calls after batches and epochs: progress, speed, checkpoints."""

from __future__ import annotations

import logging
import math
import sys
import time

from core import late_names
from core.model import save_checkpoint


def module_checkpoint(mod, prefix, period=1, save_optimizer_states=False):
    """An epoch callback that saves `mod` (a `Module`) to files `prefix-...` every `period` epochs."""
    period = max(1, int(period))

    def checkpoint(epoch, symbol=None, arg_params=None, aux_params=None):
        if (epoch + 1) % period == 0:
            mod.save_checkpoint(prefix, epoch + 1, save_optimizer_states)

    return checkpoint


def do_checkpoint(prefix, period=1):
    """An epoch callback that writes the symbol and the parameters to files `prefix-...` every `period` epochs."""
    period = max(1, int(period))

    def checkpoint(epoch, symbol, arg_params, aux_params):
        if (epoch + 1) % period == 0:
            save_checkpoint(prefix, epoch + 1, symbol, arg_params, aux_params)

    return checkpoint


def log_train_metric(period, auto_reset=False):
    """A batch callback that logs the metric every `period` batches, and begins it anew with `auto_reset`."""

    def log(param):
        if param.nbatch % period != 0 or param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
        if auto_reset:
            param.eval_metric.reset_local()

    return log


class Speedometer:
    """A batch callback that logs samples per second, and the metric, every `frequent` batches.

    With `auto_reset` the metric covers only the batches since the last line.
    """

    def __init__(self, batch_size, frequent=50, auto_reset=True):
        self.batch_size, self.frequent, self.auto_reset = batch_size, frequent, auto_reset
        self.init = False
        self.tic = 0.0
        self.last_count = 0

    def __call__(self, param):
        count = param.nbatch
        if self.last_count > count:  # a new epoch
            self.init = False
        self.last_count = count
        if not self.init:
            self.init, self.tic = True, time.time()
            return
        if count % self.frequent:
            return
        seconds = time.time() - self.tic
        speed = self.frequent * self.batch_size / seconds if seconds else float("inf")
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
        else:
            pairs = param.eval_metric.get_name_value()
            first = 0
            if self.auto_reset:
                first = count - self.frequent
                param.eval_metric.reset_local()
            text = "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(pairs)
            logging.info(text, param.epoch, first, count, speed, *(part for pair in pairs for part in pair))
        self.tic = time.time()


class ProgressBar:
    """A batch callback that draws a bar of `length` characters for `total` batches."""

    def __init__(self, total, length=80):
        self.total, self.bar_len = total, length

    def __call__(self, param):
        filled = round(self.bar_len * param.nbatch / float(self.total))
        percent = math.ceil(100.0 * param.nbatch / float(self.total))
        sys.stdout.write(f"[{'=' * filled}{'-' * (self.bar_len - filled)}] {percent}%\r")


class LogValidationMetricsCallback:
    """An evaluation callback that logs the metric at the end of an epoch."""

    def __call__(self, param):
        for name, value in param.eval_metric.get_name_value() if param.eval_metric else ():
            logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


def __dir__():
    return late_names.defined(globals())
