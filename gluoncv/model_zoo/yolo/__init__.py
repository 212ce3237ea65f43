"""You only look once, version 3 (Redmon and Farhadi, 2018)."""

from gluoncv.model_zoo.yolo.yolo3 import YOLOV3, custom_yolov3, get_yolov3
from gluoncv.model_zoo.yolo.yolo_target import (
    YOLOV3DynamicTargetGeneratorSimple,
    YOLOV3PrefetchTargetGenerator,
    YOLOV3TargetMerger,
)
