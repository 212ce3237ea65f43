"""Ahead-of-time compilation of kernels, which needs no GPU: what a kernel will cost is known before it runs.

Every kernel module of this backend lists its tuned configurations in `AOT`; `cases()` finds the lists, `compile_case`
compiles one entry for a target and reads registers, spills and shared memory from what ptxas reports, or from what the
assembly says for AMD's, and tensor-core instructions from the assembly. `TRITON_INTERPRET` must be unset, for interpreted kernels cannot be compiled.
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

from core.kernels.triton.targets import Target


@dataclasses.dataclass(frozen=True)
class AotCase:
    """One kernel in one configuration.

    `signature` gives every argument that is no constexpr its type, in order: "*fp16", "fp32", "i32", "i64", or
    "tensordesc<fp16[128, 64]>". Pointers are taken to be 16-byte aligned, as torch allocates them; an integer
    that is divisible by 16 says so: "i32:16". `since` is the first architecture that the kernel is meant for.

    `tensor_core` demands tensor-core instructions: "group" the fastest that an architecture has, which from Hopper on
    are those of four warps, "warp" those of one, "double" those of one for float64. `copies` demands a way from global
    to shared memory, as `Resources` names it. `only` is the backend, or the instruction of products, of the targets that
    the kernel is meant for.
    """

    kernel: object
    signature: dict[str, str]
    constexprs: dict[str, object]
    num_warps: int = 4
    num_stages: int = 3
    tensor_core: str | None = None
    copies: str | None = None
    since: int = 80
    only: str | None = None

    def meant_for(self, target: Target) -> bool:
        """Whether the kernel is meant for a target; AMD's are served by what serves the oldest of NVIDIA's."""
        if self.only not in (None, target.backend, target.instruction):
            return False
        return self.since <= (target.arch if isinstance(target.arch, int) else 80)

    def instruction(self, target: Target) -> str | None:
        """The kind of tensor-core instruction that is demanded for a target, as `Resources` names it."""
        if self.tensor_core == "double" and str(target) in _WITHOUT_DOUBLES.get(triton.__version__[:3], ()):
            return None
        if self.tensor_core == "group" or target.backend == "hip":
            return target.instruction if self.tensor_core else None
        return "mma" if self.tensor_core else None

    def way(self, target: Target) -> str | None:
        """The way from global to shared memory that is demanded for a target; AMD's go through registers."""
        return self.copies if target.backend == "cuda" else None

    def __str__(self) -> str:
        settings = " ".join(f"{name}={value}" for name, value in self.constexprs.items())
        types = " ".join(dict.fromkeys(kind for kind in self.signature.values() if kind[0] in "*t"))
        return f"{self.kernel.__name__} {types} {settings} warps={self.num_warps} stages={self.num_stages}"


@dataclasses.dataclass(frozen=True)
class Resources:
    """What a compiled kernel takes: registers a thread, bytes spilled (stores and loads), bytes of local memory and
    of shared memory, the kind of tensor-core instruction in it ("wgmma", "tcgen05", "mma", "mfma" or None), and by what way
    tiles come from global to shared memory ("tma": bulk tensor copies, "cp.async": asynchronous copies, None: through
    registers, or not at all)."""

    registers: int
    spills: int
    local: int
    shared: int
    tensor_core: str | None
    copies: str | None


def cases() -> dict[str, list[AotCase]]:
    """The cases of every kernel module that lists some."""
    package = importlib.import_module("core.kernels.triton")
    modules = (
        (info.name, importlib.import_module(f"{package.__name__}.{info.name}"))
        for info in pkgutil.iter_modules(package.__path__)
    )
    return {name: list(module.AOT) for name, module in modules if hasattr(module, "AOT")}


def compile_case(case: AotCase, target: Target) -> Resources:
    """Compiles `case` for a target and says what it takes. Errors of the compiler pass through.

    float32 is multiplied as the target does it with float32's accuracy, whatever NVIDIA's way is that the case names.
    """
    constexprs = dict(case.constexprs)
    if constexprs.get("PRECISION") == "tf32x3":
        constexprs["PRECISION"] = target.accurate
    names = case.kernel.arg_names
    given = {**case.signature, **dict.fromkeys(constexprs, "constexpr")}
    if set(given) != set(names):
        raise ValueError(f"{case.kernel.__name__}: arguments are {names}, the case names {sorted(given)}")
    signature, attributes = {}, {}
    for index, name in enumerate(names):
        kind, _, divisor = given[name].partition(":")
        signature[name] = kind
        if divisor or kind.startswith("*"):
            attributes[(index,)] = [["tt.divisibility", int(divisor or 16)]]
    source = ASTSource(case.kernel, signature, {(names.index(n),): v for n, v in constexprs.items()}, attributes)
    options = {"num_warps": case.num_warps, "num_stages": case.num_stages}
    log = io.StringIO()
    with _knobs(), contextlib.redirect_stdout(log):
        on = GPUTarget(target.backend, target.arch, target.warp_size)
        compiled = triton.compile(source, target=on, options=options)
    if target.backend == "hip":
        return _of_amd(compiled)
    report, ptx = log.getvalue(), compiled.asm["ptx"]
    return Resources(
        registers=max(map(int, re.findall(r"Used (\d+) registers", report))),
        spills=sum(map(int, re.findall(r"(\d+) bytes spill", report))),
        local=max(map(int, re.findall(r"(\d+) bytes stack frame", report)), default=0),
        shared=compiled.metadata.shared,
        tensor_core=next((name for name, mark in _TENSOR_CORE.items() if mark in ptx), None),
        copies=next((name for name, mark in _COPIES.items() if mark in ptx), None),
    )


def _of_amd(compiled) -> Resources:
    """What a kernel for one of AMD's takes, by the figures at the end of its assembly.

    Registers are those of both kinds, which share one file (CDNA 2 and 3). Scalar registers are spilled to vector
    registers; those go to memory, 4 bytes each.
    """
    assembly = compiled.asm["amdgcn"]
    found = {name: int(value) for name, value in re.findall(r"^ +(?:- )?\.(\w+): +(\d+)$", assembly, re.MULTILINE)}
    return Resources(
        registers=found["vgpr_count"],
        spills=4 * found["vgpr_spill_count"],
        local=found["private_segment_fixed_size"],
        shared=compiled.metadata.shared,
        tensor_core="mfma" if "v_mfma_" in assembly else None,
        copies=None,
    )


def tensor_core(rows: int, num_warps: int, kind: str) -> str:
    """What `AotCase.tensor_core` may demand of products with tiles of `rows` rows: "group" needs 64, and no float64."""
    if kind == "fp64":
        return "double"
    return "group" if rows >= 64 and num_warps % 4 == 0 else "warp"


# Releases of Triton that make float64 products without the tensor cores which a target has: 3.6 and 3.7 emit mma.sync
# for sm_80 and sm_90 alone, 3.8 and 3.9 for sm_100, too.
_WITHOUT_DOUBLES = {"3.6": ("cuda:100",), "3.7": ("cuda:100",)}
_TENSOR_CORE = {"wgmma": "wgmma.mma_async", "tcgen05": "tcgen05.mma", "mma": "mma.sync"}
_COPIES = {"tma": "cp.async.bulk.tensor", "cp.async": "cp.async.c"}


@contextlib.contextmanager
def _knobs():
    """ptxas reports only when it runs, so nothing may come out of the cache."""
    nvidia, compilation = triton.knobs.nvidia, triton.knobs.compilation
    with nvidia.scope(), compilation.scope():
        nvidia.dump_ptxas_log = True
        compilation.always_compile = True
        yield
