"""Numbers that differ from call to call, as a recording sees them."""

import pytest

from core.kernels.triton._recording import Recording


@pytest.fixture
def watch():
    return Recording(["key"], [13], lambda name, value: True)


def test_arithmetic_is_followed(watch):
    (key,) = watch.values
    found = 2 * key - 1
    assert (found.value, found.source, watch.by_value) == (25, "((2 * key) - 1)", False)


def test_what_is_not_followed_takes_the_value(watch):
    """The call then holds for this number alone."""
    (key,) = watch.values
    assert (key ^ 6, key << 2, 3 | key, key % 4, 40 // key, key & 5) == (11, 52, 15, 1, 3, 5)
    assert watch.by_value
