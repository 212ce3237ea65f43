"""Optimizer updates in place, with MXNet's formulas.

Every `name_` function changes the weight `w` and its state tensors, given the gradient `g` (left as it is) of the same
shape. `rescale` multiplies the gradient, `clip` (None or negative: off) bounds it to [-clip, clip] afterwards, `wd` is
the weight decay. Arithmetic is float32, or float64 for float64 weights. Two keywords belong to nearly all of them:

- `w32`: the float32 master copy of half-precision weights. It and the float32 states are updated, `w` gets it rounded.
- `segments`: (start, stop, lr_mult, wd_mult) of each of the parameters that one flat tensor holds, in order and apart;
  each is updated with lr * lr_mult and wd * wd_mult, elements outside all of them stay.

Floor: every array moves once in each direction it is used, which for Adam in float32 is 28 bytes per element (reads w,
g, mean, var; writes w, mean, var).
"""

from __future__ import annotations

from torch import Tensor

from core.kernels.contracts.rules import empty, fits
from core.kernels.contracts.types import Segments
from core.kernels.dispatch import kernel
from core.kernels.precision import wide_type


@kernel
def sgd_(
    w: Tensor, g: Tensor, lr: float, wd: float = 0.0, rescale: float = 1.0, clip: float | None = None, *,
    w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """w -= lr (g + wd w)."""
    fits(w.shape == g.shape, "sgd_", w, g)


@kernel
def sgd_momentum_(
    w: Tensor, g: Tensor, mom: Tensor, lr: float, wd: float = 0.0, momentum: float = 0.0, rescale: float = 1.0,
    clip: float | None = None, *, w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """mom = momentum mom - lr (g + wd w); w += mom."""
    fits(w.shape == g.shape, "sgd_momentum_", w, g)


@kernel
def nag_(
    w: Tensor, g: Tensor, mom: Tensor, lr: float, wd: float = 0.0, momentum: float = 0.0, rescale: float = 1.0,
    clip: float | None = None, in_place: bool = True, *, w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """Nesterov's momentum: mom = momentum mom - lr (g + wd w); w += momentum mom - lr (g + wd w).

    MXNet computes the new `mom` last, hence with the decay of the new weight where it overwrites the old one. So does
    this, unless `in_place` is False, for the operator whose result is apart from the weight.
    """
    fits(w.shape == g.shape, "nag_", w, g)


@kernel
def signsgd_(
    w: Tensor, g: Tensor, lr: float, wd: float = 0.0, rescale: float = 1.0, clip: float | None = None, *,
    w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """w = (1 - lr wd) w - lr sign(rescale g) (Bernstein et al., 2018); `clip` would leave the sign as it is.

    The operator `signsgd_update` ignores both: it hands on neither.
    """
    fits(w.shape == g.shape, "signsgd_", w, g)


@kernel
def signum_(
    w: Tensor, g: Tensor, mom: Tensor, lr: float, wd: float = 0.0, momentum: float = 0.0, wd_lh: float = 0.0,
    rescale: float = 1.0, clip: float | None = None, *, w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """mom = momentum mom - (1 - momentum) (g + wd w); w = (1 - lr wd_lh) w + lr sign(mom)."""
    fits(w.shape == g.shape, "signum_", w, g)


@kernel
def dcasgd_(
    w: Tensor, g: Tensor, mom: Tensor, previous: Tensor, lr: float, wd: float = 0.0, momentum: float = 0.0,
    lamda: float = 0.04, rescale: float = 1.0, clip: float | None = None, *, w32: Tensor | None = None,
    segments: Segments | None = None,
) -> None:  # fmt: skip
    """Delay-compensated SGD (Zheng et al., 2017); `previous` is the weight of the step before."""
    fits(w.shape == g.shape, "dcasgd_", w, g)


@kernel
def adam_(
    w: Tensor, g: Tensor, mean: Tensor, var: Tensor, lr: float, wd: float = 0.0, beta1: float = 0.9,
    beta2: float = 0.999, eps: float = 1e-08, rescale: float = 1.0, clip: float | None = None, *,
    w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """Adam (Kingma and Ba, 2015) on g + wd w; the caller puts the bias correction into `lr`."""
    fits(w.shape == g.shape, "adam_", w, g)


@kernel
def adamw_(
    w: Tensor, g: Tensor, mean: Tensor, var: Tensor, lr: float, eta: float = 1.0, wd: float = 0.0, beta1: float = 0.9,
    beta2: float = 0.999, eps: float = 1e-08, rescale: float = 1.0, clip: float | None = None, *,
    w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """Adam with decoupled decay: w -= eta (lr mean / (sqrt(var) + eps) + wd w) (Loshchilov and Hutter, 2019)."""
    fits(w.shape == g.shape, "adamw_", w, g)


@kernel
def adamax_(
    w: Tensor, g: Tensor, mean: Tensor, norm: Tensor, lr: float, wd: float = 0.0, beta1: float = 0.9,
    beta2: float = 0.999, rescale: float = 1.0, clip: float | None = None, *, w32: Tensor | None = None,
    segments: Segments | None = None,
) -> None:  # fmt: skip
    """Adam with the infinity norm, w -= lr mean / norm; the caller puts the bias correction into `lr`."""
    fits(w.shape == g.shape, "adamax_", w, g)


@kernel
def nadam_(
    w: Tensor, g: Tensor, mean: Tensor, var: Tensor, lr: float, g_share: float, mean_share: float, var_share: float,
    wd: float = 0.0, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-08, rescale: float = 1.0,
    clip: float | None = None, *, w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """NAdam (Dozat, 2016): w -= lr (g_share g + mean_share mean) / (sqrt(var_share var) + eps)."""
    fits(w.shape == g.shape, "nadam_", w, g)


@kernel
def rmsprop_(
    w: Tensor, g: Tensor, n: Tensor, lr: float, wd: float = 0.0, gamma1: float = 0.95, eps: float = 1e-08,
    rescale: float = 1.0, clip: float | None = None, clip_weights: float | None = None, *, w32: Tensor | None = None,
    segments: Segments | None = None,
) -> None:  # fmt: skip
    """n = gamma1 n + (1 - gamma1) g^2; w -= lr g / sqrt(n + eps), then clipped (Tieleman and Hinton, 2012)."""
    fits(w.shape == g.shape, "rmsprop_", w, g)


@kernel
def rmspropalex_(
    w: Tensor, g: Tensor, n: Tensor, mean: Tensor, delta: Tensor, lr: float, wd: float = 0.0, gamma1: float = 0.95,
    gamma2: float = 0.9, eps: float = 1e-08, rescale: float = 1.0, clip: float | None = None,
    clip_weights: float | None = None, *, w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """Centred RMSProp with momentum (Graves, 2013, equations 38 to 45)."""
    fits(w.shape == g.shape, "rmspropalex_", w, g)


@kernel
def adagrad_(
    w: Tensor, g: Tensor, history: Tensor, lr: float, wd: float = 0.0, eps: float = 1e-07, rescale: float = 1.0,
    clip: float | None = None, *, w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """history += g^2; w -= lr (g / sqrt(history + eps) + wd w) (Duchi, Hazan and Singer, 2011)."""
    fits(w.shape == g.shape, "adagrad_", w, g)


@kernel
def group_adagrad_(
    w: Tensor, g: Tensor, history: Tensor, lr: float, eps: float = 1e-05, rescale: float = 1.0,
    clip: float | None = None,
) -> None:  # fmt: skip
    """AdaGrad with one history (rows, 1) for each row of `w` (rows, ...): the mean of g^2 over the row."""
    fits(w.shape == g.shape, "group_adagrad_", w, g)


@kernel
def adadelta_(
    w: Tensor, g: Tensor, acc_g: Tensor, acc_delta: Tensor, lr: float = 1.0, wd: float = 0.0, rho: float = 0.9,
    eps: float = 1e-05, rescale: float = 1.0, clip: float | None = None, *, w32: Tensor | None = None,
    segments: Segments | None = None,
) -> None:  # fmt: skip
    """AdaDelta (Zeiler, 2012) with decay w -= delta + wd w; as in MXNet no learning rate enters."""
    fits(w.shape == g.shape, "adadelta_", w, g)


@kernel
def ftrl_(
    w: Tensor, g: Tensor, z: Tensor, n: Tensor, lr: float, wd: float = 0.0, lamda1: float = 0.01, beta: float = 1.0,
    rescale: float = 1.0, clip: float | None = None, *, w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """Follow the regularised leader (McMahan et al., 2013)."""
    fits(w.shape == g.shape, "ftrl_", w, g)


@kernel
def ftml_(
    w: Tensor, g: Tensor, d: Tensor, v: Tensor, z: Tensor, lr: float, t: float, wd: float = 0.0, beta1: float = 0.6,
    beta2: float = 0.999, eps: float = 1e-08, rescale: float = 1.0, clip: float | None = None, *,
    w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """Follow the moving leader (Zheng and Kwok, 2017), step number `t` from 1."""
    fits(w.shape == g.shape, "ftml_", w, g)


@kernel
def sgld_(
    w: Tensor, g: Tensor, noise: Tensor, lr: float, wd: float = 0.0, rescale: float = 1.0, clip: float | None = None,
    *, w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """Stochastic gradient Langevin dynamics: w += sqrt(lr) noise - lr / 2 (g + wd w), `noise` standard normal."""
    fits(w.shape == g.shape, "sgld_", w, g)


@kernel
def lamb_phase1(
    w: Tensor, g: Tensor, mean: Tensor, var: Tensor, t: float, wd: float = 0.0, beta1: float = 0.9,
    beta2: float = 0.999, eps: float = 1e-06, bias_correction: bool = True, rescale: float = 1.0,
    clip: float | None = None, segments: Segments | None = None,
) -> Tensor:  # fmt: skip
    """LAMB's direction (You et al., 2020): changes `mean` and `var`, returns the update before the trust ratio.

    The result is float32 for half-precision weights.
    """
    return empty(w.shape, mean.dtype)


@kernel
def lamb_phase2_(
    w: Tensor, update: Tensor, weight_norm: Tensor, update_norm: Tensor, lr: float, lower_bound: float | None = None,
    upper_bound: float | None = None, w32: Tensor | None = None, segments: Segments | None = None,
) -> None:  # fmt: skip
    """w -= lr ratio update, ratio = bounded weight_norm / update_norm (1 where either is 0).

    The norms are tensors of one element, or of one for each segment.
    """
    fits(w.shape == update.shape, "lamb_phase2_", w, update)


@kernel
def sum_squares(x: Tensor, segments: Segments | None = None) -> Tensor:
    """Sum of the squares of `x`, or of each segment: float32 (float64 for float64) of one element per segment."""
    return empty((1 if segments is None else len(segments),), wide_type(x.dtype))
