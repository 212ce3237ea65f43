"""Training loops, steered by event handlers."""

from core.documentation.classes import complete as _complete
from gluon.contrib.estimator.batch_processor import BatchProcessor
from gluon.contrib.estimator.estimator import Estimator
from gluon.contrib.estimator.event_handler import (
    BatchBegin,
    BatchEnd,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochBegin,
    EpochEnd,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)

__all__ = [
    "BatchBegin", "BatchEnd", "BatchProcessor", "CheckpointHandler", "EarlyStoppingHandler", "EpochBegin", "EpochEnd",
    "Estimator", "GradientUpdateHandler", "LoggingHandler", "MetricHandler", "StoppingHandler", "TrainBegin",
    "TrainEnd", "ValidationHandler",
]  # fmt: skip

_complete(globals())
