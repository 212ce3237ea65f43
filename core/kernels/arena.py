"""Places in one memory for what is needed at different times, common to both backends."""

from __future__ import annotations

import bisect
from collections.abc import Iterable


def placed(lives: Iterable[tuple[int, int, int]], align: int, start: int = 0) -> tuple[list[int], int]:
    """Where things begin, in bytes from the memory's begin, and the bytes of all; the lowest place that is free.

    lives: of each thing the step that makes it, the last one that needs it, and its bytes, by first steps; no two things
    that one step needs lie upon each other. Places are multiples of `align`, as is `start`, the first.
    """
    places: list[int] = []
    taken: list[tuple[int, int, int]] = []  # where it begins and ends, and the last step that needs it
    total = start
    for first, last, nbytes in lives:
        taken = [thing for thing in taken if thing[2] >= first]
        place, length = start, -(-nbytes // align) * align
        for begin, end, _ in taken:
            if place + length <= begin:
                break
            place = max(place, end)
        bisect.insort(taken, (place, place + length, last))
        places.append(place)
        total = max(total, place + length)
    return places, total
