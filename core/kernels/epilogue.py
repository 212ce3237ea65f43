"""What may come after a product inside its kernel: the activations that both backends know."""

from __future__ import annotations

from core.base import MXNetError

ACTIVATIONS = (None, "relu", "gelu", "sigmoid", "tanh", "silu", "hard_swish", "hard_gate", "relu6")


def check_activation(name: str, activation: str | None) -> None:
    """MXNetError for an activation that the kernels do not know."""
    if activation not in ACTIVATIONS:
        raise MXNetError(f"{name}: unknown activation {activation!r}; accepted are {', '.join(map(str, ACTIVATIONS))}")
