"""glibc's heap: freed memory is kept for the next arrays, and given back where it is in the way.

Of other C libraries nothing is asked: they have policies of their own.
"""

from __future__ import annotations

import ctypes
import resource
import sys


class _Figures(ctypes.Structure):
    """`struct mallinfo2`: uordblks are bytes in use of the heap, hblkhd those of blocks with pages of their own."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


_WORTH_TRIMMING = 1 << 30  # bytes


def keep_freed_memory() -> None:
    """Tells the heap to keep freed blocks in the process instead of returning them to the system.

    A training step frees and takes the same large blocks over and over; every block that malloc maps
    anew costs a page fault for each 4 KiB. Measured: 20 % of a small CPU training step. The largest blocks go back,
    for small ones that come to lie in their place would keep them whole: a program that loaded one VGG after another
    held 6 GB.
    """
    m_trim_threshold, m_mmap_threshold = -1, -3
    set_option = _function("mallopt")
    # Before version 2.35 glibc refuses blocks of more than 32 MiB.
    if set_option and any(set_option(m_mmap_threshold, 1 << bits) for bits in (27, 25)):
        set_option(m_trim_threshold, (1 << 31) - 1)


def trim() -> None:
    """Gives all freed memory that is kept back to the system."""
    if give_back := _function("malloc_trim"):
        give_back(0)


def settle() -> None:
    """`trim` where more than a gigabyte is kept. Networks call it when they begin.

    Gaps that the blocks of one network leave do not fit those of the next: a program that goes through a model zoo would
    hold several times what any of its networks needs.
    """
    tell = _function("mallinfo2", _Figures)
    if not tell:
        return
    figures, (_, every, shared) = tell(), _pages()
    own = (every - shared) * resource.getpagesize()  # without files and memory of several processes
    # What is free of the heap counts what went back to the system already, and what is in memory what is not of the heap.
    if min(figures.fordblks, own - figures.uordblks - figures.hblkhd) > _WORTH_TRIMMING:
        trim()


def resident() -> int:
    """Bytes of this process in memory; where the system does not tell, its largest size so far."""
    try:
        return _pages()[1] * resource.getpagesize()
    except FileNotFoundError:  # not Linux; in bytes on macOS
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _pages() -> list[int]:
    """How many pages the process has, how many of them are in memory, and how many of these others may have as well."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return [int(n) for n in file.read().split()[:3]]


def _function(name: str, result: type = ctypes.c_int):
    """A function of glibc; None where the C library is another one."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None
    function.restype = result
    return function
