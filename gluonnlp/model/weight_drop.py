"""Dropout of weights in place of activations (Wan et al., 2013; Merity, Keskar and Socher, 2017)."""

from __future__ import annotations

import re

__all__ = ["apply_weight_drop"]


def apply_weight_drop(block, local_param_regex, rate, axes=(), weight_dropout_mode="training"):
    """From now on the matching parameters of `block` and its children are dropped out in every call.

    local_param_regex: for names from `block` on, such as ".*h2h_weight".  axes: along which elements are
    dropped together.  weight_dropout_mode: "training", or "always".  The parameters keep their values.
    """
    if rate:
        _apply(block, re.compile(local_param_regex), "", {"p": rate, "axes": axes, "mode": weight_dropout_mode})


def _apply(block, regex, path, options):
    names = [name for name in block._reg_params if regex.match(path + name)]
    if names:
        forward = block.hybrid_forward

        def hybrid_forward(F, *args, **parameters):
            if any(getattr(parameters[name], "_is_placeholder", False) for name in names):
                # The layer tells the shapes of parameters that have none yet.
                forward(F, *args, **parameters)
            dropped = {name: F.Dropout(parameters[name], **options) for name in names}
            return forward(F, *args, **{**parameters, **dropped})

        block.hybrid_forward = hybrid_forward
    for name, child in block._children.items():
        _apply(child, regex, f"{path}{name}.", options)
