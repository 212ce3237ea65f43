"""`KVStore`: sums over the contexts of one process and, for the `dist` types, over all processes."""

from __future__ import annotations

import numbers

from core import optimizer as opt
from core import storage
from core.base import MXNetError, as_list
from core.kernels import communication
from core.kvstore.base import KVStoreBase
from core.kvstore.compression import TwoBit
from core.kvstore.rows import sum_rows
from core.ndarray import NDArray
from core.ndarray.rows import distinct, on_host, row_index

IN_PROCESS = ("local", "device", "nccl", "local_allreduce_cpu", "local_allreduce_device", "local_update_cpu")
DISTRIBUTED = ("dist", "dist_sync", "dist_device_sync", "dist_sync_device", "dist_sharded", "horovod", "byteps")
TYPES = (*IN_PROCESS, *DISTRIBUTED)


class KVStore(KVStoreBase):
    """Arrays by key (a string or an int).

    `push` sums arrays over contexts (and processes) and replaces the stored one, or hands the sum to the updater;
    `pull` copies what is stored. In `dist` types every process keeps all keys and updates them alike, so that no
    server is needed. Keys and values may be lists.
    """

    def __init__(self, kind: str):
        self._type = kind
        self._distributed = kind in DISTRIBUTED
        if self._distributed:
            communication.warn_if_alone(kind)
            communication.start()
        self._group = None  # of all processes, for sums alone: small messages go beside them
        self._stored: dict = {}
        self._key_type: type | None = None
        self._updater = None
        self._compression: TwoBit | None = None

    @property
    def type(self):
        return self._type

    @property
    def rank(self):
        """The number of this process; 0 where the store is not distributed."""
        return communication.rank() if self._distributed else 0

    @property
    def num_workers(self):
        """How many processes share the store."""
        return communication.size() if self._distributed else 1

    @staticmethod
    def is_capable(capability):
        if capability.lower() == KVStoreBase.OPTIMIZER:
            return True
        raise ValueError(f"there is no capability {capability!r}; known is {KVStoreBase.OPTIMIZER!r}")

    # ------------------------------------------------------------------ values

    def init(self, key, value):
        """Files first values; in `dist` types those of process 0. MXNetError for a key that is there already."""
        for k, v in self._pairs(key, value):
            if k in self._stored:
                raise MXNetError(f"key {k!r} is in the store already; push() changes it")
            stored = self._stored[k] = as_list(v)[0].copy()
            if self.num_workers > 1:
                communication.exchange(f"first values of key {k!r}, {stored.stype} {stored.dtype} {stored.shape}")
                _broadcast(stored)

    def push(self, key, value, priority=0):
        """Sums `value` (an array, or one for each context) and stores it, or updates what is stored by it."""
        for k, v in self._pairs(key, value):
            stored = self._find(k)
            for array in as_list(v):
                if array.shape != stored.shape:
                    raise MXNetError(f"the value of key {k!r} is of shape {stored.shape}, pushed one of {array.shape}")
            total = self._sum(k, as_list(v), stored.context)
            if self._updater is None:
                total.astype(stored.dtype, copy=False).copyto(stored)
            else:
                self._updater(k, total, stored)

    def pull(self, key, out=None, priority=0, ignore_sparse=True):
        """Copies what is stored to `out`; row_sparse arrays in it are left out unless `ignore_sparse` is false."""
        if out is None:
            raise AssertionError("pull needs out, the arrays to write to")
        for k, targets in self._pairs(key, out):
            stored = self._find(k)
            for target in as_list(targets):
                if not (ignore_sparse and target.stype == "row_sparse"):
                    stored.copyto(target)

    def pushpull(self, key, value, out=None, priority=0):
        """`push` and `pull` in one; without `out` the result goes to `value`."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority, ignore_sparse=False)

    def _push_and_pull(self, key, value, out, priority=0):
        """A large array of `out` lets go of its memory before the update; then it and what is stored are one memory until
        one of the two is written to. Of all rows that an update leaves alone nothing is copied.
        """
        taken = []
        for k, targets in self._pairs(key, out):
            stored = self._find(k)
            for target in as_list(targets):
                if target.stype == stored.stype == "default" and storage.is_large(target._data):
                    taken.append((target, storage.release(target), stored))
        taken = [row for row in taken if row[1] is not None]
        if not taken:
            super()._push_and_pull(key, value, out, priority)
            return
        try:
            self.push(key, value, priority)
        finally:
            for target, description, stored in taken:
                target._data = storage.restored(description, (stored,))
        shared = {id(target) for target, *_ in taken}
        for k, targets in self._pairs(key, out):
            if left := [target for target in as_list(targets) if id(target) not in shared]:
                self.pull(k, left, priority)

    def broadcast(self, key, value, out, priority=0):
        """`init` and `pull` in one."""
        self.init(key, value)
        self.pull(key, out, priority, ignore_sparse=False)

    def row_sparse_pull(self, key, out=None, priority=0, row_ids=None):
        """Copies the rows `row_ids` (an array, or one for each array of `out`) of row_sparse keys."""
        if out is None or row_ids is None:
            raise AssertionError("row_sparse_pull needs out and row_ids")
        for (k, targets), (_, rows) in zip(self._pairs(key, out), self._pairs(key, row_ids), strict=True):
            stored, targets, rows = self._find(k), as_list(targets), as_list(rows)
            if stored.stype != "row_sparse":
                raise MXNetError(f"row_sparse_pull needs a row_sparse value, but that of {k!r} is {stored.stype}")
            if len(rows) not in (1, len(targets)):
                raise AssertionError(f"{len(rows)} row_ids for {len(targets)} arrays of key {k!r}")
            for target, chosen in zip(targets, rows * len(targets) if len(rows) == 1 else rows):
                if target.stype != "row_sparse":
                    raise MXNetError(f"row_sparse_pull writes to row_sparse arrays, given a {target.stype} one")
                numbers = distinct(on_host(chosen).astype("int64")) if len(stored.indices) else []
                target._assign(stored._retained(row_index(numbers, stored.context)), own=True)

    # ------------------------------------------------------------------ settings

    def set_gradient_compression(self, compression_params):
        """`{"type": "2bit", "threshold": 0.5}`: arrays are pushed as two bits per element, the rest is kept back."""
        if "device" not in self._type and not self._distributed:
            raise MXNetError(f"gradient compression needs a device or dist kvstore; this one is {self._type!r}")
        self._compression = TwoBit.of(compression_params)

    def set_optimizer(self, optimizer):
        """Lets the store update its values by what is pushed."""
        self._set_updater(opt.get_updater(optimizer))

    def _set_updater(self, updater):
        self._updater = updater

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Writes the states of the optimizer, atomically."""
        self._need_updater().save(fname, dump_optimizer)

    def load_optimizer_states(self, fname):
        """Reads a file of `save_optimizer_states`, or one that MXNet wrote."""
        self._need_updater().load(fname)

    def _need_updater(self):
        if self._updater is None:
            raise AssertionError("the store has no optimizer: call set_optimizer() first")
        return self._updater

    def barrier(self):
        """Returns when every process has come here."""
        if self._distributed:
            communication.barrier()

    _barrier = barrier

    # ------------------------------------------------------------------

    def _pairs(self, key, value):
        """(key, value or list of values) of one key, or of a list of keys; MXNetError for a key of another kind."""
        if type(key) is self._key_type:
            return [(key, value)]
        keys, values = (key, value) if isinstance(key, (list, tuple)) else ([key], [value])
        if len(keys) != len(values):
            if len(values) % len(keys):
                raise AssertionError(f"{len(keys)} keys, but {len(values)} values")
            share = len(values) // len(keys)  # the arrays of all contexts, key by key
            values = [values[i * share : (i + 1) * share] for i in range(len(keys))]
        for k in keys:
            kind = str if isinstance(k, str) else int if isinstance(k, numbers.Integral) else None
            if kind is None:
                raise MXNetError(f"keys are strings or integers, got {k!r}")
            if self._key_type not in (None, kind):
                raise MXNetError(f"the keys of this store are of type {self._key_type.__name__}, got {k!r}")
            self._key_type = kind
        return list(zip(keys, values))

    def _find(self, key) -> NDArray:
        if key not in self._stored:
            raise MXNetError(f"key {key!r} is not in the store: init() it first")
        return self._stored[key]

    def _sum(self, key, values: list[NDArray], context) -> NDArray:
        """The sum over contexts and processes: what was pushed itself where that is all."""
        compress = self._compression
        if compress is not None and not self._distributed:
            values = [compress.lossy((key, i), v) for i, v in enumerate(values)]
        total = values[0].as_in_context(context)
        for other in values[1:]:
            total = total + other.as_in_context(context)
        if self.num_workers == 1:
            return total
        if self._group is None:
            self._group = communication.new_group("the sums of a kvstore")
        if compress is not None:
            return compress.sum_over_processes(key, total, self._group)
        if total.stype == "row_sparse":
            return sum_rows(total, self._group)
        what = f"the sum of key {key!r}"
        if total.stype != "default":
            return _all_reduce(total.tostype("default"), what, self._group).tostype(total.stype)
        return _all_reduce(total.copy() if total is values[0] else total, what, self._group)


def _all_reduce(array: NDArray, what: str, group=None) -> NDArray:
    """An array of this process becomes the sum over processes; returned."""
    communication.all_reduce(array._data, what, group).wait()
    return array


def _broadcast(array: NDArray) -> None:
    """An array takes the values of process 0."""
    if array.stype == "default":
        communication.broadcast(array._data)
        return
    dense = array.tostype("default")
    communication.broadcast(dense._data)
    dense.tostype(array.stype).copyto(array)
