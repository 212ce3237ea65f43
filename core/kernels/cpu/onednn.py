"""oneDNN's own functions, by its C interface: descriptors of memory, and primitives over them.

torch carries oneDNN too, but shows of it what ATen calls: 20 to 30 microseconds a convolution for the dispatcher, a key
of the cache and memory for the result. A primitive that is called directly costs one. The library is that of the extra
`onednn`; `loaded` gives None where it is missing, on other processors than x86, or under MXNET_ONEDNN_ENABLED=0.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from core.base import MXNetError

PACKAGE = "onednn-cpu-gomp"
MAJOR = 3  # of the interface below; minor releases add to it
FLOATS = {torch.bfloat16: 2, torch.float32: 3}
TYPES = FLOATS | {torch.int8: 5, torch.uint8: 6}
# Arguments of primitives; the addend is that of the first post-operation.
SOURCE, DESTINATION, WEIGHTS, BIAS, SCRATCHPAD, ADDEND, SECOND, SCALE, SHIFT = 1, 17, 33, 41, 80, 0x8002, 2, 51, 52
MEAN, VARIANCE = 49, 50
SCALES = 0x1000  # beside an argument: what its numbers stand for
_MAXIMUM, _MEAN, _MEAN_WITHOUT_PADDING = 0x1FF, 0x2FF, 0x3FF
BINARY = {"add": 0x1FFF0, "mul": 0x1FFF1}
# activation of a product -> algorithm, alpha, beta
_ELTWISE = {
    "relu": (0x20, 0.0, 0.0),
    "tanh": (0x21, 0.0, 0.0),
    "hard_gate": (0x28, 1 / 6, 0.5),
    "sigmoid": (0x29, 0.0, 0.0),
    "silu": (0x2C, 1.0, 0.0),
    "relu6": (0x2E, 0.0, 6.0),
    "gelu": (0x31, 0.0, 0.0),
    "hard_swish": (0x34, 1 / 6, 0.5),
}
ACTIVATIONS = frozenset(_ELTWISE)
_STATUSES = (
    "success", "out of memory", "invalid arguments", "unimplemented", "last implementation reached", "runtime error",
    "not required",
)  # fmt: skip
BLOCK = 16
_ANY, _BLOCKED = 1, 78  # formats: nChw16c
_SOFTMAX, _LINEAR = 0x30000, 0x26
_SCALED, _GIVEN, _RECTIFIED = 2 | 4, 1, 8  # flags of normalisations: scale and shift; given statistics; ReLU
_PREDICTION, _IMPLEMENTATION = 96, 8  # kind of propagation; query of an implementation's name
_DESCRIBED = {SOURCE: 129, WEIGHTS: 131, DESTINATION: 133, SCRATCHPAD: 136}  # queries of a primitive's descriptors


class Unimplemented(MXNetError):
    """oneDNN has no fast implementation of a primitive for these shapes, types and layouts."""


class Argument(ctypes.Structure):
    """One argument of a primitive's execution."""

    _fields_ = (("which", ctypes.c_int), ("memory", ctypes.c_void_p))


@functools.cache
def loaded() -> ctypes.CDLL | None:
    """The library, None where it cannot be used."""
    if os.environ.get("MXNET_ONEDNN_ENABLED") == "0" or platform.machine() not in ("x86_64", "AMD64"):
        return None
    try:
        files = importlib.metadata.files(PACKAGE) or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    found = next((Path(str(f.locate())) for f in files if f.name == f"libdnnl.so.{MAJOR}"), None)
    if found is None or not found.exists():
        return None
    try:
        # One pool of threads for both: oneDNN's calls of OpenMP are bound to the library that torch has loaded.
        for runtime in Path(torch.__file__).parent.glob("lib/libgomp*.so*"):
            ctypes.CDLL(str(runtime), ctypes.RTLD_GLOBAL)
        made = ctypes.CDLL(str(found))
    except OSError:
        return None
    pointer, number, real = ctypes.c_void_p, ctypes.c_int, ctypes.c_float
    for name, result, arguments in (
        ("primitive_desc_query_md", pointer, (pointer, number, number)),
        ("memory_desc_get_size", ctypes.c_size_t, (pointer,)),
        ("memory_desc_equal", number, (pointer, pointer)),
        ("post_ops_append_sum", number, (pointer, real, ctypes.c_int32, number)),
        ("post_ops_append_eltwise", number, (pointer, number, real, real)),
        ("memory_set_data_handle", number, (pointer, pointer)),
    ):
        function = getattr(made, f"dnnl_{name}")
        function.restype, function.argtypes = result, arguments
    return made


class Handle:
    """What oneDNN made, and frees with the last reference. keep: what it refers to."""

    def __init__(self, kind: str, maker: str, *arguments: Any):
        self._keep = arguments
        made = ctypes.c_void_p()
        check(maker, getattr(_library(), f"dnnl_{maker}")(ctypes.byref(made), *arguments))
        self._as_parameter_ = self.pointer = made
        self._destroy = getattr(_library(), f"dnnl_{kind}_destroy")
        self.address: int = made.value or 0

    def __del__(self) -> None:
        if hasattr(self, "_destroy"):
            self._destroy(self)


class Layout(Handle):
    """How a tensor lies in memory: by its strides, or (None) as a primitive likes it best; blocked: BLOCK channels side by
    side, of an image.
    """

    def __init__(self, shape: Sequence[int], strides: Sequence[int] | None, dtype: torch.dtype, blocked: bool = False):
        how = (ctypes.c_int(len(shape)), _numbers(shape), ctypes.c_int(TYPES[dtype]))
        if blocked or strides is None:
            tag = _BLOCKED if blocked else _ANY
            super().__init__("memory_desc", "memory_desc_create_with_tag", *how, ctypes.c_int(tag))
        else:
            super().__init__("memory_desc", "memory_desc_create_with_strides", *how, _numbers(strides))

    @property
    def nbytes(self) -> int:
        """Bytes of memory, padding between blocks with it."""
        return int(_library().dnnl_memory_desc_get_size(self))


class Chosen(Layout):
    """The layout that a primitive's description has for an argument."""

    def __init__(self, description: Handle, argument: int):
        found = _library().dnnl_primitive_desc_query_md(description, _DESCRIBED[argument], 0)
        Handle.__init__(self, "memory_desc", "memory_desc_clone", ctypes.c_void_p(found))


class Primitive(Handle):
    """A computation for fixed shapes and layouts, of a description; `scratch`: bytes that it needs besides."""

    def __init__(self, description: Handle):
        super().__init__("primitive", "primitive_create", description)
        self.description = description
        self.scratchpad = Chosen(description, SCRATCHPAD)

    def chosen(self, argument: int) -> Layout:
        """The layout of an argument."""
        return Chosen(self.description, argument)


class Memory(Handle):
    """Memory of somebody else in a layout; `point` says where."""

    def __init__(self, layout: Layout, address: int | None = None):
        super().__init__("memory", "memory_create", layout, engine(), ctypes.c_void_p(address))

    def point(self, address: int) -> None:
        """Takes other memory."""
        _library().dnnl_memory_set_data_handle(self, address)


def convolution(
    x: Layout, w: Layout, b: Layout | None, y: Layout, stride: Sequence[int], dilate: Sequence[int], pad: Sequence[int],
    ending: Handle,
) -> Primitive:  # fmt: skip
    """x * w + b, ended by `attributes`."""
    edges = _numbers(pad)
    how = (_numbers(stride), _numbers([d - 1 for d in dilate]), edges, edges, ending)
    return _primitive("convolution_forward", ctypes.c_int(1), x, w, b, y, *how)


def product(x: Layout, w: Layout, b: Layout | None, y: Layout, ending: Handle) -> Primitive:
    """x (rows, K) w (N, K)^T + b, ended by `attributes`."""
    return _primitive("inner_product_forward", x, w, b, y, ending)


def batch_product(a: Layout, b: Layout, y: Layout, ending: Handle) -> Primitive:
    """a (..., M, K) b (..., K, N), ended by `attributes`."""
    return _primitive("matmul", a, b, None, y, ending, algorithm=())


def softmax(x: Layout, y: Layout, axis: int) -> Primitive:
    """exp(x) over its sum along an axis."""
    return _primitive("softmax_forward", x, y, ctypes.c_int(axis), attributes(None), algorithm=(_PREDICTION, _SOFTMAX))


def pooling(
    x: Layout, y: Layout, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[tuple[int, int]],
    mean: bool = False, padded: bool = True,
) -> Primitive:  # fmt: skip
    """Maximum or mean of each window; with `padded` the mean counts the padding."""
    kind = (_MEAN if padded else _MEAN_WITHOUT_PADDING) if mean else _MAXIMUM
    edges = (_numbers([lo for lo, _ in pad]), _numbers([hi for _, hi in pad]))
    how = (_numbers(stride), _numbers(kernel), _numbers([0] * len(kernel)), *edges, attributes(None))
    return _primitive("pooling_forward", ctypes.c_int(kind), x, y, *how)


def binary(operation: str, x: Layout, other: Layout, y: Layout) -> Primitive:
    """A sum or a product of two, of which `other` may have one element along an axis."""
    return _primitive("binary", x, other, y, attributes(None), algorithm=(BINARY[operation],))


def layer_norm(x: Layout, y: Layout, eps: float) -> Primitive:
    """Rows with mean 0 and variance 1, times a scale, and a shift."""
    how = ctypes.c_float(eps), ctypes.c_uint(_SCALED), attributes(None)
    return _primitive("layer_normalization_forward", x, y, None, *how)


def batch_norm(x: Layout, y: Layout, eps: float, rectified: bool) -> Primitive:
    """(x - mean) / sqrt(variance + eps) of given statistics, times a scale, and a shift; rectified: 0 where negative."""
    flags = ctypes.c_uint(_SCALED | _GIVEN | (_RECTIFIED if rectified else 0))
    return _primitive("batch_normalization_forward", x, y, ctypes.c_float(eps), flags, attributes(None))


def attributes(
    activation: str | None = None, addend: Layout | None = None, in_place: bool = False, factor: float = 1.0,
    scale: float = 1.0, scaled: Mapping[int, int] = MappingProxyType({}),
) -> Handle:  # fmt: skip
    """How a product ends: with the sum with an `addend`, or with `factor` times that in whose memory the result comes
    where `in_place`, an activation, and a product with `scale`; scratchpads are the caller's.

    scaled: arguments of eight bits that come with scales, and the axes, as bits, along which these differ.
    """
    made = Handle("primitive_attr", "primitive_attr_create")
    check("scratchpad", _library().dnnl_primitive_attr_set_scratchpad_mode(made, 1))
    for argument, axes in scaled.items():
        check("scales", _library().dnnl_primitive_attr_set_scales_mask(made, argument, axes))
    steps = Handle("post_ops", "post_ops_create")
    if in_place:
        check("sum", _library().dnnl_post_ops_append_sum(steps, factor, 0, 0))
    elif addend is not None:
        check("addition", _library().dnnl_post_ops_append_binary(steps, BINARY["add"], addend))
    if activation is not None:
        check(activation, _library().dnnl_post_ops_append_eltwise(steps, *_ELTWISE[activation]))
    if scale != 1.0:
        check("scale", _library().dnnl_post_ops_append_eltwise(steps, _LINEAR, scale, 0.0))
    check("post-operations", _library().dnnl_primitive_attr_set_post_ops(made, steps))
    return made


def copy(x: Layout, y: Layout, scaled: bool = False) -> Primitive:
    """The numbers of x [times a scale] in the layout and type of y: the nearest ones that it has, halves to even."""
    description = _copied(x, y, attributes(None, scaled={SOURCE: 0} if scaled else {}))
    return _fast("reorder", description)


def reorder(source: torch.Tensor, target: Layout) -> torch.Tensor:
    """The values of a tensor in another layout, as bytes that begin at a multiple of 64."""
    there = Layout(source.shape, source.stride(), source.dtype)
    primitive, found = Handle("primitive", "primitive_create", _copied(there, target, None)), aligned(target.nbytes)
    memory = Memory(there, source.data_ptr()), Memory(target, found.data_ptr())
    given = (Argument * 2)(Argument(SOURCE, memory[0].address), Argument(DESTINATION, memory[1].address))
    check("reorder", executor()(primitive.pointer, stream().pointer, 2, given))
    return found


def aligned(nbytes: int) -> torch.Tensor:
    """Memory that begins at a multiple of 64."""
    made = torch.empty(nbytes + 64, dtype=torch.uint8)
    first = -made.data_ptr() % 64
    return made[first : first + nbytes]


def executor() -> Callable[[ctypes.c_void_p, ctypes.c_void_p, int, ctypes.Array[Argument]], int]:
    """What runs a primitive, given its pointer, the stream's, the number of arguments and these, and returns a status
    for `check`. A Python function around it would cost a quarter of a microsecond more; types of its arguments, by which
    ctypes converts, a tenth.
    """
    found: Callable[..., int] = _library().dnnl_primitive_execute
    return found


@functools.cache
def engine() -> Handle:
    """The processor."""
    return Handle("engine", "engine_create", ctypes.c_int(1), ctypes.c_size_t(0))


@functools.cache
def stream() -> Handle:
    """Where primitives are executed, one after the other, in the thread that asks."""
    return Handle("stream", "stream_create", engine(), ctypes.c_uint(1))


def _primitive(kind: str, *arguments: Any, algorithm: Sequence[int] = (_PREDICTION,)) -> Primitive:
    """The primitive for predictions. algorithm: what comes first among the arguments of this kind."""
    lead = engine(), *map(ctypes.c_int, algorithm)
    return _fast(kind, Handle("primitive_desc", f"{kind}_primitive_desc_create", *lead, *arguments))


def _copied(x: Layout, y: Layout, ending: Handle | None) -> Handle:
    return Handle("primitive_desc", "reorder_primitive_desc_create", x, engine(), y, engine(), ending)


def _fast(kind: str, description: Handle) -> Primitive:
    """The primitive of a description; Unimplemented where only the slow reference has it."""
    name = ctypes.c_char_p()
    query = _library().dnnl_primitive_desc_query
    check(kind, query(description, ctypes.c_int(_IMPLEMENTATION), ctypes.c_int(0), ctypes.byref(name)))
    if (name.value or b"").startswith((b"ref", b"gemm:ref")):
        raise Unimplemented(f"oneDNN has only its reference of {kind}")
    return Primitive(description)


def _library() -> ctypes.CDLL:
    found = loaded()
    assert found is not None
    return found


def _numbers(values: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * 12)(*values)


def check(what: str, status: int) -> None:
    """MXNetError for a status that is not success."""
    if status == 0:
        return
    text = _STATUSES[status] if status < len(_STATUSES) else str(status)
    raise (Unimplemented if status in (3, 4) else MXNetError)(f"oneDNN, {what}: {text}")
