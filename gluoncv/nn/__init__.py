"""Layers that several networks share."""

from gluoncv.nn.block import HardSigmoid, HardSwish, ReLU6
from gluoncv.nn.group_norm import GroupNorm
