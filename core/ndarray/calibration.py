"""The threshold beyond which values are cut off before they are quantized."""

from __future__ import annotations

from typing import Any

import numpy as onp

from core.base import MXNetError
from core.ndarray.ndarray import NDArray, array

Counts = onp.ndarray[Any, onp.dtype[onp.float64]]


def calibrate_entropy(hist: NDArray, hist_edges: NDArray, num_quantized_bins: int = 255) -> list[NDArray]:
    """[threshold, divergence], each (1,): the cut that loses least information
    (Migacz, 2017, "8-bit Inference with TensorRT").

    hist: numbers of values (bins,), bins odd and the middle one around 0; hist_edges (bins + 1,). The divergence is
    that of Kullback and Leibler from the values that are kept to their `num_quantized_bins` codes.
    """
    counts, edges = hist.asnumpy().astype(onp.float64), hist_edges.asnumpy()
    if len(edges) != len(counts) + 1 or len(counts) < num_quantized_bins:
        raise MXNetError(
            f"calibrate_entropy takes at least {num_quantized_bins} bins and one edge more, given {len(counts)} and "
            f"{len(edges)}"
        )
    middle = len(counts) // 2
    ranges = [(middle - n, min(middle + n + 1, len(counts))) for n in range(num_quantized_bins // 2, middle + 1)]
    lost = [_divergence(counts, start, stop, num_quantized_bins) for start, stop in ranges]
    best = int(onp.argmin(lost))
    return [array([edges[ranges[best][1]]], hist.context), array([lost[best]], hist.context)]


def _divergence(counts: Counts, start: int, stop: int, codes: int) -> float:
    """What is lost when bins from start to stop share `codes` codes, those outside counting to the outermost."""
    inside = counts[start:stop].copy()
    inside[0] = 0.0  # it counts to what lies outside
    kept = inside.copy()
    kept[0] = counts[: start + 1].sum()
    kept[-1] += counts[stop:].sum()
    starts = onp.arange(codes) * (len(inside) // codes)
    sums, filled = onp.add.reduceat(inside, starts), onp.add.reduceat((inside != 0).astype(onp.float64), starts)
    means = onp.divide(sums, filled, out=onp.zeros_like(sums), where=filled > 0)
    coded = onp.repeat(means, onp.diff([*starts, len(inside)])) * (kept != 0)
    p, q = smoothed(kept), smoothed(coded)
    if p is None or q is None:
        return float("inf")
    p, q = p / p.sum(), q / q.sum()
    both = (p != 0) & (q != 0)
    return float((p[both] * onp.log(p[both] / q[both])).sum())


def smoothed(counts: Counts, amount: float = 1e-4) -> Counts | None:
    """The counts with a little moved from filled bins to empty ones; None where there is too little to move."""
    empty = counts == 0
    filled = len(counts) - empty.sum()
    if not filled or amount * empty.sum() / filled >= 1:
        return None
    return counts + onp.where(empty, amount, -amount * empty.sum() / filled)
