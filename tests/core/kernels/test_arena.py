"""Places in one memory: nothing lies upon what is needed at the same time, and little is wasted."""

import itertools
import random

from core.kernels.arena import placed


def test_what_is_needed_at_once_lies_apart():
    draw = random.Random(1)
    for _ in range(50):
        firsts = sorted(draw.randrange(30) for _ in range(40))
        lives = [(first, first + draw.randrange(8), draw.randrange(0, 2000)) for first in firsts]
        places, nbytes = placed(lives, 64, 128)
        assert all(place % 64 == 0 and place >= 128 for place in places)
        assert all(place + life[2] <= nbytes for place, life in zip(places, lives, strict=True))
        for step in range(40):
            there = sorted((p, p + n) for p, (a, b, n) in zip(places, lives, strict=True) if a <= step <= b and n)
            assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(there))


def test_memory_is_taken_again():
    assert placed([(0, 1, 100), (1, 2, 100), (2, 3, 100), (3, 4, 300)], 64) == ([0, 128, 0, 128], 448)
    assert placed([], 64, 192) == ([], 192)
