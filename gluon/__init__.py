"""Gluon: blocks, layers, losses, data, trainer and the model zoo."""

from gluon import _check_packages

_check_packages.check("gluon", "core")

import importlib  # noqa: E402

from core import late_names  # noqa: E402
from core.base import UnknownName  # noqa: E402
from core.documentation.classes import complete as _complete  # noqa: E402
from gluon import block, loss, nn, parameter, rnn, trainer  # noqa: E402
from gluon.block import Block, HybridBlock, SymbolBlock  # noqa: E402
from gluon.parameter import Constant, DeferredInitializationError, Parameter, ParameterDict  # noqa: E402
from gluon.trainer import Trainer  # noqa: E402
from gluon.version import __version__ as __version__  # noqa: E402

# Imported on first use.
_SUBMODULES = ("contrib", "data", "metric", "model_zoo", "probability", "utils")


def __getattr__(name):
    if name == "tensor_types":
        return parameter.tensor_types
    if name in _SUBMODULES:
        return importlib.import_module(f"gluon.{name}")
    raise UnknownName("gluon", name, __dir__, "part")


def __dir__():
    return late_names.offered(globals(), _SUBMODULES)


_complete(globals())
