"""`Trainer`: applies an optimizer to the parameters of a network."""

from __future__ import annotations

import contextlib
import math
import os
import warnings

from core import graph
from core import ndarray as nd
from core import optimizer as opt
from core.base import MXNetError, NotSupportedError
from core.dtypes import dtype_name
from core.kvstore import KVStore, KVStoreBase
from core.kvstore import create as create_store
from core.kvstore.compression import TwoBit
from core.kvstore.kvstore import DISTRIBUTED, IN_PROCESS
from core.kvstore.processes import Processes
from core.kvstore.reducer import Row
from core.optimizer.arena import Arena
from gluon.parameter import Parameter, ParameterDict
from gluon.sharding import load_shards, save_shards, shard

__all__ = ["Trainer"]

SHARDED = "dist_sharded"
# Parameters whose arrays are exchanged again and again (two trainers share them) are updated one by one.
MAX_REBUILDS = 3
# Elements from which a parameter of the CPU gains nothing in an arena: outside of it the array that the backward pass
# makes for its gradient becomes the gradient without being copied.
LARGE = 1 << 16


class Trainer:
    """Updates parameters by their gradients after each backward pass.

    params: a `ParameterDict`, a dictionary or a list of parameters. optimizer: a name, with `optimizer_params` as
    keywords, or an `Optimizer`. kvstore: how gradients are summed. "local" and "device" (or a store of such a type)
    sum those of the contexts of this process, None leaves that to the program; "dist_sync", "dist_device_sync"
    those of all processes, which `torchrun` or `scripts/launch.py` start: then parameters begin with the values of
    process 0, and sums are on their way while the backward pass computes further gradients; `Parameter.grad()` is
    that of this process until `step`, and the sums take as much memory besides until then. A store of another class
    (`KVStoreBase`) is asked to `broadcast` and to `pushpull`. compression_params: `{"type": "2bit", "threshold": 0.5}`,
    for "device" and "dist" types; one context alone sends nothing. update_on_kvstore: kept for programs written for
    MXNet; each context updates its own copy
    in any case, but as there `update` and `allreduce_grads` are refused, gradients need not be fresh, and the step
    leaves the gradients of several contexts as they were. As there, None stands for True with several contexts or
    processes, unless gradients are sparse or MXNET_UPDATE_ON_KVSTORE=0 is set.

    clip_global_norm: the largest 2-norm of all gradients together, as the optimizer sees them: summed over contexts and
    processes, and divided by the batch size. Larger ones are scaled down, after the one sum.

    "dist_sharded" keeps on each process a part of what training needs, by `stage`: 1 of the optimizer's states, 2 of the
    gradients also, 3 of the weights also, which blocks gather before they are called (params are then
    `net.collect_params()`, and parameters are initialized before the Trainer is made). See `core.kvstore.sharded` for
    the memory. It is for optimizers that treat each element by itself, LAMB and LARS, and one device a process. mesh:
    (replicas, processes that share one), `(2, 8)` for two machines of eight: parts are gathered inside of machines, of
    neighbouring ranks, and only sums of parts cross between them; None for one replica on all processes. `save_shards`
    and `load_shards` are its checkpoints.

    `step(n)` divides the sum by n: with several processes that is the batch size of all of them together.

    >>> net = nn.Dense(1, in_units=1, use_bias=False)
    >>> net.initialize(init.One())
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> with autograd.record():
    ...     loss = gluon.loss.L2Loss()(net(nd.array([[1], [1]])), nd.array([[2], [4]]))
    >>> loss.backward()
    >>> trainer.step(batch_size=2)
    >>> net.weight.data()
    [[2.]]
    <NDArray 1x1 @cpu(0)>
    """

    def __init__(
        self,
        params,
        optimizer,
        optimizer_params=None,
        kvstore="device",
        compression_params=None,
        update_on_kvstore=None,
        clip_global_norm=None,
        stage=None,
        mesh=None,
    ):
        net = getattr(params, "_block", None)
        if isinstance(params, ParameterDict):
            params = params.by_full_name()  # their order is that of the states in MXNet's files
        if isinstance(params, dict):
            params = list(dict.fromkeys(params[key] for key in sorted(params)))  # shared ones once
        if not isinstance(params, (list, tuple)):
            hint = ": pass net.collect_params()" if hasattr(params, "collect_params") else ""
            raise ValueError(f"params is a list or dictionary of parameters, got {type(params).__name__}{hint}")
        for param in params:
            if not isinstance(param, Parameter):
                raise ValueError(
                    f"params is a list or dictionary of parameters, but one entry is of type {type(param).__name__}"
                )
        self._params = list(params)
        self._param2idx = {param.name: i for i, param in enumerate(params)}
        for param in params:
            param._set_trainer(self)
        self._contexts = self._check_contexts()
        self._kvstore, self._custom, self._processes, self._compression = None, None, None, None
        self._kv_initialized, self._update_on_kvstore = False, None
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        if clip_global_norm is not None and not clip_global_norm > 0:
            raise ValueError(
                f"clip_global_norm is the largest norm of all gradients, above 0, given {clip_global_norm}"
            )
        self._largest_norm = clip_global_norm
        self._init_optimizer(optimizer, optimizer_params or {})
        self._connect(kvstore, compression_params)
        self._scale = self._optimizer.rescale_grad
        self._stage, self._shards, self._net = _stage(stage, self._kind), None, net
        self._mesh = _mesh(mesh, self._kind)
        if self._sharded and not any(param._deferred_init for param in self._params):
            self._cut()
        self._arenas: list[Arena] | None = None
        self._large: list = []  # (index, gradient, array) of those that are in no arena for their size
        self._arena_rows: list = []  # (parameter, its array, its gradient) of all when the arenas were made
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
        if not self._kv_initialized:
            self._init_kvstore()
        count = self._rescale(batch_size)
        if self._sharded:
            self._step_shards(count, ignore_stale_grad)
        elif self._update_on_kvstore and len(self._contexts) > 1 and self._custom is None and self._processes is None:
            self._step_on_kvstore()
        else:
            self._allreduce_grads(count, ignore_stale_grad)
            self._update(ignore_stale_grad)

    @contextlib.contextmanager
    def join(self):
        """Scope of a loop over batches of which processes may have different numbers.

        A process whose batches are over takes part in the steps of the others, with gradients of zero, until all are
        through: all have the same parameters then. For loops with `step`, not with `allreduce_grads` and `update`, and
        networks without `SyncBatchNorm`; every process has at least one batch. With one process nothing changes.

            with trainer.join():
                for x, y in batches:
                    ...
                    trainer.step(batch_size)
        """
        if self._sharded:
            raise NotSupportedError("Trainer.join() is not for dist_sharded: give all processes as many batches")
        yield
        if self._processes is not None:
            while self._sum_over_processes(0.0, ignores=True, active=False):
                self._update(ignore_stale_grad=True)

    def allreduce_grads(self):
        """Sums the gradients over contexts and processes, for programs that change them before `update`."""
        self._refuse_on_kvstore("allreduce_grads")
        self._allreduce_grads(0.0, ignore_stale_grad=True)

    def update(self, batch_size, ignore_stale_grad=False):
        """The second half of `step`, after `allreduce_grads`."""
        self._refuse_on_kvstore("update")
        self._rescale(batch_size)
        self._update(ignore_stale_grad)

    def _step_on_kvstore(self):
        """As where MXNet's store updates: by any gradients, old ones too; those of each context stay as they are."""
        trained = [param for param in self._params if param._grad is not None]
        own = [[gradient.copy() for gradient in param._grad] for param in trained]
        for param in trained:
            for array in param._data:
                array._entry.fresh = True
        self._allreduce_grads()
        self._update(ignore_stale_grad=False)
        for param, before in zip(trained, own):
            for gradient, kept in zip(param._grad, before):
                kept.copyto(gradient)

    def _rescale(self, batch_size):
        """batch_size: a number, or an array of one element, such as a count of tokens; given as a number."""
        count = batch_size.item() if hasattr(batch_size, "_data") else batch_size
        self._optimizer.rescale_grad = self._scale / count
        return count

    def _allreduce_grads(self, count=0.0, ignore_stale_grad=True):
        """count: what the sums will be divided by, 0 where that is said later."""
        if self._custom is not None:
            for i, param in enumerate(self._params):
                if param._grad is not None:
                    self._custom.pushpull(i, param._grad, priority=-i)
        else:
            several = len(self._contexts) > 1 and self._kind is not None
            if several:
                self._sum_over_contexts()
            if self._processes is not None:
                self._sum_over_processes(count, ignore_stale_grad)
            if several:
                for param in self._params:
                    for gradient in (param._grad or ())[1:]:
                        param._grad[0].copyto(gradient)

    def _sum_over_contexts(self):
        """The gradients of the first context become sums."""
        trained = [param._grad for param in self._params if param._grad is not None]
        for i, (first, *others) in enumerate(trained):
            if self._compression is not None:
                first[:] = self._compression.lossy((i, 0), first)
            for k, gradient in enumerate(others, 1):
                sent = gradient if self._compression is None else self._compression.lossy((i, k), gradient)
                first += sent.as_in_context(first.context)

    def _sum_over_processes(self, count, ignores, active=True):
        """Sums gradients, and agrees with the other processes on which are fresh; whether any of them has a batch.

        UserWarning on all of them where one has a stale gradient that is not to be ignored.
        """
        params = [(i, param) for i, param in enumerate(self._params) if param._grad is not None]
        rows = [
            Row(param._data[0]._entry, param._grad[0], all(array._entry.fresh for array in param._data))
            for _, param in params
        ]
        held = self._arenas if self._arenas and self._arenas_intact() else []
        agreed = self._processes.sum(
            rows, held, lambda order: self._build_arenas([params[k] for k in order]), count=count, ignores=ignores,
            active=active,
        )  # fmt: skip
        if not agreed.active:
            return False
        for (_, param), fresh, stale in zip(params, agreed.fresh, agreed.stale):
            if stale and not agreed.ignores:
                raise UserWarning(_stale(param.name, "a process"))
            for array in param._data:
                array._entry.fresh = fresh
        if not active:
            if not agreed.count:
                raise MXNetError("Trainer.join() is for loops with step(); the other processes call allreduce_grads()")
            self._rescale(agreed.count)
        return True

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
                        raise UserWarning(_stale(param.name, array.context))
        if self._largest_norm is not None:
            self._clip()
        if stale or len(self._contexts) > 1 or not self._update_arenas():
            self._update_one_by_one()

    def _clip(self):
        """Scales what the optimizer multiplies gradients by, so that their norm is at most the largest one allowed."""
        gradients = [p._grad[0] for p in self._params if p._grad is not None and p._data[0]._entry.fresh]
        dense = [g if g.stype == "default" else g.data for g in gradients]
        if not dense:
            return
        self._scale_down(nd.multi_sum_sq(*dense, num_arrays=len(dense)).sum().item())

    def _scale_down(self, squares):
        norm = self._optimizer.rescale_grad * math.sqrt(squares)
        if not math.isfinite(norm):
            warnings.warn("nan or inf is detected. Clipping results will be undefined.", stacklevel=5)
        elif norm > self._largest_norm:
            self._optimizer.rescale_grad *= self._largest_norm / norm

    def _update_one_by_one(self):
        updates = [[] for _ in self._updaters]
        for i, param in enumerate(self._params):
            if param._grad is None:
                continue
            for k, (array, gradient) in enumerate(zip(param._data, param._grad)):
                if array._entry.fresh:
                    if param._master is None:
                        updates[k].append((i, gradient, array))
                    elif k == 0:  # the contexts of a sparse parameter fetch their rows from one place
                        updates[0].append((i, gradient, param._master))
                    array._entry.fresh = False
        for updater, rows in zip(self._updaters, updates):
            if rows:
                updater(*map(list, zip(*rows)))

    # ------------------------------------------------------------------ arenas
    def _update_arenas(self):
        """Updates all parameters in flat arrays; False, and nothing done, where they do not fit into any."""
        if self._arenas is None or not self._arenas_intact():
            self._build_arenas()
        if not self._arena_rows:
            return False
        if any(len(arena.counts()) > 1 for arena in self._arenas):
            self._arenas, self._arena_rows = [], []
            return False
        for arena in self._arenas:
            arena.update()
        if self._large:
            self._updaters[0](*map(list, zip(*self._large)))
        for _, array, _ in self._arena_rows:
            array._entry.fresh = False
        return True

    def _arenas_intact(self):
        if not self._arena_rows:
            return self._rebuilds >= MAX_REBUILDS
        rows = self._arena_rows
        trained = sum(param._grad is not None for param in self._params)
        return (
            trained == len(rows)
            and all(p._array is a and p._grad is not None and p._grad[0] is g for p, a, g in rows)
            and all(arena.intact() for arena in self._arenas)
        )

    def _build_arenas(self, params=None):
        """Arenas of (index, parameter), in the order in which they are given; none where one does not fit."""
        self._arenas, self._arena_rows, self._large = [], [], []
        self._rebuilds += 1
        optimizer, updater, rows, groups = self._optimizer, self._updaters[0], [], {}
        for i, param in enumerate(self._params) if params is None else params:
            if param._grad is None:
                continue
            array, gradient = param._array, param._grad[0]
            if self._rebuilds > MAX_REBUILDS or array is None or not Arena.fits(optimizer, array, gradient):
                return []
            rows.append((param, array, gradient))
            if self._processes is None and array.context.device_type == "cpu" and array.size >= LARGE:
                self._large.append((i, gradient, array))
            else:
                groups.setdefault(array.dtype, []).append((i, array, gradient))
        self._arena_rows = rows
        self._arenas = [Arena(updater, rows) for rows in groups.values()]
        return self._arenas

    # ------------------------------------------------------------------ parts
    @property
    def _sharded(self):
        return self._kind == SHARDED and self._processes is not None

    def _cut(self):
        """From now on each process keeps its parts."""
        if len(self._contexts) != 1:
            raise NotSupportedError(f"dist_sharded trains one device a process, given {self._contexts}")
        self._shards = shard(self._params, self._net, self._stage, self._optimizer, self._mesh)

    def _step_shards(self, count, ignore_stale_grad):
        if ignore_stale_grad:
            raise NotSupportedError("dist_sharded updates all parameters: ignore_stale_grad=True is not supported")
        if getattr(self, "_amp_loss_scaler", None) is not None:
            raise NotSupportedError("dist_sharded has no loss scaling: use bfloat16, or kvstore dist_sync")
        if self._shards is None:
            self._cut()
        graph.values_changed()
        self._shards.complete(self._processes.next_step(), count, lambda name: UserWarning(_stale(name, "a process")))
        if self._largest_norm is not None:
            self._scale_down(self._shards.squares())
        self._shards.update()

    def save_shards(self, folder):
        """Writes weights and states of dist_sharded to a folder, each process its part (see `core.kvstore.slices`)."""
        save_shards(folder, self._need_shards())

    def load_shards(self, folder):
        """Reads a folder of `save_shards`, which any number of processes may have written in any stage."""
        load_shards(folder, self._need_shards())

    def _need_shards(self):
        if self._shards is None and self._sharded:
            self._cut()
        if self._shards is None:
            raise MXNetError(
                f"only several processes with kvstore dist_sharded have shards; this one is {self._kind!r}"
            )
        return self._shards

    # ------------------------------------------------------------------ files
    def save_states(self, fname):
        """Writes the optimizer and its states to a file, atomically."""
        self._refuse_states()
        if not self._kv_initialized:
            self._init_kvstore()
        self._updaters[0].save(fname, dump_optimizer=True)

    def load_states(self, fname):
        """Reads a file of `save_states`, or one that MXNet wrote.

        As in MXNet the optimizer of the file takes the place of this one, with its counts of updates, its rate and its
        schedule: training goes on where it was left. For another schedule, say of a second phase, set
        `trainer.optimizer.lr_scheduler` afterwards; the counts of updates go on from those of the file.
        """
        self._refuse_states()
        if not self._kv_initialized:
            self._init_kvstore()
        for updater in self._updaters:
            updater.load(fname)
        self._optimizer = self._updaters[0].optimizer
        for updater in self._updaters:
            updater.optimizer = self._optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))

    def _refuse_states(self):
        if self._sharded:
            raise NotSupportedError("no process has all states with dist_sharded: use save_shards and load_shards")

    # ------------------------------------------------------------------ preparation
    def _connect(self, kvstore, compression_params):
        """Finds out who sums the gradients."""
        if isinstance(kvstore, str) and kvstore.lower() not in (*IN_PROCESS, *DISTRIBUTED):
            kvstore = create_store(kvstore)  # of a registered class, or an error that names the accepted ones
        kind = kvstore.type if isinstance(kvstore, KVStoreBase) else kvstore
        if kind is not None and not isinstance(kind, str):
            raise TypeError(f"kvstore is a name, a KVStore or None, got {kvstore!r}")
        kind = kind and kind.lower()
        if kind in DISTRIBUTED:
            processes = Processes(kind, compression_params)
            self._processes = processes if processes.count > 1 else None
        elif compression_params and kind is not None and len(self._contexts) > 1:
            if "device" not in kind:
                raise NotSupportedError(f"gradient compression needs a device or dist kvstore, given {kind!r}")
            self._compression = TwoBit.of(compression_params)
        elif isinstance(kvstore, KVStoreBase) and not isinstance(kvstore, KVStore):
            self._custom = kvstore
        self._kind = kind
        self._refuse_split()
        if self._processes is not None:
            self._processes.compare([_described(param) for param in self._params])
        for param in self._params:
            if param._data is not None:
                self._initialized(param)

    def _refuse_split(self):
        """NotSupportedError where other parts of parameters would have to be known, or be summed by mistake."""
        split = next((param for param in self._params if param.is_split), None)
        if split is None:
            return
        if self._kind in DISTRIBUTED:
            what = f"kvstore {self._kind!r}, which sums gradients of all processes, is not: use kvstore=None"
        elif self._largest_norm is not None:
            what = "clip_global_norm, which needs the gradients of all processes, is not"
        elif not self._optimizer.elementwise:
            what = f"{type(self._optimizer).__name__}, which needs whole parameters, is not"
        else:
            return
        raise NotSupportedError(f"parameter {split.name!r} is split over processes, for which {what}")

    def _initialized(self, param):
        """A parameter got its first values: all processes take those of process 0."""
        if self._custom is not None:
            self._custom.broadcast(self._param2idx[param.name], param._data[0].copy(), param._copies())
        elif self._processes is not None:
            self._processes.share(param.name, param._copies())
            if param._grad is not None and len(self._contexts) == 1 and self._kind != SHARDED:
                self._processes.reducer.watch(param._data[0]._entry)

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

    def _init_kvstore(self):
        """Decides what MXNet decides at the first step: `_kvstore`, and whether it updates.

        ValueError where it cannot update as it is told to, TypeError where sparse parameters have no store.
        """
        wanted, kind = self._kvstore_params["update_on_kvstore"], self._kind
        several = len(self._contexts) > 1 or self._processes is not None
        if any(param._stype != "default" for param in self._params):
            if kind is None:
                raise TypeError("sparse parameters need a kvstore, such as 'device'")
            if wanted is False:
                raise ValueError("update_on_kvstore=False is not possible with sparse parameters")
            update = True
        elif self._custom is not None:
            update = bool(wanted)
            if update and not self._custom.is_capable(KVStoreBase.OPTIMIZER):
                raise ValueError(f"kvstore {kind!r} does not update parameters: use update_on_kvstore=False")
        elif kind is None or not several:
            update = None
        elif wanted is not None:
            update = bool(wanted)
        elif any(param._grad_stype != "default" for param in self._params):
            update = self._processes is not None
        else:
            update = os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1") != "0"
        self._kvstore, self._update_on_kvstore = self._custom, update
        if update is not None and self._custom is None:
            self._kvstore = create_store(kind)
            if update:
                self._kvstore._set_updater(self._updaters[0])
        self._kv_initialized = True

    def _reset_kvstore(self):
        """Forgets the decision, because a parameter got new values.

        RuntimeError where they are kept for several processes.
        """
        if self._update_on_kvstore:
            if self._kind in DISTRIBUTED:
                raise RuntimeError(
                    f"parameters that kvstore {self._kind!r} updates cannot be set or loaded after the first step"
                )
            self._kvstore, self._kv_initialized = None, False

    @property
    def _params_to_init(self):
        """Parameters that wait for their shapes."""
        return [param for param in self._params if param._deferred_init]

    def _refuse_on_kvstore(self, method):
        if not self._kv_initialized:
            self._init_kvstore()
        if self._sharded:
            raise NotSupportedError(f"{method}() needs whole gradients, which dist_sharded has not: use step()")
        if self._update_on_kvstore:
            raise AssertionError(f"{method}() needs a Trainer with update_on_kvstore=False")


def _stage(stage, kind) -> int:
    """Which of the three stages of dist_sharded is asked for; ValueError where that is another."""
    if stage is not None and kind != SHARDED:
        raise ValueError(f"stage is for kvstore 'dist_sharded', given {kind!r}")
    if stage not in (None, 1, 2, 3):
        raise ValueError(f"stage is 1, 2 or 3, got {stage!r}")
    return 2 if stage is None else stage


def _mesh(mesh, kind) -> tuple[int, int] | None:
    """(replicas, parts) of dist_sharded; ValueError where that is something else."""
    if mesh is None:
        return None
    if kind != SHARDED:
        raise ValueError(f"mesh is for kvstore 'dist_sharded', given {kind!r}")
    if not isinstance(mesh, (tuple, list)) or len(mesh) != 2 or not all(isinstance(n, int) and n > 0 for n in mesh):
        raise ValueError(f"mesh is (replicas, processes that share one), got {mesh!r}")
    return tuple(mesh)


def _stale(name, where) -> str:
    return (
        f"the gradient of parameter {name!r} on {where} is not from a backward pass since the last step: does the "
        "loss depend on it? With ignore_stale_grad=True such parameters are left alone"
    )


def _described(param) -> str:
    """What has to be the same of a parameter in all processes."""
    begins = "with values" if param._data is not None else "waits for its shape"
    return f"{param.name} {param.shape} {dtype_name(param.dtype)} {param._stype} grad_req {param.grad_req!r}, {begins}"
