"""Parameters of blocks: arrays on one or several contexts, constants, and dictionaries of them."""

from gluon.parameter.constant import Constant
from gluon.parameter.parameter import DeferredInitializationError, Parameter
from gluon.parameter.parameter import is_known as shape_is_known
from gluon.parameter.parameter_dict import ParameterDict

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict"]


def __getattr__(name: str):
    if name != "tensor_types":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from core.ndarray import NDArray
    from core.symbol import Symbol  # on first use: programs without graphs go without symbols

    return Symbol, NDArray
