"""The parameters of a block by name: made, shared, saved and loaded together."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from core import heap, initializer
from core import ndarray as nd
from core.base import nearest
from core.dtypes import dtype_name
from core.html import table
from core.serialization import save_each
from core.util import is_np_array
from gluon.parameter.constant import Constant
from gluon.parameter.parameter import Parameter

__all__ = ["ParameterDict"]


class ParameterDict:
    """Parameters by name, in order; `get` makes those that are missing.

    Names are full ones (`dense0_weight`), as in MXNet 1. What `Block.collect_params` gives in NumPy mode shows the
    structural ones of MXNet 2 (`0.weight`) instead; a parameter is found by either name in both modes.

    prefix: put before the names given to `get`. shared: another dictionary, whose parameters of the same name are used
    instead of new ones.

    >>> net = nn.Dense(2, in_units=3)
    >>> [(p.name.partition("_")[2], p.shape) for p in net.collect_params().values()]
    [('weight', (2, 3)), ('bias', (2,))]
    """

    def __init__(self, prefix="", shared=None):
        self._prefix = prefix
        self._params: dict[str, Parameter] = {}
        self._shared = shared
        self._by_structure = None  # gives the parameters by structural name, where a block collected them

    def __repr__(self):
        if self._shown() is not self._params:
            return repr(self._shown())  # a dictionary in MXNet 2
        lines = "\n".join(f"  {p._told(dtype_name(p.dtype))}" for p in self.values())
        return f"{self._prefix + ' ' if self._prefix else ''}(\n{lines}\n)"

    def _repr_html_(self):
        rows = [(p.name, tuple(p.shape or ()), dtype_name(p.dtype), p.grad_req) for p in self.values()]
        return table(rows, ("parameter", "shape", "type", "gradient"))

    def __getitem__(self, key) -> Parameter:
        return self._params[key] if key in self._params else self._structural()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shown())

    def __len__(self):
        return len(self._shown())

    def __contains__(self, key):
        return key in self._params or key in self._structural()

    def items(self):
        return self._shown().items()

    def keys(self):
        return self._shown().keys()

    def values(self):
        return self._shown().values()

    def pop(self, key, *default):
        """Takes a parameter out of the dictionary; without a default KeyError where there is none."""
        if key not in self and default:
            return default[0]
        return self._params.pop(self[key].name)

    def by_full_name(self) -> dict[str, Parameter]:
        """The parameters by full name, in either mode."""
        return self._params

    @property
    def prefix(self):
        """What names given to `get` are prefixed with."""
        return self._prefix

    def get(self, name, **kwargs):
        """The parameter `prefix + name`, made with these keywords if it is new.

        For a parameter that exists the keywords have to agree with it; unknown extents of either shape are filled in.
        """
        return self._get_as(Parameter, name, **kwargs)

    def _get_as(self, kind, name, **kwargs):
        """`get` of a class of parameters."""
        name = self._prefix + name
        parameter = self._find(name)
        if parameter is None:
            parameter = self._params[name] = kind(name, **kwargs)
            parameter._scoped = True
            return parameter
        for key, wanted in kwargs.items():
            if getattr(parameter, key, None) is None:
                setattr(parameter, key, wanted)
            elif not self._agree(parameter, key, wanted):
                raise AssertionError(
                    f"parameter {name!r} exists with {key} {getattr(parameter, key)!r}, but {wanted!r} is asked for"
                )
        return parameter

    def get_constant(self, name, value=None):
        """The constant `prefix + name`, made with `value` if it is new; the values have to agree otherwise."""
        name = self._prefix + name
        parameter = self._find(name)
        if parameter is None:
            if value is None:
                raise KeyError(f"there is no constant {name!r}; give its value to make it")
            parameter = self._params[name] = Constant(name, value)
            parameter._scoped = True
        elif value is not None:
            if not isinstance(parameter, Constant):
                raise AssertionError(f"{name!r} is a parameter, not a constant")
            value = value.asnumpy() if isinstance(value, nd.NDArray) else np.asarray(value)
            if parameter.shape != value.shape or not (parameter.value.asnumpy() == value).all():
                raise AssertionError(f"constant {name!r} exists with another value")
        return parameter

    def update(self, other):
        """Takes over the parameters of another dictionary; equal names have to be the same parameter."""
        rows = other.by_full_name() if isinstance(other, ParameterDict) else other
        for name, parameter in rows.items():
            if self._params.setdefault(name, parameter) is not parameter:
                raise AssertionError(f"there are two different parameters with the name {name!r}")

    def initialize(self, init=None, ctx=None, verbose=False, force_reinit=False):
        """Initialises all parameters; `init` applies where a parameter has no initializer of its own."""
        heap.settle()
        if init is None:
            init = initializer.Uniform()
        elif isinstance(init, str):
            init = initializer.create(init)  # an unknown name is an error here, not in the first forward pass
        if verbose:
            init.set_verbosity(verbose=verbose)
        for parameter in self._params.values():
            parameter.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self):
        """Sets all gradients to 0."""
        for parameter in self._params.values():
            parameter.zero_grad()

    def reset_ctx(self, ctx):
        """Moves all parameters to other contexts."""
        for parameter in self._params.values():
            parameter.reset_ctx(ctx)

    def list_ctx(self):
        """The contexts that some parameter is on."""
        return list(dict.fromkeys(ctx for parameter in self._params.values() for ctx in parameter.list_ctx()))

    def setattr(self, name, value):
        """Sets an attribute, such as `grad_req` or `lr_mult`, of all parameters."""
        for parameter in self._params.values():
            setattr(parameter, name, value)

    def select(self, pattern):
        """The parameters of which a name, as it is shown or in full, matches a regular expression at its beginning."""
        match = re.compile(pattern).match
        chosen = {p.name for name, p in self.items() if match(name)}
        return {name: p for name, p in self._params.items() if match(name) or p.name in chosen}

    def save(self, filename, strip_prefix=""):
        """Writes the arrays by name, without `strip_prefix`; ValueError for a name that lacks it."""
        saved = {}
        for parameter in self._params.values():
            if not parameter.name.startswith(strip_prefix):
                raise ValueError(
                    f"the name of parameter {parameter.name!r} does not begin with the prefix {strip_prefix!r} to "
                    "strip; blocks with shared parameters are saved with Block.save_parameters"
                )
            saved[parameter.name[len(strip_prefix) :]] = parameter
        save_each(filename, saved, lambda parameter: parameter._reduce())

    def load(
        self,
        filename,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        restore_prefix="",
        cast_dtype=False,
        dtype_source="current",
    ):
        """Reads a file that `save` wrote; `restore_prefix` goes before the names in it."""
        for name in self._params if restore_prefix else ():
            if not name.startswith(restore_prefix):
                raise AssertionError(f"parameter {name!r} does not begin with the prefix {restore_prefix!r} to restore")
        arrays = nd.load(filename)
        options = (ctx, allow_missing, ignore_extra, restore_prefix, filename, cast_dtype, dtype_source)
        self.load_dict(arrays, *options)

    def load_dict(
        self,
        param_dict,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        restore_prefix="",
        filename=None,
        cast_dtype=False,
        dtype_source="current",
    ):
        """Takes values from a dictionary of arrays; the `arg:` and `aux:` of exported files do not matter."""
        heap.settle()
        rows = param_dict.items() if isinstance(param_dict, dict) else param_dict
        given = {k[4:] if k.startswith(("arg:", "aux:")) else k: v for k, v in rows}
        arrays = {restore_prefix + name: array for name, array in given.items()}
        source = f"file {filename!r}" if filename else "the dictionary"
        if not allow_missing:
            for name in self._params:
                if name not in arrays:
                    name = name.removeprefix(restore_prefix)
                    raise AssertionError(
                        f"parameter {name!r} is missing in {source}.{nearest(name, given)} "
                        "allow_missing=True leaves it as it is"
                    )
        for name, array in arrays.items():
            if name in self._params:
                self._params[name]._load_init(array, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)
            elif not ignore_extra:
                raise AssertionError(
                    f"{source} holds {name.removeprefix(restore_prefix)!r}, which is no parameter here."
                    f"{nearest(name, self._params)} ignore_extra=True skips it"
                )

    def _shown(self):
        """The parameters by the names that programs see; those that are no block's attribute have a full name only."""
        if self._by_structure is None or not is_np_array():
            return self._params
        shown = self._structural()
        named = set(shown.values())
        return shown | {name: p for name, p in self._params.items() if p not in named}

    def _structural(self):
        """The parameters by structural name."""
        own = set(self._params.values())
        found = self._by_structure() if self._by_structure is not None else {}
        return {name: p for name, p in found.items() if p in own}

    def _find(self, name):
        if name not in self._params and self._shared is not None and name in self._shared._params:
            self._params[name] = self._shared._params[name]
        return self._params.get(name)

    @staticmethod
    def _agree(parameter, key, wanted):
        existing = getattr(parameter, key)
        if key == "shape" and wanted is not None and len(wanted) == len(existing):
            if all(a == b or a in (0, -1) or b in (0, -1) for a, b in zip(wanted, existing)):
                parameter._shape = tuple(b if a in (0, -1) else a for a, b in zip(wanted, existing))
                return True
            return False
        if key == "dtype":
            return dtype_name(wanted) == dtype_name(existing)
        return wanted is None or wanted == existing
