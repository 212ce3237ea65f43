"""Extents that are expressions: algebra, what it decides for all lengths, guards, and pins."""

import math

import numpy as np
import pytest
import torch

from core import symbolic
from core.extents import Extent, Space, bounds_of, evaluated, hints, is_symbolic, length_of


@pytest.fixture
def space():
    return Space()


def values(expression, lengths):
    return evaluated(expression, lengths)


def test_expressions_agree_with_numbers_wherever_they_are_evaluated(space):
    batch, steps = space.symbol(4), space.symbol(9)

    def program(n, m):
        return (
            n * m, n + m + 1, (n * m * 12) // (n * m), (n * m * 12) // 3, (n * (m - 1)) // (m - 1), m // 2, (m + 3) // 2 * 2,
            m % 4, (7 * n) // n, 5 * m - 2 * m, n**2, -m, math.prod((n, m, 3)), sum((n, m)), (n * n - m * m) // (n + m),
        )  # fmt: skip

    found = program(batch, steps)
    for n, m in ((4, 9), (2, 2), (7, 30), (31, 5)):
        assert [values(e, {"n0": n, "n1": m}) for e in found] == list(program(n, m)), (n, m)
    assert found[2] == 12 and type(found[2]) is int and found[8] == 7
    assert not space.pinned


def test_what_holds_for_all_lengths_needs_no_guard(space):
    n, m = space.symbol(4), space.symbol(9)
    assert n != 1 and n != 0 and n >= 2 and n > 1 and n != -1 and n * m > 3 and n + m >= 4 and n - 1 > 0
    assert n * 768 == 768 * n and (n + 1) * m == m + n * m and n != n + 1 and n < n + 1
    assert n in (n, 1) and 1 not in (n, m) and not space.guards


def test_other_answers_are_guards_that_the_accepted_lengths_fulfil(space):
    n, m = space.symbol(4), space.symbol(9)
    assert n < m and n != m and not n > 5
    accepts = space.accepts()
    assert accepts(4, 9) and accepts(2, 3)
    assert not accepts(4, 4) and not accepts(6, 9) and not accepts(1, 9)
    assert list(space.guards) == ["n0 < n1", "n0 != n1", "n0 <= 5"]


def test_the_number_itself_pins_its_symbols(space):
    n, m = space.symbol(4), space.symbol(9)
    assert list(range(n)) == [0, 1, 2, 3]
    assert [s.text for s in space.pinned] == ["n0"] and __file__ in next(iter(space.pinned.values()))
    assert float(1 / (m + 0)) == 1 / 9
    assert {s.text for s in space.pinned} == {"n0", "n1"}


def test_ratios_are_rounded_as_the_program_rounds_them(space):
    n = space.symbol(3)
    scale = 1.0 / n * 0.1 - n**-0.5
    assert values(scale, {"n0": 7}) == 1.0 / 7 * 0.1 - 7**-0.5 and is_symbolic(scale)
    assert values(math.trunc(n * 1.7), {"n0": 9}) == int(9 * 1.7)
    assert not space.pinned


@pytest.mark.parametrize("part", [slice(1, None), slice(None, -1), slice(2, 7), slice(None), slice(-3, None), slice(None, None, 2),
                                  slice(None, None, -1), slice(5, 1, -2), slice(0, 100)])  # fmt: skip
def test_slices_of_open_lengths(part):
    for length in (3, 6, 9, 40):
        space = Space()
        n = space.symbol(length)
        assert values(length_of(part, n), {"n0": length}) == len(range(*part.indices(length)))
        accepts = space.accepts()
        for other in (2, 4, 8, 41):
            if accepts(other):
                lengths = {"n0": other}
                assert values(length_of(part, n), lengths) == len(range(other)[part]), (length, other)
                assert [values(v, lengths) for v in bounds_of(part, n)] == list(part.indices(other))


def test_symbolic_tensors_keep_shape_memory_and_type(space):
    n, m = space.symbol(4), space.symbol(9)
    x = symbolic.with_extents(torch.empty((4, 9, 6), device="meta"), (n, m, 6))
    y = x.reshape((-1, 6)).unsqueeze(0).permute((0, 2, 1))
    assert y.shape == (1, 6, n * m) and hints(y.shape) == (1, 6, 36) and y.dtype is torch.float32
    assert x.untyped_storage()._cdata == y.untyped_storage()._cdata
    assert (
        x[:, 1:, None, 0].shape == (n, m - 1, 1)
        and x[0].shape == (m, 6)
        and x.narrow(1, 2, m - 2).shape == (n, m - 2, 6)
    )
    assert x.numel() == 6 * n * m and x.flatten(1).shape == (n, 6 * m)
    z = x.clone()
    assert z.unsqueeze_(-2) is z and z.shape == (n, m, 1, 6) and z.stride() == x.unsqueeze(-2).stride() and z.dim() == 4
    assert not space.pinned
    with pytest.raises(RuntimeError, match="invalid for an array of shape"):
        x.reshape((n, m, 7))
    assert (
        type(torch.cumsum(x, 1)) is torch.Tensor and len(space.pinned) == 2
    )  # a function without a rule takes numbers


def test_shapes_that_contradict_a_rule_are_refused(space):
    with pytest.raises(AssertionError, match="was inferred for"):
        symbolic.with_extents(torch.empty((4, 9), device="meta"), (space.symbol(5), 9))


def test_attributes_take_extents_as_they_are(space):
    from core.ops.registry import TABLE

    n = space.symbol(4)
    parsed = TABLE["Reshape"].parse({"shape": (n, -1)})
    assert parsed["shape"] == (n, -1) and type(parsed["shape"][0]) is Extent and not space.pinned
    assert type(TABLE["_arange"].parse({"start": n})["start"]) is Extent
    assert np.isclose(values(TABLE["_mul_scalar"].parse({"scalar": 1 / n})["scalar"], {"n0": 8}), 0.125)


def test_large_lengths_decide_what_algebra_leaves_open():
    space = Space(large=True)
    n = space.symbol(5040)
    assert n > 1000 and n >= 1000 and n % 11 == 0 and not n < 3 * n // 4 and n // 7 * 7 == n and n * n > 100 * n
    assert n // 2 + n // 2 == n and n != 5040 and not space.guards and not space.pinned
