"""Optimizers: rules that change weights by their gradients, and the `Updater` that keeps their states."""

from core.documentation.classes import complete as _complete
from core.optimizer import contrib, optimizer
from core.optimizer.adagrad import AdaDelta, AdaGrad, Ftrl, RMSProp
from core.optimizer.adam import FTML, LAMB, LANS, AdaBelief, Adam, Adamax, AdamW, Nadam
from core.optimizer.contrib import GroupAdaGrad
from core.optimizer.optimizer import Optimizer, Test, create, register
from core.optimizer.sgd import DCASGD, LARS, LBSGD, NAG, SGD, SGLD, Signum, ccSGD
from core.optimizer.updater import Updater, get_updater

__all__ = [
    "DCASGD", "FTML", "LAMB", "LANS", "LARS", "LBSGD", "NAG", "SGD", "SGLD", "AdaBelief", "AdaDelta", "AdaGrad", "Adam",
    "AdamW", "Adamax", "Ftrl", "GroupAdaGrad", "Nadam", "Optimizer", "RMSProp", "Signum", "Test", "Updater", "ccSGD",
    "create", "get_updater", "register",
]  # fmt: skip

_complete(globals())
