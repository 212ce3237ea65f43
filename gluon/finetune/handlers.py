"""What fine-tuning adds to the estimator's loop: averages of weights, mixed precision, class weights, a history."""

from __future__ import annotations

from collections.abc import Callable

from tqdm import tqdm

from core import autograd, nd
from core.contrib import amp
from core.metric import EvalMetric
from gluon.contrib.estimator import BatchEnd, BatchProcessor, EpochBegin, EpochEnd, TrainBegin, TrainEnd
from gluon.utils import split_and_load


class Inputs(BatchProcessor):
    """Passes over batches of any number of inputs and a label, `(*inputs, label)`.

    class_weights: how much each class counts, (classes,). train_mode: whether layers such as dropout and normalisations
    behave as in training. scaled: whether `amp` scales the loss.
    """

    def __init__(self, class_weights=None, train_mode: bool = True, scaled: bool = False):
        self.class_weights, self.train_mode, self.scaled = class_weights, train_mode, scaled

    def fit_batch(self, estimator, train_batch, batch_axis=0):
        """Gradients of a batch; gives (inputs, labels, scores, losses), a list with one of each per context."""
        shares, labels = self._shares(estimator, train_batch, batch_axis)
        with autograd.record(train_mode=self.train_mode):
            scores = [estimator.net(*inputs) for inputs in shares]
            losses = [estimator.loss(s, y, *self._weights(y)) for s, y in zip(scores, labels, strict=True)]
            if self.scaled:
                with amp.scale_loss(losses, estimator.trainer) as scaled:
                    autograd.backward(scaled)
        if not self.scaled:
            autograd.backward(losses)
        return shares, labels, scores, losses

    def evaluate_batch(self, estimator, val_batch, batch_axis=0):
        """The same without gradients, with all samples of one weight."""
        shares, labels = self._shares(estimator, val_batch, batch_axis)
        scores = [estimator.val_net(*inputs) for inputs in shares]
        return shares, labels, scores, [estimator.val_loss(s, y) for s, y in zip(scores, labels, strict=True)]

    def _shares(self, estimator, batch, batch_axis):
        fields = [split_and_load(field, estimator.context, batch_axis, even_split=False) for field in batch]
        return list(zip(*fields[:-1], strict=True)), fields[-1]

    def _weights(self, label):
        if self.class_weights is None:
            return []
        return [nd.array(self.class_weights, ctx=label.context).take(label).expand_dims(1)]


class WeightAverage(TrainBegin, EpochBegin, BatchEnd, EpochEnd):
    """The exponential moving average of a network's parameters, which stands in for them while they are validated.

    After step n the average keeps min(decay, (1 + n) / (10 + n)) of itself, so that it leaves the beginning behind
    (Tarvainen and Valpola, 2017). The training goes on with the parameters themselves.
    """

    def __init__(self, decay: float):
        # After the trainer's step (-2000), before what validates (-1000) and saves (0).
        self.decay, self.priority = decay, -1500

    def train_begin(self, estimator, *args, **kwargs):
        self.steps, self.averages, self.own = 0, None, None

    def batch_end(self, estimator, *args, **kwargs):
        self.steps += 1
        kept = min(self.decay, (1 + self.steps) / (10 + self.steps))
        values = [p.data(estimator.context[0]) for p in self._learning(estimator)]
        if self.averages is None:
            self.averages = [value.copy() for value in values]
        for average, value in zip(self.averages, values, strict=True):
            average += (value - average) * (1 - kept)

    def epoch_end(self, estimator, *args, **kwargs):
        self.own = [p.data(estimator.context[0]).copy() for p in self._learning(estimator)]
        self._set(estimator, self.averages)

    def epoch_begin(self, estimator, *args, **kwargs):
        if self.own is not None:
            self._set(estimator, self.own)
            self.own = None

    def _learning(self, estimator):
        """Parameters that change: those with gradients, and statistics of normalisations."""
        return [
            p for name, p in estimator.net.collect_params().items()
            if p.grad_req != "null" or (estimator.batch_processor.train_mode and "running_" in name)
        ]  # fmt: skip

    def _set(self, estimator, values):
        for parameter, value in zip(self._learning(estimator), values, strict=True):
            parameter.set_data(value)


class AccuracyThenLoss(EvalMetric):
    """Compares epochs by their accuracy on `count` samples, and where it is equal by their loss, as one number."""

    def __init__(self, accuracy: EvalMetric, loss: EvalMetric, count: int):
        super().__init__("accuracy, then loss")
        self._accuracy, self._loss, self._count = accuracy, loss, count

    def get(self):
        between = 1 / (1 + self._loss.get()[1])  # less than the step from one accuracy to the next
        return self.name, self._accuracy.get()[1] + between / (2 * self._count)


class History(TrainBegin, EpochBegin, BatchEnd, EpochEnd, TrainEnd):
    """The estimator's metrics after every epoch, as rows; a bar of progress and a line for each on the way.

    say: is called with each line.
    """

    def __init__(self, batches: int, say: Callable[[str], None], bar: bool = True):
        self.batches, self.say, self.bar, self.priority = batches, say, bar, 1000

    def train_begin(self, estimator, *args, **kwargs):
        self.rows: list[dict[str, float]] = []
        self._progress = None

    def epoch_begin(self, estimator, *args, **kwargs):
        title = f"epoch {len(self.rows) + 1} of {estimator.max_epoch}"
        self._progress = tqdm(total=self.batches, desc=title, leave=False, disable=None if self.bar else True)

    def batch_end(self, estimator, *args, **kwargs):
        self._progress.update()

    def epoch_end(self, estimator, *args, **kwargs):
        self._progress.close()
        row: dict[str, float] = {"epoch": len(self.rows) + 1}
        for metric in (*estimator.train_metrics, *estimator.val_metrics):
            part, _, what = metric.get()[0].partition(" ")
            row[f"{part}_{'accuracy' if what == 'accuracy' else 'loss'}"] = float(metric.get()[1])
        self.rows.append(row)
        self.say(
            f"epoch {row['epoch']} of {estimator.max_epoch}: loss {row['training_loss']:.4f}, accuracy "
            f"{row['training_accuracy']:.4f}; validation loss {row['validation_loss']:.4f}, accuracy "
            f"{row['validation_accuracy']:.4f}"
        )

    def train_end(self, estimator, *args, **kwargs):
        if len(self.rows) < estimator.max_epoch:
            self.say(f"ended after {len(self.rows)} epochs: the accuracy did not become better")
