"""How operands lie in memory: axes that all of them step through evenly are one axis to a kernel."""

from __future__ import annotations

from collections.abc import Sequence


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
