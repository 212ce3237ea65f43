"""Devices: `cpu()`, `gpu(i)` and the current context of each thread."""

from __future__ import annotations

import threading

from core import heap, storage
from core.base import MXNetError

DEVICE_TYPES = {"cpu": 1, "gpu": 2, "cpu_pinned": 3, "cpu_shared": 5}
_NAMES = {number: name for name, number in DEVICE_TYPES.items()}


class _Default(type):
    """What the class `Context` says of itself."""

    @property
    def default_ctx(cls):
        """`current_context()`, which can be assigned."""
        return current_context()

    @default_ctx.setter
    def default_ctx(cls, context):
        Context._state.current = context


class Context(metaclass=_Default):
    """A device, such as `Context("gpu", 1)`; as a context manager it is the default one of the block.

    Several CPU contexts (`cpu(0)`, `cpu(1)`) name the same memory, but keep arrays apart as on real devices.
    """

    __slots__ = ("_before", "device_id", "device_type")
    devtype2str = _NAMES
    devstr2type = DEVICE_TYPES
    _state = threading.local()

    def __init__(self, device_type: str | int | Context, device_id: int = 0):
        if isinstance(device_type, Context):
            device_type, device_id = device_type.device_type, device_type.device_id
        if isinstance(device_type, int):
            device_type = _NAMES.get(device_type, device_type)
        if device_type not in DEVICE_TYPES:
            raise MXNetError(f"unknown device type {device_type!r}; accepted are {', '.join(DEVICE_TYPES)}")
        self.device_type, self.device_id = device_type, int(device_id)
        self._before: list[Context] = []

    @property
    def device_typeid(self) -> int:
        return DEVICE_TYPES[self.device_type]

    def __eq__(self, other):
        if self is other:
            return True
        return (
            isinstance(other, Context) and self.device_type == other.device_type and self.device_id == other.device_id
        )

    def __hash__(self):
        return hash((self.device_type, self.device_id))

    def __repr__(self):
        return f"{self.device_type}({self.device_id})"

    __str__ = __repr__

    def __enter__(self):
        self._before.append(current_context())
        Context._state.current = self
        return self

    def __exit__(self, *_):
        Context._state.current = self._before.pop()

    def __getstate__(self):
        return self.device_type, self.device_id

    def __setstate__(self, state):
        self.device_type, self.device_id = state
        self._before = []

    def __copy__(self):
        return Context(self)

    def __deepcopy__(self, memo):
        return Context(self)

    def empty_cache(self) -> None:
        """Gives freed memory that is kept for reuse back: on a GPU to its driver, else to the system."""
        storage.empty_cache() if self.device_type == "gpu" else heap.trim()


Device = Context  # as MXNet 2 calls it
_CPU = Context("cpu", 0)


def current_context() -> Context:
    """The context in which arrays are made when none is given."""
    return getattr(Context._state, "current", _CPU)


def cpu(device_id: int = 0) -> Context:
    """The CPU."""
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Page-locked memory of the CPU, from which copies to a GPU are faster."""
    return Context("cpu_pinned", device_id)


def cpu_shared(device_id: int = 0) -> Context:
    """CPU memory that several processes see."""
    return Context("cpu_shared", device_id)


def gpu(device_id: int = 0) -> Context:
    """The GPU with number `device_id`."""
    return Context("gpu", device_id)


def num_gpus() -> int:
    """How many GPUs there are."""
    return storage.num_gpus()


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """(free, total) bytes of a GPU; MXNetError where there is none with that number."""
    if not 0 <= device_id < num_gpus():
        raise MXNetError(f"there is no gpu({device_id}): this machine has {num_gpus()}")
    return storage.gpu_memory(device_id)
