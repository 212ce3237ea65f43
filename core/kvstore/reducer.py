"""Sums gradients over processes while the backward pass still computes others."""

from __future__ import annotations

from core.kernels import communication

BUCKET_BYTES = 4 << 20


class Bucket:
    """Gradients that travel together.

    leaves: the marked arrays whose gradients they are. flat: one tensor that holds all of them, None where they lie
    apart.
    """

    def __init__(self, leaves: list, flat=None):
        self.leaves, self._flat, self._sums = leaves, flat, None

    def tensors(self) -> list:
        """What holds the gradients."""
        return [leaf.grad._data for leaf in self.leaves] if self._flat is None else [self._flat]

    def versions(self) -> list[int]:
        """Numbers that change when something is written to the gradients."""
        return [tensor._version for tensor in self.tensors()]

    def send(self) -> list:
        """Begins to sum copies of the gradients; what to wait for."""
        tensors = self.tensors()
        if self._sums is None or any(s.shape != t.shape for s, t in zip(self._sums, tensors)):
            self._sums = [tensor.clone() for tensor in tensors]
        else:
            for copy, tensor in zip(self._sums, tensors):
                copy.copy_(tensor)
        return [communication.all_reduce(copy) for copy in self._sums]

    def take(self) -> None:
        """The gradients become the sums of the copies that were sent last."""
        for tensor, copy in zip(self.tensors(), self._sums):
            tensor.copy_(copy)


class Reducer:
    """The hook (`core.autograd.Leaf.hook`) of arrays whose gradients are to be summed over processes.

    Copies of buckets leave in their order, which is the same in all processes, as soon as all their gradients are
    there; the last ones to be computed come last. `finish`, at the end of the pass, waits for them. The gradients
    themselves stay those of this process until `complete`, before the update, puts the sums in their place. There it
    also sums what no pass reached, and what was written to since (clipped gradients).
    """

    def __init__(self, buckets: list[Bucket]):
        self._buckets = buckets
        self._place = {id(leaf): i for i, bucket in enumerate(buckets) for leaf in bucket.leaves}
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
        self._next = 0  # how many buckets have been sent in this pass
        self._versions: list[list[int]] = []

    def ready(self, leaf) -> None:
        """The gradient of an array is there."""
        self._missing[self._place[id(leaf)]] -= 1
        while self._next < len(self._buckets) and not self._missing[self._next]:
            self._pending += self._buckets[self._next].send()
            self._next += 1

    def finish(self) -> None:
        """The pass is over: waits for the sums that are under way."""
        for pending in self._pending:
            pending.wait()
        self._pending = []
        self._versions = [bucket.versions() for bucket in self._buckets[: self._next]]

    # ------------------------------------------------------------------ before the update

    def complete(self) -> None:
        """All gradients are sums from here on."""
        sent = [
            k < len(self._versions) and bucket.versions() == self._versions[k] for k, bucket in enumerate(self._buckets)
        ]
        for bucket, there in zip(self._buckets, sent):
            if not there:
                self._pending += [communication.all_reduce(tensor) for tensor in bucket.tensors()]
        for pending in self._pending:
            pending.wait()
        for bucket, there in zip(self._buckets, sent):
            if there:
                bucket.take()
        self._pending = []
        self.begin()


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
