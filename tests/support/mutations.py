"""Damage for property tests: small changes of a valid file, and the guard that no loader may break."""

import contextlib
import resource

from hypothesis import strategies as st

from core.base import MXNetError

SPECIAL = (
    b"\xff" * 8,
    b"\x00" * 8,
    b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x80",
    b"\x01\x00\x00\x00\x00\x00\x00\x40",
    b"\xff",
)


def mutated(original: bytes):
    """Strategy: `original` with a few bytes changed, removed, inserted, doubled or cut off."""
    places = st.integers(0, len(original))
    change = st.one_of(
        st.tuples(st.just("set"), places, st.binary(min_size=1, max_size=8) | st.sampled_from(SPECIAL)),
        st.tuples(st.just("insert"), places, st.binary(min_size=1, max_size=8) | st.sampled_from(SPECIAL)),
        st.tuples(st.just("remove"), places, st.integers(1, 16)),
        st.tuples(st.just("cut"), places, st.none()),
        st.tuples(st.just("double"), places, st.integers(1, 64)),
    )
    return st.lists(change, min_size=1, max_size=3).map(lambda changes: apply(original, changes))


def apply(data: bytes, changes) -> bytes:
    for kind, place, value in changes:
        if kind == "set":
            data = data[:place] + value + data[place + len(value) :]
        elif kind == "insert":
            data = data[:place] + value + data[place:]
        elif kind == "remove":
            data = data[:place] + data[place + value :]
        elif kind == "cut":
            data = data[:place]
        else:
            data = data[:place] + data[place : place + value] + data[place:]
    return data


@contextlib.contextmanager
def bounded_memory(headroom: int = 256 << 20):
    """Lets the process take at most `headroom` more address space, so that an oversized allocation fails at once."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + headroom, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def survives(load) -> bool:
    """Calls a loader on a damaged file: it may succeed or raise MXNetError, nothing else. Whether it succeeded."""
    try:
        load()
    except MXNetError:
        return False
    return True
