"""Under the names of MXNet's table, `_np_sum` and `_npx_reshape`, the documented functions `np.sum` and `npx.reshape`.

Tools that make documentation read them here.
"""

from __future__ import annotations

from core import numpy, numpy_extension

_NAMES = {
    "_np_": (numpy, "abs all amax amin any atleast_1d atleast_2d atleast_3d copy cumsum diag diagflat diagonal dot max min "
             "moveaxis negative prod product repeat reshape roll sometrue squeeze sum trace transpose"),
    "_np__random_": (numpy.random, "shuffle"),
    "_npx_": (numpy_extension, "nonzero reshape"),
}  # fmt: skip
_RENAMED = {"product": "prod", "sometrue": "any"}

for _prefix, (_home, _names) in _NAMES.items():
    for _name in _names.split():
        globals()[_prefix + _name] = getattr(_home, _RENAMED.get(_name, _name))
