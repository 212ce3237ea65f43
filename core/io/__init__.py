"""`mx.io`: iterators over batches of arrays, tables, records and images."""

import sys

from core.documentation.classes import complete as _complete
from core.io.base import DataBatch, DataDesc, DataIter, FileIter, PrefetchingIter, ResizeIter
from core.io.file_iters import CSVIter, LibSVMIter, MNISTIter
from core.io.ndarray_iter import NDArrayIter
from core.io.ndarray_iter import init_data as _init_data  # programs name the labels of an iterator by it
from core.io.record_iters import ImageDetRecordIter, ImageRecordInt8Iter, ImageRecordIter, ImageRecordUInt8Iter

# Names of the original that mean the same here.
MXDataIter = FileIter
ImageRecordIter_v1, ImageRecordUInt8Iter_v1 = ImageRecordIter, ImageRecordUInt8Iter

__all__ = [
    "CSVIter", "DataBatch", "DataDesc", "DataIter", "ImageDetRecordIter", "ImageRecordInt8Iter", "ImageRecordIter",
    "ImageRecordIter_v1", "ImageRecordUInt8Iter", "ImageRecordUInt8Iter_v1", "LibSVMIter", "MNISTIter", "MXDataIter",
    "NDArrayIter", "PrefetchingIter", "ResizeIter",
]  # fmt: skip

io = sys.modules[__name__]  # in MXNet a module of the package holds what it offers

_complete(globals())
