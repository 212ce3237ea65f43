"""Errors by the names under which MXNet raises them."""

from core.base import MXNetError


class InternalError(MXNetError):
    """Something that cannot happen did."""


__all__ = ["InternalError", "MXNetError"]
