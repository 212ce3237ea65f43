"""Layers that several networks share."""

from gluoncv.nn.block import HardSigmoid, HardSwish, ReLU6
from gluoncv.nn.conv import conv_norm_act, sequence
from gluoncv.nn.dropblock import DropBlock, DropBlockScheduler, set_drop_prob
from gluoncv.nn.group_norm import GroupNorm
from gluoncv.nn.splat import SplitAttentionConv
