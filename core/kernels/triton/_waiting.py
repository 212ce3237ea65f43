"""Programs of one launch that wait for one another, which all have to run at the same time for that.

THREADS: what `threads_of` says.
"""

from __future__ import annotations

import triton.language as tl

from core.kernels.triton._kernel import jit


def threads_of(backend: str, warps: int) -> int:
    """Those of an AMD program, each of which has to wait for its stores before others are told; 0 where a barrier does."""
    return 64 * warps if backend == "hip" else 0


@jit
def announce(counter, THREADS: tl.constexpr):
    """Adds one to a counter, for those that wait for what this program wrote before."""
    if THREADS:
        # AMD's barrier lets waves pass whose stores are still under way, and the release below waits for those of its
        # own wave alone.
        tl.inline_asm_elementwise(
            "s_waitcnt vmcnt(0)\nv_mov_b32 $0, $1", "=v,v", [tl.arange(0, THREADS)], tl.int32, is_pure=False, pack=1
        )
    tl.debug_barrier()
    tl.atomic_add(counter, 1, sem="release")


@jit
def wait_for(counter, count, THREADS: tl.constexpr):
    """Returns when so many programs have announced; what they wrote before can be read then."""
    if THREADS:
        while tl.atomic_add(counter, 0, sem="acquire") < count:  # Triton 3.6 reads volatile memory once there
            pass
    else:
        while tl.load(counter, volatile=True) < count:
            pass
        tl.atomic_add(counter, 0, sem="acquire")
    tl.debug_barrier()
