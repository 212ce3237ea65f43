"""ATen kernels: the CPU wing."""
