"""How many threads the CPU's kernels take that the calling thread runs.

Where each of a few kernels has little to do, a second thread gains nothing. But OpenMP keeps it waiting for the next kernel
for some milliseconds, in a loop: a processor is busy for nothing, and a program of small kernels takes twice its time.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
from collections.abc import Callable, Iterable, Sequence

# Multiply-adds below which two threads need as long for a product as one (measured: 64 x 64 x 64 takes 7 us either way).
SMALL_PRODUCT = 1 << 18
# Elements below which a pass over a few arrays gains next to nothing by a second thread (measured: Adam on 13,300 numbers
# takes 12.9 us with one and 11.5 with two).
SMALL_ARRAY = 1 << 14


class OneThread:
    """While it is entered, kernels that this Python thread calls compute in it alone; others keep theirs.

    OpenMP and MKL are told, which takes 0.8 us. Nothing happens where torch has others.

    >>> from core.threads import OneThread
    >>> with OneThread():
    ...     y = nd.dot(nd.ones((2, 3)), nd.ones((3, 2)))
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        known = _functions()
        if known is not None:
            count, set_count, set_products = known
            self._before = count(), set_products(1)
            set_count(1)

    def __exit__(self, *_: object) -> None:
        known = _functions()
        if known is not None:
            _, set_count, set_products = known
            threads, products = self._before
            set_count(threads)
            set_products(products)


class Choice:
    """The threads of a network whose operators are called from Python one by one, each of which takes its time there.

    chosen: to be entered for a pass: one thread where operators have little to do, on average, all where they have more
    and until a pass was `watching` them.
    """

    def __init__(self) -> None:
        self.chosen: contextlib.AbstractContextManager = contextlib.nullcontext()
        self._work: list[float] | None = []

    def watching(self, then: Callable | None) -> Callable | None:
        """What is to see the node, the inputs and the outputs of every operator of a pass, and tells `then` of them."""
        if self._work is None:
            return then
        self._work.clear()

        def see(node: object, inputs: Sequence, outputs: Sequence) -> None:
            self._work.append(work([array.shape for array in (*inputs, *outputs)]))
            if then is not None:
                then(node, inputs, outputs)

        return see

    def settle(self) -> None:
        """Chooses by what was seen, after a whole pass."""
        if self._work is not None:
            if sum(self._work) <= SMALL_PRODUCT * len(self._work):
                self.chosen = OneThread()
            self._work = None


def work(shapes: Iterable[Sequence[int]]) -> float:
    """About how much an operator computes, by the shapes of its inputs and outputs: the multiply-adds of a product.

    A product of (m, k) and (k, n) has m k n of them, the root of its three sizes multiplied.

    >>> from core.threads import work
    >>> work([(2, 3), (3, 5), (2, 5)])
    30.0
    """
    return math.sqrt(math.prod(sorted(map(math.prod, shapes))[-3:]))


@functools.cache
def _functions() -> tuple | None:
    """OpenMP's count of threads, what sets it, and what sets MKL's: those that torch calls; None where it has no such.

    They keep the interpreter's lock, which takes longer to let go than they take.
    """
    try:
        library = ctypes.PyDLL("libtorch_cpu.so")  # which is loaded already
        return library.omp_get_max_threads, library.omp_set_num_threads, library.MKL_Set_Num_Threads_Local
    except (OSError, AttributeError):
        return None
