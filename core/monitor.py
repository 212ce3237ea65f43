"""`Monitor`: statistics of what a network computes, for a look at how training goes."""

from __future__ import annotations

import logging
import math
import re

from core.ndarray import NDArray


class Monitor:
    """Collects a figure of outputs, gradients and weights every `interval` batches.

    stat_func: from an array to an array of one element, by default its norm over the root of its size. pattern: a
    regular expression for the names to watch. sort: by name. monitor_all: inputs of operators too.
    """

    def __init__(self, interval, stat_func=None, pattern=".*", sort=False, monitor_all=False):
        self.stat_func = stat_func or (lambda x: x.norm() / math.sqrt(x.size))
        self.interval, self.sort, self.monitor_all = interval, sort, monitor_all
        self.activated, self.queue, self.step, self.exes = False, [], 0, []
        self.re_prog = re.compile(pattern)

    def stat_helper(self, name, array):
        """Takes an array of an executor, while a batch is watched."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe, monitor_all=None):
        """Watches an executor."""
        watch_all = self.monitor_all if monitor_all is None else monitor_all
        exe.set_monitor_callback(self.stat_helper, watch_all, active=lambda: self.activated)
        self.exes.append(exe)

    def tic(self):
        """Begins a batch; every `interval`-th one is watched."""
        if self.step % self.interval == 0:
            self.queue, self.activated = [], True
        self.step += 1

    def toc(self):
        """Ends a batch; a list of (batch, name, figure as text), empty when it was not watched."""
        if not self.activated:
            return []
        for exe in self.exes:
            for arrays in (exe.arg_dict, exe.aux_dict):
                for name, array in arrays.items():
                    self.stat_helper(name, array)
        self.activated = False
        rows = sorted(self.queue, key=lambda row: row[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _text(figure)) for step, name, figure in rows]

    def toc_print(self):
        """`toc`, logged."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %30s %s", step, name, text)


def _text(figures) -> str:
    figures = [figures] if isinstance(figures, NDArray) else figures
    if not isinstance(figures, list) or not all(isinstance(f, NDArray) for f in figures):
        raise AssertionError("the stat_func of a Monitor gives an NDArray, or a list of them")
    return "".join(f"{f.asscalar()!s}\t" if f.shape in ((), (1,)) else f"{f.asnumpy()!s}\t" for f in figures)
