"""Smoothed labels (Szegedy et al., 2016)."""

from __future__ import annotations

from gluon import HybridBlock

from ..base import InvalidArgument

__all__ = ["LabelSmoothing"]


class LabelSmoothing(HybridBlock):
    """Labels to distributions: (1 - epsilon) of the label plus epsilon / units for each class.

    sparse_label: labels are class numbers, which become one-hot vectors along a new last axis;
        otherwise they are distributions already, with the classes on `axis`.
    units: the number of classes, given here or in the call; ValueError without it.

    >>> smoothing = gluonnlp.loss.LabelSmoothing(epsilon=0.1, units=2)
    >>> smoothing(nd.array([1]))
    [[0.05 0.95]]
    <NDArray 1x2 @cpu(0)>
    """

    def __init__(self, axis=-1, epsilon=0.1, units=None, sparse_label=True, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._axis = axis
        self._epsilon = epsilon
        self._sparse_label = sparse_label
        self._units = units

    def hybrid_forward(self, F, inputs, units=None):
        units = self._units if units is None else units
        if units is None:
            raise InvalidArgument("LabelSmoothing needs units, the number of classes, here or when it is built.")
        if self._sparse_label:
            inputs = F.one_hot(inputs, depth=units)
        return (1 - self._epsilon) * inputs + self._epsilon / units
