"""The CPU backend: ATen, oneDNN and NumPy as kernels (contracts: `core.kernels.contracts`)."""
