"""`nd.contrib`: operators whose names begin with `_contrib_`."""

from core.imperative import assign
from core.ndarray._namespace import listing, lookup
from core.ndarray.control_flow import cond, foreach, while_loop
from core.ndarray.sparse import getnnz
from core.ops.registry import TABLE


def _multi_lamb(master: bool):
    """One step of LAMB for several weights at once; the kinds of arrays come as lists."""

    def update(weights, grads, mean, var, *rest, out=None, num_tensors=0, **kwargs):
        kinds = (weights, grads, mean, var, *rest[:master])
        step_count, lrs, wds = rest[master:]
        op = TABLE[f"_multi_{'mp_' if master else ''}lamb_update"]
        arrays = [array for group in zip(*kinds, strict=True) for array in group]
        given = {"learning_rates": lrs, "wds": wds, "step_count": tuple(step_count), "num_tensors": len(weights)}
        results = op(*arrays, **given, **kwargs)
        results = results if isinstance(results, list) else [results]
        return results if out is None else assign(op, out, results)

    return update


multi_lamb_update, multi_mp_lamb_update = _multi_lamb(False), _multi_lamb(True)

__getattr__ = lookup(("_contrib_",), "nd.contrib")
__dir__ = listing(("_contrib_",))
__all__ = ["cond", "foreach", "getnnz", "multi_lamb_update", "multi_mp_lamb_update", "while_loop"]
