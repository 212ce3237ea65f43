"""The random state: each context has a seed and a counter, each draw takes one key.

A key names everything that a sampler draws (`core.kernels.random` is counter-based), so the whole state
is two integers: easy to save, and a resumed run continues with the same numbers.
"""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Iterable, Iterator

from core.base import MXNetError
from core.context import Context, current_context

_MASK = (1 << 64) - 1


class _Stream:
    __slots__ = ("counter", "seed")

    def __init__(self, seed: int):
        self.seed, self.counter = seed, 0


_default_seed = int.from_bytes(os.urandom(4), "little")
_streams: dict[tuple[str, int], _Stream] = {}
_replay: Iterator[int] | None = None


def seed(seed_state: int, ctx: Context | str = "all", device: Context | None = None) -> None:
    """Starts every stream anew (or only that of `ctx`, MXNet 2: `device`) so that samplers, dropout and shuffles repeat.

    ctx: a context, or a device type, whose first device is meant.

    >>> mx.random.seed(7)
    >>> a = nd.random.uniform(shape=2)
    >>> mx.random.seed(7)
    >>> bool((a == nd.random.uniform(shape=2)).min().asscalar())
    True
    """
    ctx = device or ctx
    try:
        seed_state = operator.index(seed_state)
    except TypeError:
        raise ValueError(f"a seed is an int, given {seed_state!r}") from None
    if ctx == "all":
        global _default_seed
        _default_seed = seed_state
        _streams.clear()
    else:
        ctx = Context(ctx)
        _streams[ctx.device_type, ctx.device_id] = _Stream(seed_state)


def next_key(ctx: Context | None = None) -> int:
    """A fresh key in [0, 2^63) of the stream of `ctx` (default: the current context)."""
    if _replay is not None:
        if (key := next(_replay, None)) is None:
            raise MXNetError(
                "what is differentiated again drew numbers in a loop or branch of a hybridized block, which are not kept: "
                "call hybridize(False) for gradients of higher order through dropout and samplers in foreach, while_loop, cond"
            )
        return key
    ctx = ctx or current_context()
    device = ctx.device_type, ctx.device_id
    stream = _streams.get(device)
    if stream is None:
        stream = _streams[device] = _Stream(_default_seed)
    stream.counter += 1
    return _mix(_mix((stream.seed * 2 + (ctx.device_type == "gpu")) & _MASK) + ctx.device_id + stream.counter) >> 1


@contextlib.contextmanager
def replayed(keys: Iterable[int]) -> Iterator[None]:
    """Inside the block the next keys are `keys`: what was drawn before is drawn again."""
    global _replay
    before, _replay = _replay, iter(keys)
    try:
        yield
    finally:
        _replay = before


def get_state() -> dict:
    """The whole random state as plain numbers, for checkpoints.

    >>> state = mx.random.get_state()
    >>> a = nd.random.uniform(shape=2)
    >>> mx.random.set_state(state)
    >>> bool((a == nd.random.uniform(shape=2)).min().asscalar())
    True
    """
    streams = {f"{kind}({index})": [s.seed, s.counter] for (kind, index), s in sorted(_streams.items())}
    return {"seed": _default_seed, "streams": streams}


def set_state(state: dict) -> None:
    """Puts back what `get_state` gave.

    >>> state = mx.random.get_state()
    >>> mx.random.set_state(state)
    """
    global _default_seed
    _default_seed = int(state["seed"])
    _streams.clear()
    for device, (start, counter) in state["streams"].items():
        kind, _, index = device.rstrip(")").partition("(")
        stream = _streams[kind, int(index)] = _Stream(int(start))
        stream.counter = int(counter)


def _mix(x: int) -> int:
    """The finaliser of splitmix64 (Steele, Lea and Flood, 2014): neighbouring numbers become unrelated ones."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)
