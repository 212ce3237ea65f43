"""`Trainer`: applies an optimizer to the parameters of a network."""

from __future__ import annotations

from core import graph
from core import optimizer as opt
from core.base import NotSupportedError
from core.optimizer.arena import Arena
from gluon.parameter import Parameter, ParameterDict

__all__ = ["Trainer"]

# Stores that sum the gradients of the contexts of one process, which needs nothing but arrays.
IN_PROCESS = (None, "local", "device", "nccl", "local_allreduce_cpu", "local_allreduce_device")
# Parameters whose arrays are exchanged again and again (two trainers share them) are updated one by one.
MAX_REBUILDS = 3


class Trainer:
    """Updates parameters by their gradients after each backward pass.

    params: a `ParameterDict`, a dictionary or a list of parameters. optimizer: a name, with `optimizer_params` as
    keywords, or an `Optimizer`. kvstore: how gradients of several contexts are summed; all of "local", "device" and
    None (or a store of such a type) sum them in this process. update_on_kvstore: kept for programs written for MXNet;
    in one process it makes no difference but for `update` and `allreduce_grads`, which it forbids.
    """

    def __init__(
        self,
        params,
        optimizer,
        optimizer_params=None,
        kvstore="device",
        compression_params=None,
        update_on_kvstore=None,
    ):
        if isinstance(params, (dict, ParameterDict)):
            params = [params[key] for key in sorted(params.keys())]
        if not isinstance(params, (list, tuple)):
            raise ValueError(f"params is a list or dictionary of parameters, got {type(params).__name__}")
        for param in params:
            if not isinstance(param, Parameter):
                raise ValueError(f"params is a list or dictionary of parameters, but holds a {type(param).__name__}")
        kind = getattr(kvstore, "type", kvstore)  # of a store, or the name itself
        if kind not in IN_PROCESS:
            raise NotSupportedError(
                f"kvstore {kind!r} is not supported; accepted are {', '.join(map(repr, IN_PROCESS))}"
            )
        if compression_params:
            raise NotSupportedError("gradient compression needs a distributed kvstore, which is not supported")
        self._params = list(params)
        self._param2idx = {param.name: i for i, param in enumerate(params)}
        for param in params:
            param._set_trainer(self)
        self._contexts = self._check_contexts()
        self._init_optimizer(optimizer, optimizer_params or {})
        self._scale = self._optimizer.rescale_grad
        self._update_on_kvstore = bool(update_on_kvstore)
        self._kvstore = None
        self._arenas: list[Arena] | None = None
        self._arena_rows: list = []  # (parameter, its array, its gradient) when the arenas were made
        self._rebuilds = 0

    # ------------------------------------------------------------------ settings
    @property
    def learning_rate(self):
        """The current learning rate."""
        return self._optimizer.learning_rate

    @property
    def optimizer(self):
        """The optimizer."""
        return self._optimizer

    def set_learning_rate(self, lr):
        """Sets the learning rate; UserWarning is raised where a schedule decides it."""
        self._optimizer.set_learning_rate(lr)

    # ------------------------------------------------------------------ steps
    def step(self, batch_size, ignore_stale_grad=False):
        """Sums the gradients over contexts, divides them by `batch_size` and updates the parameters.

        A parameter whose gradient no backward pass has written since the last step raises UserWarning, or is left
        alone with `ignore_stale_grad`.
        """
        self._optimizer.rescale_grad = self._scale / batch_size
        if len(self._contexts) > 1:
            self._allreduce_grads()
        self._update(ignore_stale_grad)

    def allreduce_grads(self):
        """Sums the gradients over contexts, for programs that change them before `update`."""
        self._refuse_on_kvstore("allreduce_grads")
        if len(self._contexts) > 1:
            self._allreduce_grads()

    def update(self, batch_size, ignore_stale_grad=False):
        """The second half of `step`, after `allreduce_grads`."""
        self._refuse_on_kvstore("update")
        self._optimizer.rescale_grad = self._scale / batch_size
        self._update(ignore_stale_grad)

    def _allreduce_grads(self):
        for param in self._params:
            if param._grad is None:
                continue
            first, *others = param._grad
            for gradient in others:
                first += gradient.as_in_context(first.context)
            for gradient in others:
                first.copyto(gradient)

    def _update(self, ignore_stale_grad):
        graph.values_changed()
        scaler = getattr(self, "_amp_loss_scaler", None)
        if scaler is not None and scaler.has_overflow(self._params):
            return
        stale = False
        for param in self._params:
            if param._grad is None:
                if param._data is None and param.grad_req != "null":
                    param.list_data()  # raises what is missing
                continue
            for array in param._data:
                if not array._entry.fresh:
                    stale = True
                    if not ignore_stale_grad:
                        raise UserWarning(
                            f"the gradient of parameter {param.name!r} on {array.context} is not from a backward pass "
                            "since the last step: does the loss depend on it? With ignore_stale_grad=True such "
                            "parameters are left alone"
                        )
        if stale or len(self._contexts) > 1 or not self._update_arenas():
            self._update_one_by_one()

    def _update_one_by_one(self):
        updates = [[] for _ in self._updaters]
        for i, param in enumerate(self._params):
            if param._grad is None:
                continue
            for rows, array, gradient in zip(updates, param._data, param._grad):
                if array._entry.fresh:
                    rows.append((i, gradient, array))
                    array._entry.fresh = False
        for updater, rows in zip(self._updaters, updates):
            if rows:
                updater(*map(list, zip(*rows)))

    # ------------------------------------------------------------------ arenas
    def _update_arenas(self):
        """Updates all parameters in flat arrays; False, and nothing done, where they do not fit into any."""
        if self._arenas is None or not self._arenas_intact():
            self._build_arenas()
        if not self._arenas:
            return False
        for arena in self._arenas:
            if not arena.update():
                self._arenas = []
                return False
        for _, array, _ in self._arena_rows:
            array._entry.fresh = False
        return True

    def _arenas_intact(self):
        if not self._arenas:
            return self._rebuilds >= MAX_REBUILDS
        rows = self._arena_rows
        trained = sum(param._grad is not None for param in self._params)
        return (
            trained == len(rows)
            and all(p._array is a and p._grad is not None and p._grad[0] is g for p, a, g in rows)
            and all(arena.intact() for arena in self._arenas)
        )

    def _build_arenas(self):
        self._arenas, self._arena_rows = [], []
        self._rebuilds += 1
        optimizer, updater, groups = self._optimizer, self._updaters[0], {}
        for i, param in enumerate(self._params):
            if param._grad is None:
                continue
            array, gradient = param._array, param._grad[0]
            if self._rebuilds > MAX_REBUILDS or array is None or not Arena.fits(optimizer, array, gradient):
                return
            self._arena_rows.append((param, array, gradient))
            groups.setdefault(array.dtype, []).append((i, array, gradient))
        self._arenas = [Arena(updater, rows) for rows in groups.values()]

    # ------------------------------------------------------------------ files
    def save_states(self, fname):
        """Writes the optimizer and its states to a file, atomically."""
        self._updaters[0].save(fname, dump_optimizer=True)

    def load_states(self, fname):
        """Reads a file of `save_states`, or one that MXNet wrote."""
        for updater in self._updaters:
            updater.load(fname)
        self._optimizer = self._updaters[0].optimizer
        for updater in self._updaters:
            updater.optimizer = self._optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))

    # ------------------------------------------------------------------ preparation
    def _check_contexts(self):
        contexts = None
        for param in self._params:
            places = param.list_ctx()
            if contexts is not None and places != contexts:
                raise AssertionError(
                    f"all parameters are to be on the same contexts, but {param.name!r} is on {places} and others are "
                    f"on {contexts}"
                )
            contexts = places
        return contexts or []

    def _init_optimizer(self, optimizer, optimizer_params):
        by_index = dict(enumerate(self._params))
        if isinstance(optimizer, opt.Optimizer):
            if optimizer_params:
                raise AssertionError("optimizer_params are for an optimizer given by name, not for an instance")
            self._optimizer = optimizer
            self._optimizer.param_dict = by_index
        else:
            self._optimizer = opt.create(optimizer, param_dict=by_index, **optimizer_params)
        self._updaters = [opt.get_updater(self._optimizer) for _ in self._contexts]

    def _refuse_on_kvstore(self, method):
        if self._update_on_kvstore:
            raise AssertionError(f"{method}() needs a Trainer with update_on_kvstore=False")
