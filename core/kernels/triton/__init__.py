"""Triton kernels: the GPU backend (and, interpreted, a test bed without a GPU)."""

import os

# Multiply-adds are fused, as CUDA compilers do. Triton wants that said, for its default is about to change.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
