"""`import mxnet` where that name is installed, and in processes that `core.mxnet` started: the alias takes over."""

import os
import sys

del sys.modules[__name__]
_program = sys.path[0]  # the folder of the script
# A program may have a package of the name `core` too, and may have imported it.
_homes = [folder for folder in sys.path if os.path.isfile(os.path.join(folder, "core", "alias.py"))]
_theirs = {}
if not hasattr(sys.modules.get("core"), "install_as_mxnet"):
    _theirs = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in ("core", "gluon")}
sys.path[:0] = _homes[:1]

from core.alias import install_as_mxnet  # noqa: E402
from core.program_packages import share_names  # noqa: E402
from core.removed_from_numpy import restore  # noqa: E402

del sys.path[: len(_homes[:1])]
share_names(_program, _theirs)
restore()
install_as_mxnet()
__import__(__name__)
