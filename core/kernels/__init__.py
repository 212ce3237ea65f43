"""The kernels, in two wings with the same rooms; this module alone chooses the wing.

`core.kernels.conv.conv(x, ...)` runs `core.kernels.triton.conv.conv` where `x` lives on a CUDA device and
`core.kernels.cpu.conv.conv` elsewhere (CPU, and `meta` for shape inference). `using("triton")` forces
a wing, so that the Triton kernels run in interpreter mode on a machine without a GPU.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import threading
import warnings
from collections.abc import Callable, Iterator

import torch

from core import storage
from core.kernels import meta
from core.kernels import shape as shape

WINGS = ("cpu", "triton")
ROOMS = (
    "attention", "conv", "index", "linalg", "matmul", "norm", "optimizer", "pointwise", "pool", "random", "reduce",
    "rnn", "softmax", "sort", "vision", "boxes", "deformable", "ctc", "correlation",
)  # fmt: skip
# All that has no Triton kernel, and is computed on the CPU for arrays on a GPU, with a warning for each function:
# factorisations and triangular systems, which are sequential, and small wherever these networks use them.
ON_CPU_ONLY = ("linalg",)
_forced: str | None = None
_virtual = 0  # how many threads are inside `without_memory`
_direct = True  # whether CPU tensors may go to the CPU wing without a further look: nothing is forced, no thread traces
_lock = threading.Lock()
_deterministic = False
_watch = threading.local()  # `calls`: while `observe` runs, the kernels that were called


def dtype_name(tensor) -> str:
    """The name of the tensor's element type."""
    return storage.NAMES[tensor.dtype]


torch_dtype = storage.torch_dtype


def cast(tensor, dtype: str):
    """The tensor in another type; itself where it has that type."""
    wanted = storage.TORCH[dtype]
    return tensor if tensor.dtype is wanted else tensor.type(wanted)  # a microsecond less than `to`


@contextlib.contextmanager
def using(wing: str) -> Iterator[None]:
    """Forces every kernel to come from `wing` ("cpu" or "triton") inside the block."""
    global _forced
    if wing not in WINGS:
        raise ValueError(f"unknown kernel wing {wing!r}; accepted are {', '.join(WINGS)}")
    before, _forced = _forced, wing
    _decide()
    try:
        yield
    finally:
        _forced = before
        _decide()


def observe(function: Callable) -> tuple[object, list[tuple]]:
    """What `function()` gives, and the kernels that it called on the way: (room, name, args, kwargs, result) each."""
    before = getattr(_watch, "calls", None)
    _watch.calls = []
    try:
        with without_memory():
            return function(), _watch.calls
    finally:
        _watch.calls = before


@contextlib.contextmanager
def without_memory() -> Iterator[None]:
    """Sends kernels on tensors without memory to `core.kernels.meta`, which is faster than ATen's own way."""
    global _virtual
    with _lock:
        _virtual += 1
    _decide()
    try:
        yield
    finally:
        with _lock:
            _virtual -= 1
        _decide()


def _decide() -> None:
    global _direct
    with _lock:
        _direct = _forced is None and not _virtual


def kernel(room: str, function: str, device: torch.device) -> Callable:
    """The kernel itself, of the wing that serves `device`: what plans call instead of going through a `Room`."""
    wing = "triton" if device.type == "cuda" else _forced or "cpu"
    if wing == "triton" and room in ON_CPU_ONLY:
        return getattr(Room(room), function)
    return getattr(importlib.import_module(f"core.kernels.{wing}.{room}"), function)


def formula_kernel(formula, dtype: torch.dtype, first: torch.dtype, device: torch.device) -> Callable:
    """The function of (operands..., attributes...) that computes `formula`, for a first operand of dtype `first`."""
    if _forced != "triton" and device.type != "cuda":
        function = importlib.import_module("core.kernels.cpu.pointwise")._compiled(formula, first)

        def run(*operands):
            y = function(*operands)
            return y if y.dtype is dtype else y.to(dtype)

        return run
    general, count = kernel("pointwise", "pointwise", device), len(formula.inputs)
    return lambda *operands: general(formula, operands[:count], operands[count:], dtype)


def inline(formula, operands, attrs, dtype: torch.dtype, target: str, device: torch.device):
    """`formula` as lines of source for a plan (see `core.kernels.cpu.inline`), None where kernels are not so simple."""
    if _forced == "triton" or device.type == "cuda":
        return None
    return importlib.import_module("core.kernels.cpu.inline").inline(formula, operands, attrs, dtype, target)


def wing() -> str | None:
    """The wing that `using` forces, None where tensors decide."""
    return _forced


def deterministic() -> bool:
    """Whether kernels must give bit-for-bit repeatable results (no floating-point atomics)."""
    return _deterministic


def set_deterministic(active: bool) -> bool:
    """Switches the deterministic mode; returns what it was before."""
    global _deterministic
    before, _deterministic = _deterministic, bool(active)
    return before


class Room:
    """A family of kernels; its attributes are functions that go to the right wing."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, function: str) -> Callable:
        if function.startswith("__"):
            raise AttributeError(function)
        dispatch = _dispatcher(self._name, function)
        setattr(self, function, dispatch)
        return dispatch


def _dispatcher(room: str, function: str) -> Callable:
    """A function that finds the wing from its first tensor (or `device` argument)."""
    cpu = getattr(importlib.import_module(f"core.kernels.cpu.{room}"), function)
    shapes = meta.KERNELS.get(f"{room}.{function}", cpu)
    triton: Callable | None = None

    def gpu() -> Callable:
        nonlocal triton
        if triton is None:
            if room in ON_CPU_ONLY:
                triton = _through_the_cpu(room, cpu)
            else:
                triton = getattr(importlib.import_module(f"core.kernels.triton.{room}"), function)
        return triton

    def dispatch(*args, **kwargs):
        calls = getattr(_watch, "calls", None)
        if calls is not None:
            result = shapes(*args, **kwargs)
            calls.append((room, function, args, kwargs, result))
            return result
        for place in (*args, *kwargs.values()):
            if type(place) in (tuple, list) and place:
                place = next((p for p in place if isinstance(p, torch.Tensor)), None)
            if isinstance(place, (torch.Tensor, torch.device)):
                device = place.device if isinstance(place, torch.Tensor) else place
                if device.type == "meta":
                    return shapes(*args, **kwargs)
                if device.type == "cuda" and device.index not in (None, torch.cuda.current_device()):
                    with torch.cuda.device(device):  # kernels launch on the current device
                        return gpu()(*args, **kwargs)
                if device.type == "cuda" or _forced == "triton":
                    return gpu()(*args, **kwargs)
                break
        return cpu(*args, **kwargs)

    return dispatch if room == "random" else _shortened(cpu, dispatch)


def _shortened(cpu: Callable, dispatch: Callable) -> Callable:
    """`dispatch` for tensors of the CPU without the way there, where nothing is forced and no thread traces.

    Its source spells the parameters of the kernel out, for passing on *args takes as long as a small view.
    """
    parameters = list(inspect.signature(cpu, follow_wrapped=False).parameters.values())
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [stars.get(p.kind, "") + p.name for p in parameters]
    heads = [n if p.default is p.empty else f"{n}={p.default!r}" for n, p in zip(names, parameters, strict=True)]
    passed = [f"{n}={n}" if p.kind is p.KEYWORD_ONLY else n for n, p in zip(names, parameters, strict=True)]
    first = names[0]
    if first.startswith("*"):
        first = f"{first[1:]}[0]"
    elif "tensors" in names:  # a formula comes before them
        first = "tensors[0]"
    source = f"""def make(cpu, dispatch, Tensor):
    def {cpu.__name__}({", ".join(heads)}):
        if _direct and type({first}) is Tensor and not {first}.is_cuda:
            return cpu({", ".join(passed)})
        return dispatch({", ".join(passed)})
    return {cpu.__name__}"""
    scope: dict = {}
    exec(source, globals(), scope)
    return scope["make"](cpu, dispatch, torch.Tensor)


def pointwise_of_one_type(formula, refuse: Callable, refused: str | None = None) -> tuple[Callable, Callable]:
    """The shortest way to the kernel of a formula for operands of one type; `refuse(tensors)` raises otherwise.

    A function of (tensors..., attributes by name), and one that gives such a function of tensors for attributes (a
    namespace). refused: a type that a formula of two operands does not take.
    """
    no = None if refused is None else storage.TORCH[refused]
    names, count = formula.attrs, len(formula.inputs)
    general, typed = Room("pointwise").pointwise, importlib.import_module("core.kernels.cpu.pointwise")._typed
    made: dict[torch.dtype, Callable] = {}

    def make(kind, *operands):
        function = made[kind] = typed(formula, kind, operands)
        return function

    def one(x, values=()):
        kind = x.dtype
        if _direct and not x.is_cuda:
            return (made.get(kind) or make(kind, x, *values))(x, *values)
        return general(formula, (x,), values, kind)

    def two(a, b):
        kind = a.dtype
        if kind is not b.dtype or kind is no:
            refuse((a, b))
        if _direct and not a.is_cuda:
            return (made.get(kind) or make(kind, a, b))(a, b)
        return general(formula, (a, b), (), kind)

    def many(tensors, values):
        kind = tensors[0].dtype
        for t in tensors:
            if t.dtype is not kind or (no is not None and kind is no):
                refuse(tensors)
        if _direct and not tensors[0].is_cuda:
            return (made.get(kind) or make(kind, *tensors, *values))(*tensors, *values)
        return general(formula, tensors, values, kind)

    def bind(attrs):
        values = tuple(getattr(attrs, n) for n in names)
        return (lambda x: one(x, values)) if count == 1 else (lambda *tensors: many(tensors, values))

    def one_with_attributes(x, **attrs):
        return one(x, [attrs[n] for n in names])

    def any_with_attributes(*tensors, **attrs):
        return many(tensors, [attrs[n] for n in names])

    if count == 1:
        return (one_with_attributes if names else one), bind
    return (two if count == 2 and not names else any_with_attributes), bind


_warned: set[Callable] = set()


def _through_the_cpu(room: str, function: Callable) -> Callable:
    """A kernel for GPU tensors that computes on the CPU; warns once per process."""

    def run(*args, **kwargs):
        device = next(a.device for a in args if isinstance(a, torch.Tensor))
        if device.type != "cpu" and function not in _warned:
            _warned.add(function)
            warnings.warn(
                f"{function.__name__} runs on the CPU, for core.kernels.{room} has no GPU kernel for it; keep such "
                "arrays on mx.cpu() to save the copies and this warning",
                stacklevel=2,
            )
        result = function(*(a.cpu() if isinstance(a, torch.Tensor) else a for a in args), **kwargs)
        if isinstance(result, torch.Tensor):
            return result.to(device)
        return tuple(r.to(device) for r in result)

    return run


def __getattr__(name: str) -> Room:
    if name in ROOMS:
        room = globals()[name] = Room(name)
        return room
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
