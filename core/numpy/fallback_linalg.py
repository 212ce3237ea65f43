"""Functions of `np.linalg` that MXNet leaves to NumPy, under the module's name there.

Here they are `np.linalg`'s own.
"""

from core.numpy.linalg import cond, matrix_power, multi_dot

__all__ = ["cond", "matrix_power", "multi_dot"]
