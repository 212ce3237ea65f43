"""Makes this project answer to `import mxnet`, and to `import horovod.mxnet` and `import byteps.mxnet`."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import types

import core

_NAMESPACES = {
    "mxnet": "core",
    "mxnet.gluon": "gluon",
    "horovod.mxnet": "gluon.contrib.collectives",
    "byteps.mxnet": "gluon.contrib.collectives",
}
# Packages of which programs for MXNet import one module: empty ones stand for them where they are not installed.
_EMPTY = ("horovod", "byteps")

# `import mxnet` loads them: programs look them up among the loaded modules to tell whose array they hold, or for their
# operators; and name parts of the standard library that they never imported themselves.
_LOADED = [
    *"mxnet.ndarray mxnet.symbol mxnet.numpy mxnet.numpy_extension mxnet.gluon multiprocessing.pool".split(),
    *(
        f"mxnet.{face}.{namespace}"
        for face in ("ndarray", "symbol")
        for namespace in ("_internal", "contrib", "image", "linalg", "op", "random", "sparse")
    ),
]

# A file each in MXNet 2.
_DISTRIBUTIONS = (
    "bernoulli beta binomial categorical cauchy chi2 dirichlet exp_family exponential fishersnedecor gamma geometric "
    "gumbel half_cauchy half_normal independent laplace multinomial multivariate_normal negative_binomial normal "
    "one_hot_categorical pareto poisson relaxed_bernoulli relaxed_one_hot_categorical studentT "
    "transformed_distribution uniform weibull"
).split()
_OPTIMIZERS = (
    "adabelief adadelta adamW adamax dcasgd ftml ftrl lamb lans lars nadam nag rmsprop sgld signum utils"
).split()

# Modules of MXNet that are cut another way here: what each holds -> where ours is looked for, in this order.
_CUTS = {
    "core.contrib.amp.amp": ["core.contrib.amp"],
    "core.contrib.nd": ["core.ndarray.contrib"],
    "core.contrib.ndarray": ["core.ndarray.contrib"],
    "core.contrib.sym": ["core.symbol.contrib"],
    "core.contrib.symbol": ["core.symbol.contrib"],
    "core.image.image": ["core.image.functions", "core.image"],
    "core.io.io": ["core.io"],
    "core.kvstore.kvstore_server": ["core.kvstore", "core.kvstore.server"],
    "core.misc": ["core.lr_scheduler"],
    **{
        f"core.{face}.gen_{namespace}": [f"core.{face}.{namespace}"]
        for face in ("ndarray", "symbol")
        for namespace in ("_internal", "contrib", "image", "linalg", "op", "random", "sparse")
    },
    "core.ndarray.ndarray": ["core.ndarray.ndarray", "core.ndarray"],
    "core.ndarray.numpy": ["core.numpy"],
    "core.ndarray.numpy_extension": ["core.numpy_extension"],
    "core.ndarray.utils": ["core.ndarray"],
    "core.numpy.multiarray": ["core.numpy.multiarray", "core.numpy"],
    **{
        f"core.numpy.{part}": ["core.numpy"]
        for part in (
            "_op",
            "arrayprint",
            "function_base",
            "io",
            "set_functions",
            "stride_tricks",
            "type_functions",
            "utils",
        )
    },
    "core.numpy_extension._op": ["core.numpy_extension"],
    "core.numpy_extension.utils": ["core.numpy_extension", "core.util"],
    **{f"core.optimizer.{part}": ["core.optimizer"] for part in _OPTIMIZERS},
    "core.optimizer.optimizer": ["core.optimizer.optimizer", "core.optimizer"],
    "core.rnn.io": ["core.rnn"],
    "core.rnn.rnn": ["core.rnn"],
    "core.rnn.rnn_cell": ["core.rnn"],
    "core.symbol.numpy._symbol": ["core.symbol.numpy", "core.symbol"],
    "core.symbol.symbol": ["core.symbol.symbol", "core.symbol"],
    "gluon.contrib.data.vision.transforms": ["gluon.contrib.data.vision"],
    "gluon.contrib.data.vision.bbox.bbox": ["gluon.contrib.data.vision.bbox"],
    "gluon.contrib.data.vision.bbox.utils": ["gluon.contrib.data.vision.boxes"],
    "gluon.data.vision.transforms.image": ["gluon.data.vision.transforms"],
    "gluon.probability.block": ["gluon.probability.stochastic_block"],
    "gluon.probability.utils": ["gluon.probability.distribution", "gluon.probability"],
    "gluon.probability.transformation.domain_map": ["gluon.probability.transformation"],
    "gluon.probability.transformation.transformation": ["gluon.probability.transformation"],
    "gluon.rnn.rnn_cell": ["gluon.rnn.rnn_cell", "gluon.rnn", "gluon.contrib.rnn"],
    "gluon.probability.stochastic_block.stochastic_block": ["gluon.probability.stochastic_block"],
    "gluon.probability.distributions": ["gluon.probability"],
    **{f"gluon.probability.{part}": ["gluon.probability"] for part in _DISTRIBUTIONS},
    "gluon.nn.basic_layers": ["gluon.nn.basic_layers", "gluon.nn"],
    "gluon.nn.conv_layers": ["gluon.nn.conv_layers", "gluon.nn"],
}


def install_as_mxnet(numpy: bool = False) -> None:
    """From now on `import mxnet`, `from mxnet import gluon`, `from mxnet.gluon import nn` give this project.

    numpy: begin in NumPy mode, as MXNet 2 does; programs for MXNet 1 call `npx.set_np()` where they want it.
    ImportError where the original mxnet is imported already. Programs find MXNET_ENGINE_TYPE=NaiveEngine in their
    environment where it names no engine: as under that engine of MXNet, errors are raised by the call, not when a
    result is read.
    """
    if numpy:
        core.util.begin_with_np()
    if sys.modules.get("mxnet", core) is not core:
        raise ImportError("another package named mxnet is imported already; call install_as_mxnet() before")
    os.environ.setdefault("MXNET_ENGINE_TYPE", "NaiveEngine")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `mxnet.a.b` as the module that `core.a.b` (or `gluon...`) is; and what MXNet cuts another way.

    `from mxnet.image import image` asks for the module by the name of our package: core.image.image.
    """

    def find_spec(self, fullname, path=None, target=None):
        if fullname in _EMPTY and importlib.machinery.PathFinder.find_spec(fullname) is not None:
            return None
        ours = fullname in _NAMESPACES or fullname in _EMPTY or fullname.startswith("mxnet.")
        if ours or (fullname in _CUTS and not _is_own(fullname)):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        if spec.name in _EMPTY:
            module = types.ModuleType(spec.name, "Stands for a package that is not installed.")
            module.__path__ = []
            module.__spec__ = spec.loader_state = spec
            return module
        module = _resolve(spec.name)
        _widen()
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = module.__spec__.loader_state  # its own: by it resources beside the module are found
        if module is core:
            for name in _LOADED:
                importlib.import_module(name)


class _Cut(types.ModuleType):
    """A module of MXNet whose contents lie in several modules of ours."""

    def __init__(self, name: str, homes: list[str]):
        super().__init__(name)
        self._homes = homes

    def __getattr__(self, name: str):
        if not (name.startswith("__") and name.endswith("__")):
            for home in map(_home, self._homes):
                if hasattr(home, name):
                    return getattr(home, name)
        raise AttributeError(f"{self.__name__} has no {name!r}")

    def __dir__(self):
        return sorted({name for home in self._homes for name in dir(_home(home))})


def _home(place: str):
    """A module, or what a module holds under a name (`core.symbol.contrib`)."""
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name != place:
            raise
    owner, _, name = place.rpartition(".")
    return getattr(importlib.import_module(owner), name)


def _is_own(fullname: str) -> bool:
    return fullname in _CUTS[fullname]


def _widen() -> None:
    """Lets modules of ours that hold a part of MXNet's of the same name show the rest:
    `from mxnet.ndarray import ndarray`.

    Packages show what MXNet cuts another way as their attributes: `gluon.probability.utils`.
    """
    for place, homes in _CUTS.items():
        module = sys.modules.get(place)
        package, _, name = place.rpartition(".")
        parent = sys.modules.get(package)
        if parent is not None and not _is_own(place) and not hasattr(parent, "__getattr__"):
            vars(parent).setdefault(name, _Cut(place, homes))
        if module is not None and len(homes) > 1 and _is_own(place) and not hasattr(module, "__getattr__"):
            module.__getattr__ = _Cut(place, homes[1:]).__getattr__


def _resolve(fullname: str):
    """The module behind an `mxnet...` name; ModuleNotFoundError names what is missing."""
    if fullname in _NAMESPACES:
        return importlib.import_module(_NAMESPACES[fullname])
    parent, _, name = fullname.rpartition(".")
    owner = _resolve(parent) if fullname not in _CUTS else importlib.import_module(parent)
    place = f"{owner.__name__}.{name}"
    if place in _CUTS:
        homes = _CUTS[place]
        only = _home(homes[0]) if len(homes) == 1 else None
        return only if isinstance(only, types.ModuleType) else _Cut(fullname, homes)
    found = getattr(owner, name, None)
    if isinstance(found, types.ModuleType):
        return found
    try:
        if place == fullname:
            raise ModuleNotFoundError(name=place)
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name != place:
            raise
        raise ModuleNotFoundError(f"{fullname} is not part of this project", name=fullname) from None
