"""Samplers that MXNet 1.x kept under `gluon.contrib.data`."""

from gluon.contrib.data import sampler
from gluon.contrib.data.sampler import IntervalSampler
