"""Sums gradients over processes while the backward pass still computes others."""

from __future__ import annotations

from core.kernels import communication

BUCKET_BYTES = 4 << 20


class Bucket:
    """Gradients that travel together.

    leaves: the marked arrays whose gradients they are. flat: one tensor that holds all of them, None where they lie apart.
    """

    def __init__(self, leaves: list, flat=None):
        self.leaves, self.flat = leaves, flat


class Reducer:
    """The hook (`core.autograd.Leaf.hook`) of arrays whose gradients are to be sums over processes.

    Buckets leave in their order, which is the same in all processes, as soon as all their gradients are there; the
    last ones to be computed come last. `finish`, at the end of the pass, waits for them. What a pass did not reach
    follows in `complete`, before the update.
    """

    def __init__(self, buckets: list[Bucket]):
        self._buckets = buckets
        self._place = {id(leaf): i for i, bucket in enumerate(buckets) for leaf in bucket.leaves}
        self._summed: set[int] = set()  # ids of the leaves whose gradients are sums already
        self._pending: list = []
        self.begin()
        for bucket in buckets:
            for leaf in bucket.leaves:
                # A gradient that several passes add up is summed once, before the update.
                leaf.hook = self if leaf.req == "write" else None

    def detach(self) -> None:
        """Lets go of the arrays."""
        for bucket in self._buckets:
            for leaf in bucket.leaves:
                if leaf.hook is self:
                    leaf.hook = None

    # ------------------------------------------------------------------ during the backward pass

    def begin(self) -> None:
        """A backward pass begins."""
        self._missing = [len(bucket.leaves) for bucket in self._buckets]
        self._next = 0

    def ready(self, leaf) -> None:
        """The gradient of an array is there."""
        self._summed.discard(id(leaf))
        self._missing[self._place[id(leaf)]] -= 1
        while self._next < len(self._buckets) and not self._missing[self._next]:
            self._send(self._buckets[self._next])
            self._next += 1

    def finish(self) -> None:
        """The pass is over: waits for the sums that are under way."""
        for pending in self._pending:
            pending.wait()
        self._pending = []

    # ------------------------------------------------------------------ before the update

    def complete(self) -> None:
        """All gradients are sums from here on."""
        for bucket in self._buckets:
            left = [leaf for leaf in bucket.leaves if id(leaf) not in self._summed]
            if len(left) == len(bucket.leaves):
                self._send(bucket)
            else:
                self._send(Bucket(left))
        self.finish()
        self._summed.clear()

    def _send(self, bucket: Bucket) -> None:
        tensors = [leaf.grad._data for leaf in bucket.leaves] if bucket.flat is None else [bucket.flat]
        self._pending += [communication.all_reduce(tensor) for tensor in tensors]
        self._summed.update(map(id, bucket.leaves))


def cut(rows: list[tuple], flat=None) -> list[Bucket]:
    """Buckets of about `BUCKET_BYTES`, last rows first.

    rows: (leaf, gradient tensor) in the order of the forward pass. flat: the tensor that holds all gradients, in this
    order, where there is one.
    """
    buckets, part, size = [], [], 0
    for leaf, tensor in reversed(rows):
        part.append((leaf, tensor))
        size += tensor.numel() * tensor.element_size()
        if size >= BUCKET_BYTES:
            buckets.append(_bucket(part, flat))
            part, size = [], 0
    return buckets + ([_bucket(part, flat)] if part else [])


def _bucket(part: list[tuple], flat) -> Bucket:
    leaves = [leaf for leaf, _ in part]
    if flat is None:
        return Bucket(leaves)
    first, last = part[-1][1], part[0][1]
    begin, end = first.storage_offset(), last.storage_offset() + last.numel()
    return Bucket(leaves, flat[begin:end])
