"""What this build can do: `mx.runtime.Features()["CUDA"].enabled`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

from core.context import num_gpus


class Feature(NamedTuple):
    """A feature by name, and whether it is there."""

    name: str
    enabled: bool

    def __repr__(self):
        return f"{'✔' if self.enabled else '✖'} {self.name}"


# The features of MXNet 1.9.1, with what answers for them here; the others are parts of its build that have no
# counterpart.
_ANSWERS: dict[str, bool | Callable[[], bool]] = {
    "CUDA": lambda: num_gpus() > 0,
    "CUDA_RTC": lambda: find_spec("triton") is not None,
    "NCCL": lambda: num_gpus() > 0,
    "DIST_KVSTORE": True,
    "INT64_TENSOR_SIZE": True,
    "LAPACK": True,
    "MKLDNN": True,
    "OPENCV": lambda: find_spec("PIL") is not None,
    "OPENMP": True,
    "PROFILER": True,
}
_NAMES = (
    "CUDA CUDNN NCCL CUDA_RTC TENSORRT CPU_SSE CPU_SSE2 CPU_SSE3 CPU_SSE4_1 CPU_SSE4_2 CPU_SSE4A CPU_AVX CPU_AVX2 "
    "OPENMP SSE F16C JEMALLOC BLAS_OPEN BLAS_ATLAS BLAS_MKL BLAS_APPLE LAPACK MKLDNN OPENCV CAFFE PROFILER "
    "DIST_KVSTORE CXX14 INT64_TENSOR_SIZE SIGNAL_HANDLER DEBUG TVM_OP"
).split()


def feature_list() -> list[Feature]:
    """All features, enabled or not."""
    answers = (_ANSWERS.get(name, False) for name in _NAMES)
    return [Feature(n, bool(a() if callable(a) else a)) for n, a in zip(_NAMES, answers, strict=True)]


class Features(OrderedDict):
    """Features by name."""

    instance = None

    def __new__(cls):
        if cls.instance is None:
            cls.instance = super().__new__(cls)
            OrderedDict.__init__(cls.instance, ((feature.name, feature) for feature in feature_list()))
        return cls.instance

    def __init__(self):
        """There is one instance, which knows all."""

    def __repr__(self):
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is there; RuntimeError for a name that is none (case does not matter)."""
        name = feature_name.upper()
        if name not in self:
            raise RuntimeError(f"feature {feature_name!r} is unknown; known are {', '.join(self)}")
        return self[name].enabled
