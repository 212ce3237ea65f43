"""Metrics: running figures over the labels and predictions of many batches.

Every metric keeps two sums, one since `reset_local` (read by `get`) and one since `reset` (read by `get_global`).
Labels and predictions are lists of arrays, one for each output; a single array is taken for a list of one.
"""

import math  # programs import these from here

import numpy

from core import ndarray, registry
from core.base import numeric_types, string_types
from core.documentation.classes import complete as _complete
from core.metric.base import (
    CompositeEvalMetric,
    CustomMetric,
    EvalMetric,
    alias,
    check_label_shapes,
    create,
    np,
    register,
)
from core.metric.classification import Accuracy, CrossEntropy, NegativeLogLikelihood, Perplexity, TopKAccuracy
from core.metric.confusion import F1, MCC, PCC
from core.metric.regression import MAE, MSE, RMSE, Caffe, Loss, PearsonCorrelation, Torch

_complete(globals())
