"""Triton kernels: the GPU wing (and, interpreted, a test bed without a GPU)."""
