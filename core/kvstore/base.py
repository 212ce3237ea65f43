"""`KVStoreBase`, which stores of users derive from, the registry of stores, and `create`."""

from __future__ import annotations

from core.base import MXNetError, as_list, nearest


class KVStoreBase:
    """Base of stores: `broadcast` hands out first values, `pushpull` sums, and some run the optimizer.

    A class registered with `KVStoreBase.register` is made by `create` from its lower-case name.
    """

    OPTIMIZER = "optimizer"
    kv_registry: dict[str, type] = {}

    def broadcast(self, key, value, out, priority=0):
        """Writes the value of process 0 to all arrays in `out`."""
        raise NotImplementedError(f"{type(self).__name__} does not define broadcast()")

    def pushpull(self, key, value, out=None, priority=0):
        """Writes the sum of `value` over contexts and processes to `out`, or to `value`."""
        raise NotImplementedError(f"{type(self).__name__} does not define pushpull()")

    def set_optimizer(self, optimizer):
        """Lets the store update what it holds."""
        raise NotImplementedError(f"{type(self).__name__} does not run an optimizer")

    @staticmethod
    def is_capable(capability):
        """Whether the store offers something, such as `KVStoreBase.OPTIMIZER`."""
        raise NotImplementedError("the store does not define is_capable()")

    def _push_and_pull(self, key, value, out, priority=0):
        """`push` and `pull` as modules call them: nobody reads `out` in between."""
        self.push(key, value, priority=priority)
        self.pull(key, out, priority=priority)

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Writes the states of the optimizer to a file."""
        raise NotImplementedError(f"{type(self).__name__} does not run an optimizer")

    def load_optimizer_states(self, fname):
        """Reads a file of `save_optimizer_states`."""
        raise NotImplementedError(f"{type(self).__name__} does not run an optimizer")

    @property
    def type(self):
        """The name of the kind of store."""
        raise NotImplementedError(f"{type(self).__name__} does not define type")

    @property
    def rank(self):
        """The number of this process."""
        raise NotImplementedError(f"{type(self).__name__} does not define rank")

    @property
    def num_workers(self):
        """How many processes there are."""
        raise NotImplementedError(f"{type(self).__name__} does not define num_workers")

    @staticmethod
    def register(klass):
        """Decorator: files a class of stores under its lower-case name."""
        if not isinstance(klass, type):
            raise TypeError(f"register decorates a class, given {klass!r}")
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass


@KVStoreBase.register
class TestStore(KVStoreBase):
    """The plainest store: one process, no optimizer. For tests of what surrounds stores."""

    __test__ = False

    def broadcast(self, key, value, out, priority=0):
        for target in as_list(out):
            target[:] = value

    def pushpull(self, key, value, out=None, priority=0):
        values = as_list(value)
        total = sum((v.as_in_context(values[0].context) for v in values[1:]), values[0])
        for target in values if out is None else as_list(out):
            target[:] = total

    @staticmethod
    def is_capable(capability):
        if capability.lower() == KVStoreBase.OPTIMIZER:
            return False
        raise ValueError(f"there is no capability {capability!r}; known is {KVStoreBase.OPTIMIZER!r}")

    @property
    def type(self):
        return "teststore"

    @property
    def rank(self):
        return 0

    @property
    def num_workers(self):
        return 1


def create(name="local"):
    """A store by its name (case does not matter).

    local, device, nccl, local_allreduce_cpu, local_allreduce_device: contexts of this process. dist_sync,
    dist_device_sync, dist_sync_device, dist: contexts of all processes; horovod and byteps mean the same. Registered
    classes: under theirs.
    """
    from core.kvstore.kvstore import TYPES, KVStore

    if not isinstance(name, str):
        raise TypeError(f"the name of a kvstore is a string, got {name!r}")
    name = name.lower()
    if name in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[name]()
    if name not in TYPES:
        known = [*TYPES, *KVStoreBase.kv_registry]
        why = " Asynchronous training is not supported: use dist_sync." if "async" in name else nearest(name, known)
        raise MXNetError(f"there is no kvstore {name!r}.{why} Accepted are {', '.join(known)}")
    return KVStore(name)
