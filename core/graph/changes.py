"""A count of changes: compiled blocks hold the arrays of parameters, and look again when it has moved."""

from __future__ import annotations


class Changes:
    """`count` grows whenever some parameter gets another array, dtype, place or request for gradients."""

    count = 0


def arrays_changed() -> None:
    """Tells compiled blocks that parameters changed in more than their values."""
    Changes.count += 1
