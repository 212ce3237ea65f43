"""`Estimator`: trains and evaluates a network; everything beyond the loop itself is done by event handlers."""

import copy
import logging
import sys
import warnings

from core.context import Context, cpu, gpu, num_gpus
from core.metric import Accuracy
from core.metric import Loss as LossMetric
from gluon.contrib.estimator.batch_processor import BatchProcessor
from gluon.contrib.estimator.event_handler import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
    check_event_handlers,
    check_metrics,
)
from gluon.data import DataLoader
from gluon.loss import Loss, SoftmaxCrossEntropyLoss
from gluon.trainer import Trainer

EVENTS = (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd)  # in the order of `_categorize_handlers`


class Estimator:
    """A training loop for `net` with `loss`.

    train_metrics, val_metrics: metrics, by default the accuracy for a softmax loss, and the mean loss; their names get
    "training " and "validation " in front. initializer: for a network that is not initialized yet. trainer: by default
    SGD with a rate of 0.001. context: a device or a list of them, by default the first GPU or else the CPU. val_net,
    val_loss: for evaluation, by default the same. batch_processor: what to do with a batch. `logger` writes to the
    standard output.

    >>> import logging
    >>> from gluon.contrib.estimator import Estimator
    >>> net = nn.Dense(2)
    >>> net.initialize()
    >>> data = gluon.data.DataLoader(gluon.data.ArrayDataset(nd.ones((4, 3)), nd.array([0, 1, 0, 1])), batch_size=2)
    >>> estimator = Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), train_metrics=metric.Accuracy(), context=mx.cpu())
    >>> estimator.logger.setLevel(logging.ERROR)
    >>> estimator.fit(data, epochs=1)
    >>> estimator.train_metrics[0].get()[0]
    'training accuracy'
    """

    logger = None

    def __init__(
        self, net, loss, train_metrics=None, val_metrics=None, initializer=None, trainer=None, context=None,
        val_net=None, val_loss=None, batch_processor=None, device=None,
    ):  # fmt: skip
        self.net, self.loss = net, _checked_loss(loss)
        self.max_epoch = self.max_batch = None
        self._train_metrics = check_metrics(train_metrics) or self._default_metrics()
        for metric in self._train_metrics:
            metric.name = f"training {metric.name}"
        self._val_metrics = check_metrics(val_metrics) or copy.deepcopy(self._train_metrics)
        for metric in self._val_metrics:
            metric.name = f"validation {metric.name.removeprefix('training ')}"
        self.val_net = net if val_net is None else val_net
        self.val_loss = self.loss if val_loss is None else _checked_loss(val_loss)

        self.logger = logging.Logger(name="Estimator", level=logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))

        self.context = _checked_context(device if context is None else context)
        self._initialize(initializer)
        self.trainer = self._checked_trainer(trainer)
        self.batch_processor = _checked_processor(batch_processor)

    @property
    def train_metrics(self):
        """The metrics of training."""
        return self._train_metrics

    @property
    def val_metrics(self):
        """The metrics of evaluation."""
        return self._val_metrics

    def fit(self, train_data, val_data=None, epochs=None, event_handlers=None, batches=None, batch_axis=0):
        """Trains on a `DataLoader` for so many `epochs` or `batches`, and evaluates on `val_data` after each epoch.

        Besides `event_handlers` those run that stop, update, measure, evaluate and log, unless handlers of their
        classes are given. ValueError for other data, and unless there is exactly one of epochs and batches.
        """
        _check_data(train_data)
        if bool(epochs) == bool(batches):
            raise ValueError(f"fit takes exactly one of epochs and batches, given epochs={epochs}, batches={batches}")
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        train_begin, epoch_begin, batch_begin, batch_end, epoch_end, train_end = self._categorize_handlers(handlers)

        _all(train_begin, "train_begin", self)
        ended = False
        while not ended:
            _all(epoch_begin, "epoch_begin", self)
            for batch in train_data:
                _all(batch_begin, "batch_begin", self, batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                if _all(batch_end, "batch_end", self, batch=batch, pred=pred, label=label, loss=loss):
                    break
            ended = _all(epoch_end, "epoch_end", self)
        _all(train_end, "train_end", self)

    def evaluate(self, val_data, batch_axis=0, event_handlers=None):
        """Measures `val_metrics` on a `DataLoader`."""
        _check_data(val_data)
        for metric in self.val_metrics:
            metric.reset()
        handlers = self._prepare_default_validation_handlers(event_handlers)
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = self._categorize_handlers(handlers)

        _all(epoch_begin, "epoch_begin", self)
        for batch in val_data:
            _all(batch_begin, "batch_begin", self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            _all(batch_end, "batch_end", self, batch=batch, pred=pred, label=label, loss=loss)
        _all(epoch_end, "epoch_end", self)

    def _prepare_default_handlers(self, val_data, event_handlers):
        """The handlers of `fit`, in order."""
        defaults = [
            StoppingHandler(self.max_epoch, self.max_batch),
            GradientUpdateHandler(),
            MetricHandler(self.train_metrics),
            *([ValidationHandler(val_data, self.evaluate)] if val_data else []),
            LoggingHandler(metrics=self.train_metrics),
        ]
        return self._with_defaults(event_handlers, defaults, self.train_metrics + self.val_metrics)

    def _prepare_default_validation_handlers(self, event_handlers):
        """The handlers of `evaluate`, in order."""
        defaults = [MetricHandler(self.val_metrics), LoggingHandler(metrics=self.val_metrics)]
        return self._with_defaults(event_handlers, defaults, self.val_metrics)

    def _with_defaults(self, handlers, defaults, known):
        """Handlers and defaults in order; a default is left out where one of its class is given."""
        given = check_event_handlers(handlers)
        handlers = given + [
            d for d in defaults if type(d) is StoppingHandler or not any(isinstance(h, type(d)) for h in given)
        ]
        for handler in given:
            for metric in _metrics_of(handler):
                if not any(metric is k for k in known):
                    raise ValueError(
                        f"{type(handler).__name__} measures with {metric}, which is none of estimator.train_metrics "
                        "and estimator.val_metrics; take the metrics from there"
                    )
        handlers.sort(key=lambda handler: getattr(handler, "priority", 0))
        return handlers

    def _categorize_handlers(self, event_handlers):
        """Those of the handlers that there are for each event."""
        return tuple([h for h in event_handlers if isinstance(h, event)] for event in EVENTS)

    def _default_metrics(self):
        metrics = [Accuracy()] if isinstance(self.loss, SoftmaxCrossEntropyLoss) else []
        return [*metrics, LossMetric(self.loss.name.rstrip("0123456789"))]

    def _initialize(self, initializer):
        parameters = self.net.collect_params().values()
        if any(p._data is None and not p._deferred_init for p in parameters):
            options = {"init": initializer} if initializer else {}
            self.net.initialize(ctx=self.context, **options)
        elif initializer:
            warnings.warn(
                "Network already fully initialized, so the initializer is not used; "
                "net.initialize(init=..., force_reinit=True) begins anew",
                stacklevel=3,
            )

    def _checked_trainer(self, trainer):
        if trainer is None:
            warnings.warn("No trainer specified: SGD with a learning rate of 0.001 is used", stacklevel=3)
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ValueError(f"trainer is to be a gluon.Trainer, given {type(trainer).__name__}")
        return trainer


def _all(handlers, event, estimator, **kwargs):
    """Calls every handler; whether one of them asks to stop."""
    return any([getattr(handler, event)(estimator, **kwargs) for handler in handlers])


def _metrics_of(handler):
    for name, value in vars(handler).items():
        if "metric" in name:
            yield from value if isinstance(value, list) else [value] if value else []


def _check_data(data):
    if not isinstance(data, DataLoader):
        raise ValueError(f"an estimator takes a gluon.data.DataLoader, given {type(data).__name__}")


def _checked_loss(loss):
    if not isinstance(loss, Loss):
        raise ValueError(f"loss is to be a gluon.loss.Loss, given {type(loss).__name__}")
    return loss


def _checked_context(context):
    gpus = [gpu(i) for i in range(num_gpus())]
    if not context:
        if len(gpus) > 1:
            warnings.warn(
                "there are several GPUs, the first one is used; context=[mx.gpu(0), ...] names more", stacklevel=3
            )
        return gpus[:1] or [cpu()]
    context = [context] if isinstance(context, Context) else context
    if not isinstance(context, list) or not all(isinstance(c, Context) for c in context):
        raise ValueError(f"context is to be a Context or a list of them, such as mx.cpu(), given {context!r}")
    for c in context:
        if c.device_type == "gpu" and c not in gpus:
            raise AssertionError(f"{c} is not available; there are mx.cpu(), {', '.join(map(str, gpus))}")
    return context


def _checked_processor(processor):
    if processor is None:
        return BatchProcessor()
    for method in ("fit_batch", "evaluate_batch"):
        if not callable(getattr(processor, method, None)):
            raise ValueError(f"batch_processor needs a method {method}, which {type(processor).__name__} has not")
    return processor
