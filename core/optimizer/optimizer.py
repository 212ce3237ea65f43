"""What all optimizers share: learning rates and decay by parameter, update counts, master copies of half precision."""

from __future__ import annotations

import warnings

from core import ndarray as nd
from core.base import MXNetError, NotAnArray, nearest
from core.dtypes import HALF, dtype_name
from core.ndarray.rows import rows_of_each, set_rows
from core.signatures import unknown_keyword
from core.util import is_np_array


class Optimizer:
    """Base class of optimizers.

    rescale_grad: factor for gradients. clip_gradient: bound for the absolute values of the rescaled gradient.
    learning_rate, wd: rate and weight decay, multiplied for each parameter by `lr_mult` and `wd_mult` (of
    `param_dict[index]`, or set by index or name). lr_scheduler: gives the rate from the number of updates.
    multi_precision: half-precision weights get a float32 master copy. param_idx2name: names by index; with names, only
    those ending in `_weight` or `_gamma` decay. begin_num_update: where the count of updates starts.

    aggregate_num: accepted as in MXNet. use_fused_step: whether `update` calls `fused_step` in place of `step`.

    Optimizers of ours give `create_state` and `_rule` (the arithmetic, on one array or on a flat one that holds many
    parameters). Programs written for MXNet override `update`, or, for MXNet 2, `step` or `fused_step`.

    >>> sgd = optimizer.create("sgd", learning_rate=0.1)
    >>> isinstance(sgd, optimizer.Optimizer), sgd.learning_rate
    (True, 0.1)
    """

    opt_registry: dict[str, type] = {}
    # Whether the elements of a weight are updated independently of each other, so that many parameters may lie in one
    # flat array.
    elementwise = True
    # Whether `_parts` updates parts of weights by the norms of whole ones.
    by_norms = False
    # Where the master copy stands in a state: (state, master) or (master, state).
    master_last = False
    # Whether `_rule` takes the master copy as `w32`.
    master_in_kernel = True

    def __init__(self, rescale_grad=1.0, param_idx2name=None, wd=0.0, clip_gradient=None, learning_rate=None,
                 lr_scheduler=None, sym=None, begin_num_update=0, multi_precision=False, param_dict=None,
                 aggregate_num=None, use_fused_step=None, **unknown):  # fmt: skip
        for name in unknown:
            raise unknown_keyword(self, name)
        if param_idx2name is not None and not isinstance(param_idx2name, dict):
            raise AssertionError(f"param_idx2name is a dictionary from index to name, got {param_idx2name!r}")
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        if lr_scheduler is None:
            self.lr = 0.01 if learning_rate is None else learning_rate
        else:
            self.lr = learning_rate
            if learning_rate is not None and lr_scheduler.base_lr != learning_rate:
                warnings.warn("the base_lr of the lr_scheduler is replaced by learning_rate", stacklevel=3)
                lr_scheduler.base_lr = learning_rate
        self.wd = wd
        self.begin_num_update = begin_num_update
        self.allow_np_array = is_np_array()  # MXNet's; programs look at it and delete it
        self.num_update = begin_num_update
        self._all_index_update_counts = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = aggregate_num or 0
        self.use_fused_step = bool(use_fused_step)
        self.idx2name = dict(param_idx2name or {})
        self.sym_info = (sym.attr_dict(), sym.list_arguments()) if sym is not None else ()
        self.param_dict = param_dict or {}
        self.set_lr_mult({})
        self.set_wd_mult({})

    @staticmethod
    def register(klass):
        """Decorator: files an optimizer class under its lower-case name.

        >>> @optimizer.register
        ... class Halving(optimizer.Optimizer):
        ...     def create_state(self, index, weight):
        ...         return None
        ...     def update(self, index, weight, grad, state):
        ...         weight[:] = weight / 2
        >>> type(optimizer.create("halving")).__name__
        'Halving'
        """
        name = klass.__name__.lower()
        if name in Optimizer.opt_registry:
            warnings.warn(f"new optimizer {name!r} ({klass.__module__}) takes the place of the registered one")
        Optimizer.opt_registry[name] = klass
        return klass

    @staticmethod
    def create_optimizer(name, **kwargs):
        """An optimizer by its name (case does not matter), or the given instance.

        >>> type(optimizer.create("adam", learning_rate=0.001)).__name__
        'Adam'
        """
        if isinstance(name, Optimizer):
            return name
        klass = Optimizer.opt_registry.get(name.lower())
        if klass is None:
            raise ValueError(f"there is no optimizer {name!r}.{nearest(name.lower(), Optimizer.opt_registry)}")
        return klass(**kwargs)

    # -------------------------------------------------------------------------- for subclasses
    def create_state(self, index, weight):
        """The state for a weight: None, an array, or a tuple of arrays."""
        return None

    def _rule(self, weight, grad, state, lr, wd, t, **where):
        """Changes `weight` and `state` in place.

        `t` is the number of this update, from 1. `where` goes to the kernel: `w32`, the master copy of a half-precision
        weight, and `segments`, the parts (start, stop, lr_mult, wd_mult) of a flat weight.
        """
        raise NotImplementedError(f"{type(self).__name__} defines none of step, fused_step and update")

    def _begin_parts(self, groups):
        """A step by `_parts` begins; groups: the indices of all parameters, as one `update` takes them together."""

    def _parts(self, indices, weight, grad, state, lr, wd, t, segments, **where):
        """`_rule` for parts of parameters in a flat weight, where it goes by norms of whole parameters.

        A generator that yields two tensors of sums of squares, of an element for each segment, and is sent those of the
        whole parameters. indices: the parameters of the segments.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no update of parts")

    def _adapt(self, index, weight, grad, lrs, wds):
        """The rates of a group of parameters, for methods that adapt them to the arrays."""
        return lrs

    def step(self, indices, weights, grads, states):
        """One update of several parameters, given as lists."""
        self._update(indices, weights, grads, states)

    def fused_step(self, indices, weights, grads, states):
        """`step` where `use_fused_step` asks for it; for a subclass that has kernels of its own."""
        self._update(indices, weights, grads, states)

    @classmethod
    def _updates_by_rule(cls):
        """Whether `update` and what it calls are those of this class, hence do what `_rule` says."""
        return all(getattr(cls, name) is getattr(Optimizer, name) for name in ("update", "step", "fused_step"))

    # -------------------------------------------------------------------------- updates
    def create_state_multi_precision(self, index, weight):
        """The state for a weight, with a float32 master copy where `multi_precision` asks for it."""
        if dtype_name(weight.dtype) in HALF:
            if self.multi_precision:
                master = weight.astype("float32")
                state = self.create_state(index, master)
                return (state, master) if self.master_last else (master, state)
            warnings.warn(
                f"{type(self).__name__} accumulates in {dtype_name(weight.dtype)}, which loses accuracy; "
                "consider multi_precision=True",
                stacklevel=2,
            )
        return self.create_state(index, weight)

    def update(self, index, weight, grad, state):
        """One update of a weight (NDArray) by its gradient; lists of these update several parameters."""
        rows = index, weight, grad, state
        lists = rows if isinstance(index, (list, tuple)) else [[value] for value in rows]
        (self.fused_step if self.use_fused_step else self.step)(*lists)

    def update_multi_precision(self, index, weight, grad, state):
        """`update` for a state from `create_state_multi_precision`."""
        first = weight[0] if isinstance(weight, (list, tuple)) else weight
        if not (self.multi_precision and dtype_name(first.dtype) in HALF):
            self.update(index, weight, grad, state)
        elif self.master_in_kernel and self._updates_by_rule() and not _any_sparse(weight, grad):
            self._update(index, weight, grad, state, master=True)
        else:
            self._update_master(index, weight, grad, state)

    def _update(self, index, weight, grad, state, master=False):
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update_count(index)
        counts = self._index_update_count
        if len(index) == 1:  # subclasses may define the rate of one alone
            lrs, wds = [self._get_lr(index[0])], [self._get_wd(index[0])]
        else:
            lrs, wds = self._get_lrs(index), self._get_wds(index)
        lrs = self._adapt(index, weight, grad, lrs, wds)
        for i, w, g, s, lr, wd in zip(index, weight, grad, state, lrs, wds):
            if not (isinstance(w, nd.NDArray) and isinstance(g, nd.NDArray)):
                raise NotAnArray(f"weight and gradient are arrays, given {type(w).__name__} and {type(g).__name__}")
            if w.shape != g.shape:
                raise MXNetError(f"weight {i!r} of shape {w.shape} has a gradient of that shape, given {g.shape}")
            if w.stype != "default" or g.stype != "default":
                self._step_sparse(w, g, s, lr, wd, counts[i])
            elif master:
                s, w32 = s if self.master_last else reversed(s)
                self._rule(w, g, s, lr, wd, counts[i], w32=w32._data)
            else:
                self._rule(w, g, s, lr, wd, counts[i])

    def _is_lazy(self, weight, wd):
        """Whether rows that a row_sparse gradient does not have stay as they are."""
        return getattr(self, "lazy_update", False)

    def _step_sparse(self, weight, grad, state, lr, wd, t):
        """A step with a sparse weight or gradient: on the rows of a row_sparse gradient where the optimizer is lazy."""
        if grad.stype != "row_sparse" or not self._is_lazy(weight, wd):
            dense = weight.tostype("default")
            self._rule(dense, grad.tostype("default"), state, lr, wd, t)
            if dense is not weight:
                dense.copyto(weight)
        elif len(grad.indices):
            rows, arrays = grad.indices, [weight]
            _each(arrays.append, state)
            values = rows_of_each(arrays, rows)
            parts = iter(values[1:])
            self._rule(values[0], grad.data, _each(lambda _: next(parts), state), lr, wd, t)
            for array, changed in zip(arrays, values):
                set_rows(array, rows, changed)

    def _update_master(self, index, weight, grad, state):
        """Updates the master copy like any float32 weight, and rounds it."""
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        for i, w, g, s in zip(index, weight, grad, state):
            s, master = s if self.master_last else reversed(s)
            self.update(i, master, g.astype("float32"), s)
            w[:] = master.astype(w.dtype)

    # -------------------------------------------------------------------------- rates and counts
    @property
    def learning_rate(self):
        """The current learning rate, before the multipliers of parameters."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr):
        """Sets the learning rate; with an `lr_scheduler` it raises UserWarning, as the scheduler decides."""
        if self.lr_scheduler is not None:
            raise UserWarning("the lr_scheduler decides the learning rate; it cannot be set")
        self.lr = lr

    def set_lr_scale(self, args_lrscale):
        """Was replaced by `set_lr_mult`."""
        raise DeprecationWarning("set_lr_scale was replaced by set_lr_mult")

    def set_lr_mult(self, args_lr_mult):
        """Factors for the learning rate, by index or name of a parameter."""
        self.lr_mult = self._symbol_attributes("__lr_mult__")
        self.lr_mult.update(args_lr_mult)

    def set_wd_mult(self, args_wd_mult):
        """Factors for the weight decay, by index or name; names that do not end in _weight or _gamma start with 0."""
        self.wd_mult = {n: 0.0 for n in self.idx2name.values() if not self._decays(n)}
        self.wd_mult.update(self._symbol_attributes("__wd_mult__"))
        self.wd_mult.update(args_wd_mult)

    def _decays(self, name):
        return name.endswith(("_weight", "_gamma"))

    def _symbol_attributes(self, key):
        if not self.sym_info:
            return {}
        attributes, arguments = self.sym_info
        return {n: float(attributes[n][key]) for n in arguments if key in attributes.get(n, ())}

    def _set_current_context(self, device_id):
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index):
        counts = self._index_update_count
        for i in index if isinstance(index, (list, tuple)) else [index]:
            count = counts[i] = counts.get(i, self.begin_num_update) + 1
            if count > self.num_update:
                self.num_update = count

    def _get_lrs(self, indices):
        rate = self.learning_rate
        return [rate * self._multiplier(i, "lr_mult") for i in indices]

    def _get_wds(self, indices):
        return [self.wd * self._multiplier(i, "wd_mult") for i in indices]

    def _get_lr(self, index):
        return self._get_lrs([index])[0]

    def _get_wd(self, index):
        return self._get_wds([index])[0]

    def _multiplier(self, index, kind):
        parameter = self.param_dict.get(index)
        if parameter is not None:
            return getattr(parameter, kind)
        table = getattr(self, kind)
        if index in table:
            return table[index]
        return table.get(self.idx2name.get(index), 1.0)

    def _scaling(self):
        """What every kernel takes of the settings that all optimizers share."""
        return {"rescale": self.rescale_grad, "clip": self.clip_gradient or None}

    def _run(self, kernel, weight, grad, state, *numbers, **where):
        """A kernel on the tensors of a weight, its gradient and its state: None, an array, or a tuple of arrays."""
        states = () if state is None else state if isinstance(state, (tuple, list)) else (state,)
        kernel(weight._data, grad._data, *[s._data for s in states], *numbers, **self._scaling(), **where)

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["param_dict"]
        return state

    def __setstate__(self, state):
        self.__dict__ = state
        self.param_dict = {}


register = Optimizer.register
create = Optimizer.create_optimizer


@register
class Test(Optimizer):
    """weight += rescale_grad * grad; the state is a copy of the weight. For tests of what surrounds optimizers.

    >>> weight = nd.array([1, 2])
    >>> step = optimizer.get_updater(optimizer.Test())
    >>> step(0, nd.ones_like(weight), weight)
    >>> weight
    [2. 3.]
    <NDArray 2 @cpu(0)>
    """

    def create_state(self, index, weight):
        return zeros_like(weight)

    def update(self, index, weight, grad, state):
        weight[:] = weight + grad * self.rescale_grad
        state[:] = weight


def zeros_like(weight):
    """A state array: zeros of the weight's shape, dtype and context."""
    return nd.zeros(weight.shape, ctx=weight.context, dtype=weight.dtype)


def _any_sparse(*given) -> bool:
    """Whether an array, or one of a list, is sparse."""
    arrays = [x for one in given for x in (one if isinstance(one, (list, tuple)) else [one])]
    return any(x.stype != "default" for x in arrays)


def _each(function, *states):
    """`function` of every array of a state: None, an array, or a tuple of states."""
    first = states[0]
    if first is None:
        return None
    if isinstance(first, (tuple, list)):
        return tuple(_each(function, *parts) for parts in zip(*states))
    return function(*states)
