"""Data sets and what is done to their pictures."""

from gluoncv.data import batchify, dataloader, sampler, transforms
from gluoncv.data.base import VisionDataset
from gluoncv.data.classes import COCO, VOC
from gluoncv.data.dataloader import DetectionDataLoader, RandomTransformDataLoader
from gluoncv.data.mixup import MixupDetection
from gluoncv.data.mscoco import COCODetection, COCOInstance, COCOKeyPoints
from gluoncv.data.pascal_voc import VOCDetection, VOCSegmentation
from gluoncv.data.records import ImageNet, LstDetection, RecordFileDetection
from gluoncv.data.segmentation import SegmentationDataset, ms_batchify_fn
