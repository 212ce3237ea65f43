"""Parameters of blocks: arrays on one or several contexts, their gradients, and their (deferred) initialisation."""

from __future__ import annotations

import threading
import warnings

import numpy as np

from core import autograd, graph, initializer, storage
from core import ndarray as nd
from core.base import MXNetError, NotSupportedError
from core.context import Context, cpu, current_context
from core.dtypes import dtype_name
from core.ndarray.deferred import Deferred
from core.tape import untraced
from core.util import is_np_array, is_np_shape

__all__ = ["DeferredInitializationError", "Parameter", "contexts_of", "is_known", "placeholders"]

STYPES = ("default", "row_sparse", "csr")
_initialising = threading.RLock()


class DeferredInitializationError(MXNetError):
    """A parameter was read before the first forward pass found its shape."""


class Parameter:
    """A trainable array of a block, with one copy for each context.

    name: full name, with the prefix of its block. grad_req: "write", "add" or "null". shape: unknown extents are 0 or
    -1, which needs `allow_deferred_init`: the first forward pass fills them in. lr_mult, wd_mult: factors for the
    learning rate and the weight decay. init: its own initializer. differentiable: whether gradients are wanted at all.
    stype, grad_stype: storage types of the array and of the gradient.

    >>> weight = gluon.Parameter("weight", shape=(2, 3), init="ones")
    >>> weight.initialize()
    >>> weight.data().shape, weight.grad_req
    ((2, 3), 'write')
    """

    _called = "Parameter"  # in what is printed
    _channels_last = False  # whether the elements lie in the order that convolutions like
    is_split = False  # whether other processes have other parts of it
    _scoped = False  # whether a ParameterDict made it, hence whether its name has the prefix of a block

    def __init__(
        self,
        name="weight",
        grad_req="write",
        shape=None,
        dtype=np.float32,
        lr_mult=1.0,
        wd_mult=1.0,
        init=None,
        allow_deferred_init=False,
        differentiable=True,
        stype="default",
        grad_stype="default",
    ):
        for what, given in (("stype", stype), ("grad_stype", grad_stype)):
            if given not in STYPES:
                raise AssertionError(f"{what} of parameter {name!r} is one of {', '.join(STYPES)}, got {given!r}")
        self.name = name
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.init = init
        self._array = None  # the array, where there is one and `data` gives it: what layers read in every call
        self._data = None
        self._grad = None
        self._master = None  # all rows of a sparse parameter, of which `_data` holds those that were asked for last
        self._ctx_list = None
        self._deferred_init = ()  # (initializer, contexts, initializer of the model, values or None)
        self._trainer = None
        self._unit = None  # with kvstore dist_sharded: what the parameter lies in, of which processes hold parts
        self._var = None
        self._differentiable = differentiable
        self._allow_deferred_init = allow_deferred_init
        self._shape = (shape,) if isinstance(shape, int) else None if shape is None else tuple(shape)
        self._dtype = dtype
        self._stype = stype
        self._grad_stype = grad_stype
        self._np = is_np_array()  # as blocks under `use_np` are made, wherever they are initialised
        self._grad_req = None
        self.grad_req = grad_req

    def __repr__(self):
        return self._told(self.dtype)

    def _told(self, dtype) -> str:
        """Name, shape and `dtype`, which dictionaries of parameters show by its name."""
        return f"{self._called} {self.name} (shape={self.shape}, dtype={dtype})"

    # ------------------------------------------------------------------ attributes
    @property
    def shape(self):
        """Extents; those not known yet are 0 or -1 as given, and -1 all under `np_shape`, where 0 is a size."""
        if self._shape and 0 in self._shape and is_np_shape():
            return tuple(n or -1 for n in self._shape)
        return self._shape

    @shape.setter
    def shape(self, new_shape):
        new_shape = tuple(new_shape)
        known = self._shape
        if known is not None and not (
            len(known) == len(new_shape) and all(k in (0, -1, n) for n, k in zip(new_shape, known))
        ):
            raise AssertionError(f"parameter {self.name!r} has shape {known}, given {new_shape}")
        self._shape = new_shape

    @property
    def dtype(self):
        """The element type; assigning it casts."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype):
        self.cast(dtype)

    @property
    def grad_req(self):
        """What backward does with the gradient: "write", "add" or "null" (there is none)."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req):
        if req not in autograd.GRAD_REQS:
            raise AssertionError(f"grad_req is one of {', '.join(autograd.GRAD_REQS)}, got {req!r}")
        if not self._differentiable:
            req = "null"
        if self._grad_req == req:
            return
        self._grad_req = req
        if self._data is None:
            return
        if req == "null":
            self._grad = None
            self._set_arrays([array.detach() for array in self._data])
        else:
            self._init_grad()

    # ------------------------------------------------------------------ initialisation
    def initialize(self, init=None, ctx=None, default_init=None, force_reinit=False, device=None):
        """Fills the parameter on the given context(s), or remembers to do so when its shape gets known.

        init takes precedence over the parameter's own `init`, and that over `default_init`. device: as `ctx`.
        """
        if self._data is not None and not force_reinit:
            warnings.warn(
                f"parameter {self.name!r} is initialized already and stays; force_reinit=True initializes it again",
                stacklevel=2,
            )
            return
        self._data = self._grad = self._array = None
        default_init = initializer.Uniform() if default_init is None else default_init
        if init is None:
            init = default_init if self.init is None else self.init
        self._deferred_init = (init, contexts_of(device if ctx is None else ctx), default_init, None)
        if is_known(self._shape):
            self._finish_deferred_init()
        elif not self._allow_deferred_init:
            self._deferred_init = ()
            raise ValueError(f"parameter {self.name!r} cannot be initialized: its shape is {self._shape}")

    def _finish_deferred_init(self):
        """Initialises now; ValueError while the shape is not known."""
        with _initialising:  # threads that call a network for several contexts may come here at once
            if self._deferred_init:
                self._initialise_now()

    def _initialise_now(self):
        init, contexts, default_init, values = self._deferred_init
        if not is_known(self._shape):
            raise ValueError(
                f"parameter {self.name!r} cannot be initialized: its shape is {self._shape}. Give the layer "
                "in_units, in_channels, ... or pass a batch through the network"
            )
        with autograd.pause(), untraced():
            if values is None:
                values = nd.zeros(self._whole_shape, ctx=cpu(), dtype=self._dtype)
                values = values.as_np_ndarray() if is_np_array() else values  # initializers of users meet their face
                if not isinstance(init, (str, initializer.Initializer)):
                    init(initializer.InitDesc(self.name), values)  # Mixed, Load or a function decide by the name
                elif isinstance(default_init, initializer.Initializer):
                    # Whatever the name ends in: who asks for an initializer for a parameter gets its rule for weights.
                    default_init(initializer.InitDesc(self.name, {"__init__": init}), values)
                else:
                    initializer.create(init)._init_weight(initializer.InitDesc(self.name), values)
            self._init_impl(values, contexts)
        self._deferred_init = ()

    @property
    def _whole_shape(self):
        """What initializers fill, and files hold."""
        return self._shape

    def _finish_deferred_init_with(self, shape):
        """Initialises with a shape that an operator worked out, and gives the array."""
        if shape is None or not is_known(shape):
            raise self._not_ready()
        self.shape = shape
        self._finish_deferred_init()
        return self._initialised_array()

    def _initialised_array(self):
        """The array that `data()` gives, or None while there is none."""
        if self._array is not None or self._data is None:
            return self._array
        return self._seen(None)

    def _placeholder(self, ctx):
        """The array on `ctx`, or what stands for it while its shape is not known."""
        if self._stype != "default":
            raise self._not_dense()
        if self._deferred_init:
            with _initialising:
                if self._deferred_init:
                    return Deferred(self)
        if self._data is not None:
            return self._seen(ctx)
        raise self._not_ready()

    def _seen(self, ctx):
        """What layers compute with: the array on `ctx`, or what a subclass makes of it in `data`."""
        return self._check_and_get(self._data, ctx) if type(self).data is Parameter.data else self.data(ctx)

    def _load_init(self, data, ctx=None, cast_dtype=False, dtype_source="current"):
        """Takes values from a file. dtype_source: whether casting follows the parameter or the file ("saved")."""
        if dtype_source not in ("current", "saved"):
            raise AssertionError(f"dtype_source is 'current' or 'saved', got {dtype_source!r}")
        if self._shape is not None:
            fits = len(self._shape) == len(data.shape) and all(k in (0, -1, n) for k, n in zip(self._shape, data.shape))
            if not fits:
                raise AssertionError(f"parameter {self.name!r} has shape {self._shape}, the saved one {data.shape}")
            self._shape = tuple(data.shape)
        if dtype_name(self._dtype) != dtype_name(data.dtype):
            if not cast_dtype:
                raise AssertionError(
                    f"parameter {self.name!r} has dtype {dtype_name(self._dtype)}, the saved one "
                    f"{dtype_name(data.dtype)}; cast_dtype=True converts it"
                )
            if dtype_source == "current":
                data = data.astype(self._dtype)
            else:
                self.cast(data.dtype)
        contexts = None if ctx is None else contexts_of(ctx)
        present = self._ctx_list if self._data is not None else self._deferred_init[1] if self._deferred_init else None
        if contexts is not None and present is not None and set(contexts) != set(present):
            raise AssertionError(f"parameter {self.name!r} is on {present}, so it cannot be loaded to {contexts}")
        if self._data is not None:
            self.set_data(data)
        else:
            self._init_impl(data, present or contexts or [cpu()])
        self._deferred_init = ()

    def _init_impl(self, values, contexts):
        self._ctx_list = list(contexts)
        if self._stype != "default":
            values = self._master = self._stored(values).copyto(self._ctx_list[0])
        elif self._np or is_np_array():
            values = values.tostype("default").as_np_ndarray()
        else:
            values = values.tostype("default")
        self._set_arrays(self._laid_out([values.copyto(ctx) for ctx in self._ctx_list]))
        self._init_grad()
        if self._trainer is not None:
            self._trainer._initialized(self)

    def _init_grad(self):
        if self._grad_req == "null":
            self._grad = None
            return
        if self._grad_stype == "default":
            self._grad = self._laid_out([array.tostype("default").zeros_like() for array in self._data])
        else:
            self._grad = [nd.zeros(a.shape, a.context, a.dtype, stype=self._grad_stype) for a in self._data]
        self._mark()

    def _laid_out(self, arrays):
        if self._channels_last:
            for array in arrays:
                array._data = storage.counted_alone(storage.channels_last(array._data))
        return arrays

    def _mark(self):
        graph.arrays_changed()
        autograd.mark_variables(self._data, self._grad, self._grad_req)

    def _set_arrays(self, arrays):
        graph.arrays_changed()
        self._data = arrays
        plain = len(arrays) == 1 and self._stype == "default" and type(self).data is Parameter.data
        self._array = arrays[0] if plain else None

    @property
    def _ctx_map(self):
        """MXNet's index of contexts: places in `_data` by number of device, of GPUs and of CPUs.

        Programs that ask for it put arrays of their own in these places, so layers look there from now on.
        """
        self._array = None
        places = [[], []]
        for place, ctx in enumerate(self._ctx_list or ()):
            row = places[ctx.device_typeid & 1]
            row.extend([None] * (ctx.device_id + 1 - len(row)))
            row[ctx.device_id] = place
        return places

    @_ctx_map.setter
    def _ctx_map(self, value):
        """Subclasses copy it with the arrays; it follows from `_ctx_list`."""

    def _set_trainer(self, trainer):
        if self._stype != "default" and self._trainer and trainer and self._trainer is not trainer:
            raise RuntimeError(f"parameter {self.name!r} of storage type {self._stype} can have one Trainer only")
        self._trainer = trainer

    # ------------------------------------------------------------------ access
    def data(self, ctx=None, device=None):
        """The array on `ctx` (or `device`), by default the only one or that of the current context."""
        if self._unit is not None:
            self._unit.wake()
        array = self._array
        ctx = device if ctx is None else ctx
        if array is not None and (ctx is None or ctx == self._ctx_list[0]):
            return array
        if self._stype != "default":
            raise self._not_dense()
        if self._data is None and self._deferred_init and placeholders.active:
            return Deferred(self)
        return self._check_and_get(self._data, ctx)

    def list_data(self):
        """The arrays on all contexts."""
        if self._stype != "default":
            raise self._not_dense()
        return self._check_and_get(self._data, list)

    def row_sparse_data(self, row_id):
        """The array of a `row_sparse` parameter on the context of `row_id`, with these rows; it needs a Trainer."""
        return self._with_rows(row_id, row_id.context)

    def list_row_sparse_data(self, row_id):
        """`row_sparse_data` on all contexts."""
        return self._with_rows(row_id, list)

    def grad(self, ctx=None, device=None):
        """The gradient on `ctx` (or `device`)."""
        return self._check_and_get(self._check_grad(), device if ctx is None else ctx)

    def list_grad(self):
        """The gradients on all contexts."""
        return self._check_and_get(self._check_grad(), list)

    def list_ctx(self):
        """The contexts where the parameter is, or will be once its shape is known."""
        if self._data is not None:
            return self._ctx_list
        if self._deferred_init:
            return self._deferred_init[1]
        raise RuntimeError(f"parameter {self.name!r} has not been initialized")

    list_device = list_ctx

    def set_data(self, data):
        """Sets the values on all contexts."""
        if self._unit is not None:
            raise NotSupportedError(
                f"parameter {self.name!r} lies on several processes (dist_sharded): set or load values before the Trainer "
                "is made, or load all with Trainer.load_shards"
            )
        self.shape = data.shape
        if self._data is not None:
            with autograd.pause():
                for array in self._copies():
                    array[:] = data if self._stype == "default" else self._stored(data)
            if self._trainer is not None:
                self._trainer._reset_kvstore()
        elif self._deferred_init:
            self._deferred_init = (*self._deferred_init[:3], data)
        else:
            raise AssertionError(f"parameter {self.name!r} has not been initialized")

    def zero_grad(self):
        """Sets the gradients to 0."""
        for array, gradient in zip(self._data or (), self._grad or ()):
            if array._entry is None or array._entry.released is None:
                gradient[:] = 0

    def reset_ctx(self, ctx):
        """Moves the parameter to other contexts."""
        contexts = contexts_of(ctx)
        if self._data is not None:
            with autograd.pause():
                self._init_impl(self._reduce(), contexts)
        elif self._deferred_init:
            init, _, default_init, values = self._deferred_init
            self._deferred_init = (init, contexts, default_init, values)
        else:
            raise ValueError(f"parameter {self.name!r} has not been initialized, so it is on no context to leave")

    def reset_device(self, device):
        """`reset_ctx` as MXNet 2 calls it."""
        self.reset_ctx(device)

    def cast(self, dtype):
        """Converts the values and the gradients to another dtype."""
        self._dtype = dtype
        if self._data is None:
            return
        with autograd.pause():
            if self._master is not None:
                self._master = self._master.astype(dtype)
            self._set_arrays([array.astype(dtype) for array in self._data])
            if self._grad is not None:
                self._grad = [gradient.astype(dtype) for gradient in self._grad]
                self._mark()

    def var(self):
        """The symbol that stands for this parameter in graphs."""
        if self._var is None:
            from core import symbol

            self._var = symbol.var(
                self.name,
                shape=self._shape,
                dtype=self._dtype,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                init=self.init,
                stype=self._stype,
            )
        return self._var

    def _reduce(self):
        """The mean over contexts, on the CPU; all rows of a sparse parameter."""
        if self._master is not None:
            return self._master.copyto(cpu())
        if self._unit is not None:
            whole, _ = self.data().copyto(cpu()), self._unit.rest()
            return whole
        arrays = [array.as_in_context(cpu()) for array in self._check_and_get(self._data, list)]
        return arrays[0].detach() if len(arrays) == 1 else sum(arrays[1:], arrays[0]) / len(arrays)

    def _check_and_get(self, arrays, ctx):
        if arrays is None:
            raise self._not_ready()
        if ctx is list:
            return arrays
        if ctx is None:
            if len(arrays) == 1:
                return arrays[0]
            ctx = current_context()
        for array, place in zip(arrays, self._ctx_list):
            # Pinned and shared memory is the host's, as MXNet sees it too.
            if place.device_id == ctx.device_id and (place.device_type == "gpu") == (ctx.device_type == "gpu"):
                return array
        raise RuntimeError(f"parameter {self.name!r} is not on context {ctx}, but on {self._ctx_list}")

    def _not_ready(self):
        if self._deferred_init:
            return DeferredInitializationError(
                f"parameter {self.name!r} is not initialized yet, because its shape {self._shape} is not known: it "
                "will be during the first forward pass. Pass a batch through the network, or give the layers in_units, "
                "in_channels, ..."
            )
        return RuntimeError(
            f"parameter {self.name!r} has not been initialized. Call initialize() on the block, and collect parameters "
            "with Block.collect_params(): Block.params does not hold those of children"
        )

    def _check_grad(self):
        if self._data is not None and self._grad is None:
            raise RuntimeError(f"parameter {self.name!r} has no gradient, because its grad_req is 'null'")
        return self._grad

    def _with_rows(self, row_id, ctx):
        """The array on `ctx`, or (list) all arrays, after they got the rows `row_id` of the whole parameter."""
        if self._stype != "row_sparse":
            raise RuntimeError(f"parameter {self.name!r} has storage type {self._stype}: use data()")
        if not isinstance(row_id, nd.NDArray):
            raise TypeError(f"row_id is an array, got {type(row_id).__name__}")
        if self._trainer is None:
            raise RuntimeError(f"the rows of parameter {self.name!r} are kept by a Trainer, but it belongs to none yet")
        if not self._trainer._kv_initialized:
            self._trainer._init_kvstore()
        found = self._check_and_get(self._data, ctx)
        rows = nd.sparse.retain(self._master, np.unique(row_id.asnumpy()))
        for array in found if ctx is list else [found]:
            rows.copyto(array)
        return found

    def _copies(self):
        """All arrays that hold values."""
        return self._data if self._master is None else [self._master, *self._data]

    def _stored(self, values):
        """Values in the storage type of the parameter; a row_sparse one begins with all rows."""
        if self._stype == "row_sparse" and values.stype == "default":
            return nd.sparse.row_sparse_array((values, np.arange(len(values))), values.shape, values.context)
        return values.tostype(self._stype)

    def _not_dense(self):
        return RuntimeError(
            f"parameter {self.name!r} has storage type {self._stype}: row_sparse_data(row_id) and "
            "list_row_sparse_data(row_id) give rows of it, while data(), and blocks that expect a dense array, cannot "
            "be used"
        )


class _Placeholders:
    """Whether `Parameter.data()` gives a placeholder where the shape is not known: while a block finds its shapes."""

    active = 0

    def __enter__(self):
        self.active += 1

    def __exit__(self, *_):
        self.active -= 1


placeholders = _Placeholders()


def is_known(shape):
    """Whether a shape has no extents that are to be found out."""
    return shape is not None and all(extent > 0 for extent in shape)


def contexts_of(ctx):
    """The list of contexts that a user means by one, by several, or by None: the current one."""
    if ctx is None:
        return [current_context()]
    return [ctx] if isinstance(ctx, Context) else list(ctx)
