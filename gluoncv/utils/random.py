"""One seed for everything random that training uses."""

import random as pyrandom

import numpy as np

from core import random as core_random


def seed(a=None):
    """Seeds Python, NumPy and the arrays' generators; without a number differently each time."""
    pyrandom.seed(a)
    np.random.seed(a)
    core_random.seed(pyrandom.getrandbits(31) if a is None else a)
