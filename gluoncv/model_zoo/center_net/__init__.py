"""Objects as points (Zhou et al., 2019)."""

from gluoncv.model_zoo.center_net.bodies import DUC, DeconvDLA, DeconvResnet, DUCMobilenet
from gluoncv.model_zoo.center_net.center_net import CenterNet, get_center_net
from gluoncv.model_zoo.center_net.target_generator import CenterNetTargetGenerator
