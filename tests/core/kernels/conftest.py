"""Kernels are called here as plans call them, also on tensors without memory that torch makes."""

from __future__ import annotations

import pytest

from core.placement import state


@pytest.fixture(autouse=True)
def tensors_without_memory(monkeypatch):
    monkeypatch.setattr(state, "_alone", False)
    monkeypatch.setattr(state, "plain", False)
