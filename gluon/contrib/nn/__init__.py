"""Layers that MXNet 1.x kept under `gluon.contrib.nn`."""

from core.documentation.classes import complete as _complete
from gluon.contrib.nn.basic_layers import (
    Concurrent,
    HybridConcurrent,
    Identity,
    PixelShuffle1D,
    PixelShuffle2D,
    PixelShuffle3D,
    SparseEmbedding,
    SyncBatchNorm,
)
from gluon.contrib.nn.parallel import ColumnParallelDense, ParallelAttention, ParallelEmbedding, RowParallelDense

_complete(globals())
