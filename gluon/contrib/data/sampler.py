"""The place where MXNet 1.x keeps `IntervalSampler`."""

from gluon.data.sampler import IntervalSampler

__all__ = ["IntervalSampler"]
