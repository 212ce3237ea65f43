"""Samplers and text that MXNet 1.x kept under `gluon.contrib.data`."""

from gluon.contrib.data import sampler, text, vision
from gluon.contrib.data.sampler import IntervalSampler
