"""Which box of the truth an anchor belongs to: (B, N) indices in 0 ... M - 1, -1 for none, from overlaps (B, N, M)."""

from gluon import nn
from gluon.block import HybridBlock


class CompositeMatcher(HybridBlock):
    """The match of the first of `matchers` that has one."""

    def __init__(self, matchers):
        super().__init__()
        if not matchers:
            raise AssertionError("CompositeMatcher takes at least one matcher")
        self._matchers = nn.HybridSequential()
        self._matchers.add(*matchers)

    def hybrid_forward(self, F, x):
        result, *others = [matcher(x) for matcher in self._matchers]
        for other in others:
            result = F.where(result > -0.5, result, other)
        return result


class BipartiteMatcher(HybridBlock):
    """Greedy pairs, the best first, and anchors that overlap a box as much as its best anchor does.

    threshold: the least overlap of pairs. is_ascend: the smallest number is the best. eps: by how much overlaps that
    count as equal differ. share_max: an anchor is matched when it is the best of any box, else when it is the best of
    the box that it overlaps most.
    """

    def __init__(self, threshold=1e-12, is_ascend=False, eps=1e-12, share_max=True):
        super().__init__()
        self._threshold, self._is_ascend, self._eps, self._share_max = threshold, is_ascend, eps, share_max

    def hybrid_forward(self, F, x):
        match, _ = F.contrib.bipartite_matching(x, threshold=self._threshold, is_ascend=self._is_ascend)
        box = F.argmax(x, axis=-1, keepdims=True)
        best = F.max(x, axis=-2, keepdims=True)
        if self._share_max:
            is_best = F.sum(F.broadcast_greater_equal(x + self._eps, best), axis=-1, keepdims=True)
        else:
            own = F.pick(x, box, axis=-1, keepdims=True)
            is_best = F.pick(F.broadcast_greater_equal(own + self._eps, best), box, axis=-1, keepdims=True)
        shared = F.where(is_best > 0, box, F.ones_like(box) * -1)
        return F.where(match < 0, F.squeeze(shared, axis=-1), match)


class MaximumMatcher(HybridBlock):
    """The box that an anchor overlaps most, by `threshold` at least."""

    def __init__(self, threshold):
        super().__init__()
        self._threshold = threshold

    def hybrid_forward(self, F, x):
        box = F.argmax(x, axis=-1)
        return F.where(F.pick(x, box, axis=-1) >= self._threshold, box, F.ones_like(box) * -1)
