"""Optimizer updates in NumPy float64, as MXNet documents them, and the table of cases that both backends are tested on.

A formula takes the weight, the gradient, the states and the attributes and returns the new weight and states.
"""

import numpy as np


def bounded(x, clip):
    return x if clip is None or clip < 0 else np.clip(x, -clip, clip)


def decay_after(g, w, wd, rescale, clip):
    return bounded(g * rescale, clip) + wd * w


def decay_before(g, w, wd, rescale, clip):
    return bounded(g * rescale + wd * w, clip)


def sgd_(w, g, lr, wd=0.0, rescale=1.0, clip=None):
    return (w - lr * decay_after(g, w, wd, rescale, clip),)


def sgd_momentum_(w, g, mom, lr, wd=0.0, momentum=0.0, rescale=1.0, clip=None):
    mom = momentum * mom - lr * decay_after(g, w, wd, rescale, clip)
    return w + mom, mom


def nag_(w, g, mom, lr, wd=0.0, momentum=0.0, rescale=1.0, clip=None, in_place=True):
    step = lr * decay_after(g, w, wd, rescale, clip)
    new = w + momentum * (momentum * mom - step) - step
    return new, momentum * mom - lr * decay_after(g, new if in_place else w, wd, rescale, clip)


def signsgd_(w, g, lr, wd=0.0, rescale=1.0, clip=None):
    return ((1 - lr * wd) * w - lr * np.sign(g),)


def signum_(w, g, mom, lr, wd=0.0, momentum=0.0, wd_lh=0.0, rescale=1.0, clip=None):
    mom = momentum * mom - (1 - momentum) * decay_after(g, w, wd, rescale, clip)
    return (1 - lr * wd_lh) * w + lr * np.sign(mom), mom


def dcasgd_(w, g, mom, previous, lr, wd=0.0, momentum=0.0, lamda=0.04, rescale=1.0, clip=None):
    g = bounded(g * rescale, clip)
    mom = momentum * mom - lr * (g + wd * w + lamda * g * g * (w - previous))
    return w + mom, mom, w


def adam_(w, g, mean, var, lr, wd=0.0, beta1=0.9, beta2=0.999, eps=1e-8, rescale=1.0, clip=None):
    g = decay_before(g, w, wd, rescale, clip)
    mean, var = beta1 * mean + (1 - beta1) * g, beta2 * var + (1 - beta2) * g**2
    return w - lr * mean / (np.sqrt(var) + eps), mean, var


def adamw_(w, g, mean, var, lr, eta=1.0, wd=0.0, beta1=0.9, beta2=0.999, eps=1e-8, rescale=1.0, clip=None):
    g = bounded(g * rescale, clip)
    mean, var = beta1 * mean + (1 - beta1) * g, beta2 * var + (1 - beta2) * g**2
    return w - eta * (lr * mean / (np.sqrt(var) + eps) + wd * w), mean, var


def adamax_(w, g, mean, norm, lr, wd=0.0, beta1=0.9, beta2=0.999, rescale=1.0, clip=None):
    g = decay_before(g, w, wd, rescale, clip)
    mean, norm = beta1 * mean + (1 - beta1) * g, np.maximum(beta2 * norm, np.abs(g))
    return w - lr * mean / norm, mean, norm


def nadam_(w, g, mean, var, lr, g_share, mean_share, var_share, wd=0.0, beta1=0.9, beta2=0.999, eps=1e-8, rescale=1.0,
           clip=None):  # fmt: skip
    g = decay_before(g, w, wd, rescale, clip)
    mean, var = beta1 * mean + (1 - beta1) * g, beta2 * var + (1 - beta2) * g**2
    return w - lr * (g_share * g + mean_share * mean) / (np.sqrt(var * var_share) + eps), mean, var


def rmsprop_(w, g, n, lr, wd=0.0, gamma1=0.95, eps=1e-8, rescale=1.0, clip=None, clip_weights=None):
    g = decay_before(g, w, wd, rescale, clip)
    n = gamma1 * n + (1 - gamma1) * g**2
    return bounded(w - lr * g / np.sqrt(n + eps), clip_weights), n


def rmspropalex_(w, g, n, mean, delta, lr, wd=0.0, gamma1=0.95, gamma2=0.9, eps=1e-8, rescale=1.0, clip=None,
                 clip_weights=None):  # fmt: skip
    g = decay_before(g, w, wd, rescale, clip)
    n, mean = gamma1 * n + (1 - gamma1) * g**2, gamma1 * mean + (1 - gamma1) * g
    delta = gamma2 * delta - lr * g / np.sqrt(n - mean**2 + eps)
    return bounded(w + delta, clip_weights), n, mean, delta


def adagrad_(w, g, history, lr, wd=0.0, eps=1e-7, rescale=1.0, clip=None):
    g = bounded(g * rescale, clip)
    history = history + g**2
    return w - lr * (g / np.sqrt(history + eps) + wd * w), history


def group_adagrad_(w, g, history, lr, eps=1e-5, rescale=1.0, clip=None):
    g = bounded(g * rescale, clip)
    history = history + (g**2).mean(axis=1, keepdims=True)
    return w - lr * g / np.sqrt(history + eps), history


def adadelta_(w, g, acc_g, acc_delta, lr=1.0, wd=0.0, rho=0.9, eps=1e-5, rescale=1.0, clip=None):
    g = bounded(g * rescale, clip)
    acc_g = rho * acc_g + (1 - rho) * g**2
    delta = np.sqrt(acc_delta + eps) / np.sqrt(acc_g + eps) * g
    return w - (delta + wd * w), acc_g, rho * acc_delta + (1 - rho) * delta**2


def ftrl_(w, g, z, n, lr, wd=0.0, lamda1=0.01, beta=1.0, rescale=1.0, clip=None):
    g = bounded(g * rescale, clip)
    z = z + g - (np.sqrt(n + g**2) - np.sqrt(n)) * w / lr
    n = n + g**2
    return (np.sign(z) * lamda1 - z) / ((beta + np.sqrt(n)) / lr + wd) * (np.abs(z) > lamda1), z, n


def ftml_(w, g, d, v, z, lr, t, wd=0.0, beta1=0.6, beta2=0.999, eps=1e-8, rescale=1.0, clip=None):
    g = decay_before(g, w, wd, rescale, clip)
    v = beta2 * v + (1 - beta2) * g**2
    new = (1 - beta1**t) / lr * (np.sqrt(v / (1 - beta2**t)) + eps)
    z = beta1 * z + (1 - beta1) * g - (new - beta1 * d) * w
    return -z / new, new, v, z


def sgld_(w, g, noise, lr, wd=0.0, rescale=1.0, clip=None):
    return w + np.sqrt(lr) * noise - lr / 2 * decay_after(g, w, wd, rescale, clip), noise


def lamb_phase1(w, g, mean, var, t, wd=0.0, beta1=0.9, beta2=0.999, eps=1e-6, bias_correction=True, rescale=1.0,
                clip=None):  # fmt: skip
    g = bounded(g * rescale, clip)
    mean, var = beta1 * mean + (1 - beta1) * g, beta2 * var + (1 - beta2) * g**2
    m, v = (mean / (1 - beta1**t), var / (1 - beta2**t)) if bias_correction else (mean, var)
    return m / (np.sqrt(v) + eps) + wd * w, mean, var


def lamb_phase2_(w, update, weight_norm, update_norm, lr, lower_bound=None, upper_bound=None):
    if lower_bound is not None:
        weight_norm = max(weight_norm, lower_bound)
    if upper_bound is not None:
        weight_norm = min(weight_norm, upper_bound)
    ratio = 1.0 if weight_norm == 0 or update_norm == 0 else weight_norm / update_norm
    return w - lr * ratio * update


# formula, number of states, attributes besides wd, rescale and clip
CASES = [
    (sgd_, 0, {"lr": 0.1}),
    (sgd_momentum_, 1, {"lr": 0.1, "momentum": 0.9}),
    (nag_, 1, {"lr": 0.1, "momentum": 0.9}),
    (nag_, 1, {"lr": 0.1, "momentum": 0.9, "in_place": False}),
    (signsgd_, 0, {"lr": 0.1}),
    (signum_, 1, {"lr": 0.1, "momentum": 0.9, "wd_lh": 0.2}),
    (dcasgd_, 2, {"lr": 0.1, "momentum": 0.9}),
    (adam_, 2, {"lr": 0.1, "beta1": 0.8, "beta2": 0.95}),
    (adamw_, 2, {"lr": 0.1, "eta": 0.7, "beta2": 0.95}),
    (adamax_, 2, {"lr": 0.1, "beta2": 0.9}),
    (nadam_, 2, {"lr": 0.1, "g_share": 0.3, "mean_share": 1.2, "var_share": 1.5, "eps": 1e-3}),
    (rmsprop_, 1, {"lr": 0.1, "gamma1": 0.9, "clip_weights": 1.5}),
    (rmspropalex_, 3, {"lr": 0.1, "gamma1": 0.8, "gamma2": 0.7}),
    (adagrad_, 1, {"lr": 0.1, "eps": 1e-3}),
    (adadelta_, 2, {"rho": 0.8, "eps": 1e-3}),
    (ftrl_, 2, {"lr": 0.1, "lamda1": 0.3, "beta": 0.5}),
    (ftml_, 3, {"lr": 0.1, "t": 3}),
    (sgld_, 1, {"lr": 0.1}),
]
REGULARIZATIONS = [{}, {"wd": 0.1}, {"wd": 0.1, "rescale": 0.5, "clip": 0.3}]


def arrays(formula, states, size, seed=0):
    """Weight, gradient and states of `size` elements; the second moment exceeds the square of the first."""
    rs = np.random.RandomState(seed)
    w, g = rs.standard_normal((2, size))
    rest = [rs.uniform(0.1, 1.0, size) for _ in range(states)]
    if formula is rmspropalex_:
        rest[0] += rest[1] ** 2
    return [w, g, *rest]
