"""Traced graphs for the tests of passes, and the numbers that they stand for."""

import numpy as np

import core as mx
from core import autograd, storage
from core.graph.plan import backward_part, early_part, forward_part, sharing_of
from core.graph.trace import trace

RNG = np.random.default_rng(1)


def array(*shape):
    return mx.nd.array(RNG.uniform(0.5, 1.5, shape).astype("float32"))


def traced(function, *args, record=False, parameters=()):
    with autograd.Scope(record, record):
        graph = trace(function, args, record, parameters).graph
    graph.mark_parameters(parameters)
    return graph


def evaluate(graph, *args, heads=None):
    """The outputs, as a plan gives them; with `heads`, the gradients behind them."""
    sharing = sharing_of(graph)
    tensors, keys = [[x._data for x in some] for some in (args, graph.arrays)], list(range(100))
    prepared = early_part(graph, sharing).run(tensors[1]) if graph.prepared() else ()
    outputs, saved = forward_part(graph, sharing).run(*tensors, prepared, keys)
    found = [None] * len(graph.gradients)
    if heads is not None:
        backward_part(graph, sharing).run(saved, [x._data for x in heads], keys, found, lambda k: None)
    return [storage.to_numpy(t) for t in (*outputs, *found) if t is not None]


def names(graph, **which):
    return [n.op.name for n in graph.nodes if all(getattr(n, key) == value for key, value in which.items())]
