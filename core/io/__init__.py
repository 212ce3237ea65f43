"""`mx.io`: iterators over batches of arrays, tables, records and images."""

from core.io.base import DataBatch, DataDesc, DataIter, PrefetchingIter, ResizeIter
from core.io.file_iters import CSVIter, LibSVMIter, MNISTIter
from core.io.ndarray_iter import NDArrayIter

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "LibSVMIter",
    "MNISTIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]
