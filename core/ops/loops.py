"""Loops and branches of compiled blocks as one operator: their parts are graphs of their own (`core.graph.loops`)."""

from __future__ import annotations

from typing import Any

from core.ops.attributes import Any_, Bool
from core.ops.registry import F, decompose, gradient, gradients_through, operator
from core.ops.values import Attrs, Gradients, Namespace, Tensor, Value


def _results(attrs: Attrs) -> int:
    return int(attrs["body"].results)


def _tracked(attrs: Attrs) -> int:
    return len(attrs["body"].tracked)


@operator("_loop", outputs=_results, reserves=True, memory="new")
def loop(*data: Tensor, body: Any_, lengths: Any_, keep: Bool) -> tuple[tuple[Tensor, ...], Any]:
    """The steps of a compiled body: outputs stacked, then last states; or one of two bodies.

    lengths: of the symbols in their extents. keep: whether the backward pass is to come.
    """
    return body.forward(data, lengths, keep)


@gradient(loop)
def _loop_gradient(dys: list[Value], data: list[Value], attrs: Namespace, reserve: Any) -> Gradients:
    body = attrs.body
    found = F._loop_grad(*dys, *data, body=body, lengths=attrs.lengths, reserve=reserve)
    grads = dict(zip(body.tracked, found if isinstance(found, (list, tuple)) else [found], strict=True))
    return [grads.get(k) for k in range(len(data))]


@operator("_loop_grad", outputs=_tracked, memory="new")
def loop_grad(*data: Tensor, body: Any_, lengths: Any_, reserve: Any) -> tuple[Tensor, ...]:
    """Gradients of `_loop` in what its body tracks, from those of its results and its inputs."""
    return body.backward(data, reserve, lengths)


@decompose(loop_grad)
def _loop_grad_decompose(*data: Value, body: Any, lengths: Any, reserve: Any) -> list[Value]:
    dys, given = data[: body.results], data[body.results :]
    needs = [k in body.tracked for k in range(len(given))]
    found = gradients_through(lambda *arrays: body.replay(arrays, lengths), given, dys, needs)
    return [F.zeros_like(given[k]) if found[k] is None else found[k] for k in body.tracked]
