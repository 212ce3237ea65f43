"""`import mxnet` where that name is installed, and in processes that `core.mxnet` started: the alias takes over."""

import sys

from core.alias import install_as_mxnet

del sys.modules[__name__]
install_as_mxnet()
__import__(__name__)
