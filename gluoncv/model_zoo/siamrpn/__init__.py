"""Trackers that compare a template with pictures (Li et al., 2018)."""

from gluoncv.model_zoo.siamrpn.siam_net import AlexNetLegacy, DepthwiseRPN, DepthwiseXCorr, SiamRPN, get_Siam_RPN
from gluoncv.model_zoo.siamrpn.siamrpn_tracker import SiamRPNTracker
