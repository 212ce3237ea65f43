"""The array of the `np` namespace."""

from __future__ import annotations

import numbers

import numpy as onp

from core import dispatch, storage, writes
from core.context import Context, current_context
from core.dtypes import DTYPES, bfloat16, dtype_name
from core.ndarray.ndarray import NDArray, _install_infix
from core.ndarray.ndarray import array as _array
from core.numpy.protocol import array_function, array_ufunc
from core.ops.registry import TABLE, F
from core.util import default_float, is_np_default_dtype

_UNTOLD = ("float64", "int64")  # the types that NumPy leaves unsaid: MXNet writes them behind what NumPy gives
_DTYPES = {name: kind if kind is bfloat16 else onp.dtype(kind) for name, (_, kind) in DTYPES.items()}


class ndarray(NDArray):
    """An n-dimensional array with NumPy's semantics: zero dimensions, bool truth values, promoted types.

    >>> x = np.array([1, 2, 3])
    >>> x.shape, x.dtype, x[0] + 10
    ((3,), dtype('float32'), array(11.))
    """

    __slots__ = ()
    _zero_dim = True
    __array_function__, __array_ufunc__ = array_function, array_ufunc

    @property
    def dtype(self) -> onp.dtype | type:
        """The element type, as NumPy's dtype (or `bfloat16`)."""
        return _DTYPES[storage.NAMES[self._data.dtype]]

    def __repr__(self):
        if self._is_hidden():
            return super().__repr__()
        text = f"array({onp.array2string(self.asnumpy(), separator=', ', prefix='array(', suffix=')')},"
        kind = dtype_name(self.dtype)
        notes = []
        if self.size == 0 and self.ndim != 1:
            notes.append(f"shape={self.shape}")
        if kind != "float32" and (kind != "bool" or self.size == 0):  # a bool is told by its values
            notes.append(f"dtype={kind}")
        if self._ctx.device_type != "cpu":
            notes.append(f"ctx={self._ctx}")
        if not notes:
            return text[:-1] + ")"
        told = ", ".join(notes) + ")"
        room = onp.get_printoptions()["linewidth"] - (len(text) - text.rfind("\n") - 1)
        fits = kind in _UNTOLD or len(told) < room
        return text + (" " if fits else "\n      ") + told

    def __str__(self):
        if self._is_hidden():
            return super().__repr__()
        text = str(self.asnumpy())
        return text if self._ctx.device_type == "cpu" else f"{text} @{self._ctx}"

    def __format__(self, spec):
        shown = self.ndim > 0 or self._is_hidden()
        return super().__format__(spec) if shown else format(self.item(), spec)

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return self._data.shape[0]

    def __round__(self, n=None):
        return F._npi_around(self, scale=10.0 ** (n or 0))

    def __floor__(self):
        return F.floor(self)

    def __ceil__(self):
        return F.ceil(self)

    def __trunc__(self):
        return F.trunc(self)

    def __invert__(self):
        return F._npi_bitwise_not(self)

    def __matmul__(self, other):
        return F._npi_matmul(self, other)

    def __rmatmul__(self, other):
        return F._npi_matmul(_as_array(other), self)

    def __imatmul__(self, other):
        return F._npi_matmul(self, other, out=self)

    def __lshift__(self, other):
        return _shifted("left", self, other)

    def __rshift__(self, other):
        return _shifted("right", self, other)

    def __rlshift__(self, other):
        return _shifted("left", other, self)

    def __rrshift__(self, other):
        return _shifted("right", other, self)

    def __hash__(self):
        return id(self) >> 4

    def __float__(self):
        return float(self._only("float"))

    def __int__(self):
        return int(self._only("int"))

    def _only(self, wanted: str):
        if self.size != 1:
            raise TypeError(f"only an array with one element converts to {wanted}, this one has {self.size}")
        return self.asscalar()

    def __index__(self):
        if self.ndim == 0 and "int" in dtype_name(self.dtype):
            return int(self.asnumpy())
        raise TypeError("only integer scalar arrays can be converted to a scalar index")

    @property
    def T(self):
        """The array with its axes reversed."""
        return self if self.ndim < 2 else self.transpose()

    @property
    def mT(self):
        """The last two axes exchanged; ValueError for fewer than two."""
        if self.ndim < 2:
            raise ValueError(f"mT: at least two axes are needed, given the shape {self.shape}")
        return self.swapaxes(-1, -2)

    @property
    def flat(self):
        """An iterator over the elements."""
        return iter(self.reshape(-1))

    def item(self, *args):
        """One element as a Python number."""
        return self.asnumpy().item(*args)

    def asscalar(self):
        """The only element, as a NumPy scalar."""
        return super().asscalar()

    def as_np_ndarray(self):
        """The array itself."""
        return self

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """The array converted to `dtype`; without `copy` itself where it has that type.

        ValueError for a casting other than "unsafe" and for subok=False, as in MXNet.
        """
        if casting != "unsafe" or not subok:
            raise ValueError(f"astype: casting is 'unsafe' and subok True, given {casting!r} and {subok}")
        if order not in ("C", "A", "K"):
            raise ValueError(f"astype: memory lies in C order, which 'C', 'A' and 'K' ask for; given {order!r}")
        return super().astype(default_float() if dtype is None else dtype, copy)

    def copy(self, order="C"):
        """A copy in new memory."""
        if order != "C":
            raise NotImplementedError(f"copy: only order='C' is supported, given {order!r}")
        return F._copy(self)

    def reshape(self, *args, **kwargs):
        """The same elements in another shape; -1 takes what is left. order: as in `np.reshape`."""
        shape = args[0] if len(args) == 1 and not isinstance(args[0], numbers.Integral) else args
        shape = kwargs.pop("shape", kwargs.pop("newshape", shape))
        order = kwargs.pop("order", "C")
        if kwargs:
            raise TypeError(f"reshape takes shape and order, given {', '.join(kwargs)}")
        if order != "C":
            from core.numpy.manipulation import reshape

            return reshape(self, shape, order=order)
        return dispatch.own(F._npi_reshape(self, newshape=shape))

    def reshape_view(self, *shape, **kwargs):
        """The same memory in another shape, as `nd.NDArray.reshape` gives it: writing to one is seen in the other."""
        return super().reshape(*shape, **kwargs)


def _shifted(way: str, x1, x2):
    from core import numpy

    x1, x2 = (_as_array(x) if isinstance(x, onp.ndarray) else x for x in (x1, x2))
    return getattr(numpy, f"bitwise_{way}_shift")(x1, x2)


_NP_INFIX = {
    "add": ("_npi_add", "_npi_add_scalar", "_npi_add_scalar"),
    "sub": ("_npi_subtract", "_npi_subtract_scalar", "_npi_rsubtract_scalar"),
    "mul": ("_npi_multiply", "_npi_multiply_scalar", "_npi_multiply_scalar"),
    "truediv": ("_npi_true_divide", "_npi_true_divide_scalar", "_npi_rtrue_divide_scalar"),
    "mod": ("_npi_mod", "_npi_mod_scalar", "_npi_rmod_scalar"),
    "pow": ("_npi_power", "_npi_power_scalar", "_npi_rpower_scalar"),
    "and": ("_npi_bitwise_and", "_npi_bitwise_and_scalar", "_npi_bitwise_and_scalar"),
    "or": ("_npi_bitwise_or", "_npi_bitwise_or_scalar", "_npi_bitwise_or_scalar"),
    "xor": ("_npi_bitwise_xor", "_npi_bitwise_xor_scalar", "_npi_bitwise_xor_scalar"),
    "eq": ("_npi_equal", "_npi_equal_scalar", None),
    "ne": ("_npi_not_equal", "_npi_not_equal_scalar", None),
    "lt": ("_npi_less", "_npi_less_scalar", None),
    "le": ("_npi_less_equal", "_npi_less_equal_scalar", None),
    "gt": ("_npi_greater", "_npi_greater_scalar", None),
    "ge": ("_npi_greater_equal", "_npi_greater_equal_scalar", None),
}
_install_infix(ndarray, _NP_INFIX)

# method -> function of the np namespace that it is
_METHODS = (
    "all any argmax argmin argsort cumsum diagonal dot expand_dims flatten max mean min nonzero prod ravel repeat "
    "round squeeze std sum swapaxes take tile trace transpose var split broadcast_to sigmoid"
).split()


def _method(name: str):
    def call(self, *args, **kwargs):
        from core import numpy

        return getattr(numpy, name)(self, *args, **kwargs)

    call.__name__ = name
    call.__doc__ = f"The function `np.{name}` of this array."
    return call


for _name in _METHODS:
    if _name not in ndarray.__dict__:
        setattr(ndarray, _name, _method(_name))


def _sort(self, axis=-1, kind=None, order=None):
    """Arrays are not sorted in place: TypeError."""
    raise TypeError("an array is not sorted in place; np.sort(x) gives a sorted copy")


ndarray.sort = _sort


def _clip(self, min=None, max=None, out=None):
    """The array limited to [min, max]; None leaves a side open."""
    from core import numpy

    return numpy.clip(self, min, max, out=out)


ndarray.clip = _clip


def _transpose(self, *axes):
    """The array with its axes in another order (reversed by default)."""
    if len(axes) == 1 and (isinstance(axes[0], (tuple, list)) or axes[0] is None):
        axes = axes[0] or ()
    from core import numpy

    return numpy.transpose(self, axes)


ndarray.transpose = _transpose


def array(object, dtype=None, ctx: Context | None = None, device=None) -> ndarray:
    """An array with a copy of the values. A NumPy array keeps its type (float64 too), numbers become float32.

    >>> np.array([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    if dtype is None and isinstance(object, (onp.ndarray, onp.generic, NDArray)):
        dtype = object.dtype
    elif dtype is None and is_np_default_dtype():
        dtype = "float64"
    if isinstance(object, onp.generic):
        object = onp.asarray(object)
    return _array(object, ctx or device, dtype, ndarray)


def _make(name: str, ctx, **given) -> ndarray:
    """An array from an operator without inputs."""
    op = TABLE[name]
    return dispatch.create(op, op.parse(given), ctx, ndarray)


def _as_array(value, like: ndarray | None = None) -> ndarray:
    """The value as an `np` array: arrays as they are, numbers and lists converted."""
    if isinstance(value, ndarray):
        return value
    if isinstance(value, NDArray):
        return value.as_np_ndarray()
    return array(value, ctx=like._ctx if like is not None else None)


def _into(out, result):
    """The result, written to the array `out` where one is given."""
    if out is None:
        return result
    writes.write(out[0] if isinstance(out, list) and len(out) == 1 else out, result)
    return out


def empty(shape, dtype=None, order="C", ctx=None, device=None) -> ndarray:
    """An array whose values are not set; dtype: as in `zeros`. NotImplementedError for an order other than "C".

    >>> np.empty((2, 3)).shape
    (2, 3)
    """
    if order != "C":
        raise NotImplementedError(f"empty: only order='C' is supported, given {order!r}")
    ctx = ctx or device or current_context()
    shape = (shape,) if isinstance(shape, numbers.Integral) else tuple(shape)
    return ndarray._wrap(storage.empty(shape, dtype or default_float(), ctx), ctx)
