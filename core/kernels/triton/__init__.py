"""The Triton backend, for GPUs and, interpreted, for tests without one (contracts: `core.kernels.contracts`)."""

import os

# Multiply-adds are fused, as CUDA compilers do. Triton wants that said, for its default is about to change.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
