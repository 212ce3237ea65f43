"""Which parameters decay."""

from __future__ import annotations


def decay_weights_only(net) -> None:
    """Takes weight decay from biases and from the scales and shifts of normalisation (Jia et al., 2018)."""
    for parameter in net.collect_params(".*beta|.*gamma|.*bias").values():
        parameter.wd_mult = 0.0
