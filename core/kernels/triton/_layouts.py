"""How operands lie in memory: axes that all of them step through evenly are one axis to a kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence

from core.kernels.triton._counting import WIDE


def merged(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Lengths of the merged axes of `shape`, one at least, and the strides of each operand along them."""
    sizes, found = [1], [[0] for _ in strides]
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        if sizes != [1] and all(one[-1] == w[axis] * n for one, w in zip(found, strides, strict=True)):
            sizes[-1] *= n
            for one, w in zip(found, strides, strict=True):
                one[-1] = w[axis]
        elif sizes == [1]:
            sizes, found = [n], [[w[axis]] for w in strides]
        else:
            sizes.append(n)
            for one, w in zip(found, strides, strict=True):
                one.append(w[axis])
    return sizes, found


def far(count: int, sizes: Sequence[int], *strides: Sequence[int]) -> bool:
    """Whether elements, or the places of one operand along merged axes, are counted in 64 bits."""
    reach = max(sum((n - 1) * abs(s) for n, s in zip(sizes, one, strict=True)) for one in strides)
    return max(count, reach) >= WIDE


def row_major(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether merged axes lie one behind the other, so that an element's number is its place."""
    return (len(sizes) == 1 and strides[0] in (0, 1)) or strides == [
        math.prod(sizes[k:]) for k in range(1, len(sizes) + 1)
    ]
