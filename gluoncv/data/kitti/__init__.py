"""KITTI."""

from gluoncv.data.kitti.kitti_dataset import KITTIOdomDataset, KITTIRAWDataset
