"""Which networks there are published weights for."""

from __future__ import annotations

from .registry import list_models

__all__ = ["list_models"]
