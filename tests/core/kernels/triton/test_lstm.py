"""All steps of an LSTM in one launch: against the CPU in float64, with one program and with several that wait."""

import dataclasses

import numpy as np
import pytest
import torch

from core.kernels.cpu import rnn as reference
from core.kernels.triton import _lstm, rnn
from core.kernels.triton._lstm import Tiling, tiling
from core.kernels.triton.targets import TARGETS
from tests.core.kernels import rnn_formulas as formulas
from tests.support.side_by_side import run_side_by_side


def tensors(arrays, dtype=torch.float32):
    return [None if a is None else torch.tensor(a, dtype=dtype) for a in arrays]


def error(got, want):
    return float((got.double() - want).norm() / want.norm())


@pytest.mark.parametrize(
    "steps, batch, inputs, hidden, layers, bidirectional",
    [(3, 2, 4, 33, 1, False), (2, 18, 3, 40, 1, True), (4, 1, 5, 80, 2, False), (1, 67, 2, 7, 1, True)],
)
def test_forward_and_gradients(steps, batch, inputs, hidden, layers, bidirectional, monkeypatch):
    """Hidden states that are no multiple of anything, tiles of the batch that are not full, both directions."""
    calls = counted(monkeypatch)
    arrays = formulas.arrays("lstm", steps, batch, inputs, hidden, layers, bidirectional)
    heads = [
        np.random.RandomState(k).standard_normal(shape)
        for k, shape in enumerate(shapes(arrays, hidden, layers, bidirectional))
    ]
    compare(arrays, heads, hidden, layers, bidirectional, torch.float32, 2e-5)
    assert calls == {"forward": layers * (1 + bidirectional), "backward": layers * (1 + bidirectional)}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("hidden", [48, 37])
def test_half_types(dtype, hidden):
    arrays = formulas.arrays("lstm", 3, 5, 4, hidden, 1, True)
    arrays = [t.double().numpy() for t in tensors(arrays, dtype)]
    heads = [np.random.RandomState(k).standard_normal(shape) for k, shape in enumerate(shapes(arrays, hidden, 1, True))]
    heads = [t.double().numpy() for t in tensors(heads, dtype)]
    compare(arrays, heads, hidden, 1, True, dtype, 4 * torch.finfo(dtype).eps)


def test_repeats_bit_for_bit():
    arrays = tensors(formulas.arrays("lstm", 3, 5, 4, 40, 1, True))
    first, second = (everything(rnn, arrays, arrays[0].new_ones(3, 5, 80), 40, 1, True) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("hidden, columns", [(40, 8), (33, 16)])
def test_programs_that_wait_for_one_another(hidden, columns, monkeypatch):
    """Each in a thread: what one program reads before others have written it would be NaN."""
    arrays = tensors(formulas.arrays("lstm", 3, 18, 4, hidden, 1, True))
    dy = torch.tensor(np.random.RandomState(2).standard_normal((3, 18, 2 * hidden)), dtype=torch.float32)
    expected = everything(rnn, arrays, dy, hidden, 1, True)
    shared = Tiling(16, columns, (-(-hidden // columns), 2))
    monkeypatch.setattr(_lstm, "tiling", lambda *sizes: shared)
    run_side_by_side(monkeypatch, _lstm._lstm_steps, _lstm._lstm_steps_back)
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *sizes, **how: blank(empty(*sizes, **how)))
    found = everything(rnn, arrays, dy, hidden, 1, True)
    errors = [error(a, b.double()) for a, b in zip(found, expected, strict=True)]
    assert max(errors) < 1e-6, errors


def test_programs_are_no_more_than_processors(monkeypatch):
    """They wait for one another, so all have to run at once."""
    monkeypatch.setattr(_lstm, "INTERPRETED", False)
    hopper, amd = TARGETS["cuda:90"], TARGETS["hip:gfx942"]
    assert tiling(64, 1024, hopper) == Tiling(64, 8, (128, 1))
    assert tiling(20, 650, hopper) == Tiling(32, 8, (82, 1))
    assert tiling(128, 1024, hopper) == Tiling(64, 16, (64, 2))
    assert tiling(128, 32, hopper) == Tiling(64, 32, (1, 2))  # these wait for nobody
    assert tiling(512, 1024, hopper) is None and tiling(64, 1024, dataclasses.replace(hopper, processors=20)) is None
    assert tiling(64, 1024, amd) == Tiling(64, 16, (64, 1))  # whose matrix instructions have sixteen columns
    for batch in range(1, 600, 7):
        for hidden in range(2, 1025, 31):
            found = tiling(batch, hidden, TARGETS["cuda:80"])
            assert found is None or found.grid[0] == 1 or found.grid[0] * found.grid[1] <= 108


@pytest.mark.parametrize(
    "dtype, hidden, steps", [(torch.float64, 8, 2), (torch.float32, 1, 2), (torch.float32, 1025, 2)]
)
def test_others_go_step_by_step(dtype, hidden, steps):
    x, h = torch.empty(steps, 2, 3, dtype=dtype), torch.empty(2, hidden, dtype=dtype)
    assert _lstm.tiling_of(x, h) is None


def counted(monkeypatch) -> dict[str, int]:
    """How often each pass is one launch."""
    calls = {"forward": 0, "backward": 0}

    def noted(name, function):
        def call(*args):
            calls[name] += 1
            return function(*args)

        return call

    for name in calls:
        monkeypatch.setattr(_lstm, name, noted(name, getattr(_lstm, name)))
    return calls


def shapes(arrays, hidden, layers, bidirectional):
    (steps, batch), directions = arrays[0].shape[:2], 1 + bidirectional
    state = layers * directions, batch, hidden
    return (steps, batch, directions * hidden), state, state


def everything(backend, arrays, dy, hidden, layers, bidirectional, dhn=None, dcn=None):
    how = {"mode": "lstm", "hidden": hidden, "layers": layers, "bidirectional": bidirectional, "dropout": 0.0, "key": 1,
           "training": True}  # fmt: skip
    y, hn, cn, reserve = backend.rnn(*arrays, **how)
    return y, hn, cn, *backend.rnn_grad(dy, dhn, dcn, *arrays, y, reserve, **how)


def compare(arrays, heads, hidden, layers, bidirectional, dtype, bound):
    found = everything(rnn, tensors(arrays, dtype), *insert(tensors(heads, dtype), hidden, layers, bidirectional))
    wide = everything(
        reference, tensors(arrays, torch.float64), *insert(tensors(heads, torch.float64), hidden, layers, bidirectional)
    )
    for got, want in zip(found, wide, strict=True):
        assert got.dtype is dtype and error(got, want) < bound


def insert(heads, *sizes):
    return heads[0], *sizes, *heads[1:]


def blank(t):
    return t.fill_(float("nan")) if t.is_floating_point() else t
