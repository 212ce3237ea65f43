"""Nodes whose inputs are known as a file is read are computed then: shapes and what follows from them, no weights."""

from __future__ import annotations

import numpy as np

from core import autograd
from core.base import MXNetError
from core.context import cpu
from core.contrib.onnx.onnx2mx.extents import PROBES, Varying
from core.contrib.onnx.onnx2mx.shapes import FOLDED
from core.contrib.onnx.onnx2mx.table import CONVERSIONS, Network
from core.ndarray import NDArray, array
from core.symbol import Symbol, graph
from core.util import np_shape


def convert(net: Network, kind: str, attrs: dict, given: list) -> list:
    """What a node gives: symbols, or, where its inputs are known, constants and numbers that vary with extents."""
    results = folded(net, kind, attrs, given)
    if results is None:
        results = CONVERSIONS[kind](net, attrs, *given)
    return results if isinstance(results, list) else [results]


def folded(net: Network, kind: str, attrs: dict, given: list) -> list | None:
    """The results of a node of known inputs; None where they are not known, or not worth it."""
    known = [x for x in given if x is not None]
    if not known or not all(isinstance(x, (np.ndarray, Varying)) for x in known):
        return None
    if sum(x.size if isinstance(x, np.ndarray) else x.numbers[0].size for x in known) > FOLDED:
        return None
    varies = any(isinstance(x, Varying) for x in known)
    if varies and kind == "Slice" and isinstance(given[0], np.ndarray):
        return None  # bounds that were tried may lie behind the end of a table, where others do not
    found = []
    for p in PROBES if varies else PROBES[:1]:
        values = _computed(net, kind, attrs, [x.numbers[p] if isinstance(x, Varying) else x for x in given])
        if values is None:
            return None
        found.append(values)
    if not varies:
        return found[0]
    return [
        pair[0] if np.array_equal(*pair) else Varying(pair, _later(net, kind, attrs, given, k))
        for k, pair in enumerate(zip(*found))
    ]


def _later(net: Network, kind: str, attrs: dict, given: list, k: int):
    """Makes the symbol of result `k`, when one asks for it."""
    where, name, outputs = net.where, net.name, net.outputs

    def make() -> Symbol:
        before = net.where, net.name, net.outputs
        net.where, net.name, net.outputs = where, name, outputs
        try:
            results = CONVERSIONS[kind](net, attrs, *given)
        finally:
            net.where, net.name, net.outputs = before
        return net.symbol(results[k] if isinstance(results, list) else results)

    return make


def _computed(net: Network, kind: str, attrs: dict, given: list) -> list | None:
    with np_shape(True), autograd.pause():
        scratch = Network(net.opset, scalar=())
        scratch.where, scratch.name, scratch.outputs = net.where, net.name, net.outputs
        try:
            results = CONVERSIONS[kind](scratch, attrs, *given)
            results = results if isinstance(results, list) else [results]
            return [x if isinstance(x, np.ndarray) else _value(scratch, x) for x in results]
        except (MXNetError, LookupError, TypeError, ValueError, ArithmeticError):
            return None  # the conversion by symbols says what is wrong


def _value(scratch: Network, symbol: Symbol) -> np.ndarray:
    sizes = [scratch.extents.size(node) for node in graph.order(symbol._entries)]
    if None in sizes or sum(sizes) > 4 * FOLDED:
        raise ValueError("not known, or too large")
    arrays = {n: array(v, dtype=v.dtype) for n, v in scratch.used.items()}
    return graph.run(symbol._entries, arrays, cpu(), NDArray)[0].asnumpy()
