"""Schedules: end points of the curves."""

import numpy as np
import pytest

import core as mx


@pytest.mark.parametrize("kind", [mx.lr_scheduler.PolyScheduler, mx.lr_scheduler.CosineScheduler])
def test_decay_ends_at_final_lr_and_stays(kind):
    schedule = kind(100, base_lr=1.0, final_lr=0.1, warmup_steps=10, warmup_begin_lr=0.5)
    assert schedule(0) == 0.5
    assert schedule(5) == 0.75
    assert schedule(10) == 1.0
    assert schedule(100) == pytest.approx(0.1)
    assert schedule(1000) == pytest.approx(0.1)


def test_factor_stops():
    schedule = mx.lr_scheduler.FactorScheduler(10, 0.1, stop_factor_lr=1e-3, base_lr=1.0)
    assert schedule(1000) == 1e-3


def test_an_update_given_as_an_array_gets_a_python_number():
    schedules = (
        lambda: mx.lr_scheduler.CosineScheduler(20, base_lr=0.3, final_lr=0.01, warmup_steps=5),
        lambda: mx.lr_scheduler.PolyScheduler(20, 0.3, warmup_steps=5),
    )
    for make in schedules:
        given = mx.np.arange(30), np.arange(30).reshape(30, 1), mx.nd.arange(30)
        for rates in ([make()(t) for t in updates] for updates in given):
            assert {type(rate) for rate in rates} == {float}
            assert rates == [make()(t) for t in range(30)]
