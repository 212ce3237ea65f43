"""Operators made of Triton kernels that users write.

    import triton.language as tl
    import core as mx

    @mx.rtc.jit
    def kernel(x, out, n, slope, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < n)
        tl.store(out + at, tl.where(v > 0, v, v * slope), mask=at < n)

    @mx.rtc.register("leaky")
    def leaky(x, *, slope: float = 0.1):
        out = mx.rtc.empty_like(x)
        kernel[(mx.rtc.cdiv(x.numel(), 1024),)](x, out, x.numel(), slope, BLOCK=1024)
        return out

From then on there are `mx.nd.leaky(x, slope=0.2)`, `mx.sym.leaky` and `F.leaky` in blocks, hybridized ones too. Its
gradient is optional, and made of other operators or of another kernel:

    @mx.rtc.gradient(leaky)
    def rule(dy, x, attrs):
        return [mx.nd.where(x > 0, dy, dy * attrs.slope)]

On a GPU the kernel is compiled. On a CPU it runs, slowly, in Triton's interpreter, when TRITON_INTERPRET=1 is in the
environment before Triton is imported; otherwise the call raises MXNetError.
"""

from __future__ import annotations

import functools
import typing

from core import storage
from core.base import MXNetError, NotSupportedError, nearest
from core.ops import attributes, registry

gradient = registry.gradient

_KINDS = {
    float: attributes.FloatType(), int: attributes.IntType(), bool: attributes.BoolType(),
    str: attributes.StrType(), tuple: attributes.ShapeType(),
}  # fmt: skip


def register(name: str, *, outputs: int = 1, aliases: tuple[str, ...] = ()):
    """Decorator: enters a launcher into the table of operators, under `name`, which must be new; gives the operator.

    The launcher gets its arrays as contiguous tensors (with `shape`, `dtype`, `numel()`, `stride()`) and its
    attributes, which are keywords of type float, int, bool, str or tuple, and returns a tensor that it made with
    `empty` or `empty_like`, or `outputs` of them. ValueError where the name is taken.
    """

    def enter(launcher):
        if name in registry.TABLE:
            raise ValueError(f"there is an operator {name!r} already: choose another name")

        @functools.wraps(launcher)
        def run(*tensors, **attrs):
            return launcher(*(t if t is None else storage.contiguous(t) for t in tensors), **attrs)

        op = registry.Operator(name, run, outputs=outputs, aliases=aliases)
        hints = typing.get_type_hints(launcher)
        for attribute, (_, default) in op.attrs.items():
            kind = hints.get(attribute)
            if kind not in _KINDS:
                given = "no type" if kind is None else getattr(kind, "__name__", kind)
                accepted = ", ".join(k.__name__ for k in _KINDS)
                raise TypeError(f"attribute {attribute!r} of operator {name!r} has {given}; accepted are {accepted}")
            op.attrs[attribute] = _KINDS[kind], default
        return registry.register(op)

    return enter


def jit(function):
    """Decorator: a Triton kernel, launched as `kernel[grid](arguments)` like one of `triton.jit`."""
    import triton

    return _Kernel(triton.jit(function))


def empty_like(tensor, dtype: str | None = None):
    """A tensor of the shape, the place and (unless given) the dtype of another, for a kernel to write to."""
    return storage.empty_like(tensor, tensor.shape, dtype)


def empty(shape, like, dtype: str | None = None):
    """A tensor of another shape, in the place and (unless given) of the dtype of `like`."""
    return storage.empty_like(like, shape, dtype)


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up: how many blocks of b cover a."""
    return -(-a // b)


class _Kernel:
    """A kernel that knows where it can run."""

    def __init__(self, kernel):
        self._kernel = kernel
        functools.update_wrapper(self, kernel.fn if hasattr(kernel, "fn") else kernel)

    def __getitem__(self, grid):
        def launch(*arguments, **keywords):
            tensors = [a for a in (*arguments, *keywords.values()) if storage.is_tensor(a)]
            if any(storage.is_meta(t) for t in tensors):
                return  # shapes alone are asked for
            if any(not t.is_cuda for t in tensors) and not _interprets(self._kernel):
                raise MXNetError(
                    f"{self.__name__} is a Triton kernel, which needs arrays on a GPU, and was given some on the CPU. "
                    "Move them with as_in_context(mx.gpu()), or set TRITON_INTERPRET=1 in the environment to "
                    "interpret it"
                )
            self._kernel[grid](*arguments, **keywords)

        return launch


def _interprets(kernel) -> bool:
    from triton.runtime.interpreter import InterpretedFunction

    return isinstance(kernel, InterpretedFunction)


def __getattr__(name: str):
    if name in ("CudaModule", "CudaKernel", "Rtc"):
        raise NotSupportedError(
            f"mx.rtc.{name} compiles CUDA C, which this project does not; write the kernel in Triton: see "
            "mx.rtc.register"
        )
    known = [n for n in globals() if not n.startswith("_")]
    raise AttributeError(f"mx.rtc has no {name!r}.{nearest(name, known)}")
