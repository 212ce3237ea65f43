"""The array of the `nd` namespace."""

from __future__ import annotations

import numbers

import numpy as onp

from core import autograd, dispatch, html, kernels, storage, writes
from core.backward import gradients_through
from core.base import MXNetError, NDArrayHandle
from core.context import Context, cpu, current_context
from core.dtypes import dtype_name, dtype_type
from core.ndarray import indexing
from core.ops.registry import TABLE, F, Operator
from core.ops.storage_types import NUMBERS as _STORAGE_TYPE_STR_TO_ID  # noqa: F401  MXNet's name, which programs import

state, busy = autograd.state, autograd.busy
launch = dispatch.launch
py_slice = slice  # MXNet's name for it beside the operator, which programs import
_new = object.__new__
_SLICE_VIEW = TABLE["_slice_view"]


class NDArray:
    """An n-dimensional array on a device, with MXNet's `nd` semantics.

    There are no arrays of zero dimensions, arithmetic needs operands of one dtype, comparisons give the
    operand's dtype. Made by `nd.array`, `nd.zeros` and the operators, not by calling the class on data.

    >>> x = nd.array([[1, 2], [3, 4]])
    >>> x.shape, x.dtype, x.context
    ((2, 2), <class 'numpy.float32'>, cpu(0))
    >>> x[0] + 10
    [11. 12.]
    <NDArray 2 @cpu(0)>
    """

    __slots__ = ("__weakref__", "_aside", "_ctx", "_data", "_entry")
    _is_placeholder = False
    _zero_dim = False  # whether indexing and reductions may give arrays without axes
    __array_priority__ = 1000.0
    stype = "default"

    def __init__(self, data: NDArray | NDArrayHandle | None = None, handle=None, writable: bool = True):
        data = handle if data is None else data
        data = data.array if isinstance(data, NDArrayHandle) else data
        if data is None:
            raise TypeError("NDArray(data) takes an array, or the handle of one; nd.array makes one of numbers")
        self._data, self._ctx, self._entry = data._data, data._ctx, None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "_dense_kind" not in cls.__dict__ and cls.__base__._dense_kind is cls.__base__:
            cls._dense_kind, cls._blank = cls, dispatch.blanks(cls)  # the class of what operators make of such arrays

    @classmethod
    def _wrap(cls, tensor, ctx: Context) -> NDArray:
        array = object.__new__(cls._dense_kind)
        array._data, array._ctx, array._entry = tensor, ctx, None
        return array

    @classmethod
    def _apply_operator(cls, op: Operator, inputs: list, attrs: dict, out=None):
        return launch(op, inputs, attrs, cls, out)

    _gradients_through = staticmethod(gradients_through)

    def _lookup_gradient(self, data, shape: tuple[int, ...]):
        """As the gradient of a lookup of the rows that `data` names, that of an array of this shape; stored by rows."""
        from core.ndarray.stored import lookup_gradient

        return lookup_gradient(self, data, shape)

    def _launcher(self, op: Operator):
        """What applies an operator to arrays of this class; None where that takes more than one call of a kernel."""
        return dispatch.launcher(op, type(self)) if type(self) is self._dense_kind else None

    # ------------------------------------------------------------------ properties

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(self._data.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._data.dim()

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._data.numel()

    @property
    def dtype(self) -> type:
        """The element type, as NumPy's scalar type (or `bfloat16`)."""
        return dtype_type(storage.NAMES[self._data.dtype])

    @property
    def __numpy_dtype__(self) -> onp.dtype:
        """The element type for `numpy.dtype(array)`, which since NumPy 2.4 takes no scalar type from `dtype`."""
        return onp.dtype(self.dtype)

    @property
    def context(self) -> Context:
        """The device that holds the array."""
        return self._ctx

    ctx = device = context

    @property
    def T(self):
        """The array with its axes reversed."""
        return self if self.ndim < 2 else _reversed(self)

    @property
    def grad(self):
        """The gradient buffer, or None where none is attached."""
        return self._entry.grad if type(self._entry) is autograd.Leaf else None

    @property
    def writable(self) -> bool:
        """Whether elements can be written: always, as arrays that cannot be written do not exist here."""
        return True

    @property
    def _fresh_grad(self) -> bool:
        """Whether a backward pass has written the gradient since this was last set to False, as a Trainer does.

        By MXNet's name, which trainers of programs read and set.
        """
        return type(self._entry) is autograd.Leaf and self._entry.fresh

    @_fresh_grad.setter
    def _fresh_grad(self, fresh: bool):
        if type(self._entry) is not autograd.Leaf:
            raise MXNetError("an array without attach_grad() has no gradient to be fresh")
        self._entry.fresh = bool(fresh)

    @property
    def handle(self):
        """What the array is to calls of `_LIB`."""
        return NDArrayHandle().hold(self)

    _as_parameter_ = handle  # monitors get arrays, and MXNet's get handles: what programs cast to one

    def __len__(self):
        tensor = self._data
        if not tensor.dim():
            raise TypeError("len() of an array without axes")
        return tensor.shape[0]

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __hash__(self):
        return id(self) >> 4

    def __repr__(self):
        shape = "x".join(map(str, self.shape))
        values = "" if self._is_hidden() else f"\n{self.asnumpy()!s}\n"
        return f"{values}<{type(self).__name__} {shape} @{self._ctx}{'' if values else ', traced'}>"

    def _repr_html_(self):
        return html.of_array(self)

    def __str__(self):
        return repr(self)

    def _is_hidden(self) -> bool:
        """Whether it stands for an array of a block that is being traced, which is shown without values."""
        return state.tracer is not None and state.tracer.hides(self)

    # ------------------------------------------------------------------ to and from elsewhere

    def asnumpy(self) -> onp.ndarray:
        """A NumPy array with a copy of the values (bfloat16 becomes float32)."""
        if state.tracer is not None:
            state.tracer.refuse(self)
        return storage.to_numpy(self._data)

    def asscalar(self):
        """The only element, as a NumPy scalar; ValueError where there are more or none."""
        if self.size != 1:
            raise ValueError(f"the array has {self.size} elements; asscalar needs exactly one")
        return self.asnumpy().reshape(-1)[0]

    def item(self):
        """The only element, as a Python number."""
        return self.asscalar().item()

    def tolist(self) -> list:
        """Nested lists of Python numbers."""
        return self.asnumpy().tolist()

    def __array__(self, dtype=None, copy=None):
        values = self.asnumpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __bool__(self):
        if self.size == 0:
            return False
        if self.size == 1:
            return bool(self.asscalar())
        raise ValueError("the truth value of an array with several elements is ambiguous")

    def __dlpack__(self, **options):
        return self._data.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._data.__dlpack_device__()

    def to_dlpack_for_read(self):
        """A DLPack capsule over the array's memory."""
        return storage.to_dlpack(self._data)

    def to_dlpack_for_write(self):
        """A DLPack capsule through which others may write to the array.

        Taking it counts as a write: `backward` refuses what was recorded before if it needs the old values. What is
        recorded afterwards keeps copies of this array's values.
        """
        return storage.to_dlpack_for_write(self._data)

    def __getstate__(self):
        return {"data": self.asnumpy(), "dtype": dtype_name(self.dtype), "ctx": self._ctx}

    def __setstate__(self, given):
        if "handle" in given:  # the record that MXNet's own pickles hold
            from core.serialization import from_bytes

            given = from_bytes(bytes(given["handle"]), type(self)).__getstate__()
        self._ctx, self._entry = given["ctx"], None
        self._data = storage.from_numpy(given["data"], given["dtype"], given["ctx"])

    def __reduce__(self):
        return _rebuild, (type(self), self.__getstate__())

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    # ------------------------------------------------------------------ copies and places

    def copy(self):
        """A copy in new memory."""
        return F._copy(self)

    def copyto(self, other):
        """Copies to another array (returned), or to a new one on a context."""
        if isinstance(other, NDArray):
            if other is not self:
                writes.write(
                    other, self if other.dtype == self.dtype and other._ctx == self._ctx else self._moved(other)
                )
            return other
        if isinstance(other, Context):
            return self._new(storage.copy_to(self._data, ctx=other), other)
        raise TypeError(f"copyto takes an array or a context, given {type(other).__name__}")

    def _moved(self, like):
        if autograd.is_recording():
            return self.astype(like.dtype, copy=False).as_in_context(like._ctx)
        return self._new(storage.copy_to(self._data, like.dtype, like._ctx), like._ctx)

    def _new(self, tensor, ctx):
        return type(self)._wrap(tensor, ctx)

    def as_in_context(self, context: Context):
        """The array on `context`: itself where it is there already."""
        if context == self._ctx:
            return self
        moved = F._copyto(self, context=context, origin=self._ctx)
        moved._ctx = context
        return moved

    as_in_ctx = to_device = as_in_context

    def as_nd_ndarray(self):
        """The same memory as an `nd` array."""
        return _viewed(self, NDArray)

    def as_np_ndarray(self):
        """The same memory as an `np` array."""
        from core.numpy import ndarray

        return _viewed(self, ndarray)

    def astype(self, dtype, copy: bool = True):
        """The array converted to `dtype` (None: float32); without `copy` itself where it has that type."""
        dtype = "float32" if dtype is None else dtype
        if not copy and dtype_name(dtype) == dtype_name(self.dtype):
            return self
        return F.Cast(self, dtype=dtype)

    def slice_assign(self, rhs, begin, end, step):
        """A copy with `rhs` in the part from begin to end (exclusive) with one step per axis."""
        return F._slice_assign(self, rhs, begin=begin, end=end, step=step)

    def slice_assign_scalar(self, value, begin, end, step):
        """A copy with one number in the part from begin to end (exclusive) with one step per axis."""
        return F._slice_assign_scalar(self, scalar=value, begin=begin, end=end, step=step)

    def split_v2(self, indices_or_sections, axis: int = 0, squeeze_axis: bool = False):
        """Parts along an axis: equal ones, or cut at indices."""
        from core.ndarray.functions import split_v2

        return split_v2(self, indices_or_sections, axis, squeeze_axis)

    def tostype(self, stype: str):
        """The array in another storage type: default, csr or row_sparse."""
        if stype == "default":
            return self
        from core.ndarray import sparse

        return sparse.cast_storage(self, stype)

    def wait_to_read(self) -> None:
        """Waits until the values are there; raises what went wrong on the device."""
        if self._data.is_cuda:
            storage.synchronize()

    wait_to_write = wait_to_read

    # ------------------------------------------------------------------ autograd

    def attach_grad(self, grad_req: str = "write", stype=None) -> None:
        """Attaches a gradient buffer of zeros; grad_req is write, add or null."""
        if grad_req not in autograd.GRAD_REQS:
            raise ValueError(f"grad_req {grad_req!r} is not one of {', '.join(autograd.GRAD_REQS)}")
        if grad_req == "null":
            self._entry = None
            return
        if stype not in (None, "default"):
            from core.ndarray import sparse

            gradient = sparse.zeros(stype, self.shape, ctx=self._ctx, dtype=self.dtype)
        else:
            gradient = self._new(kernels.shape.zeros_of(storage.like(self._data)), self._ctx)
        self._entry = autograd.Leaf(gradient, grad_req)

    def drop_grad(self) -> None:
        """Takes the gradient buffer away."""
        self._entry = None

    def backward(self, out_grad=None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Gradients of this array with respect to the marked ones (see `autograd.backward`)."""
        autograd.backward([self], None if out_grad is None else [out_grad], retain_graph, train_mode)

    def detach(self):
        """The same memory, outside the recorded computation."""
        return self._new(self._data, self._ctx)

    # ------------------------------------------------------------------ indexing

    def __getitem__(self, key):
        kind = type(key)
        if (kind is slice or kind is int) and not self._is_placeholder and (not busy or state.tracer is None):
            try:
                part = self._data[key]
                if part.dim() and part.is_contiguous():
                    view = _shared(self, part)
                    if busy and state.recording and self._entry is not None:
                        place = indexing.plain_slice(key) if kind is slice else key
                        autograd.attach(_SLICE_VIEW, {"key": (place,), "zero_dim": self._zero_dim}, (self,), (view,))
                    return view
            except (RuntimeError, TypeError, ValueError, IndexError):
                pass
        return indexing.get(self, key)

    def __setitem__(self, key, value):
        indexing.set_(self, key, value)

    # ------------------------------------------------------------------ shapes that share memory

    def reshape(self, *shape, reverse=False, **named):
        """The same elements in another shape; 0, -1, -2, -3, -4 have MXNet's meanings. ValueError where -1 leaves a
        rest, which the operator `nd.reshape` drops.
        """
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            (shape,) = shape
        if named:
            shape = named.pop("shape", shape)
            if named:
                raise TypeError(f"reshape takes shape and reverse, given {', '.join(named)}")
        if not reverse and (not busy or _is_free(self)):
            try:
                if 0 not in shape:  # the codes below -1 are errors here
                    view = _new(self._dense_kind)
                    view._data, view._ctx, view._entry = self._data.reshape(shape), self._ctx, None
                    return view
            except (RuntimeError, TypeError, ValueError):
                pass  # the operator says what is wrong
        out = _reshape(self, tuple(shape), reverse)
        if -1 in shape and out.size != self.size:
            raise ValueError(
                f"reshape: {self.size} elements of shape {self.shape} do not fill the shape {tuple(shape)}"
            )
        return out

    def expand_dims(self, axis, inplace=False):
        """The array with a new axis of length 1 at `axis`; with inplace=True in the same memory."""
        return self.reshape(_expand_dims(self, axis).shape) if inplace else _expand_dims(self, axis)

    def squeeze(self, axis=None, inplace=False):
        """The array without axes of length 1 (all, or those of `axis`); with inplace=True in the same memory."""
        out = _squeeze(self, axis=axis)
        return self.reshape(out.shape) if inplace else out

    def flatten(self, inplace=False):
        """The array as a matrix whose rows are the first axis; with inplace=True in the same memory."""
        return self.reshape((0, -1)) if inplace else _flatten(self)

    def broadcast_to(self, shape):
        """The array repeated along axes of length 1 to `shape`."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        now = self.shape
        lead = len(shape) - len(now)
        try:
            return _broadcast_to(self if lead <= 0 else F._reshape_to(self, shape=(1,) * lead + now), shape)
        except MXNetError:
            if _repeats(now, shape):
                raise
            raise ValueError(f"an array of shape {now} cannot be repeated to the shape {shape}") from None

    def broadcast_like(self, other):
        """The array repeated along axes of length 1 to the shape of `other`."""
        return self.broadcast_to(other.shape)

    # ------------------------------------------------------------------ arithmetic

    def __pos__(self):
        return self

    def __invert__(self):
        return F.logical_not(self)

    def __matmul__(self, other):
        return F.dot(self, other)

    def __round__(self, n=None):
        return F.round(self) if n is None else F.round(self * 10.0**n) / 10.0**n


def _rebuild(kind, given):
    array = kind.__new__(kind)
    array.__setstate__(given)
    return array


def _repeats(now: tuple, shape: tuple) -> bool:
    """Whether axes of length 1 of a shape can be repeated, and new ones put before them, to another, whose 0 keeps a
    length."""
    lead = len(shape) - len(now)
    if lead < 0:
        return False
    for m, n in zip(now, shape[lead:] if lead else shape, strict=True):
        if m != n and n and (m != 1 or n < 0):
            return False
    return True


def _is_free(array: NDArray) -> bool:
    """Whether a view of the array is nobody's business but the caller's: no tape and no graph hears of it."""
    if array._is_placeholder:
        return False
    return not busy or (state.tracer is None and (not state.recording or array._entry is None))


def _shared(array: NDArray, tensor) -> NDArray:
    """An array over `tensor`, a view of the array's own."""
    view = _new(array._dense_kind)
    view._data, view._ctx, view._entry = tensor, array._ctx, None
    return view


def _viewed(array: NDArray, kind: type) -> NDArray:
    if type(array) is kind:
        return array
    view = kind._wrap(array._data, array._ctx)
    view._entry = array._entry
    return view


def binary(lhs, rhs, array_op: Operator, scalar_op: Operator, reverse_op: Operator | None):
    """An infix operation between arrays and numbers; `reverse_op` computes number OP array."""
    if isinstance(rhs, NDArray):
        if isinstance(lhs, NDArray):
            if lhs._zero_dim is not rhs._zero_dim:
                if lhs._is_placeholder or rhs._is_placeholder:  # the operator finds out its shape
                    return launch(array_op, [lhs, rhs], {}, type(rhs if lhs._is_placeholder else lhs))
                raise TypeError("nd and np arrays do not mix; convert with as_np_ndarray() or as_nd_ndarray()")
            return launch(array_op, [lhs, rhs], {}, type(lhs))
        if isinstance(lhs, (numbers.Number, onp.bool_)):
            return launch(reverse_op or scalar_op, [rhs], {"scalar": _scalar(lhs)}, type(rhs))
    elif isinstance(rhs, (numbers.Number, onp.bool_)):
        return launch(scalar_op, [lhs], {"scalar": _scalar(rhs)}, type(lhs))
    if isinstance(rhs, onp.ndarray) and not lhs._zero_dim:
        return launch(array_op, [lhs, _like(rhs, lhs)], {}, type(lhs))
    raise TypeError(f"operands must be arrays or numbers, given {type(lhs).__name__} and {type(rhs).__name__}")


def _like(value: onp.ndarray, like: NDArray) -> NDArray:
    return like._new(storage.from_numpy(value, like.dtype, like._ctx), like._ctx)


def _scalar(value):
    value = value.item() if isinstance(value, onp.generic) else value
    if isinstance(value, int):  # beyond 64 bits a float
        return int(value) if -(1 << 63) <= value < 1 << 63 else float(value)
    return value


_INFIX = {
    # method: (array operator, scalar operator, operator for number OP array)
    "add": ("broadcast_add", "_plus_scalar", "_plus_scalar"),
    "sub": ("broadcast_sub", "_minus_scalar", "_rminus_scalar"),
    "mul": ("broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "truediv": ("broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "mod": ("broadcast_mod", "_mod_scalar", "_rmod_scalar"),
    "pow": ("broadcast_power", "_power_scalar", "_rpower_scalar"),
    "eq": ("broadcast_equal", "_equal_scalar", None),
    "ne": ("broadcast_not_equal", "_not_equal_scalar", None),
    "lt": ("broadcast_lesser", "_lesser_scalar", None),
    "le": ("broadcast_lesser_equal", "_lesser_equal_scalar", None),
    "gt": ("broadcast_greater", "_greater_scalar", None),
    "ge": ("broadcast_greater_equal", "_greater_equal_scalar", None),
}


def _install_infix(cls: type, table: dict) -> None:
    """Gives a class its infix methods: forward, reflected and in place."""
    for method, (array_name, scalar_name, reverse_name) in table.items():
        array_op, scalar_op = TABLE[array_name], TABLE[scalar_name]
        reverse_op = TABLE[reverse_name] if reverse_name else None

        def general(self, other, a=array_op, s=scalar_op, r=reverse_op):
            if other is None and r is None:
                return NotImplemented
            return binary(self, other, a, s, r)

        def equality(self, other, a=array_op, s=scalar_op, truth=method == "ne"):
            if other is None or isinstance(other, str):
                return truth
            return binary(self, other, a, s, None)

        name = f"__{method}__"
        setattr(cls, name, equality if method in ("eq", "ne") else dispatch.infix(name, array_op, scalar_op, general))
        if reverse_op is not None:

            def reflected(self, other, a=array_op, s=scalar_op, r=reverse_op):
                if isinstance(other, onp.ndarray):
                    return launch(a, [_like(other, self), self], {}, type(self))
                return binary(other, self, a, s, r)

            def in_place(self, other, a=array_op, s=scalar_op, r=reverse_op):
                if state.recording and autograd.is_tracked(self):
                    raise writes.recorded_write()
                result = binary(self, other, a, s, r)
                if result.dtype != self.dtype:
                    raise MXNetError(
                        f"the result is {dtype_name(result.dtype)} and has no place in an array of "
                        f"{dtype_name(self.dtype)}"
                    )
                writes.write(self, result)
                return self

            setattr(cls, f"__r{method}__", dispatch.infix(f"__r{method}__", None, reverse_op, reflected))
            if method != "pow":  # MXNet's arrays leave x **= y to Python, which makes a new one
                setattr(cls, f"__i{method}__", in_place)


_install_infix(NDArray, _INFIX)
NDArray.__div__, NDArray.__rdiv__, NDArray.__idiv__ = NDArray.__truediv__, NDArray.__rtruediv__, NDArray.__itruediv__

# Operators that are methods too: x.exp(), x.sum(axis=1), ...
METHODS = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort broadcast_axes cbrt ceil "
    "clip cos cosh degrees depth_to_space diag dot exp expand_dims expm1 fix flatten flip floor log log10 log1p log2 "
    "log_softmax max mean min nanprod nansum norm one_hot ones_like pad pick prod radians rcbrt reciprocal relu "
    "repeat reshape_like rint round rsqrt shape_array sigmoid sign sin sinh size_array slice slice_axis slice_like "
    "softmax softmin sort space_to_depth split sqrt square squeeze sum swapaxes take tan tanh tile topk transpose "
    "trunc zeros_like"
).split()


def _method(name: str):
    """The operator called `name` of the first input."""
    return dispatch.operator_function(TABLE[name], None)


def _reshape(array: NDArray, shape: tuple, reverse: bool) -> NDArray:
    """By the operator itself, whose result shares memory where it can."""
    return launch(TABLE["Reshape"], [array], TABLE["Reshape"].parse_named(shape=shape, reverse=reverse), type(array))


_broadcast_to, _expand_dims, _flatten, _squeeze, _reversed = map(
    _method, ("broadcast_to", "expand_dims", "flatten", "squeeze", "transpose")
)
NDArray._dense_kind, NDArray._blank = NDArray, dispatch.blanks(NDArray)

for _name in METHODS:
    if _name not in NDArray.__dict__:
        setattr(NDArray, _name, _method(_name))
_negative, _BOOL = _method("negative"), storage.torch_dtype("bool")


def _minus(self) -> NDArray:
    """The negative; of bools as whole numbers, because MXNet multiplies by -1."""
    return self * -1 if self._data.dtype is _BOOL else _negative(self)


NDArray.__neg__, NDArray.__abs__ = _minus, _method("abs")


def _transpose(self, *axes, **kwargs):
    """The array with its axes in another order (reversed by default)."""
    if len(axes) == 1 and (isinstance(axes[0], (tuple, list)) or axes[0] is None):
        axes = axes[0] or ()
    return dispatch.own(F.transpose(self, axes=tuple(kwargs.get("axes", axes) or ())))


NDArray.transpose = _transpose


def array(source_array, ctx: Context | None = None, dtype=None, kind: type = NDArray):
    """An array with a copy of the values of `source_array` (nested lists, numbers, NumPy or other arrays).

    dtype: float32 unless given or unless `source_array` is an NDArray. Sparse matrices stay sparse.

    >>> nd.array([[1, 2], [3, 4]])
    [[1. 2.]
     [3. 4.]]
    <NDArray 2x2 @cpu(0)>
    """
    ctx = ctx or (source_array._ctx if isinstance(source_array, NDArray) else current_context())
    if isinstance(source_array, NDArray):
        if source_array.stype != "default":
            return source_array.copyto(ctx) if dtype is None else source_array.astype(dtype).copyto(ctx)
        if autograd.is_recording() and source_array._entry is not None:  # the copy is differentiable, as in MXNet
            return _viewed(source_array.astype(dtype or source_array.dtype).as_in_context(ctx), kind)
        return kind._wrap(storage.copy_to(source_array._data, dtype or source_array.dtype, ctx), ctx)
    if not isinstance(source_array, onp.ndarray):
        if hasattr(source_array, "tocsr"):  # a matrix of SciPy
            from core.ndarray.sparse import csr_matrix

            return csr_matrix(source_array, None, ctx, dtype)
        try:
            source_array = onp.array(_plain(source_array), dtype=None)
        except ValueError as error:
            raise TypeError(f"the source is no array: {error}") from None
        if dtype is None:
            dtype = "float32"
    return kind._wrap(storage.from_numpy(source_array, dtype or "float32", ctx), ctx)


def _plain(source):
    """Lists with arrays inside as lists of NumPy arrays."""
    if isinstance(source, NDArray):
        return source.asnumpy()
    if isinstance(source, (list, tuple)) and any(isinstance(s, (NDArray, list, tuple)) for s in source):
        return [_plain(s) for s in source]
    return source


__all__ = ["NDArray", "array", "binary", "cpu"]
