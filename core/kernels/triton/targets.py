"""What kernels are compiled for, as data: a launcher asks the target what it has, never which version it is."""

from __future__ import annotations

import dataclasses
import functools

import torch

from core.kernels.triton._kernel import INTERPRETED


@dataclasses.dataclass(frozen=True)
class Target:
    """An architecture of a GPU.

    shared: bytes of shared memory that one program may use. accurate and fast: how `tl.dot` multiplies float32, with
    float32's accuracy and for speed. tma: tiles are copied by descriptors. instruction: the fastest for products, as
    `aot.Resources` names it. processors: of the usual device; a real one is asked.
    """

    backend: str
    arch: int | str
    warp_size: int
    shared: int
    accurate: str
    fast: str
    tma: bool
    instruction: str
    processors: int

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch}"


# Sources: CUDA programming guide (table of compute capabilities), AMD CDNA 2 and CDNA 3 instruction set manuals. The
# matrix cores of the latter multiply float32 as it is; CDNA 3 takes TF32, too.
TARGETS = {
    str(target): target
    for target in (
        Target("cuda", 80, 32, 166_912, "tf32x3", "tf32", False, "mma", 108),
        Target("cuda", 90, 32, 232_448, "tf32x3", "tf32", True, "wgmma", 132),
        Target("cuda", 100, 32, 232_448, "tf32x3", "tf32", True, "tcgen05", 148),
        Target("hip", "gfx90a", 64, 65_536, "ieee", "bf16x3", False, "mfma", 110),
        Target("hip", "gfx942", 64, 65_536, "ieee", "tf32", False, "mfma", 304),
    )
}

_pretended: list[Target] = []


def pretend(target: Target) -> None:
    """From here on all devices are of this target: for tests that have none."""
    _pretended[:] = [target]
    target_of.cache_clear()


@functools.cache
def target_of(device: torch.device) -> Target:
    """The target of a device: its own entry, or that of the architecture before it; Hopper under the interpreter.

    The interpreter has 2 processors, so that loops over tiles take more than one turn.
    """
    if _pretended:
        return _pretended[0]
    if INTERPRETED:
        return dataclasses.replace(TARGETS["cuda:90"], processors=2)
    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip is not None:
        name = f"hip:{properties.gcnArchName.partition(':')[0]}"
        found = TARGETS.get(name, TARGETS["hip:gfx90a"])
    else:
        arch = 10 * properties.major + properties.minor
        older = [t for t in TARGETS.values() if t.backend == "cuda" and t.arch <= arch]
        found = max(older, key=lambda t: t.arch, default=TARGETS["cuda:80"])
    return dataclasses.replace(found, processors=properties.multi_processor_count)
