"""Handlers of the events of a training loop.

A handler has a method for each event that it is a subclass of: `TrainBegin.train_begin`, `EpochBegin.epoch_begin`,
`BatchBegin.batch_begin`, `BatchEnd.batch_end`, `EpochEnd.epoch_end`, `TrainEnd.train_end`. Each gets the estimator;
those of batches get `batch`, and at the end `pred`, `label` and `loss` too. A true value from `batch_end` ends the
epoch, one from `epoch_end` the training. Handlers are called in the order of their `priority`, 0 where they have none.
"""

import math
import os
import re
import time
import warnings

from core.metric import CompositeEvalMetric, EvalMetric
from core.metric import Loss as LossMetric
from gluon.block.export import described


class EventHandler:
    """Base of all handlers."""


class TrainBegin(EventHandler):
    """Handlers of the start of training.

    >>> from gluon.contrib import estimator
    >>> issubclass(estimator.StoppingHandler, estimator.TrainBegin)
    True
    """

    def train_begin(self, estimator, *args, **kwargs):
        """Called before the first epoch."""


class TrainEnd(EventHandler):
    """Handlers of the end of training.

    >>> from gluon.contrib import estimator
    >>> issubclass(estimator.LoggingHandler, estimator.TrainEnd)
    True
    """

    def train_end(self, estimator, *args, **kwargs):
        """Called after the last epoch."""


class EpochBegin(EventHandler):
    """Handlers of the start of each epoch.

    >>> from gluon.contrib import estimator
    >>> issubclass(estimator.MetricHandler, estimator.EpochBegin)
    True
    """

    def epoch_begin(self, estimator, *args, **kwargs):
        """Called before the first batch of an epoch."""


class EpochEnd(EventHandler):
    """Handlers of the end of each epoch.

    >>> from gluon.contrib import estimator
    >>> issubclass(estimator.CheckpointHandler, estimator.EpochEnd)
    True
    """

    def epoch_end(self, estimator, *args, **kwargs):
        """Called after the last batch of an epoch; gives whether training should end."""
        return False


class BatchBegin(EventHandler):
    """Handlers of the start of each batch.

    >>> from gluon.contrib import estimator
    >>> issubclass(estimator.LoggingHandler, estimator.BatchBegin)
    True
    """

    def batch_begin(self, estimator, *args, **kwargs):
        """Called before a batch is used."""


class BatchEnd(EventHandler):
    """Handlers of the end of each batch.

    >>> from gluon.contrib import estimator
    >>> issubclass(estimator.MetricHandler, estimator.BatchEnd)
    True
    """

    def batch_end(self, estimator, *args, **kwargs):
        """Called after the backward pass of a batch; gives whether the epoch should end."""
        return False


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends training after so many epochs or batches, those that `fit` was asked for.

    >>> from gluon.contrib.estimator import StoppingHandler
    >>> StoppingHandler(max_epoch=3).max_epoch
    3
    """

    def __init__(self, max_epoch=None, max_batch=None):
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator, *args, **kwargs):
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator, *args, **kwargs):
        self.current_batch += 1
        self.stop_training |= self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator, *args, **kwargs):
        self.current_epoch += 1
        self.stop_training |= self.current_epoch == self.max_epoch
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Updates metrics with every batch; they begin anew with every epoch.

    >>> from gluon.contrib.estimator import MetricHandler
    >>> accuracy = metric.Accuracy()
    >>> handler = MetricHandler([accuracy])
    >>> handler.batch_end(None, pred=[nd.array([[0.1, 0.9]])], label=[nd.array([1])], loss=[nd.array([0.1])])
    >>> accuracy.get()
    ('accuracy', np.float64(1.0))
    """

    def __init__(self, metrics, priority=-1000):
        self.metrics = check_metrics(metrics)
        self.priority = priority

    def epoch_begin(self, estimator, *args, **kwargs):
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator, *args, **kwargs):
        for metric in self.metrics:
            if isinstance(metric, LossMetric):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Calls `eval_fn(val_data=, batch_axis=, event_handlers=)` after every `epoch_period`
    epochs and `batch_period` batches.

    >>> from gluon.contrib.estimator import Estimator, ValidationHandler
    >>> net = nn.Dense(1, in_units=1)
    >>> net.initialize()
    >>> estimator = Estimator(net, gluon.loss.L2Loss(), metric.MSE(), trainer=gluon.Trainer(net.collect_params(), "sgd"))
    >>> estimator.logger.setLevel("ERROR")
    >>> batches = gluon.data.DataLoader(gluon.data.ArrayDataset(nd.ones((4, 1)), nd.ones((4, 1))), batch_size=2)
    >>> seen = []
    >>> handler = ValidationHandler(batches, lambda val_data, **_: seen.append(len(val_data)), epoch_period=2)
    >>> estimator.fit(batches, epochs=4, event_handlers=[handler])
    >>> seen  # the batches of each validation
    [2, 2]
    """

    def __init__(self, val_data, eval_fn, epoch_period=1, batch_period=None, priority=-1000, event_handlers=None):
        self.val_data, self.eval_fn, self.event_handlers = val_data, eval_fn, event_handlers
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.current_batch = self.current_epoch = 0
        self.priority = priority

    def train_begin(self, estimator, *args, **kwargs):
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator, *args, **kwargs):
        self.current_batch += 1
        self._evaluate(estimator, self.current_batch, self.batch_period)

    def epoch_end(self, estimator, *args, **kwargs):
        self.current_epoch += 1
        self._evaluate(estimator, self.current_epoch, self.epoch_period)

    def _evaluate(self, estimator, count, period):
        if period and count % period == 0:
            self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Writes the metrics to the estimator's logger after every epoch, or every `log_interval` batches too."""

    def __init__(self, log_interval="epoch", metrics=None, priority=math.inf):
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ValueError(f"log_interval is a number of batches or 'epoch', given {log_interval!r}")
        self.metrics = check_metrics(metrics)
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.priority = priority  # last, when the others have brought everything up to date
        self.log_interval = log_interval
        self.log_interval_time = 0

    def train_begin(self, estimator, *args, **kwargs):
        self.train_start = time.time()
        trainer = estimator.trainer
        estimator.logger.info(
            "Training begin: using optimizer %s with current learning rate %.4f ",
            type(trainer.optimizer).__name__,
            trainer.learning_rate,
        )
        count, unit = (estimator.max_epoch, "epochs") if estimator.max_epoch else (estimator.max_batch, "batches")
        estimator.logger.info("Train for %d %s.", count, unit)
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0

    def train_end(self, estimator, *args, **kwargs):
        seconds = time.time() - self.train_start
        text = f"Train finished using total {seconds:.0f}s with {self.current_epoch} epochs. "
        estimator.logger.info(text + self._values())

    def batch_begin(self, estimator, *args, **kwargs):
        self.batch_start = time.time()

    def batch_end(self, estimator, *args, **kwargs):
        if isinstance(self.log_interval, int):
            self.processed_samples += kwargs["batch"][0].shape[0]
            self.log_interval_time += time.time() - self.batch_start
            if self.batch_index % self.log_interval == 0:
                estimator.logger.info(
                    f"[Epoch {self.current_epoch}][Batch {self.batch_index}][Samples {self.processed_samples}] "
                    f"time/interval: {self.log_interval_time:.3f}s {self._values()}"
                )
                self.log_interval_time = 0
        self.batch_index += 1

    def epoch_begin(self, estimator, *args, **kwargs):
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            rate = estimator.trainer.learning_rate
            estimator.logger.info("[Epoch %d] Begin, current learning rate: %.4f", self.current_epoch, rate)
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator, *args, **kwargs):
        seconds = time.time() - self.epoch_start
        estimator.logger.info(f"[Epoch {self.current_epoch}] Finished in {seconds:.3f}s, {self._values()}")
        self.current_epoch += 1
        self.batch_index = 0

    def _values(self):
        return ", ".join("{}: {:.4f}".format(*metric.get()) for metric in self.metrics)


class _Improvement:
    """Whether a monitored metric is better than before.

    `mode` is "min", "max", or "auto" for what its name suggests.
    """

    def __init__(self, monitor, mode, min_delta=0):
        if mode not in ("auto", "min", "max"):
            warnings.warn(f"mode {mode!r} is none of auto, min, max: auto is used", RuntimeWarning, stacklevel=4)
            mode = "auto"
        if mode == "auto":
            name = str(monitor.get()[0]).lower()
            mode = "max" if "acc" in name or "f1" in name else "min"
            warnings.warn(
                f"{monitor.get()[0]} is taken to improve when it is {'greater' if mode == 'max' else 'less'}; "
                "mode='min' or mode='max' says so without this warning",
                stacklevel=4,
            )
        self.greater, self.min_delta = mode == "max", min_delta
        self.worst = -math.inf if self.greater else math.inf

    def __call__(self, value, best):
        return value - self.min_delta > best if self.greater else value + self.min_delta < best


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Saves parameters and trainer states to `model_dir` after every `epoch_period` epochs and `batch_period` batches.

    Files: PREFIX-epochNbatchN.params and .states, at most `max_checkpoints` of each; PREFIX-symbol.json after the first
    batch of a hybridized network; with `save_best` PREFIX-best.params and .states, those with the best value of the
    metric `monitor` (`mode` "min", "max", or "auto" for what its name suggests). `resume_from_checkpoint` goes on after
    the last checkpoint found. ValueError when there is nothing left to train, or the files have other names.

    >>> import tempfile
    >>> from gluon.contrib.estimator import CheckpointHandler
    >>> CheckpointHandler(tempfile.mkdtemp(), model_prefix="net").model_prefix
    'net'
    """

    def __init__(
        self, model_dir, model_prefix="model", monitor=None, verbose=0, save_best=False, mode="auto", epoch_period=1,
        batch_period=None, max_checkpoints=5, resume_from_checkpoint=False,
    ):  # fmt: skip
        if save_best and not isinstance(monitor, EvalMetric):
            raise ValueError(
                "save_best needs to know by what: monitor is to be one of estimator.train_metrics or "
                "estimator.val_metrics"
            )
        self.model_dir, self.model_prefix = model_dir, model_prefix
        os.makedirs(model_dir, exist_ok=True)
        self.monitor, self.verbose, self.save_best = monitor, verbose, save_best
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.max_checkpoints, self.resume_from_checkpoint = max_checkpoints, resume_from_checkpoint
        self.current_batch = self.current_epoch = 0
        self.saved_checkpoints = []
        self._improves = _Improvement(monitor, mode) if save_best else None
        self.best = self._improves.worst if save_best else None

    def train_begin(self, estimator, *args, **kwargs):
        self.current_batch = self.current_epoch = 0
        if self.save_best:
            self.best = self._improves.worst
        if not self.resume_from_checkpoint:
            return
        wanted, other = ("epoch", "batch") if estimator.max_epoch else ("batch", "epoch")
        if not getattr(self, f"{wanted}_period") or getattr(self, f"{other}_period"):
            raise AssertionError(
                f"resume_from_checkpoint counts {wanted}es as fit does: give {wanted}_period, and {other}_period=None"
            )
        self._resume(estimator)

    def batch_end(self, estimator, *args, **kwargs):
        if self.current_batch == 0:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator, *args, **kwargs):
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    def _save_checkpoint(self, estimator):
        epoch, batch = self.current_epoch, self.current_batch
        if self.resume_from_checkpoint:
            epoch += self.trained_epoch + 1
            batch += self.trained_batch + (0 if estimator.max_epoch else 1)  # an epoch's end has counted its last batch
        prefix = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._save(estimator, prefix)
        self.saved_checkpoints.append(prefix)
        while len(self.saved_checkpoints) > self.max_checkpoints:
            self._remove(self.saved_checkpoints.pop(0))
        self._say(estimator, f"{self.current_batch + 1} batches trained, saved to {self.model_dir} as {prefix}")
        if self.save_best:
            self._save_if_best(estimator)

    def _save_if_best(self, estimator):
        name, value = self.monitor.get()
        if math.isnan(value):
            warnings.warn(
                f"nothing saved as the best: {name} has no value; monitor is to be one of estimator.train_metrics or "
                "estimator.val_metrics",
                RuntimeWarning,
                stacklevel=2,
            )
        elif self._improves(value, self.best):
            self._say(estimator, f"{name} improved from {self.best:.5f} to {value:.5f}")
            self.best = value
            self._save(estimator, f"{self.model_prefix}-best")
        else:
            self._say(estimator, f"{name} did not improve from {self.best:.5f}")

    def _say(self, estimator, text):
        if self.verbose > 0:
            estimator.logger.info("[Epoch %d] CheckpointHandler: %s", self.current_epoch, text)

    def _path(self, name):
        return os.path.join(self.model_dir, name)

    def _save(self, estimator, prefix):
        estimator.net.save_parameters(self._path(f"{prefix}.params"))
        estimator.trainer.save_states(self._path(f"{prefix}.states"))

    def _remove(self, prefix):
        for ending in ("params", "states"):
            if os.path.exists(self._path(f"{prefix}.{ending}")):
                os.remove(self._path(f"{prefix}.{ending}"))

    def _save_symbol(self, estimator):
        called = getattr(estimator.net, "_called_with", ())
        if not called:
            estimator.logger.info(
                "The architecture is not saved: it takes a HybridBlock, and net.hybridize() before the training"
            )
        else:
            described(estimator.net, called)[0].save(self._path(f"{self.model_prefix}-symbol.json"))

    def _resume(self, estimator):
        found = []
        for file in os.listdir(self.model_dir):
            if file.startswith(f"{self.model_prefix}-epoch") and file.endswith(".params"):
                match = re.fullmatch(r"epoch(\d+)batch(\d+)\.params", file.removeprefix(f"{self.model_prefix}-"))
                if not match:
                    raise ValueError(f"{file} in {self.model_dir} is not called PREFIX-epochNbatchN.params")
                found.append((int(match[1]), int(match[2]), file.removesuffix(".params")))
        self.trained_epoch, self.trained_batch, prefix = max(found, default=(-1, -1, None))
        if prefix is None:
            estimator.logger.info("CheckpointHandler: no checkpoint found, training from scratch")
            return
        self.saved_checkpoints = [name for *_, name in sorted(found)]
        for what, trained in (("max_epoch", self.trained_epoch), ("max_batch", self.trained_batch)):
            asked = getattr(estimator, what)
            if asked:
                if trained >= asked - 1:
                    raise ValueError(
                        f"{what} {asked} is reached by the checkpoint {prefix}; train from scratch with "
                        "resume_from_checkpoint=False"
                    )
                setattr(estimator, what, asked - trained - 1)
        estimator.net.load_parameters(self._path(f"{prefix}.params"), ctx=estimator.context)
        estimator.trainer.load_states(self._path(f"{prefix}.states"))
        estimator.logger.warning("CheckpointHandler: goes on after %s", prefix)


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends training when the metric `monitor` has not improved by `min_delta` for `patience` epochs.

    mode: "min", "max", or "auto" for what the metric's name suggests. baseline: the value to improve on at first.

    >>> from gluon.contrib.estimator import EarlyStoppingHandler
    >>> EarlyStoppingHandler(metric.Accuracy(), patience=2).patience
    2
    """

    def __init__(self, monitor, min_delta=0, patience=0, mode="auto", baseline=None):
        if not isinstance(monitor, EvalMetric) or isinstance(monitor, CompositeEvalMetric):
            raise ValueError(
                "monitor is to be a single metric of estimator.train_metrics or estimator.val_metrics, given "
                f"{type(monitor).__name__}"
            )
        self.monitor, self.baseline, self.patience, self.min_delta = monitor, baseline, patience, min_delta
        self._improves = _Improvement(monitor, mode, min_delta)
        self.train_begin(None)

    def train_begin(self, estimator, *args, **kwargs):
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self.best = self._improves.worst if self.baseline is None else self.baseline

    def epoch_end(self, estimator, *args, **kwargs):
        name, value = self.monitor.get()
        if math.isnan(value):
            warnings.warn(
                f"{name} has no value; monitor is to be one of estimator.train_metrics or estimator.val_metrics",
                RuntimeWarning,
                stacklevel=2,
            )
        elif self._improves(value, self.best):
            self.best, self.wait = value, 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch, self.stop_training = self.current_epoch, True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator, *args, **kwargs):
        if self.stopped_epoch > 0:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHandler: stopped, %s does not improve",
                self.stopped_epoch,
                self.monitor.get()[0],
            )


class GradientUpdateHandler(BatchEnd):
    """Updates the parameters with the gradients of each batch, before all other handlers.

    >>> from gluon.contrib.estimator import Estimator, GradientUpdateHandler
    >>> net = nn.Dense(1, in_units=1, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, gluon.loss.L2Loss(), trainer=trainer)
    >>> data, label = nd.array([[1]]), nd.array([[3]])
    >>> with autograd.record():
    ...     loss = estimator.loss(net(data), label)
    >>> loss.backward()
    >>> GradientUpdateHandler().batch_end(estimator, batch=(data, label), loss=[loss])
    >>> net.weight.data()  # from 1 half of the way to 3
    [[2.]]
    <NDArray 1x1 @cpu(0)>
    """

    def __init__(self, priority=-2000):
        self.priority = priority

    def batch_end(self, estimator, *args, **kwargs):
        loss = kwargs["loss"] if isinstance(kwargs["loss"], list) else [kwargs["loss"]]
        estimator.trainer.step(sum(part.shape[0] for part in loss))


def check_event_handlers(handlers):
    """A list of handlers; ValueError for anything else."""
    handlers = [handlers] if isinstance(handlers, EventHandler) else list(handlers or [])
    for handler in handlers:
        if not isinstance(handler, EventHandler):
            raise ValueError(f"event_handlers takes an EventHandler or a list of them, given {type(handler).__name__}")
    return handlers


def check_metrics(metrics):
    """A flat list of metrics; ValueError for anything else."""
    if isinstance(metrics, CompositeEvalMetric):
        return [m for metric in metrics.metrics for m in check_metrics(metric)]
    metrics = [metrics] if isinstance(metrics, EvalMetric) else list(metrics or [])
    for metric in metrics:
        if not isinstance(metric, EvalMetric):
            raise ValueError(f"metrics are EvalMetric or lists of them, given {type(metric).__name__}")
    return metrics
