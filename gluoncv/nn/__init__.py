"""Layers that several networks share, and the parts of detectors."""

from core.documentation.classes import complete as _complete
from gluoncv.nn import bbox, coder, feature, matcher, predictor, sampler
from gluoncv.nn.block import DSNT, DUC, BatchNormCudnnOff, Consensus, HardSigmoid, HardSwish, Identity, ReLU6, SoftmaxHD
from gluoncv.nn.conv import conv_norm_act, scoped, sequence
from gluoncv.nn.dropblock import DropBlock, DropBlockScheduler, set_drop_prob
from gluoncv.nn.gn import GroupNorm
from gluoncv.nn.splat import SplitAttentionConv

_complete(globals())
