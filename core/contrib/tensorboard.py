"""Metrics for TensorBoard, written by the package mxboard."""

from __future__ import annotations

import importlib

from core.base import MXNetError


class LogMetricsCallback:
    """A callback of `fit` that writes the metrics to `logging_dir` at each call, their names behind `prefix`-.

    Raises MXNetError where mxboard is not installed.
    """

    def __init__(self, logging_dir: str, prefix: str | None = None):
        try:
            writer = importlib.import_module("mxboard").SummaryWriter
        except ModuleNotFoundError as error:
            raise MXNetError("LogMetricsCallback writes with the package mxboard: pip install mxboard") from error
        self.prefix = prefix
        self.summary_writer = writer(logging_dir)

    def __call__(self, param):
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, global_step=param.epoch)
