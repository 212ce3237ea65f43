"""One seed for all random generators."""

from __future__ import annotations

import random

import numpy as np

from core import random as core_random

__all__ = ["set_seed"]


def set_seed(seed=0):
    """Seeds the generators of Python, NumPy and this project."""
    random.seed(seed)
    np.random.seed(seed)
    core_random.seed(seed)
