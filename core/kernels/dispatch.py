"""The dispatcher of kernels: it alone chooses the backend.

`@kernel` turns a contract (see `core.kernels.contracts`) into the function that callers call. That goes by where its
first tensor lives, or by its `device` where it has no tensor to go by:

- CPU: to the function of the same name in `core.kernels.cpu.FAMILY`;
- CUDA: to that in `core.kernels.triton.FAMILY`, whose calls are remembered (`core.kernels.triton.replay`);
- no memory ("meta"): to the contract's own body, which describes the result.

`using("triton")` sends CPU tensors to the Triton backend, so that its kernels run in interpreter mode on a machine
without a GPU.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor

from core.placement import state as state

BACKENDS = ("cpu", "triton")
# Kernels that Triton has not, which are computed on the CPU for arrays on a GPU, with a warning for each: networks
# hardly use them.
ON_CPU_ONLY = frozenset(f"linalg.{name}" for name in ("eig", "lstsq", "pinv", "svd"))
# Kernels that read a value back from a GPU, which decides on an error or on the shape of the result.
WAITING = frozenset(
    ("index.check", "index.nonzero", "linalg.cholesky", "linalg.inverse", "linalg.solve", "sort.unique")
)

Function = Callable[..., Any]
Contract = TypeVar("Contract", bound=Function)


def kernel(contract: Contract) -> Contract:
    """The dispatching function of a contract, with its signature and documentation.

    Its source spells the parameters out: passing `*args` on takes as long as a small view.
    """
    found = Kernel(contract)
    parameters, passed = [], []
    for p in inspect.signature(contract).parameters.values():
        if p.kind is p.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        parameters.append(p.name if p.default is p.empty else f"{p.name}=None")
        passed.append(f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name)
    lead, on_cpu = _lead(contract)
    source = f"""
def {contract.__name__}({", ".join(parameters)}):
    if {on_cpu}:
        return cpu({", ".join(passed)})
    return select({lead})({", ".join(passed)})
"""

    def bind(*args: Any, **kwargs: Any) -> Any:
        """Stands for the CPU's function until the first call, for backends are imported on first use."""
        scope["cpu"] = found.cpu
        return found.cpu(*args, **kwargs)

    scope: dict[str, Any] = {"state": state, "cpu": bind, "select": found.select}
    exec(source, scope)
    function = scope[contract.__name__]
    function.__defaults__, function.__kwdefaults__ = contract.__defaults__, contract.__kwdefaults__
    return cast(Contract, functools.update_wrapper(function, contract))


def _lead(contract: Function) -> tuple[str, str]:
    """The expression of what a call is dispatched by, and the test that the CPU's backend serves it."""
    annotations = {name: p.annotation for name, p in inspect.signature(contract).parameters.items()}
    for name, annotation in annotations.items():
        if annotation == "Tensor":
            return name, f"state.plain or ({name}.is_cpu and state.forced is None)"
        if annotation == "Sequence[Tensor]":
            return f"{name}[0]", f"state.plain or ({name}[0].is_cpu and state.forced is None)"
    if annotations.get("device") == "torch.device":
        return "device", "device.type == 'cpu' and state.forced is None"
    raise TypeError(f"the contract {contract.__name__} has neither a Tensor nor a torch.device to dispatch by")


class Kernel:
    """One contract, and the functions that implement it, imported on first use."""

    def __init__(self, contract: Function):
        self.family, self.name, self.contract = contract.__module__.rpartition(".")[2], contract.__name__, contract
        self.warned = False
        KERNELS[self.full_name] = self

    @property
    def full_name(self) -> str:
        return f"{self.family}.{self.name}"

    @functools.cached_property
    def cpu(self) -> Function:
        return self._of("cpu")

    @functools.cached_property
    def triton(self) -> Function:
        if self.full_name in ON_CPU_ONLY:
            return self.launcher
        replay = importlib.import_module("core.kernels.triton.replay")
        return cast(Function, replay.memoized(self.launcher, inspect.signature(self.contract)))

    @functools.cached_property
    def launcher(self) -> Function:
        """What `triton` remembers the calls of."""
        if self.full_name in ON_CPU_ONLY:
            return functools.partial(through_the_cpu, self.full_name)
        return self._of("triton")

    def _of(self, backend: str) -> Function:
        module = importlib.import_module(f"core.kernels.{backend}.{self.family}")
        return cast(Function, getattr(module, self.name))

    def select(self, lead: Tensor | torch.device) -> Function:
        """What a call runs whose first tensor is `lead`."""
        instead = getattr(_thread, "instead", None)
        if instead is not None:
            return cast(Function, instead(self))
        if isinstance(lead, Tensor):  # which answers these questions faster than its device does
            without_memory, on_gpu, index = lead.is_meta, lead.is_cuda, lead.get_device()
        else:
            without_memory, on_gpu, index = lead.type == "meta", lead.type == "cuda", lead.index
        if without_memory:
            return self.contract
        if on_gpu and index not in (None, torch.cuda.current_device()):
            return functools.partial(_on_device, index, self.triton)
        return self.triton if on_gpu or state.forced == "triton" else self.cpu


class Call(NamedTuple):
    """A call of a kernel that `observe` saw."""

    family: str
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any

    @property
    def full_name(self) -> str:
        return f"{self.family}.{self.name}"

    @property
    def key(self) -> Any:
        """The random key that the kernel was given, None where it takes none."""
        signature = inspect.signature(KERNELS[self.full_name].contract)
        return signature.bind(*self.args, **self.kwargs).arguments.get("key")


KERNELS: dict[str, Kernel] = {}  # by "family.name", of the families that were imported
if torch.version.cuda or torch.version.hip:
    state.note_elsewhere()
_thread = threading.local()  # `instead`: what gives the function of a Kernel in place of `Kernel.select`


@contextlib.contextmanager
def using(backend: str) -> Iterator[None]:
    """Forces every kernel to come from `backend` ("cpu" or "triton") inside the block."""
    if backend not in BACKENDS:
        raise ValueError(f"unknown kernel backend {backend!r}; accepted are {', '.join(BACKENDS)}")
    before = state.forced
    state.force(backend)
    try:
        yield
    finally:
        state.force(before)


def forced_backend() -> str | None:
    """The backend that `using` forces, None where tensors decide."""
    return state.forced


def deterministic() -> bool:
    """Whether kernels must give bit-for-bit repeatable results (no floating-point atomics)."""
    return state.deterministic


def set_deterministic(active: bool) -> bool:
    """Switches the deterministic mode; returns what it was before."""
    before, state.deterministic = state.deterministic, bool(active)
    replay = sys.modules.get("core.kernels.triton.replay")
    if replay is not None and before != state.deterministic:
        replay.forget()  # launchers read the mode
    return before


def observe(function: Callable[[], Any]) -> tuple[Any, list[Call]]:
    """What `function()` returns, and the kernels that it called on tensors without memory."""
    calls: list[Call] = []

    def described(found: Kernel) -> Function:
        def run(*args: Any, **kwargs: Any) -> Any:
            result = found.contract(*args, **kwargs)
            calls.append(Call(found.family, found.name, args, kwargs, result))
            return result

        return run

    with _instead(described):
        return function(), calls


def unremembered() -> contextlib.AbstractContextManager[None]:
    """Inside the block kernels are launched by the Triton backend's functions themselves, and no call is replayed."""
    return _instead(lambda found: found.launcher)


@contextlib.contextmanager
def _instead(function: Callable[[Kernel], Function]) -> Iterator[None]:
    before, _thread.instead = getattr(_thread, "instead", None), function
    try:
        yield
    finally:
        _thread.instead = before


def implementation(family: str, name: str, device: torch.device) -> Function:
    """The function of the backend that serves `device`: what plans call without going through the dispatcher."""
    importlib.import_module(f"core.kernels.contracts.{family}")
    found = KERNELS[f"{family}.{name}"]
    return found.triton if runs_triton(device) else found.cpu


def runs_triton(device: torch.device) -> bool:
    """Whether the Triton backend serves `device`."""
    return device.type == "cuda" or state.forced == "triton"


def remembered(function: Function, device: torch.device) -> Function:
    """`function` of tensors and of values that hash, which calls kernels; where Triton serves `device`, calls of a
    key that comes again are replayed."""
    parameters = inspect.signature(function).parameters.values()
    if not runs_triton(device) or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return function
    replay = importlib.import_module("core.kernels.triton.replay")
    return cast(Function, replay.memoized(function, inspect.signature(function)))


def recorder(device: torch.device, blocks: bool = True) -> Any:
    """What takes calls of kernels in order, to make one program of them (`core.kernels.cpu.stretch`); None where the
    backend of `device` has no such library. blocks: whether images may lie in blocks of channels in between.
    """
    if device.type != "cpu" or runs_triton(device):
        return None
    return importlib.import_module("core.kernels.cpu.stretch").recorder(blocks)


def bound(function: Function, calls: Sequence[str], given: Function, device: torch.device) -> Function:
    """A plan for `device`; where Triton serves it, bound for arguments that come often (`core.kernels.triton.bound`)."""
    if not runs_triton(device):
        return function
    binding = importlib.import_module("core.kernels.triton.bound")
    return cast(Function, binding.bound(function, calls, given))


def _on_device(index: int, function: Function, *args: Any, **kwargs: Any) -> Any:
    with torch.cuda.device(index):  # kernels launch on the current device
        return function(*args, **kwargs)


def through_the_cpu(name: str, *args: Any, **kwargs: Any) -> Any:
    """What a kernel, "family.name", computes of tensors on a GPU that Triton does not serve; warns once."""
    importlib.import_module(f"core.kernels.contracts.{name.partition('.')[0]}")
    found, device = KERNELS[name], next(a.device for a in args if isinstance(a, Tensor))
    if device.type != "cpu" and not found.warned:
        found.warned = True
        warnings.warn(
            f"{found.name} runs on the CPU, for core.kernels.{found.family} has no GPU kernel for it, or none for "
            "matrices of these shapes; keep such arrays on mx.cpu() to save the copies and this warning",
            stacklevel=2,
        )
    result = found.cpu(*(a.cpu() if isinstance(a, Tensor) else a for a in args), **kwargs)
    if isinstance(result, Tensor):
        return result.to(device)
    return tuple(r.to(device) for r in result)
