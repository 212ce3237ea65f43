"""Data sets and what is done to their pictures."""

from gluoncv.data import transforms
from gluoncv.data.classes import COCO, VOC
