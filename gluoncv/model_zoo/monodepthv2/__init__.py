"""Depth from one picture (Godard et al., 2019)."""

from gluoncv.model_zoo.monodepthv2.layers import (
    SSIM,
    BackprojectDepth,
    Project3D,
    compute_depth_errors,
    disp_to_depth,
    get_smooth_loss,
    rot_from_axisangle,
    transformation_from_parameters,
)
from gluoncv.model_zoo.monodepthv2.monodepth2 import (
    DepthDecoder,
    MonoDepth2,
    MonoDepth2PoseNet,
    PoseDecoder,
    ResnetEncoder,
    get_monodepth2,
    get_monodepth2posenet,
)
