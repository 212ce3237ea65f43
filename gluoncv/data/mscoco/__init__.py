"""COCO."""

from gluoncv.data.mscoco.detection import COCODetection
from gluoncv.data.mscoco.instance import COCOInstance
from gluoncv.data.mscoco.keypoints import COCOKeyPoints
from gluoncv.data.mscoco.segmentation import COCOSegmentation
