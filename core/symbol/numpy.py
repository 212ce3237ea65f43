"""`sym.np`: NumPy's functions over symbols, and the symbols whose operators have NumPy's semantics."""

from __future__ import annotations

import builtins
import numbers
import types
from collections.abc import Sequence

import numpy as onp

from core import numpy
from core.base import nearest
from core.ops.attributes import shape_of
from core.ops.registry import TABLE
from core.symbol.compose import documented_wrapper, wrapper
from core.symbol.numpy_functions import function
from core.symbol.symbol import Symbol, install_infix, install_methods
from core.util import require

pi, e, inf, nan, newaxis = onp.pi, onp.e, onp.inf, onp.nan, None


class _Symbol(Symbol):
    """A symbol with NumPy's semantics: operators broadcast and promote, `[]` slices (MXNet's class of that name)."""

    __slots__ = ()

    def __getitem__(self, key):
        """Parts of the array: ints, slices, None and Ellipsis. Of a symbol of several outputs, an output."""
        if len(self) > 1 or isinstance(key, str):
            return super().__getitem__(key)
        keys = list(key) if isinstance(key, tuple) else [key]
        rank_unknown = Ellipsis in keys
        if rank_unknown and any(isinstance(k, numbers.Integral) or k is None for k in keys[keys.index(Ellipsis) :]):
            raise TypeError("a symbol has no rank yet: after ... only whole slices can follow")
        bounds, dropped, added = bounds_of([k for k in keys if k is not Ellipsis])
        result = _call("slice", self, **bounds) if bounds["begin"] else self
        result = _call("squeeze", result, axis=dropped) if dropped else result
        for axis in added:
            result = _call("expand_dims", result, axis=axis)
        return result

    def __iter__(self):
        if len(self) == 1:
            raise TypeError("a symbol of one output has no length yet, so it cannot be iterated over")
        return super().__iter__()

    def __matmul__(self, other):
        return _call("_npi_matmul", self, other)

    def as_nd_ndarray(self) -> Symbol:
        """The symbol with the semantics of `sym`."""
        return Symbol(self._entries)

    def as_np_ndarray(self) -> _Symbol:
        """The symbol itself."""
        return self

    def reshape(self, *shape, **kwargs):
        """The same elements in another shape; -1 takes what is left."""
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], numbers.Integral) else shape
        return _call("_npi_reshape", self, newshape=tuple(kwargs.pop("newshape", kwargs.pop("shape", shape))))

    def transpose(self, *axes, **kwargs):
        """The array with its axes, one by one or as a sequence, in another order; reversed by default."""
        return transpose(self, *(axes if len(axes) < 2 else (axes,)), **kwargs)

    @property
    def T(self):
        """The array with its axes reversed."""
        return _call("transpose", self)


def bounds_of(items: Sequence) -> tuple[dict[str, tuple], tuple[int, ...], list[int]]:
    """Bounds and steps of the items of an index, the axes of numbers, which go, and where axes are new after that."""
    slices: list[slice] = []
    dropped, added = [], []
    for item in items:
        if item is None:
            added.append(len(slices) - len(dropped) + len(added))
            continue
        if isinstance(item, numbers.Integral):
            dropped.append(len(slices))
            item = slice(int(item), int(item) + 1 if item != -1 else None, 1)
        elif not isinstance(item, slice):
            raise TypeError(f"parts of a symbol are taken by ints, slices, None and Ellipsis, given {item!r}")
        slices.append(item)
    bounds = {"begin": "start", "end": "stop", "step": "step"}
    return {key: tuple(getattr(s, of) for s in slices) for key, of in bounds.items()}, tuple(dropped), added


def __getattr__(name: str):
    for prefix in ("_npi_", "_np_"):
        if prefix + name in TABLE and name not in _ANOTHER:
            value = documented_wrapper(TABLE[prefix + name], prefix + name, _Symbol)
            break
    else:
        from core.numpy.functions import UNARY

        op = UNARY.get(name) or _SAME.get(name)
        value = _of_numpy(name) if op is None else documented_wrapper(TABLE[op], op, _Symbol)
    globals()[name] = value
    return value


def _late(name: str):
    """The function `sym.np.NAME`, which is made when it is called: importing this module makes none of them."""

    def call(*args, **kwargs):
        return (globals().get(name) or __getattr__(name))(*args, **kwargs)

    return call


def _of_numpy(name: str):
    """What `np` has under a name, over symbols; AttributeError where it has nothing."""
    if name in ("linalg", "random"):
        return Functions(name, getattr(numpy, name))
    if name.startswith("_") or not callable(getattr(numpy, name.partition(".")[0], None)):
        raise AttributeError(f"sym.np has no function {name!r}.{nearest(name, __dir__())}")
    return function(name, _Symbol)


class Functions:
    """`sym.np.linalg`, `sym.np.random` and `sym.npx.random`: functions of a module of `np` or `npx` over symbols."""

    def __init__(self, name: str, module):
        self._name, self._module = name, module

    def __getattr__(self, name: str):
        if name not in dir(self):
            raise AttributeError(f"symbols have no function {self._name}.{name}.{nearest(name, dir(self))}")
        return function(f"{self._name}.{name}", _Symbol)

    def __dir__(self):
        return [
            n for n in dir(self._module) if isinstance(getattr(self._module, n), types.FunctionType) and n[0] != "_"
        ]


def __dir__():
    from core.numpy.functions import UNARY

    prefixed = {n.removeprefix(p) for p in ("_npi_", "_np_") for n in TABLE if n.startswith(p)}
    return sorted(
        {*prefixed.intersection(dir(numpy)), *UNARY, *_SAME, *(n for n in globals() if not n.startswith("_"))}
    )


# ---------------------------------------------------------------------------------------------- creation


def zeros(shape, dtype="float32", order="C", ctx=None) -> _Symbol:
    """Zeros; on `ctx`, by default where the inputs of the symbol are."""
    require("sym.np.zeros", "order", order, "C")
    return _call("_zeros", shape=shape, dtype=dtype or "float32", **_placed(ctx))


def ones(shape, dtype="float32", order="C", ctx=None) -> _Symbol:
    """Ones; on `ctx`, by default where the inputs of the symbol are."""
    require("sym.np.ones", "order", order, "C")
    return _call("_ones", shape=shape, dtype=dtype or "float32", **_placed(ctx))


def full(shape, fill_value, dtype="float32", order="C", ctx=None) -> _Symbol:
    """One value everywhere; on `ctx`, by default where the inputs of the symbol are."""
    require("sym.np.full", "order", order, "C")
    return _call("_full", shape=shape, value=fill_value, dtype=dtype or "float32", **_placed(ctx))


def arange(start, stop=None, step=1, dtype="float32", ctx=None) -> _Symbol:
    """start, start + step, ... below stop; on `ctx`, by default where the inputs of the symbol are."""
    return _call("_arange", start=start, stop=stop, step=step, dtype=dtype or "float32", **_placed(ctx))


def _placed(ctx) -> dict:
    return {} if ctx is None else {"ctx": str(ctx)}


# ---------------------------------------------------------------------------------------------- shapes


def concatenate(seq, axis=0) -> _Symbol:
    """Arrays one after the other along an axis."""
    return _call("Concat", *seq, dim=axis)


def stack(arrays, axis=0) -> _Symbol:
    """Arrays along a new axis."""
    return _call("stack", *arrays, axis=axis)


def split(ary, indices_or_sections, axis=0) -> _Symbol:
    """Equal parts, or parts that begin at the given positions: a symbol of several outputs."""
    if isinstance(indices_or_sections, numbers.Integral):
        return _call("_split_v2", ary, sections=indices_or_sections, axis=axis)
    return _call("_split_v2", ary, indices=(0, *indices_or_sections), axis=axis)


def reshape(a, newshape, order="C") -> _Symbol:
    """The same elements in another shape; -1 takes what is left."""
    return _call("_npi_reshape", a, newshape=newshape, order=order)


def transpose(a, axes=None) -> _Symbol:
    """The array with its axes in another order, reversed by default."""
    if axes is None:
        return _call("transpose", a)
    axes = shape_of(axes, "axes")
    negative = builtins.min(axes, default=0) < 0
    return _call("_np_transpose" if negative else "transpose", a, axes=axes)


def swapaxes(a, axis1, axis2) -> _Symbol:
    """The array with two axes exchanged."""
    return _call("SwapAxis", a, dim1=axis1, dim2=axis2)


def broadcast_to(array, shape) -> _Symbol:
    """The array repeated to a shape."""
    return _call("broadcast_to", array, shape=shape)


def take(a, indices, axis=None, mode="clip") -> _Symbol:
    """Elements at the given positions of an axis, or of the flat array."""
    if axis is None:
        a, axis = _call("_npi_reshape", a, newshape=(-1,)), 0
    return _call("take", a, indices, axis=axis, mode=mode)


def where(condition, x=None, y=None) -> _Symbol:
    """Elements of x where the condition holds, else of y; with the condition alone its true positions."""
    if x is None and y is None:
        return _of_numpy("nonzero")(condition)
    if x is None or y is None:
        raise ValueError("where: both x and y are given, or neither")
    x_is_number, y_is_number = (isinstance(v, numbers.Number) for v in (x, y))
    if x_is_number and y_is_number:
        return _of_numpy("where")(condition, x, y)
    if x_is_number:
        return _call("_npi_where_lscalar", condition, y, scalar=x)
    if y_is_number:
        return _call("_npi_where_rscalar", condition, x, scalar=y)
    return _call("_npi_where", condition, x, y)


# operators of the table that have other arguments than NumPy's function of that name
_ANOTHER = frozenset({"around", "svd", "qr", "eig", "eigh", "solve", "nan_to_num"})
# NumPy's name -> operator of the table with the same arguments
_SAME = {
    "expand_dims": "expand_dims", "squeeze": "squeeze", "tile": "tile", "repeat": "repeat", "clip": "clip",
    "cumsum": "cumsum", "flip": "reverse", "zeros_like": "zeros_like", "ones_like": "ones_like",
}  # fmt: skip
# method -> operator, and the one with a number on the left
_METHODS = {
    "add": ("add", "_npi_add_scalar"), "sub": ("subtract", "_npi_rsubtract_scalar"),
    "mul": ("multiply", "_npi_multiply_scalar"), "truediv": ("true_divide", "_npi_rtrue_divide_scalar"),
    "mod": ("mod", "_npi_rmod_scalar"), "pow": ("power", "_npi_rpower_scalar"), "eq": ("equal", None),
    "ne": ("not_equal", None), "lt": ("less", None), "le": ("less_equal", None), "gt": ("greater", None),
    "ge": ("greater_equal", None),
}  # fmt: skip


def _call(name: str, *args, **kwargs) -> _Symbol:
    return wrapper(TABLE[name], name, _Symbol)(*args, **kwargs)


install_infix(_Symbol, {
    method: (f"_npi_{name}", f"_npi_{name}", *[f"_npi_{name}_scalar"] * 2, *[reverse] * 2)
    for method, (name, reverse) in _METHODS.items()
})  # fmt: skip
_Symbol.__hash__ = Symbol.__hash__
install_methods(_Symbol, {name: globals()[name] for name in ("take", "swapaxes", "broadcast_to", "split")})
install_methods(_Symbol, {n: _late(n) for n in "sum mean max min prod std var argmax argmin all any dot".split()})
