"""Samplers and text that MXNet 1.x kept under `gluon.contrib.data`."""

from core.documentation.classes import complete as _complete
from gluon.contrib.data import sampler, text, vision
from gluon.contrib.data.sampler import IntervalSampler

_complete(globals())
