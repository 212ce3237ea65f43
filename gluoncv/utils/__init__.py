"""Boxes in NumPy, metrics, learning rates, curves and pictures."""

from core.util import makedirs
from gluon.utils import check_sha1, download
from gluoncv.utils import bbox, metrics, random, viz
from gluoncv.utils.bbox import bbox_iou
from gluoncv.utils.export_helper import export_block
from gluoncv.utils.lr_scheduler import LRScheduler, LRSequential
from gluoncv.utils.plot_history import TrainingHistory
