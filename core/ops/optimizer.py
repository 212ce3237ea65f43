"""Update operators of the optimizers.

States are changed in place; the new weight is the result (usually `out=weight`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from core import kernels
from core.base import MXNetError
from core.kernels import formula as f
from core.kernels.formula import Expr
from core.ops.attributes import Any_, Bool, BoolType, Float, Floats, FloatType, Int, IntType
from core.ops.pointwise import pointwise
from core.ops.registry import TABLE, F, gradient, operator
from core.ops.relations import SAME
from core.ops.storage_types import DENSE, RowUpdate
from core.ops.values import Attrs, Gradients, Tensor, Value

K = kernels.optimizer
COPY = kernels.shape.clone

# attribute name of MXNet -> (name in the kernels, type, default)
_ATTRS = {
    "lr": ("lr", FloatType(), None),
    "wd": ("wd", FloatType(), 0.0),
    "momentum": ("momentum", FloatType(), 0.0),
    "rescale_grad": ("rescale", FloatType(), 1.0),
    "clip_gradient": ("clip", FloatType(), -1.0),
    "clip_grad": ("clip", FloatType(), -1.0),
    "clip_weights": ("clip_weights", FloatType(), -1.0),
    "beta1": ("beta1", FloatType(), 0.9),
    "beta2": ("beta2", FloatType(), 0.999),
    "epsilon": ("eps", FloatType(), 1e-8),
    "t": ("t", IntType(), None),
    "lamda1": ("lamda1", FloatType(), 0.01),
    "beta": ("beta", FloatType(), 1.0),
    "gamma1": ("gamma1", FloatType(), 0.95),
    "gamma2": ("gamma2", FloatType(), 0.9),
    "wd_lh": ("wd_lh", FloatType(), 0.0),
    "eta": ("eta", FloatType(), None),
}
# operator: (kernel, states, attributes as "name" or "name=default", accepted attributes without effect on dense arrays)
_UPDATES = {
    "sgd_update": ("sgd_", "", "lr wd rescale_grad clip_gradient", "lazy_update"),
    "sgd_mom_update": ("sgd_momentum_", "mom", "lr momentum wd rescale_grad clip_gradient", "lazy_update"),
    "nag_mom_update": ("nag_", "mom", "lr momentum wd rescale_grad clip_gradient", ""),
    "signsgd_update": ("signsgd_", "", "lr wd", "rescale_grad clip_gradient"),
    "signum_update": ("signum_", "mom", "lr momentum wd rescale_grad clip_gradient wd_lh", ""),
    "adam_update": ("adam_", "mean var", "lr beta1 beta2 epsilon wd rescale_grad clip_gradient", "lazy_update"),
    "rmsprop_update": ("rmsprop_", "n", "lr gamma1 epsilon wd rescale_grad clip_gradient clip_weights", ""),
    "rmspropalex_update": (
        "rmspropalex_", "n g delta", "lr gamma1 gamma2 epsilon wd rescale_grad clip_gradient clip_weights", ""
    ),
    "ftrl_update": ("ftrl_", "z n", "lr lamda1 beta wd rescale_grad clip_gradient", ""),
    "ftml_update": ("ftml_", "d v z", "lr beta1=0.6 beta2 epsilon t wd rescale_grad clip_grad", ""),
}  # fmt: skip
# those that keep a float32 master copy beside a half-precision weight
_MASTERED = ("sgd_update", "sgd_mom_update", "nag_mom_update")


def _alike(name: str, arrays: tuple[Tensor, ...], of_one_type: int | None = None) -> None:
    """MXNetError unless the arrays have one shape, and all one dtype, or the first `of_one_type` and float32 the others."""
    shape, kind = arrays[0].shape, arrays[0].dtype
    if any(a.shape != shape for a in arrays):
        given = ", ".join(str(tuple(a.shape)) for a in arrays)
        raise MXNetError(f"{name}: a weight, its gradient and its states have one shape, given {given}")
    if any(a.dtype != kind for a in arrays[:of_one_type]):
        given = ", ".join(kernels.dtype_name(a) for a in arrays[:of_one_type])
        raise MXNetError(
            f"{name}: a weight and its gradient have one dtype, states too, given {given}; convert with astype"
        )
    others = [] if of_one_type is None else [kernels.dtype_name(a) for a in arrays[of_one_type:]]
    if any(dtype != "float32" for dtype in others):
        raise MXNetError(
            f"{name}: directions, states and master weights are float32, given {', '.join(others)}; convert with astype"
        )


def _annotations(attributes: str, ignored: str) -> tuple[Attrs, Attrs]:
    """Attribute types with defaults for the table, and MXNet's names to the kernels'."""
    table, renamed = {}, {}
    for word in attributes.split():
        name, _, default = word.partition("=")
        kernel_name, kind, standard = _ATTRS[name]
        table[name] = (kind, float(default) if default else standard)
        renamed[name] = kernel_name
    for name in ignored.split():
        table[name] = _ATTRS[name][1:] if name in _ATTRS else (BoolType(), True)
    return table, renamed


def _enter(name: str, kernel: str, states: str, attributes: str, ignored: str, master: bool) -> None:
    update = getattr(K, kernel)
    overwrites = kernel == "nag_" and not master  # its momentum is other where the weight is overwritten
    table, renamed = _annotations(attributes, ignored)
    inputs = [
        "weight",
        "grad",
        *states.split(),
        *(["weight32"] if master else []),
    ]
    count = len(inputs)

    def forward(*arrays: Tensor, **attrs: Any) -> Tensor:
        _alike(name, arrays, 2 if master else None)
        weight = COPY(arrays[0])
        given = {renamed[k]: v for k, v in attrs.items() if k in renamed}
        if overwrites:
            given["in_place"] = attrs.get("into") is arrays[0]
        states_of = arrays[2 : count - master]
        if master:
            update(weight, arrays[1], *states_of, w32=arrays[-1], **given)
        else:
            update(weight, arrays[1], *states_of, **given)
        return weight

    forward.__doc__ = f"One step of `{kernel.rstrip('_')}`" + (" with a float32 master weight." if master else ".")
    source = f"def entry({', '.join(inputs)}, *, {', '.join(_parameter(n, d) for n, (_, d) in table.items())}): pass"
    scope: Attrs = {}
    exec(source, scope)
    scope["entry"].__doc__ = forward.__doc__
    storage = RowUpdate() if "lazy_update" in ignored.split() + attributes.split() and not master else DENSE
    op = operator(name, mutates=inputs[2:], memory="new", storage=storage)(scope["entry"])
    for attr, (kind, _) in table.items():
        op.attrs[attr] = (kind, op.attrs[attr][1])
    op.forward, op.overwrites = forward, overwrites


def _parameter(name: str, default: float | None) -> str:
    return name if default is None else f"{name}={default!r}"


for _name, (_kernel, _states, _attributes, _ignored) in _UPDATES.items():
    _enter(_name, _kernel, _states, _attributes, _ignored, False)
for _name in _MASTERED:
    _enter(f"mp_{_name}", *_UPDATES[_name], True)


@operator("lamb_update_phase1", mutates=("mean", "var"), memory="new")
def lamb_update_phase1(
    weight: Tensor, grad: Tensor, mean: Tensor, var: Tensor, *, beta1: Float = 0.9, beta2: Float = 0.999,
    epsilon: Float = 1e-6, t: Int, bias_correction: Bool = True, wd: Float, rescale_grad: Float = 1.0,
    clip_gradient: Float = -1.0,
) -> Any:  # fmt: skip
    """LAMB's direction before the trust ratio (You et al., 2020)."""
    _alike("lamb_update_phase1", (weight, grad, mean, var))
    return K.lamb_phase1(
        weight, grad, mean, var, t, wd, beta1, beta2, epsilon, bias_correction, rescale_grad, clip_gradient
    )


@operator("lamb_update_phase2", memory="new", real=True)
def lamb_update_phase2(
    weight: Tensor, g: Tensor, r1: Tensor, r2: Tensor, *, lr: Float, lower_bound: Float = -1.0,
    upper_bound: Float = -1.0,
) -> Tensor:  # fmt: skip
    """LAMB's step along g, scaled by the bounded norm r1 of the weight over the norm r2 of g.

    r1, r2: (1,) or (1, n), of which the first number counts.
    """
    _alike("lamb_update_phase2", (weight, g))
    weight = COPY(weight)
    K.lamb_phase2_(weight, g, _norm("r1", r1), _norm("r2", r2), lr, lower_bound, upper_bound)
    return weight


def _norm(name: str, r: Any) -> Any:
    """The norm that an array (1, ...) begins with; MXNetError for other arrays."""
    if not r.dim() or r.shape[0] != 1:
        raise MXNetError(f"lamb_update_phase2: {name} is one number of shape (1,) or (1, n), given {tuple(r.shape)}")
    return r.reshape(-1)[:1]


@operator("mp_lamb_update_phase1", mutates=("mean", "var"), memory="new")
def mp_lamb_update_phase1(
    weight: Tensor, grad: Tensor, mean: Tensor, var: Tensor, weight32: Tensor, *, beta1: Float = 0.9,
    beta2: Float = 0.999, epsilon: Float = 1e-6, t: Int, bias_correction: Bool = True, wd: Float,
    rescale_grad: Float = 1.0, clip_gradient: Float = -1.0,
) -> Any:  # fmt: skip
    """LAMB's direction for a half-precision weight, from its float32 master."""
    _alike("mp_lamb_update_phase1", (weight, grad, mean, var, weight32), 2)
    return K.lamb_phase1(
        weight32, grad, mean, var, t, wd, beta1, beta2, epsilon, bias_correction, rescale_grad, clip_gradient
    )


@operator("mp_lamb_update_phase2", memory="new")
def mp_lamb_update_phase2(
    weight: Tensor, g: Tensor, r1: Tensor, r2: Tensor, weight32: Tensor, *, lr: Float, lower_bound: Float = -1.0,
    upper_bound: Float = -1.0,
) -> Tensor:  # fmt: skip
    """LAMB's step for a half-precision weight from its float32 master, which stays as it is (as in MXNet)."""
    _alike("mp_lamb_update_phase2", (weight, g, weight32), 1)
    weight = COPY(weight)
    K.lamb_phase2_(weight, g, _norm("r1", r1), _norm("r2", r2), lr, lower_bound, upper_bound, w32=COPY(weight32))
    return weight


def _adamw(
    weight: Tensor, grad: Tensor, mean: Tensor, var: Tensor, rescale_grad: Tensor, master: Tensor | None, lr: float,
    eta: float, wd: float, beta1: float, beta2: float, epsilon: float, clip_gradient: float,
) -> Tensor:  # fmt: skip
    _alike(
        "adamw_update", (weight, grad, mean, var, *([] if master is None else [master])), None if master is None else 2
    )
    weight = COPY(weight)
    scale = float(rescale_grad) if not rescale_grad.is_meta else 1.0
    if scale != scale or scale in (0.0, float("inf")):  # a loss scale that overflowed: the step is left out
        return weight
    K.adamw_(
        weight, grad, mean, var, lr, eta, wd, beta1, beta2, epsilon, scale, clip_gradient,
        w32=master,
    )  # fmt: skip
    return weight


@operator("_adamw_update", aliases=("_contrib_adamw_update",), mutates=("mean", "var"), memory="new")
def adamw_update(
    weight: Tensor, grad: Tensor, mean: Tensor, var: Tensor, rescale_grad: Tensor, *, lr: Float, beta1: Float = 0.9,
    beta2: Float = 0.999, epsilon: Float = 1e-8, wd: Float = 0.0, eta: Float, clip_gradient: Float = -1.0,
) -> Tensor:  # fmt: skip
    """Adam with decoupled decay; no step where rescale_grad is 0, NaN or infinite."""
    return _adamw(weight, grad, mean, var, rescale_grad, None, lr, eta, wd, beta1, beta2, epsilon, clip_gradient)


@operator("_mp_adamw_update", aliases=("_contrib_mp_adamw_update",), mutates=("mean", "var", "weight32"), memory="new")
def mp_adamw_update(
    weight: Tensor, grad: Tensor, mean: Tensor, var: Tensor, weight32: Tensor, rescale_grad: Tensor, *, lr: Float,
    beta1: Float = 0.9, beta2: Float = 0.999, epsilon: Float = 1e-8, wd: Float = 0.0, eta: Float,
    clip_gradient: Float = -1.0,
) -> Any:  # fmt: skip
    """As adamw_update, with a float32 master weight."""
    return _adamw(weight, grad, mean, var, rescale_grad, weight32, lr, eta, wd, beta1, beta2, epsilon, clip_gradient)


@operator("_contrib_group_adagrad_update", mutates=("history",), memory="new", storage=RowUpdate(if_lazy=False))
def group_adagrad_update(
    weight: Tensor, grad: Tensor, history: Tensor, *, lr: Float, rescale_grad: Float = 1.0, clip_gradient: Float = -1.0,
    epsilon: Float = 1e-5,
) -> Tensor:  # fmt: skip
    """AdaGrad with one history for each row."""
    weight = COPY(weight)
    K.group_adagrad_(weight, grad, history, lr, epsilon, rescale_grad, clip_gradient)
    return weight


# ---------------------------------------------------------------------------------------------- several arrays at once


def _enter_multi(name: str, states: int, master: bool, preloaded: bool) -> None:
    """A step of SGD for many weights; arrays come interleaved, learning rates as attributes or as two last arrays."""
    width = 2 + states + master
    update: Callable[..., None] = K.sgd_momentum_ if states else K.sgd_

    def run(
        data: tuple[Tensor, ...], num_weights: int, lrs: Sequence[float], wds: Sequence[float], momentum: float,
        rescale_grad: float, clip_gradient: float,
    ) -> Any:  # fmt: skip
        out = []
        for i in range(num_weights):
            arrays = data[i * width : (i + 1) * width]
            _alike(name, arrays, 2 if master else None)
            weight = COPY(arrays[0])
            more: Attrs = {"w32": arrays[-1]} if master else {}
            more |= {"momentum": momentum} if states else {}
            update(
                weight, *arrays[1 : 2 + states], lr=lrs[i], wd=wds[i], rescale=rescale_grad, clip=clip_gradient, **more
            )
            out.append(weight)
        return tuple(out)

    entry: Callable[..., Any]
    if preloaded:

        def of_arrays(
            *data: Tensor, num_weights: Int = 1, momentum: Float = 0.0, rescale_grad: Float = 1.0,
            clip_gradient: Float = -1.0,
        ) -> Any:  # fmt: skip
            lrs, wds = (kernels.shape.numbers(d) if not d.is_meta else [0.0] * num_weights for d in data[-2:])
            return run(data[:-2], num_weights, lrs, wds, momentum, rescale_grad, clip_gradient)

        entry = of_arrays
    else:

        def of_attributes(
            *data: Tensor, lrs: Floats, wds: Floats, num_weights: Int = 1, momentum: Float = 0.0,
            rescale_grad: Float = 1.0, clip_gradient: Float = -1.0,
        ) -> Any:  # fmt: skip
            return run(data, num_weights, lrs, wds, momentum, rescale_grad, clip_gradient)

        entry = of_attributes

    entry.__doc__ = "One step of SGD for several weights."
    operator(name, outputs=lambda attrs: attrs["num_weights"], mutates=("data",), memory="new")(entry)


for _preloaded in (False, True):
    for _moments in (0, 1):
        for _master in (False, True):
            _enter_multi(
                f"{'preloaded_' if _preloaded else ''}multi_{'mp_' if _master else ''}sgd_{'mom_' if _moments else ''}update",
                _moments, _master, _preloaded,
            )  # fmt: skip


def _check_count(name: str, told: int, data: tuple[Any, ...]) -> None:
    if told != len(data):
        raise MXNetError(f"{name}: num_arrays={told}, but {len(data)} arrays are given")


@operator("multi_sum_sq", memory="new")
def multi_sum_sq(*data: Tensor, num_arrays: Int) -> Tensor:
    """The sum of squares of each array, as one array of float32; those of halves are halves, as in MXNet."""
    _check_count("multi_sum_sq", num_arrays, data)
    return kernels.cast(kernels.shape.concat([_sum_squares(x).reshape(1) for x in data], 0), "float32")


def _sum_squares(x: Tensor) -> Tensor:
    if kernels.dtype_name(x) != "float16":
        return K.sum_squares(x)
    return kernels.reduce.sum(kernels.cast(F.square.forward(x), "float32").reshape(-1), (0,), False)


@gradient(multi_sum_sq)
def _multi_sum_sq_gradient(dy: Value, data: list[Value]) -> Gradients:
    """MXNet has none and refuses; zeros, as of a piecewise constant operator, would be wrong."""
    dys = [F.slice_axis(2.0 * dy, axis=0, begin=i, end=i + 1) for i in range(len(data))]
    return [x * F._broadcast_from(F.Cast(h, dtype=x.dtype), shape=x.shape) for x, h in zip(data, dys, strict=True)]


@pointwise("multi_lars", differentiable=False, real=True, shape=SAME)
def multi_lars(
    lrs: Expr, weights_sum_sq: Expr, grads_sum_sq: Expr, wds: Expr, *, eta: Float, eps: Float, rescale_grad: Float = 1.0
) -> Expr:
    """Learning rates of layer-wise adaptive rate scaling (You et al., 2017): lr eta |w| / (|g| + wd |w| + eps)."""
    w, g = f.sqrt(weights_sum_sq), f.sqrt(grads_sum_sq) * rescale_grad
    return f.where(f.logical_and(w > 0, grads_sum_sq > 0), lrs * eta * w / (g + wds * w + eps), lrs)


@operator("reset_arrays", outputs=0, mutates=("data",), memory="new")
def reset_arrays(*data: Tensor, num_arrays: Int) -> tuple[()]:
    """Sets all arrays to zero, in place."""
    _check_count("reset_arrays", num_arrays, data)
    for x in data:
        kernels.shape.fill_(x, 0)
    return ()


@operator("multi_all_finite", overwrites=True, memory="new", real=True)
def multi_all_finite(
    *data: Tensor, num_arrays: Int = 1, init_output: Bool = True, into: Tensor | None = None
) -> Tensor:
    """1 where no element of any array is infinite or NaN, else 0; without init_output 0 also where `out` holds it."""
    _check_count("multi_all_finite", num_arrays, data)
    each = [
        kernels.reduce.all(TABLE["_npi_isfinite"].forward(t), tuple(range(t.dim())), False).reshape(1) for t in data
    ]
    finite = kernels.cast(kernels.reduce.all(kernels.shape.concat(each, 0), (0,), True), "float32")
    if init_output or into is None:
        return finite
    shape, kind = tuple(into.shape), kernels.dtype_name(into)
    if (shape, kind) != ((1,), "float32"):
        raise MXNetError(
            f"whether arrays are finite goes to an out of shape (1,) and float32, given {shape} and {kind}"
        )
    return TABLE["broadcast_mul"].forward(finite, into)


@operator("all_finite", overwrites=True, memory="new", real=True)
def all_finite(data: Tensor, *, init_output: Bool = True, into: Tensor | None = None) -> Tensor:
    """1 where no element is infinite or NaN, else 0; without init_output 0 also where `out` holds it."""
    return multi_all_finite.forward(data, num_arrays=1, init_output=init_output, into=into)


for _master in (False, True):

    def _multi_lamb(
        *data: Tensor, learning_rates: Floats, wds: Floats, beta1: Float = 0.9, beta2: Float = 0.999,
        epsilon: Float = 1e-6, rescale_grad: Float = 1.0, lower_bound: Float = -1.0, upper_bound: Float = -1.0,
        clip_gradient: Float = -1.0, bias_correction: Bool = True, step_count: Any_, num_tensors: Int = 1,
        _master: bool = _master,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """One step of LAMB for several weights; arrays come interleaved."""
        width, out = 4 + _master, []
        how = beta1, beta2, epsilon, bias_correction, rescale_grad, clip_gradient
        for i in range(len(data) // width):
            arrays = data[i * width : (i + 1) * width]
            _alike("multi_lamb_update", arrays, 2 if _master else None)
            weight, grad, mean, var, *master = arrays
            source, copy = (master[0], master[0]) if master else (weight, None)
            update = K.lamb_phase1(source, grad, mean, var, step_count[i], wds[i], *how)
            weight = COPY(weight)
            r1, r2 = (kernels.reduce.norm(x, 2, tuple(range(x.dim())), False) for x in (source, update))
            K.lamb_phase2_(weight, update, r1, r2, learning_rates[i], lower_bound, upper_bound, w32=copy)
            out.append(weight)
        return tuple(out)

    _name = f"_multi_{'mp_' if _master else ''}lamb_update"
    _op = operator(_name, outputs=lambda attrs: attrs["num_tensors"], mutates=("data",), memory="new")(_multi_lamb)
    del _op.attrs["_master"]


# -------------------------------------------------------------------------------------------- AdamW for several weights

for _master in (False, True):

    def _multi_adamw(
        *data: Tensor, lrs: Floats, wds: Floats, etas: Floats, beta1: Float = 0.9, beta2: Float = 0.999,
        epsilon: Float = 1e-8, clip_gradient: Float = -1.0, num_weights: Int = 1, _master: bool = _master,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """One step of AdamW for several weights.

        Arrays come interleaved, the scale of the gradients is the last one.
        """
        width, out = 4 + _master, []
        for i in range(num_weights):
            weight, grad, mean, var, *master = data[i * width : (i + 1) * width]
            copy = master[0] if master else None
            how = (lrs[i], etas[i], wds[i], beta1, beta2, epsilon, clip_gradient)
            out.append(_adamw(weight, grad, mean, var, data[-1], copy, *how))
        return tuple(out)

    _name = f"_multi_{'mp_' if _master else ''}adamw_update"
    _op = operator(_name, outputs=lambda attrs: attrs["num_weights"], mutates=("data",), memory="new")(_multi_adamw)
    del _op.attrs["_master"]
