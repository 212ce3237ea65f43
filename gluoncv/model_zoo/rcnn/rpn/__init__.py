"""Region proposal networks (Ren et al., 2015)."""

from gluoncv.model_zoo.rcnn.rpn.rpn import RPN, RPNAnchorGenerator, RPNHead, RPNProposal, generate_base_anchors
from gluoncv.model_zoo.rcnn.rpn.rpn_target import RPNTargetGenerator, RPNTargetSampler
