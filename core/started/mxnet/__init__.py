"""What processes import that a program started by `python -m core.mxnet` starts itself: the alias takes this module's place."""

import sys

from core.alias import install_as_mxnet

del sys.modules[__name__]
install_as_mxnet()
__import__(__name__)
