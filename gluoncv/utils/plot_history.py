"""Curves of a training run."""

from __future__ import annotations

from core.base import BadArgument
from core.extras import load


class TrainingHistory:
    """Values by epoch for each of `labels`; `plot` draws them with matplotlib.

    >>> from gluoncv.utils import TrainingHistory
    >>> history = TrainingHistory(["train", "val"])
    >>> history.update([0.5, 0.6])
    >>> history.history
    {'train': [0.5], 'val': [0.6]}
    """

    def __init__(self, labels):
        self.l, self.labels = len(labels), labels
        self.history = {label: [] for label in labels}
        self.epochs = 0

    def update(self, values):
        """Adds a value for every label."""
        if len(values) != self.l:
            raise BadArgument(f"{self.l} values are expected, for {', '.join(self.history)}; given {len(values)}")
        self.epochs += 1
        for series, value in zip(self.history.values(), values, strict=True):
            series.append(value)

    def plot(self, labels=None, colors=None, y_lim=(0, 1), save_path=None, legend_loc="upper right"):
        """Draws the curves of `labels` (all by default) to `save_path`, or to a window."""
        plt = load("matplotlib.pyplot", "drawing")

        figure, axes = plt.subplots()
        for k, label in enumerate(labels or self.history):
            options = {"color": colors[k]} if colors else {}
            axes.plot(range(1, self.epochs + 1), self.history[label], label=label, **options)
        axes.set_ylim(y_lim)
        axes.set_xlabel("epoch")
        axes.legend(loc=legend_loc)
        if save_path is None:
            plt.show()
        else:
            figure.savefig(save_path)
        plt.close(figure)
