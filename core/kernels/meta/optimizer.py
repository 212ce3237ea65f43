"""Rules for the kernels of `optimizer` on tensors without memory."""

from functools import partial

from core.kernels.meta.base import empty, enter, fits
from core.kernels.precision import wide_type


def step(name, w, g, *state, **how):
    """A step of an optimizer, which changes arrays in place and gives nothing."""
    fits(w.shape == g.shape, name, w, g)


for _name in (
    "sgd_", "sgd_momentum_", "nag_", "signsgd_", "signum_", "dcasgd_", "adam_", "adamw_", "adamax_", "nadam_", "rmsprop_",
    "rmspropalex_", "adagrad_", "group_adagrad_", "adadelta_", "ftrl_", "ftml_", "sgld_", "lamb_phase2_",
):  # fmt: skip
    enter("optimizer", _name)(partial(step, _name))


@enter("optimizer")
def lamb_phase1(w, g, mean, *rest, **how):
    return empty(w.shape, mean.dtype)


@enter("optimizer")
def sum_squares(x, segments=None):
    return empty((1 if segments is None else len(segments),), wide_type(x.dtype))
