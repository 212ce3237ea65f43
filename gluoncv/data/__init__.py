"""Data sets and what is done to their pictures."""

from core.documentation.classes import complete as _complete
from gluoncv.data import batchify, dataloader, sampler, transforms
from gluoncv.data.ade20k.segmentation import ADE20KSegmentation
from gluoncv.data.base import VisionDataset
from gluoncv.data.cityscapes import CitySegmentation
from gluoncv.data.classes import COCO, VOC
from gluoncv.data.dataloader import DetectionDataLoader, RandomTransformDataLoader
from gluoncv.data.hmdb51.classification import HMDB51, HMDB51Attr
from gluoncv.data.imagenet.classification import ImageNet, ImageNet1kAttr
from gluoncv.data.kinetics400.classification import Kinetics400, Kinetics400Attr
from gluoncv.data.kinetics700.classification import Kinetics700, Kinetics700Attr
from gluoncv.data.kitti.kitti_dataset import KITTIOdomDataset, KITTIRAWDataset
from gluoncv.data.lst.detection import LstDetection
from gluoncv.data.mhp import MHPV1Segmentation
from gluoncv.data.mixup.detection import MixupDetection
from gluoncv.data.mscoco.detection import COCODetection, COCODetectionDALI
from gluoncv.data.mscoco.instance import COCOInstance
from gluoncv.data.mscoco.keypoints import COCOKeyPoints
from gluoncv.data.mscoco.segmentation import COCOSegmentation
from gluoncv.data.otb.tracking import OTBTracking
from gluoncv.data.pascal_aug.segmentation import VOCAugSegmentation
from gluoncv.data.pascal_voc.detection import CustomVOCDetection, CustomVOCDetectionBase, VOCDetection
from gluoncv.data.pascal_voc.segmentation import VOCSegmentation
from gluoncv.data.recordio.detection import RecordFileDetection
from gluoncv.data.sampler import ShuffleSplitSampler, SplitSampler
from gluoncv.data.segbase import SegmentationDataset, ms_batchify_fn
from gluoncv.data.somethingsomethingv2.classification import SomethingSomethingV2, SomethingSomethingV2Attr
from gluoncv.data.ucf101.classification import UCF101, UCF101Attr
from gluoncv.data.video_custom.classification import VideoClsCustom
from gluoncv.data.visdrone.detection import VisDroneDetection

datasets = {
    "ade20k": ADE20KSegmentation,
    "pascal_voc": VOCSegmentation,
    "pascal_aug": VOCAugSegmentation,
    "coco": COCOSegmentation,
    "citys": CitySegmentation,
    "mhpv1": MHPV1Segmentation,
}


def get_segmentation_dataset(name, **kwargs):
    """The data set of `datasets` with that name, small letters or not; KeyError for others.

    >>> gluoncv.data.get_segmentation_dataset("fruit")
    Traceback (most recent call last):
        ...
    KeyError: "'fruit' is none of the data sets ade20k, pascal_voc, pascal_aug, coco, citys, mhpv1"
    """
    if name.lower() not in datasets:
        raise KeyError(f"{name!r} is none of the data sets {', '.join(datasets)}")
    return datasets[name.lower()](**kwargs)


_complete(globals())
