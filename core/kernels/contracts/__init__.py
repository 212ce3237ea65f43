"""The contracts of kernels: each is declared once, by a function whose body describes its result.

A kernel's signature, documentation (what it computes, shapes, dtypes, errors, the floor of its time) and the shapes,
dtypes and strides of its results stand here, in a module for each kernel family; `@kernel` makes it the function that
callers call (`core.kernels.conv.conv`). `core.kernels.cpu` and `core.kernels.triton` implement it under the same name
with the same signature. The body runs for tensors without memory (device "meta"): it computes nothing, and raises
RuntimeError where shapes do not fit.
"""
