"""The view that the reductions take of a strided tensor, against torch's own indexing."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.triton._fold import fold
from core.kernels.triton._stages import tiling


@st.composite
def strided(draw):
    """A tensor of up to five axes: permuted, sliced with steps, broadcast; and some of its axes."""
    sizes = draw(st.lists(st.integers(0, 4), max_size=5))
    x = torch.arange(math.prod(sizes)).view(sizes)
    x = x.permute(draw(st.permutations(range(x.ndim))))
    for axis in range(x.ndim):
        if draw(st.booleans()):
            x = x[(slice(None),) * axis + (slice(draw(st.integers(0, 1)), None, draw(st.integers(1, 2))),)]
        if x.shape[axis] == 1 and draw(st.booleans()):
            x = x.expand([3 if a == axis else n for a, n in enumerate(x.shape)])
    return x, tuple(axis for axis in range(x.ndim) if draw(st.booleans()))


def places(count, n0, s1, s0):
    return [(i // n0) * s1 + (i % n0) * s0 for i in range(count)]


@settings(deadline=None, max_examples=200)
@given(strided())
def test_rows_are_the_kept_elements(sample):
    x, axes = sample
    f = fold(x, axes)
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    expected = x.permute([*kept, *axes]).reshape(
        math.prod(x.shape[a] for a in kept), math.prod(x.shape[a] for a in axes)
    )
    assert (f.kept, f.reduced) == expected.shape
    memory = f.x.as_strided((f.x.untyped_storage().nbytes() // 8,), (1,), 0)
    start = f.x.storage_offset()
    for k, row in zip(places(f.kept, f.k0, f.ks1, f.ks0), expected.tolist()):
        ours = [memory[start + k + r].item() for r in places(f.reduced, f.r0, f.rs1, f.rs0)]
        # A single axis keeps its order, which arguments of extrema and scans need.
        assert ours == row if len(axes) < 2 else sorted(ours) == sorted(row)


def test_common_layouts_are_not_copied():
    x = torch.empty(4, 6, 5, 3)
    last = x.contiguous(memory_format=torch.channels_last)
    for y in (x, last, x[:, ::2]):
        for axes in ((0,), (1,), (2, 3), (0, 2, 3), (0, 1, 2, 3), (1, 2)):
            assert fold(y, axes).x is y


@settings(deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 2**31), st.booleans())
def test_tiles_cover_the_reduced_side(kept, reduced, contiguous):
    x = torch.empty((kept, reduced) if contiguous else (reduced, kept), dtype=torch.int8, device="meta")
    t = tiling(fold(x, (1,) if contiguous else (0,)))
    assert t.splits >= 1 and t.splits * t.chunk >= reduced
    assert (t.splits - 1) * t.chunk <= max(reduced - 1, 0)
    assert t.BK & (t.BK - 1) == t.BR & (t.BR - 1) == 0 and t.BK * t.BR <= 4096
