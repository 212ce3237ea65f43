"""Errors by the names under which MXNet raises them."""

from core.base import MXNetError, register_error

register = register_error


@register_error
class InternalError(MXNetError):
    """Something that cannot happen did."""


__all__ = ["InternalError", "MXNetError", "register", "register_error"]
