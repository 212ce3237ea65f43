"""Whether kernels can be interpreted here."""

from importlib.metadata import PackageNotFoundError, version

import numpy as np


def unusable() -> str | None:
    """Why they cannot; None where they can."""
    try:
        triton = version("triton")
    except PackageNotFoundError:
        return "Triton is not installed"
    if triton.startswith("3.6.") and np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        return f"Triton 3.6 interprets no kernels with NumPy {np.__version__}, only with one below 2.4"
    return None
