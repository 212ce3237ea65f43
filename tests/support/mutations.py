"""Damage for property tests: small changes of a valid file, and the guard that no loader may break."""

import contextlib
import json
import os
import random
import resource
import time
import zlib
from collections.abc import Callable, Iterator

from hypothesis import HealthCheck, Phase, given, settings
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


SECONDS = 2  # of the processor, for one file
COUNT = int(os.environ.get("MXTEST_MUTATIONS", "150"))
VARIANTS = int(os.environ.get("MXTEST_MUTATIONS_EACH", "0"))
ODD = (
    -1, 0, 1, 2, 7, 1 << 31, 10**12, 10**30, 1.5, 1e308, float("nan"), float("inf"), True, None, "", "(", "(1, 2)", "[0]",
    "None", "relu", "x" * 99, "(" * 5000, "-" * 5000 + "1", "9" * 5000, "(1000000000, 1000000000)",
    "__import__('os').system('true')", [], {}, [[0, 0, 0]], [1, 2],
)  # fmt: skip
CHANGES = st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(ODD), st.booleans()), min_size=1, max_size=3)


def attack(strategy, load: Callable) -> None:
    """Runs a loader on many damaged files, with a limit to the memory and to the time that each can take.

    MXTEST_MUTATIONS says how many (default 150), MXTEST_MUTATIONS_EACH how many times each file is damaged further
    (default 0; drawing files takes longer than loading them); a line of what came of them is added to the file that
    MXTEST_MUTATIONS_LOG names.
    """
    tried: list[bool] = []
    phases = [Phase.explicit, Phase.generate, *([Phase.shrink] if COUNT <= 150 else [])]

    @settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck), database=None, phases=phases)
    @given(strategy)
    def run(data):
        for variant in (data, *_damaged_further(data)):
            tried.append(False)
            start = time.process_time()  # other processes are not the file's fault
            tried[-1] = survives(lambda held=variant: load(held))
            assert time.process_time() - start < SECONDS, variant

    with bounded_memory():
        run()
    assert len(tried) >= min(COUNT, 100)
    if "MXTEST_MUTATIONS_LOG" in os.environ:
        test = os.environ["PYTEST_CURRENT_TEST"].split("::")[1].split(" ")[0]
        with open(os.environ["MXTEST_MUTATIONS_LOG"], "a") as log:
            log.write(f"{test}: {len(tried)} tried, {tried.count(False)} refused, {sum(tried)} loaded\n")


def _damaged_further(data) -> Iterator[bytes]:
    if not isinstance(data, bytes):
        return
    rng = random.Random(zlib.crc32(data))
    for _ in range(VARIANTS):
        place = rng.randrange(len(data) + 1)
        word = rng.choice([*SPECIAL, bytes([rng.randrange(256)])])
        kind = rng.choice(["set", "set", "set", "insert", "remove", "cut", "double"])
        value = word if kind in ("set", "insert") else rng.randrange(1, 64)
        yield apply(data, [(kind, place, value)])


def replaced(original: str, changes) -> str:
    """A JSON text with values at some places replaced or left out."""
    value = json.loads(original)
    places = [place for place in _places(value) if place]
    for at, odd, remove in changes:
        where = value
        try:
            *way, last = places[at % len(places)]
            for key in way:
                where = where[key]
            if remove:
                del where[last]
            else:
                where[last] = odd
        except (LookupError, TypeError):
            continue  # an earlier change took this place away
    return json.dumps(value)


def _places(value, place=()):
    """All places in a JSON value."""
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from _places(part, (*place, key))


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
