"""KITTI."""

from gluoncv.data.kitti.kitti_dataset import KITTIDataset, KITTIDepthDataset, KITTIOdomDataset, KITTIRAWDataset
from gluoncv.data.kitti.kitti_utils import (
    dict_batchify_fn,
    generate_depth_map,
    load_velodyne_points,
    read_calib_file,
    readlines,
    sub2ind,
)
from gluoncv.data.kitti.mono_dataset import MonoDataset
