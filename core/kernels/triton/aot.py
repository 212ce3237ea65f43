"""Ahead-of-time compilation of kernels, which needs no GPU: what a kernel will cost is known before it runs.

Every room of this wing lists its tuned configurations in `AOT`; `rooms()` finds the lists, `compile_case` compiles
one entry and reads registers, spills and shared memory from what ptxas reports, and tensor-core instructions from
the PTX. `TRITON_INTERPRET` must be unset, for interpreted kernels cannot be compiled.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import pkgutil
import re

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ARCHITECTURES = (80, 90, 100)

# Bytes of shared memory that one program may use (CUDA programming guide, table of compute capabilities).
SHARED_LIMIT = {80: 166_912, 90: 232_448, 100: 232_448}


@dataclasses.dataclass(frozen=True)
class AotCase:
    """One kernel in one configuration.

    `signature` gives every argument that is no constexpr its type, in order: "*fp16", "fp32", "i32", "i64", or
    "tensordesc<fp16[128, 64]>". Pointers are taken to be 16-byte aligned, as torch allocates them; an integer
    that is divisible by 16 says so: "i32:16". `tensor_core` demands tensor-core instructions. `since` is the first
    architecture that the kernel is meant for.
    """

    kernel: object
    signature: dict[str, str]
    constexprs: dict[str, object]
    num_warps: int = 4
    num_stages: int = 3
    tensor_core: bool = False
    since: int = 80

    def __str__(self) -> str:
        settings = " ".join(f"{name}={value}" for name, value in self.constexprs.items())
        types = " ".join(dict.fromkeys(kind for kind in self.signature.values() if kind[0] in "*t"))
        return f"{self.kernel.__name__} {types} {settings} warps={self.num_warps} stages={self.num_stages}"


@dataclasses.dataclass(frozen=True)
class Resources:
    """What a compiled kernel takes: registers a thread, bytes spilled (stores and loads), bytes of shared memory,
    and the kind of tensor-core instruction in it ("wgmma", "tcgen05", "mma" or None)."""

    registers: int
    spills: int
    shared: int
    tensor_core: str | None


def rooms() -> dict[str, list[AotCase]]:
    """The cases of every room of this wing that lists some."""
    package = importlib.import_module("core.kernels.triton")
    modules = (
        (info.name, importlib.import_module(f"{package.__name__}.{info.name}"))
        for info in pkgutil.iter_modules(package.__path__)
    )
    return {name: list(module.AOT) for name, module in modules if hasattr(module, "AOT")}


def compile_case(case: AotCase, arch: int) -> Resources:
    """Compiles `case` for sm_`arch` and says what it takes. Errors of the compiler pass through."""
    names = case.kernel.arg_names
    given = {**case.signature, **dict.fromkeys(case.constexprs, "constexpr")}
    if set(given) != set(names):
        raise ValueError(f"{case.kernel.__name__}: arguments are {names}, the case names {sorted(given)}")
    signature, attributes = {}, {}
    for index, name in enumerate(names):
        kind, _, divisor = given[name].partition(":")
        signature[name] = kind
        if divisor or kind.startswith("*"):
            attributes[(index,)] = [["tt.divisibility", int(divisor or 16)]]
    source = ASTSource(case.kernel, signature, {(names.index(n),): v for n, v in case.constexprs.items()}, attributes)
    options = {"num_warps": case.num_warps, "num_stages": case.num_stages}
    log = io.StringIO()
    with _knobs(), contextlib.redirect_stdout(log):
        compiled = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
    report, ptx = log.getvalue(), compiled.asm["ptx"]
    return Resources(
        registers=max(map(int, re.findall(r"Used (\d+) registers", report))),
        spills=sum(map(int, re.findall(r"(\d+) bytes spill", report))),
        shared=compiled.metadata.shared,
        tensor_core=next((name for name, mark in _TENSOR_CORE.items() if mark in ptx), None),
    )


_TENSOR_CORE = {"wgmma": "wgmma.mma_async", "tcgen05": "tcgen05.mma", "mma": "mma.sync"}


@contextlib.contextmanager
def _knobs():
    """ptxas reports only when it runs, so nothing may come out of the cache."""
    nvidia, compilation = triton.knobs.nvidia, triton.knobs.compilation
    with nvidia.scope(), compilation.scope():
        nvidia.dump_ptxas_log = True
        compilation.always_compile = True
        yield
