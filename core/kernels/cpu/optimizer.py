"""Optimizer updates on the CPU.

Memory traffic decides the speed: the arrays are updated block by block, so that the passes over a block after the first
find it in cache, and temporaries have the size of a block.
"""

from __future__ import annotations

import functools
import inspect

import torch

from core.kernels.optimizer_signature import with_master_and_segments
from core.kernels.precision import wide_type
from core.threads import SMALL_ARRAY, OneThread

aten = torch.ops.aten
_INFINITE_STEP = torch.tensor(float("inf"))

# Elements of a block: in float32 an array takes 256 KiB, so that the states and temporaries of most rules fit in the
# second-level caches of the two or more cores that share the work.
BLOCK = 1 << 16
# Rules that are one kernel read nothing twice: larger blocks save a quarter of their time in calls.
LARGE_BLOCK = 1 << 18


def _elementwise(rule, block=BLOCK):
    """The public function of a rule for one block: takes the arrays apart into parts and blocks of so many elements."""
    names = tuple(inspect.signature(rule).parameters)

    @functools.wraps(rule)
    def update(*args, w32=None, segments=None, **attrs):
        attrs.update(zip(names, args, strict=False))
        arrays = {name: attrs.pop(name) for name in names if isinstance(attrs.get(name), torch.Tensor)}
        low = None
        if w32 is not None:
            low, arrays["w"] = arrays["w"], w32
            arrays["low"] = low
        if segments is not None or arrays["w"].numel() > block:  # then parts of flat arrays are updated
            if all(a.is_contiguous() for a in arrays.values()):
                arrays = {name: a.view(-1) for name, a in arrays.items()}
            elif segments is not None:
                raise ValueError("segments need contiguous arrays")
        if segments is None:
            _update_part(rule, arrays, attrs, block)
            return
        lr, wd = attrs.get("lr"), attrs.get("wd", 0.0)
        for start, stop, lr_mult, wd_mult in segments:
            part = {name: a[start:stop] for name, a in arrays.items()}
            scaled = {} if lr is None else {"lr": lr * lr_mult}
            _update_part(rule, part, {**attrs, **scaled, "wd": wd * wd_mult}, block)

    update.__signature__ = with_master_and_segments(rule)
    return update


def _in_one_kernel(rule):
    """The public function of a rule that is one kernel of ATen, which takes all threads for the smallest arrays."""

    @functools.wraps(rule)
    def with_few_threads(w, *args, **attrs):
        if w.numel() > SMALL_ARRAY:
            rule(w, *args, **attrs)
            return
        with OneThread():
            rule(w, *args, **attrs)

    return _elementwise(with_few_threads, LARGE_BLOCK)


def _update_part(rule, arrays, attrs, size):
    blocks = [arrays]
    if arrays["w"].dim() == 1 and arrays["w"].numel() > size:
        pieces = [a.split(size) for a in arrays.values()]
        blocks = [dict(zip(arrays, piece, strict=True)) for piece in zip(*pieces, strict=True)]
    for block in blocks:
        low = block.pop("low", None)
        if low is not None:
            block["g"] = block["g"].to(block["w"].dtype)
        rule(**block, **attrs)
        if low is not None:
            low.copy_(block["w"])


@_elementwise
def sgd_(w, g, lr, wd=0.0, rescale=1.0, clip=None):
    w.add_(_decayed(_clipped(g, rescale, clip), g, w, wd), alpha=-lr)


@_in_one_kernel
def sgd_momentum_(w, g, mom, lr, wd=0.0, momentum=0.0, rescale=1.0, clip=None):
    if momentum == 0 or rescale == 0:
        mom.mul_(momentum).add_(_decayed(_clipped(g, rescale, clip), g, w, wd), alpha=-lr)
        w.add_(mom)
        return
    if _on(clip):
        g, rescale = _clipped(g, rescale, clip), 1.0
    # One pass over memory: ATen's buffer becomes momentum mom + (1 - dampening) (g + wd w), and w loses lr times it.
    aten._fused_sgd_(
        [w], [g], [mom], weight_decay=wd / rescale, momentum=momentum, lr=-1.0, dampening=1.0 + lr * rescale,
        nesterov=False, maximize=False, is_first_step=False,
    )  # fmt: skip


@_elementwise
def nag_(w, g, mom, lr, wd=0.0, momentum=0.0, rescale=1.0, clip=None, in_place=True):
    g = _decayed(_clipped(g, rescale, clip), g, w, wd)
    mom.mul_(momentum).add_(g, alpha=-lr)
    w.add_(mom, alpha=momentum).add_(g, alpha=-lr)
    if in_place and wd != 0:
        mom.mul_(1 - lr * wd * momentum).add_(g, alpha=lr * lr * wd)


@_elementwise
def signsgd_(w, g, lr, wd=0.0, rescale=1.0, clip=None):
    w.mul_(1 - lr * wd).add_((g * rescale).sign_(), alpha=-lr)


@_elementwise
def signum_(w, g, mom, lr, wd=0.0, momentum=0.0, wd_lh=0.0, rescale=1.0, clip=None):
    g = _decayed(_clipped(g, rescale, clip), g, w, wd)
    mom.mul_(momentum).add_(g, alpha=momentum - 1)
    w.mul_(1 - lr * wd_lh).add_(mom.sign(), alpha=lr)


@_elementwise
def dcasgd_(w, g, mom, previous, lr, wd=0.0, momentum=0.0, lamda=0.04, rescale=1.0, clip=None):
    g = _clipped(g, rescale, clip)
    step = (w - previous).mul_(g).mul_(g).mul_(lamda).add_(g).add_(w, alpha=wd)
    mom.mul_(momentum).add_(step, alpha=-lr)
    previous.copy_(w)
    w.add_(mom)


@_in_one_kernel
def adam_(w, g, mean, var, lr, wd=0.0, beta1=0.9, beta2=0.999, eps=1e-8, rescale=1.0, clip=None):
    g = _clipped(g, rescale) if not _on(clip) else _clipped(_decayed(_clipped(g, rescale), g, w, wd), clip=clip)
    # One pass over memory. ATen's bias corrections, 1 - beta ** step, are 1 at an infinite step.
    aten._fused_adam_(
        [w], [g], [mean], [var], [], [_INFINITE_STEP], lr=lr, beta1=beta1, beta2=beta2,
        weight_decay=0.0 if _on(clip) else wd, eps=eps, amsgrad=False, maximize=False,
    )  # fmt: skip


@_elementwise
def adamw_(w, g, mean, var, lr, eta=1.0, wd=0.0, beta1=0.9, beta2=0.999, eps=1e-8, rescale=1.0, clip=None):
    g = _clipped(g, rescale, clip)
    _average_(mean, g, beta1)
    var.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    w.mul_(1 - eta * wd).addcdiv_(mean, var.sqrt().add_(eps), value=-eta * lr)


@_elementwise
def adamax_(w, g, mean, norm, lr, wd=0.0, beta1=0.9, beta2=0.999, rescale=1.0, clip=None):
    g = _clipped(_decayed(_clipped(g, rescale), g, w, wd), clip=clip)
    _average_(mean, g, beta1)
    torch.maximum(norm.mul_(beta2), g.abs(), out=norm)
    w.addcdiv_(mean, norm, value=-lr)


@_elementwise
def nadam_(w, g, mean, var, lr, g_share, mean_share, var_share, wd=0.0, beta1=0.9, beta2=0.999, eps=1e-8, rescale=1.0,
           clip=None):  # fmt: skip
    g = _clipped(_decayed(_clipped(g, rescale), g, w, wd), clip=clip)
    _average_(mean, g, beta1)
    var.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    w.addcdiv_((g * g_share).add_(mean, alpha=mean_share), (var * var_share).sqrt_().add_(eps), value=-lr)


@_elementwise
def rmsprop_(w, g, n, lr, wd=0.0, gamma1=0.95, eps=1e-8, rescale=1.0, clip=None, clip_weights=None):
    g = _clipped(_decayed(_clipped(g, rescale), g, w, wd), clip=clip)
    n.mul_(gamma1).addcmul_(g, g, value=1 - gamma1)
    w.addcdiv_(g, (n + eps).sqrt_(), value=-lr)
    if _on(clip_weights):
        w.clamp_(-clip_weights, clip_weights)


@_elementwise
def rmspropalex_(w, g, n, mean, delta, lr, wd=0.0, gamma1=0.95, gamma2=0.9, eps=1e-8, rescale=1.0, clip=None,
                 clip_weights=None):  # fmt: skip
    g = _clipped(_decayed(_clipped(g, rescale), g, w, wd), clip=clip)
    n.mul_(gamma1).addcmul_(g, g, value=1 - gamma1)
    _average_(mean, g, gamma1)
    delta.mul_(gamma2).addcdiv_(g, torch.addcmul(n, mean, mean, value=-1).add_(eps).sqrt_(), value=-lr)
    w.add_(delta)
    if _on(clip_weights):
        w.clamp_(-clip_weights, clip_weights)


@_elementwise
def adagrad_(w, g, history, lr, wd=0.0, eps=1e-7, rescale=1.0, clip=None):
    g = _clipped(g, rescale, clip)
    history.addcmul_(g, g)
    w.mul_(1 - lr * wd).addcdiv_(g, (history + eps).sqrt_(), value=-lr)


def group_adagrad_(w, g, history, lr, eps=1e-5, rescale=1.0, clip=None):
    g = _clipped(g, rescale, clip)
    rows = g.reshape(g.shape[0], -1)
    history.add_((rows * rows).mean(1).reshape(history.shape))
    scale = (history + eps).rsqrt_().reshape((-1,) + (1,) * (g.dim() - 1))
    w.addcmul_(g, scale, value=-lr)


@_elementwise
def adadelta_(w, g, acc_g, acc_delta, lr=1.0, wd=0.0, rho=0.9, eps=1e-5, rescale=1.0, clip=None):
    g = _clipped(g, rescale, clip)
    acc_g.mul_(rho).addcmul_(g, g, value=1 - rho)
    delta = (acc_delta + eps).sqrt_().div_((acc_g + eps).sqrt_()).mul_(g)
    acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
    w.mul_(1 - wd).sub_(delta)


@_elementwise
def ftrl_(w, g, z, n, lr, wd=0.0, lamda1=0.01, beta=1.0, rescale=1.0, clip=None):
    g = _clipped(g, rescale, clip)
    root = n.sqrt()
    n.addcmul_(g, g)
    grown = n.sqrt()
    z.add_(g).addcmul_(root.sub_(grown), w / lr)  # a rate of 0 divides tensors only: NaN
    # sign(z) max(|z| - lamda1, 0), the soft threshold, with the opposite sign
    shrunk = z.clamp(-lamda1, lamda1).sub_(z)
    torch.div(shrunk, grown.add_(beta).div_(lr).add_(wd), out=w)


@_elementwise
def ftml_(w, g, d, v, z, lr, t, wd=0.0, beta1=0.6, beta2=0.999, eps=1e-8, rescale=1.0, clip=None):
    g = _clipped(_decayed(_clipped(g, rescale), g, w, wd), clip=clip)
    v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    d_new = (v / (1 - beta2**t)).sqrt_().add_(eps).mul_(1 - beta1**t).div_(lr)
    _average_(z, g, beta1)
    z.addcmul_(d.mul_(-beta1).add_(d_new), w, value=-1)
    d.copy_(d_new)
    torch.div(z, d_new.neg_(), out=w)


@_elementwise
def sgld_(w, g, noise, lr, wd=0.0, rescale=1.0, clip=None):
    w.add_(_decayed(_clipped(g, rescale, clip), g, w, wd), alpha=-lr / 2).add_(noise, alpha=lr**0.5)


def lamb_phase1(w, g, mean, var, t, wd=0.0, beta1=0.9, beta2=0.999, eps=1e-6, bias_correction=True, rescale=1.0,
                clip=None, segments=None):  # fmt: skip
    update = torch.empty_like(w, dtype=mean.dtype)
    correction = (1 - beta1**t, 1 - beta2**t) if bias_correction else (1.0, 1.0)
    _lamb_direction_(w, g, mean, var, update, wd, beta1, beta2, eps, correction, rescale, clip, segments=segments)
    return update


@_elementwise
def _lamb_direction_(w, g, mean, var, update, wd, beta1, beta2, eps, correction, rescale, clip):
    g = _clipped(g.to(mean.dtype), rescale, clip)
    _average_(mean, g, beta1)
    var.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    torch.mul(w, wd, out=update)
    update.addcdiv_(mean, (var / correction[1]).sqrt_().add_(eps), value=1 / correction[0])


def lamb_phase2_(w, update, weight_norm, update_norm, lr, lower_bound=None, upper_bound=None, w32=None, segments=None):
    weight_norm = weight_norm.clamp(
        lower_bound if _on(lower_bound) else None, upper_bound if _on(upper_bound) else None
    ) if _on(lower_bound) or _on(upper_bound) else weight_norm  # fmt: skip
    ratio = torch.where((weight_norm == 0) | (update_norm == 0), 1.0, weight_norm / update_norm).reshape(-1)
    master = w if w32 is None else w32
    if segments is None:
        master.sub_(update * (ratio * lr).to(update.dtype).reshape((1,) * update.dim()))
    else:
        for (start, stop, lr_mult, _), scale in zip(segments, ratio, strict=True):
            master[start:stop].addcmul_(update[start:stop], scale.to(update.dtype), value=-lr * lr_mult)
    if w32 is not None:
        w.copy_(w32)


def sum_squares(x, segments=None):
    parts = [x.reshape(-1)] if segments is None else [x[start:stop] for start, stop, *_ in segments]
    dtype = wide_type(x.dtype)
    return torch.stack([torch.linalg.vector_norm(part, dtype=dtype) for part in parts]).square_()


def _clipped(g, rescale=1.0, clip=None):
    """clip(rescale g); `g` itself when there is nothing to do."""
    if rescale != 1:
        g = g * rescale
        return g.clamp_(-clip, clip) if _on(clip) else g
    return g.clamp(-clip, clip) if _on(clip) else g


def _average_(mean, g, beta):
    """beta mean + (1 - beta) g, in the place of the mean; `lerp_` makes NaN of an infinite one."""
    mean.mul_(beta).add_(g, alpha=1 - beta)


def _decayed(scaled, g, w, wd):
    """scaled + wd w, in place where `scaled` is not the caller's `g`."""
    if wd == 0:
        return scaled
    return torch.add(scaled, w, alpha=wd) if scaled is g else scaled.add_(w, alpha=wd)


def _on(clip):
    return clip is not None and clip >= 0
