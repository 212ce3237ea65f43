"""GluonCV: networks for pictures and videos."""

from gluoncv import data, homes, loss, model_zoo, nn, utils

# The original whose names and behaviour these are.
__version__ = "0.10.5"

homes.install()
