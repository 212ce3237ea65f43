"""Checks of what an estimator is given, under the names that programs import."""

from gluon.contrib.estimator.event_handler import check_metrics as _check_metrics  # noqa: F401
