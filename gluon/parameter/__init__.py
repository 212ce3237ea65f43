"""Parameters of blocks: arrays on one or several contexts, constants, and dictionaries of them."""

from gluon.parameter.constant import Constant
from gluon.parameter.parameter import DeferredInitializationError, Parameter
from gluon.parameter.parameter_dict import ParameterDict

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict"]
