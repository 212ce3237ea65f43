"""Blocks: pieces of networks that hold parameters and other blocks."""

from __future__ import annotations

import json
import warnings

from core import ndarray as nd
from core.base import nearest
from core.files.atomic import replacing
from core.files.text import read_json, reading
from core.serialization import save_each
from core.signatures import name_own_init, unknown_keyword
from gluon.block.hooks import HookHandle
from gluon.block.html import of_block
from gluon.block.location import not_prepared, note
from gluon.block.scope import BlockScope
from gluon.parameter import Parameter, ParameterDict

__all__ = ["Block", "indent", "listing"]

# Asked first where a block is called: what the call gives in a list, or None for calls of no interest to it.
route = None
# Docstrings of blocks of these packages are completed by those of their private bases; a user's stay as they are.
_PACKAGES = frozenset({"core", "gluon", "gluoncv", "gluonnlp"})


class Block:
    """Base class of layers and networks.

    Blocks and parameters that are assigned to attributes become children and parameters; `forward(*args)` is what a
    call computes. prefix: the beginning of the names of its parameters, by default the class name with a number.
    params: a `ParameterDict` to share parameters with.

    `initialize` fills parameters, `collect_params` lists them, `save_parameters` and `load_parameters` write and read them by
    structural names such as `features.0.weight`, `register_forward_hook` watches calls, `summary` prints a table.

    >>> class Net(gluon.Block):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         self.layer = nn.Dense(2)
    ...     def forward(self, x):
    ...         return nd.relu(self.layer(x))
    >>> net = Net()
    >>> net.initialize()
    >>> net(nd.ones((1, 3))).shape
    (1, 2)
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        ours = cls.__module__.partition(".")[0] in _PACKAGES
        if ours and not cls.__name__.startswith("_"):
            name_own_init(cls)
        if ours and cls.__doc__ and not cls.__name__.startswith("_"):
            prose, mark, example = cls.__doc__.rstrip().partition("\n\n    >>> ")
            cls.__doc__ = "\n\n    ".join([prose, *_details(cls)]) + mark + example

    def __init__(self, prefix=None, params=None, **unknown):
        for name in unknown:
            raise unknown_keyword(self, name)
        if prefix is not None and not isinstance(prefix, str):
            raise TypeError(
                f"prefix of {type(self).__name__} is a string, given {type(prefix).__name__}: blocks go in by add(...), "
                "or as attributes"
            )
        self._empty_prefix = prefix == ""
        self._prefix, self._params = BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = BlockScope(self)
        self._children: dict[str, Block] = {}
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: dict[int, object] = {}
        self._forward_pre_hooks: dict[int, object] = {}

    def __repr__(self):
        children = [(name, block) for name, block in self.__dict__.items() if isinstance(block, Block)]
        return f"{type(self).__name__}(\n{listing(children)}\n)"

    def _repr_html_(self):
        return of_block(self)

    def __setattr__(self, name, value):
        existing = self.__dict__.get(name)
        if isinstance(existing, (Parameter, Block)) and not isinstance(value, type(existing)):
            raise TypeError(
                f"attribute {name!r} of {type(self).__name__} is of type {type(existing).__name__}; given "
                f"{type(value).__name__}"
            )
        if isinstance(value, (Block, Parameter)) and "_children" not in self.__dict__:
            raise not_prepared(self)
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            self._register_parameter(name, value)
        object.__setattr__(self, name, value)

    def _register_parameter(self, name, parameter):
        if self._reg_params.get(name, parameter) is not parameter:
            raise AssertionError(
                f"parameter {name!r} of {type(self).__name__} exists already; to share parameters between blocks pass "
                "params=... when making them"
            )
        self._reg_params[name] = parameter
        if not parameter._scoped:
            # Made by itself, as in MXNet 2: it gets its full name from the block.
            parameter.name = self._params.prefix + name
            parameter._scoped = True
            self._params._params[parameter.name] = parameter

    def _alias(self):
        return type(self).__name__.lower()

    # ------------------------------------------------------------------ names, parameters, children
    @property
    def prefix(self):
        """The beginning of the names of this block's parameters."""
        return self._prefix

    @property
    def name(self):
        """The prefix without its last underscore."""
        return self._name

    @property
    def params(self):
        """The parameters of this block alone, without those of its children (see `collect_params`)."""
        return self._params

    def name_scope(self):
        """Context manager: blocks made inside get this block's prefix before their own."""
        return self._scope

    def collect_params(self, select=None):
        """All parameters of the block and its children, or those whose names match the regular expression.

        In NumPy mode their names are structural, `0.weight` (see `ParameterDict`).
        """
        if "_children" not in self.__dict__:
            raise not_prepared(self)
        self._warn_of_hidden_blocks()
        found = ParameterDict(self._params.prefix)
        found._by_structure, found._block = self._by_attribute, self
        found.update(self._params)
        for child in self._children.values():
            found.update(child.collect_params())
        if select:
            found._params = found.select(select)
        return found

    def _by_attribute(self, prefix=""):
        """Parameters by structural name: attributes and child names joined by dots."""
        found = {prefix + name: parameter for name, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._by_attribute(f"{prefix}{name}."))
        return found

    def _collect_params_with_prefix(self, prefix=""):
        """Parameters by the names that they have in files: structural, but where a layer's parts were cells once."""
        prefix = prefix + "." if prefix else ""
        found = {prefix + name: parameter for name, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

    def register_child(self, block, name=None):
        """Makes a block a child; without a name it gets its number."""
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn):
        """Calls `fn` on all descendants and then on the block itself."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def initialize(self, init=None, ctx=None, verbose=False, force_reinit=False, device=None):
        """Initialises all parameters, by default uniformly on [-0.07, 0.07] where they have no initializer.

        ctx, or device as MXNet 2 calls it: where they are to be, a context or a list of several.
        """
        self.collect_params().initialize(init, device if ctx is None else ctx, verbose, force_reinit)

    def reset_ctx(self, ctx):
        """Moves all parameters to other contexts."""
        for parameter in self.collect_params().values():
            parameter.reset_ctx(ctx)

    def reset_device(self, device):
        """`reset_ctx` as MXNet 2 calls it."""
        self.reset_ctx(device)

    def zero_grad(self):
        """Sets the gradients of all parameters to 0."""
        for parameter in self.collect_params().values():
            parameter.zero_grad()

    def setattr(self, name, value):
        """Sets an attribute, such as `grad_req`, of all parameters."""
        for parameter in self.collect_params().values():
            setattr(parameter, name, value)

    def cast(self, dtype):
        """Converts all parameters to another dtype."""
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self._params.values():
            parameter.cast(dtype)

    def share_parameters(self, shared):
        """Uses the given parameters (by structural name, or as `collect_params` gives them) in place of its own."""
        collected = getattr(shared, "_by_structure", None)
        if collected is not None:
            by_name = collected()
        else:
            prefix = shared.prefix if isinstance(shared, ParameterDict) else ""
            by_name = {name.removeprefix(prefix): parameter for name, parameter in shared.items()}
        for name in self._by_attribute():
            if name in by_name:
                *path, attribute = name.split(".")
                owner = self
                for child in path:
                    owner = owner._children[child]
                owner._replace_parameter(attribute, by_name[name])
        return self

    def _replace_parameter(self, name, parameter):
        old = self._reg_params[name]
        self._params._params = {
            (parameter.name if p is old else key): (parameter if p is old else p)
            for key, p in self._params._params.items()
        }
        self._reg_params[name] = parameter
        object.__setattr__(self, name, parameter)

    def hybridize(self, active=True, **kwargs):
        """Hybridizes the children that are `HybridBlock`s."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    # ------------------------------------------------------------------ files
    def save_parameters(self, filename, deduplicate=False):
        """Writes all parameters by structural name; with `deduplicate` shared ones once."""
        parameters = self._collect_params_with_prefix()
        if deduplicate:
            last = {parameter: name for name, parameter in parameters.items()}
            parameters = {name: parameter for parameter, name in last.items()}
        save_each(filename, parameters, lambda parameter: parameter._reduce())

    def load_parameters(
        self,
        filename,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        cast_dtype=False,
        dtype_source="current",
        device=None,
    ):
        """Reads a file of `save_parameters`, `ParameterDict.save` or `export`, and initialises what it finds.

        AssertionError names a parameter that is missing in the file, or whose shape or dtype differs; ValueError one
        that the block does not have. cast_dtype converts: to the parameter's dtype, or to the file's
        (dtype_source="saved").
        """
        ctx = device if ctx is None else ctx
        arrays = self._split_rnn_vectors(nd.load(filename))
        parameters = self._collect_params_with_prefix()
        if not arrays and not parameters:
            return
        if not any("." in name for name in arrays) and not set(arrays) <= set(parameters):
            # A file of full names.
            full = self.collect_params()
            arrays = _without_prefix(arrays, [name.removeprefix(self.prefix) for name in full.by_full_name()])
            options = (ctx, allow_missing, ignore_extra, self.prefix, filename, cast_dtype, dtype_source)
            full.load_dict(arrays, *options)
            return
        if not allow_missing:
            loaded = {parameters[name] for name in arrays if name in parameters}
            for name, parameter in parameters.items():
                if parameter not in loaded:
                    raise AssertionError(
                        f"parameter {name!r} is missing in file {filename!r}.{nearest(name, arrays)} "
                        "allow_missing=True leaves it as it is"
                    )
        for name, array in arrays.items():
            if name in parameters:
                parameters[name]._load_init(array, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)
            elif not ignore_extra:
                raise ValueError(
                    f"file {filename!r} holds {name!r}, which is no parameter of this {type(self).__name__}."
                    f"{nearest(name, parameters)} ignore_extra=True skips it"
                )

    def load_dict(
        self,
        param_dict,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        cast_dtype=False,
        dtype_source="current",
        device=None,
    ):
        """Like `load_parameters`, from a dictionary of arrays by structural name."""
        ctx = device if ctx is None else ctx
        found = ParameterDict()
        found._params = self._collect_params_with_prefix()
        param_dict = self._split_rnn_vectors(param_dict)
        found.load_dict(param_dict, ctx, allow_missing, ignore_extra, "", None, cast_dtype, dtype_source)

    def _split_rnn_vectors(self, arrays, prefix=""):
        """Arrays by structural name, the vectors of MXNet 2's recurrent layers split into
        the parameters that they join.
        """
        for name, child in self._children.items():
            arrays = child._split_rnn_vectors(arrays, f"{prefix}{name}.")
        return arrays

    def save(self, prefix):
        """Writes `PREFIX-model.json`, the names that blocks have in their parents, and `PREFIX-model.params`.

        For `load` into a network that is built by the same program with other names of children.
        """
        with replacing(f"{prefix}-model.json") as file:
            file.write(json.dumps(self._structure()).encode())
        self.save_parameters(f"{prefix}-model.params")

    def load(self, prefix):
        """Reads what `save` wrote for a network of the same structure, and gives its blocks the names that they had.

        ValueError where the structure differs.
        """
        path = f"{prefix}-model.json"
        saved = read_json(path)
        with reading(path):
            self._take_structure(saved)
        self.load_parameters(f"{prefix}-model.params")

    def _structure(self):
        children = {name: child._structure() for name, child in self._children.items()}
        return {"class": type(self).__name__, "children": children}

    def _take_structure(self, saved):
        kinds = [part["class"] for part in saved["children"].values()]
        if saved["class"] != type(self).__name__ or kinds != [type(c).__name__ for c in self._children.values()]:
            raise ValueError(
                f"the file holds a {saved['class']} of {kinds}, which is no {type(self).__name__} of "
                f"{[type(c).__name__ for c in self._children.values()]}"
            )
        self._children = dict(zip(saved["children"], self._children.values()))
        for name, child in self._children.items():
            child._take_structure(saved["children"][name])

    def save_params(self, filename):
        """Writes the parameters by full name; `save_parameters` took its place."""
        warnings.warn("save_params is deprecated: use save_parameters", DeprecationWarning, stacklevel=2)
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(self, filename, ctx=None, allow_missing=False, ignore_extra=False):
        """`load_parameters` under its old name."""
        warnings.warn("load_params is deprecated: use load_parameters", DeprecationWarning, stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    # ------------------------------------------------------------------ calls
    _failure_hook = None  # called with a block and its inputs where a call raises an error

    def __call__(self, *args):
        if route is not None:
            routed = route(Block.__call__, self, args)
            if routed is not None:
                return routed[0]
        try:
            if self._forward_pre_hooks:
                for hook in tuple(self._forward_pre_hooks.values()):
                    hook(self, args)
            out = self.forward(*args)
            if self._forward_hooks:
                for hook in tuple(self._forward_hooks.values()):
                    hook(self, args, out)
        except Exception as error:
            if "_children" not in self.__dict__:
                raise not_prepared(self) from None
            self._failed(error, args)
            raise
        return out

    def _failed(self, error, args):
        """A call has raised an error."""
        if self._failure_hook is not None:
            self._failure_hook(self, args)
        note(error, self, args)

    def _advice(self, *shapes):
        """What to do about inputs of these shapes (None: no array) that the block failed with; None if they do not tell."""
        return None

    def forward(self, *args):
        """What a call computes, in terms of arrays."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward")

    def register_forward_pre_hook(self, hook):
        """Calls `hook(block, inputs)` before each forward pass; gives a handle with `detach()`."""
        return HookHandle(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook):
        """Calls `hook(block, inputs, outputs)` after each forward pass; gives a handle with `detach()`."""
        return HookHandle(self._forward_hooks, hook)

    def register_op_hook(self, callback, monitor_all=False):
        """Registers a hook on the operators of all hybridized blocks inside (see `HybridBlock.register_op_hook`)."""
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def summary(self, *inputs):
        """Prints a table of the layers with output shapes and numbers of parameters, by running `inputs` through."""
        from gluon.summary import print_summary

        print_summary(self, inputs)

    def _warn_of_hidden_blocks(self):
        known = set(map(id, self._children.values()))

        def hidden(value):
            if isinstance(value, Block):
                return id(value) not in known
            if isinstance(value, dict):
                value = value.values()
            elif not isinstance(value, (list, tuple)):
                return False
            return any(hidden(part) for part in value)

        for name, value in self.__dict__.items():
            if name not in _OWN_CONTAINERS and isinstance(value, (list, tuple, dict)) and hidden(value):
                warnings.warn(
                    f"blocks inside the {type(value).__name__} {type(self).__name__}.{name} are not children, so their "
                    "parameters are not collected: use register_child() or nn.Sequential",
                    stacklevel=3,
                )


def _details(cls):
    """What the docstrings of private bases, which `help` does not show, say after their first lines."""
    for base in cls.__bases__:
        if base.__name__.startswith("_"):
            details = (base.__doc__ or "").partition("\n\n")[2].partition(">>> ")[0].strip()
            yield from [details] if details else []
            yield from _details(base)


_OWN_CONTAINERS = frozenset({"_children", "_reg_params", "_forward_hooks", "_forward_pre_hooks"})


def _without_prefix(arrays, names):
    """Arrays of a file of full names by the `names` that they have in any block of this kind; as they are if none fits.

    `export` writes names with the prefix that the block had, which another instance has not.
    """
    if not all(name.startswith(("arg:", "aux:")) for name in arrays):
        return arrays
    arrays = {name[4:]: array for name, array in arrays.items()}
    prefixes = [name.removesuffix(names[0]) for name in arrays if name.endswith(names[0])] if names else []
    prefix = next((p for p in prefixes if all(p + name in arrays for name in names)), "")
    return {name.removeprefix(prefix): array for name, array in arrays.items()}


def indent(text, spaces=2):
    """Text with all lines but the first moved to the right."""
    first, *rest = str(text).split("\n")
    return "\n".join([first, *(" " * spaces + line for line in rest)])


def listing(children):
    """The lines that show pairs of a name and a block."""
    return "\n".join(f"  ({name}): {indent(repr(block))}" for name, block in children)
