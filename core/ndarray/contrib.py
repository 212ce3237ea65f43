"""`nd.contrib`: operators whose names begin with `_contrib_`."""

import math

from core.ndarray._namespace import listing, lookup
from core.ndarray.calibration import calibrate_entropy
from core.ndarray.control_flow import cond, foreach, while_loop
from core.ndarray.draws import log_uniform
from core.ndarray.functions import full
from core.ndarray.graphs import (
    dgl_adjacency,
    dgl_csr_neighbor_non_uniform_sample,
    dgl_csr_neighbor_uniform_sample,
    dgl_graph_compact,
    dgl_subgraph,
    edge_id,
)
from core.ndarray.ndarray import NDArray
from core.ndarray.sparse import getnnz
from core.ndarray.steps import (
    adabelief_update,
    mp_adabelief_update,
    multi_adabelief_update,
    multi_lans_update,
    multi_mp_adabelief_update,
    multi_mp_lans_update,
)
from core.ops.registry import TABLE
from core.writes import assign


def multi_lamb_update(weights, grads, mean, var, step_count, lrs, wds, out=None, num_tensors=0, **kwargs):
    """One step of LAMB for several weights at once; the kinds of arrays come as lists, as do rates and decays."""
    given = {
        "learning_rates": lrs,
        "wds": wds,
        "step_count": tuple(step_count),
        "num_tensors": num_tensors or len(weights),
    }
    return _multi("_multi_lamb_update", (weights, grads, mean, var), (), out, **given, **_without_name(kwargs))


def multi_mp_lamb_update(weights, grads, mean, var, weights32, step_count, lrs, wds, out=None, num_tensors=0, **kwargs):
    """`multi_lamb_update` of half-precision weights with float32 master weights."""
    given = {
        "learning_rates": lrs,
        "wds": wds,
        "step_count": tuple(step_count),
        "num_tensors": num_tensors or len(weights),
    }
    kinds = weights, grads, mean, var, weights32
    return _multi("_multi_mp_lamb_update", kinds, (), out, **given, **_without_name(kwargs))


def multi_adamw_update(weights, grads, mean, var, rescale_grad, lrs, wds, etas, out=None, size=0, **kwargs):
    """One step of AdamW for several weights at once; the kinds of arrays come as lists.

    rescale_grad: as `adamw_update`.
    """
    given = {"lrs": lrs, "wds": wds, "etas": etas, "num_weights": size or len(weights)}
    shared = (_as_array(rescale_grad, weights[0]),)
    return _multi("_multi_adamw_update", (weights, grads, mean, var), shared, out, **given, **_without_name(kwargs))


def multi_mp_adamw_update(
    weights, grads, mean, var, weights32, rescale_grad, lrs, wds, etas, out=None, size=0, **kwargs
):
    """`multi_adamw_update` of half-precision weights with float32 master weights."""
    given = {"lrs": lrs, "wds": wds, "etas": etas, "num_weights": size or len(weights)}
    shared, kinds = (_as_array(rescale_grad, weights[0]),), (weights, grads, mean, var, weights32)
    return _multi("_multi_mp_adamw_update", kinds, shared, out, **given, **_without_name(kwargs))


def _multi(name: str, kinds, shared, out, **attrs):
    """The operator of that name on the arrays of each weight in turn, and then those that all share."""
    results = TABLE[name](*(array for group in zip(*kinds, strict=True) for array in group), *shared, **attrs)
    results = results if isinstance(results, list) else [results]
    return results if out is None else assign(TABLE[name], out, results)


def adamw_update(weight, grad, mean, var, rescale_grad, lr, eta, **kwargs):
    """One step of AdamW; `rescale_grad` is a number or an array of one.

    >>> nd.contrib.adamw_update(nd.array([1, 2]), nd.array([1, 1]), nd.zeros(2), nd.zeros(2), 1, lr=0.1, eta=1)
    [0.6838 1.6838]
    <NDArray 2 @cpu(0)>
    """
    return TABLE["_adamw_update"](
        weight, grad, mean, var, _as_array(rescale_grad, weight), lr=lr, eta=eta, **_without_name(kwargs)
    )


def mp_adamw_update(weight, grad, mean, var, weight32, rescale_grad, lr, eta, **kwargs):
    """One step of AdamW for a half-precision weight with a float32 master weight.

    >>> master = nd.array([1, 2])
    >>> nd.contrib.mp_adamw_update(master.astype("float16"), nd.ones(2, dtype="float16"), nd.zeros(2), nd.zeros(2), master, 1, lr=0.1, eta=1)
    [0.6836 1.684 ]
    <NDArray 2 @cpu(0)>
    """
    return TABLE["_mp_adamw_update"](
        weight, grad, mean, var, weight32, _as_array(rescale_grad, weight), lr=lr, eta=eta, **_without_name(kwargs)
    )


def _as_array(value, like: NDArray) -> NDArray:
    return value if isinstance(value, NDArray) else full((1,), value, ctx=like.context)


def _without_name(kwargs: dict) -> dict:
    return {k: v for k, v in kwargs.items() if k != "name"}


def rand_zipfian(true_classes, num_sampled: int, range_max: int, ctx=None):
    """Classes drawn with P(k) = log((k + 2) / (k + 1)) / log(range_max + 1),
    and the counts expected of true and drawn ones.

    Returns `num_sampled` classes (int64), the expected counts of `true_classes`, and of the drawn ones (float64).

    >>> drawn, expected_true, expected = nd.contrib.rand_zipfian(nd.array([3]), 4, 10)
    >>> drawn.shape
    (4,)
    """
    drawn = log_uniform(range_max, (num_sampled,), ctx)
    true_classes = true_classes.as_in_context(drawn.context)
    return drawn, *(zipfian_counts(classes, num_sampled, range_max) for classes in (true_classes, drawn))


def zipfian_counts(classes, num_sampled: int, range_max: int):
    """How often each class, an array's or a symbol's, is expected among the drawn ones of `rand_zipfian`; float64."""
    classes = classes.astype("float64")
    return ((classes + 2.0) / (classes + 1.0)).log() / math.log(range_max + 1) * num_sampled


__getattr__ = lookup(("_contrib_",), "nd.contrib")
__all__ = [
    "adabelief_update", "mp_adabelief_update", "multi_adabelief_update", "multi_lans_update",
    "multi_mp_adabelief_update", "multi_mp_lans_update", "adamw_update", "calibrate_entropy", "mp_adamw_update", "cond",
    "dgl_adjacency", "dgl_csr_neighbor_non_uniform_sample", "dgl_csr_neighbor_uniform_sample", "dgl_graph_compact",
    "dgl_subgraph", "edge_id", "foreach", "getnnz", "multi_adamw_update", "multi_lamb_update", "multi_mp_adamw_update",
    "multi_mp_lamb_update", "rand_zipfian", "while_loop",
]  # fmt: skip


def __dir__():
    return sorted({*listing(("_contrib_",))(), *__all__})
