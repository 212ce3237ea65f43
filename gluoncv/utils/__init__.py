"""Boxes in NumPy, metrics, learning rates, curves and pictures."""

from core.documentation.classes import complete as _complete
from gluoncv.utils import bbox, filesystem, metrics, parallel, random, viz
from gluoncv.utils.bbox import bbox_iou
from gluoncv.utils.block import freeze_bn, recursive_visit, set_lr_mult
from gluoncv.utils.download import check_sha1, download
from gluoncv.utils.export_helper import export_block, export_tvm
from gluoncv.utils.filesystem import makedirs, try_import_cv2, try_import_dali
from gluoncv.utils.lr_scheduler import LRScheduler, LRSequential
from gluoncv.utils.plot_history import TrainingHistory
from gluoncv.utils.sync_loader_helper import split_and_load, split_data
from gluoncv.utils.version import check_version

_complete(globals())
