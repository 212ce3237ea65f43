"""Sums gradients over processes while the backward pass still computes others."""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Callable, Sequence

import numpy as np

from core import ndarray as nd
from core.kernels import communication
from core.kvstore.compression import TwoBit
from core.kvstore.rows import sum_rows
from core.ndarray import NDArray
from core.tape import Leaf

BUCKET_BYTES = 4 << 20
# The first bucket is small: its sum is on its way before much of the backward pass is over.
FIRST_BYTES = 1 << 20


@dataclasses.dataclass
class Row:
    """A parameter, as the reducer sees it: its marked array, its gradient, and whether a backward pass wrote that."""

    leaf: Leaf
    gradient: NDArray
    fresh: bool


@dataclasses.dataclass
class Agreed:
    """What the processes agreed on in a step."""

    fresh: list[bool]  # whether a backward pass of any process wrote the gradient, by parameter
    stale: list[bool]  # whether any process that takes part has none
    ignores: bool  # whether stale gradients are to be ignored
    count: float  # by what the sums are divided; 0 where `update` says it later
    active: bool  # whether any process has a batch


class Bucket:
    """Gradients of one dtype that travel together, as one flat array.

    leaves: the marked arrays whose gradients they are. flat: the tensor that holds all of them; None where they lie
    apart.
    """

    def __init__(self, leaves: list[Leaf], flat=None, group=None, compression: TwoBit | None = None):
        self.leaves, self._flat, self._group, self._compression = leaves, flat, group, compression
        self._sent = None  # what becomes the sum: a copy, or where the gradients lie flat themselves
        self._parts = None  # of all processes, where they are compressed
        self._rest = None  # what compression keeps back

    def tensors(self) -> list:
        """What holds the gradients."""
        return [leaf.grad._data for leaf in self.leaves] if self._flat is None else [self._flat]

    def size(self) -> str:
        """What has to be the same in all processes."""
        return f"{self._dtype} {[tensor.numel() for tensor in self.tensors()]}"

    def versions(self) -> list[int]:
        """Numbers that change when something is written to the gradients."""
        return [tensor._version for tensor in self.tensors()]

    def send(self, copied: bool = True):
        """Begins to sum a copy of the gradients, or where they lie flat themselves; what to wait for.

        Bits are a copy.
        """
        flat = None if copied and self._compression is None else self._flat
        self._sent = communication.joined(self.tensors()) if flat is None else flat
        if self._compression is None:
            return communication.all_reduce(self._sent, group=self._group)
        if self._rest is None:
            self._rest = self._sent.new_zeros(self._sent.shape)
        packed = self._compression.pack(self._sent, self._rest)
        self._parts, pending = communication.begin_all_gather(packed, "compressed gradients", self._group)
        return pending

    def take(self) -> None:
        """The gradients become the sums of what was sent last."""
        if self._sent is None:
            return
        if self._compression is not None:
            self._compression.sum(self._sent, self._rest, self._parts, communication.rank())
        if self._sent is not self._flat:
            communication.divide(self._sent, self.tensors())
        self._sent = self._parts = None

    @property
    def _dtype(self):
        return self.leaves[0].grad.dtype


class Reducer:
    """The hook (`core.autograd.Leaf.hook`) of arrays whose gradients are to be summed over processes.

    Copies of buckets leave during the backward pass, as soon as all their gradients are there, in the order in which
    gradients arrived at process 0 before the first step. The gradients themselves stay those of this process until
    `complete`, before the update. There the processes agree on what else travels: what no pass reached, and what any
    of them wrote to since (clipped gradients). Of several passes between two steps the last one sends: which that is,
    the step before has shown.
    """

    def __init__(self, compression: TwoBit | None = None):
        self._group, self._compression = None, compression
        self._buckets: list[Bucket] = []
        self._source: list = []  # the marked arrays and the arenas for which the buckets were made
        self._bucket_of: dict[int, int] = {}
        self._arrivals: list[int] = []  # ids of arrays, as their gradients came in the last pass
        self._expected = 0  # passes between two steps
        self._reset()

    def watch(self, leaf: Leaf) -> None:
        """From now on looks when the gradient of an array arrives. One that several passes add up is sent at the end."""
        if leaf.req == "write":
            leaf.hook = self

    # ------------------------------------------------------------------ during the backward pass

    def begin(self) -> None:
        """A backward pass begins."""
        self._passes += 1
        self._arrivals = []
        self._missing = [len(bucket.leaves) for bucket in self._buckets]

    def ready(self, leaf: Leaf) -> None:
        """The gradient of an array is there."""
        self._arrivals.append(id(leaf))
        if self._passes != self._expected or id(leaf) not in self._bucket_of:
            return
        self._missing[self._bucket_of[id(leaf)]] -= 1
        while len(self._pending) < len(self._buckets) and not self._missing[len(self._pending)]:
            self._send()

    def finish(self) -> None:
        """The pass is over."""
        if self._passes == self._expected:
            self._versions = [bucket.versions() for bucket in self._buckets[: len(self._pending)]]

    # ------------------------------------------------------------------ before the update

    def complete(
        self,
        what: str,
        rows: Sequence[Row],
        arenas: list,
        build: Callable,
        *,
        count: float,
        ignores: bool,
        active: bool = True,
    ) -> Agreed:
        """All gradients that are fresh anywhere are sums from here on.

        arenas: those that hold the dense gradients now, if any does. build: makes them, of the positions of dense rows
        in order of arrival; gives none where gradients lie apart. count: what the sums are divided by; MXNetError where
        it differs. active: False where this process has no batch any more: it takes part with zeros.
        """
        source = [row.leaf for row in rows] + arenas
        changed = len(source) != len(self._source) or any(a is not b for a, b in zip(source, self._source))
        if not active:
            rows = [dataclasses.replace(row, fresh=False) for row in rows]
        agreed, sent, dirty, changed = self._agree(what, rows, count, ignores, active, changed)
        if not agreed.active or (any(agreed.stale) and not agreed.ignores):
            return agreed
        kept = _without_stale(rows, agreed.fresh)
        while len(self._pending) < sent:
            self._send()
        _wait(self._pending)
        if changed:
            self._rebuild(rows, build)
            again = self._buckets
        else:
            again = [bucket for k, bucket in enumerate(self._buckets) if k >= sent or dirty[k]]
        _wait([bucket.send(copied=False) for bucket in again])
        for bucket in self._buckets:
            bucket.take()
        for row in rows:
            if row.gradient.stype != "default":
                sum_rows(row.gradient, self._group).copyto(row.gradient)
        for gradient, own in kept:
            own.copyto(gradient)
        self._expected = self._passes
        self._reset()
        return agreed

    def _agree(self, what, rows, count, ignores, active, changed) -> tuple[Agreed, int, list[bool], bool]:
        """One small message: what all processes have to say about this step."""
        m, here = len(self._buckets), len(self._pending)
        same = [versions == b.versions() for versions, b in zip(self._versions, self._buckets)]
        # What a process sent whose batches are over by now belongs to no step: zeros take its place.
        dirty = [k < here and not (active and k < len(same) and same[k]) for k in range(m)]
        flags = [active, changed, ignores and active, *[row.fresh for row in rows]]
        flags += [active and not row.fresh for row in rows] + [k < here for k in range(m)] + dirty
        number = struct.pack("<d", count)
        numbers = number + bytes(255 - byte for byte in number) if active else bytes(16)
        answer = communication.exchange(what, numbers + np.packbits(flags).tobytes())
        if any(answer[k] + answer[8 + k] != 255 for k in range(8)) and answer[:16] != bytes(16):
            given = [f"{count:g}" if active else "no batch"]
            communication.same(
                "what step() divides by", given, "Give the size of the batches of all processes together"
            )
        n = len(rows)
        found = np.unpackbits(np.frombuffer(answer[16:], np.uint8), count=len(flags)).astype(bool).tolist()
        (any_active, changed, _), rest = found[:3], found[3:]
        agreed = Agreed(rest[:n], rest[n : 2 * n], found[2], struct.unpack("<d", answer[:8])[0], any_active)
        return agreed, sum(rest[2 * n : 2 * n + m]), rest[2 * n + m :], changed

    def _send(self) -> None:
        self._pending.append(self._buckets[len(self._pending)].send())

    def _reset(self) -> None:
        """Nothing is on its way."""
        self._passes, self._pending, self._versions = 0, [], []
        self._missing: list[int] = []

    def _rebuild(self, rows: Sequence[Row], build: Callable) -> None:
        """Buckets in the order in which gradients arrived at process 0; what did not arrive comes last."""
        if self._group is None:
            self._group = communication.new_group("the gradients of a trainer")
        for leaf in self._source:
            if isinstance(leaf, Leaf) and leaf.hook is self:
                leaf.hook = None
        dense = [k for k, row in enumerate(rows) if row.gradient.stype == "default"]
        came = {key: position for position, key in enumerate(self._arrivals)}
        order = sorted(dense, key=lambda k: came.get(id(rows[k].leaf), math.inf))
        order = communication.broadcast_integers(order, "the order of gradients")
        arenas = build(order)
        if arenas:
            flats = [arena.gradients() for arena in arenas]
        else:
            flats = [
                ([(rows[k].leaf, rows[k].gradient._data) for k in group], None) for group in _by_dtype(order, rows)
            ]
        position = {id(rows[k].leaf): p for p, k in enumerate(order)}
        self._buckets = [b for flat in flats for b in cut(*flat, self._group, self._compression)]
        self._buckets.sort(key=lambda bucket: position[id(bucket.leaves[-1])])
        self._bucket_of = {id(leaf): k for k, bucket in enumerate(self._buckets) for leaf in bucket.leaves}
        sizes = [bucket.size() for bucket in self._buckets]
        communication.same("sizes of gradients", sizes, "Parameters change in all processes alike")
        self._source = [row.leaf for row in rows] + arenas
        for k in dense:
            self.watch(rows[k].leaf)


def cut(rows: list[tuple], flat=None, group=None, compression: TwoBit | None = None) -> list[Bucket]:
    """Buckets of about `BUCKET_BYTES`, the first one smaller.

    rows: (leaf, gradient tensor) in order of arrival. flat: the tensor that holds all gradients, in this order, where
    there is one.
    """
    buckets, part, size = [], [], 0
    for leaf, tensor in rows:
        part.append((leaf, tensor))
        size += tensor.numel() * tensor.element_size()
        if size >= (BUCKET_BYTES if buckets else FIRST_BYTES):
            buckets.append(_bucket(part, flat, group, compression))
            part, size = [], 0
    return buckets + ([_bucket(part, flat, group, compression)] if part else [])


def _bucket(part: list[tuple], flat, group, compression) -> Bucket:
    leaves = [leaf for leaf, _ in part]
    if flat is not None:
        first, last = part[0][1], part[-1][1]
        flat = flat[first.storage_offset() : last.storage_offset() + last.numel()]
    return Bucket(leaves, flat, group, compression)


def _wait(operations: list) -> None:
    for operation in operations:
        operation.wait()


def _by_dtype(order: Sequence[int], rows: Sequence[Row]) -> list[list[int]]:
    groups: dict = {}
    for k in order:
        groups.setdefault(rows[k].gradient.dtype, []).append(k)
    return list(groups.values())


def _without_stale(rows: Sequence[Row], fresh: Sequence[bool]) -> list[tuple[NDArray, NDArray]]:
    """Gradients that no pass wrote here count as zero; those that none wrote anywhere are given, with their values."""
    kept = []
    for row, anywhere in zip(rows, fresh):
        if not row.fresh:
            if not anywhere:
                kept.append((row.gradient, row.gradient.copy()))
            zero = nd.zeros(row.gradient.shape, row.gradient.context, row.gradient.dtype, stype=row.gradient.stype)
            zero.copyto(row.gradient)
    return kept
