"""`import mxnet` where the name is installed, and in processes of a program that `core.mxnet` started: the alias instead."""

import sys

from core.alias import install_as_mxnet

del sys.modules[__name__]
install_as_mxnet()
__import__(__name__)
