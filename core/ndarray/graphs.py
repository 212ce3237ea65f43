"""Graphs as CSR matrices, of which the value at (u, v) is the number of the edge from u to v."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as onp

from core import random_keys
from core.base import MXNetError
from core.ndarray.ndarray import NDArray, array
from core.ndarray.sparse_arrays import CSRNDArray, csr_matrix

Numbers = onp.ndarray[Any, Any]
Graphs = CSRNDArray | list[CSRNDArray]  # one, or several


def edge_id(data: CSRNDArray, u: NDArray, v: NDArray) -> NDArray:
    """The stored values at the positions (u, v), -1 where nothing is stored; of the matrix's dtype."""
    values, columns, ends = _parts("edge_id", data)
    found = onp.full(u.shape, -1, values.dtype)
    for k, (row, column) in enumerate(zip(u.asnumpy().astype(onp.int64), v.asnumpy().astype(onp.int64), strict=True)):
        begin, end = ends[row], ends[row + 1]
        place = begin + onp.flatnonzero(columns[begin:end] == column)
        if len(place):
            found[k] = values[place[0]]
    ids: NDArray = array(found, data.context, found.dtype)
    return ids


def dgl_adjacency(data: CSRNDArray) -> CSRNDArray:
    """The matrix with float32 ones for its edges."""
    values, columns, ends = _parts("dgl_adjacency", data)
    return csr_matrix((onp.ones(len(values), onp.float32), columns, ends), data.shape, data.context, "float32")


def dgl_subgraph(graph: CSRNDArray, *vertices: NDArray, return_mapping: bool = False, num_args: int = 0) -> Graphs:
    """For each array of ascending vertices the graph among them, its edges numbered anew (int64).

    With return_mapping the same graphs follow with the numbers that the edges had.
    """
    _check_count("dgl_subgraph", num_args, 1 + len(vertices))
    values, columns, ends = _parts("dgl_subgraph", graph)
    renumbered, mapped = [], []
    for chosen in vertices:
        names = chosen.asnumpy().astype(onp.int64)
        found_places, found_heads, indptr = [], [], [0]
        for row in names:
            edges = onp.arange(ends[row], ends[row + 1])
            to = onp.searchsorted(names, columns[edges])
            kept = (to < len(names)) & (names[onp.minimum(to, len(names) - 1)] == columns[edges])
            found_places.append(edges[kept])
            found_heads.append(to[kept])
            indptr.append(indptr[-1] + int(kept.sum()))
        places, heads = onp.concatenate(found_places), onp.concatenate(found_heads)
        shape = (len(names), len(names))
        renumbered.append(csr_matrix((onp.arange(len(places)), heads, indptr), shape, graph.context, "int64"))
        mapped.append(csr_matrix((values[places], heads, indptr), shape, graph.context, graph.dtype))
    found = renumbered + (mapped if return_mapping else [])
    return found if len(found) > 1 else found[0]


def dgl_csr_neighbor_uniform_sample(
    csr_matrix: CSRNDArray, *seed_arrays: NDArray, num_args: int = 0, num_hops: int = 1, num_neighbor: int = 2,
    max_num_vertices: int = 100,
) -> list[Any]:  # fmt: skip
    """For each array of seeds a part of the graph: the seeds, up to `num_neighbor` neighbours of each,
    and so on, `num_hops` times.

    Three arrays for each, those of a kind side by side: the vertices in ascending order and then, last of
    max_num_vertices + 1 positions, how many there are; the drawn edges, a row a vertex and a column for each of the whole
    graph; how many hops each vertex is away. int64 all; positions that stand for no vertex are 0.
    """
    _check_count("dgl_csr_neighbor_uniform_sample", num_args, 1 + len(seed_arrays))
    sampled = [_sample("dgl_csr_neighbor_uniform_sample", csr_matrix, None, seeds, num_hops, num_neighbor,
                       max_num_vertices)
               for seeds in seed_arrays]  # fmt: skip
    return [array for kind in zip(*sampled, strict=True) for array in kind]


def dgl_csr_neighbor_non_uniform_sample(
    csr_matrix: CSRNDArray, probability: NDArray, *seed_arrays: NDArray, num_args: int = 0, num_hops: int = 1,
    num_neighbor: int = 2, max_num_vertices: int = 100,
) -> list[Any]:  # fmt: skip
    """`dgl_csr_neighbor_uniform_sample` where neighbours are drawn in proportion to the `probability` of each vertex.

    The probabilities of the vertices are a kind of result of their own, before the hops.
    """
    name = "dgl_csr_neighbor_non_uniform_sample"
    _check_count(name, num_args, 2 + len(seed_arrays))
    weights = probability.asnumpy()
    found = []
    for seeds in seed_arrays:
        vertices, edges, hops = _sample(name, csr_matrix, weights, seeds, num_hops, num_neighbor, max_num_vertices)
        names = vertices.asnumpy()
        likely = onp.zeros(max_num_vertices, "float32")
        likely[: names[-1]] = weights[names[: names[-1]]]
        found.append((vertices, edges, array(likely, csr_matrix.context, "float32"), hops))
    return [result for kind in zip(*found, strict=True) for result in kind]


def dgl_graph_compact(
    *graph_data: Any, return_mapping: bool, graph_sizes: Sequence[int] | int, num_args: int = 0
) -> Graphs:
    """Sampled graphs, and the vertices that came with each, as square matrices without empty rows and columns.

    graph_sizes: the vertices of each. Edges are numbered anew (int64); with return_mapping the same graphs follow with
    the numbers that the edges had. MXNetError where an edge leads to none of the vertices.
    """
    _check_count("dgl_graph_compact", num_args, len(graph_data))
    count = len(graph_data) // 2
    sizes = [int(n) for n in onp.atleast_1d(graph_sizes)]
    if len(graph_data) != 2 * count or len(sizes) != count:
        raise MXNetError(f"dgl_graph_compact: {len(graph_data)} arrays and {len(sizes)} sizes do not make pairs")
    renumbered, mapped = [], []
    for graph, vertices, size in zip(graph_data[:count], graph_data[count:], sizes, strict=True):
        values, columns, ends = _parts("dgl_graph_compact", graph)
        names = vertices.asnumpy().astype(onp.int64)[:size]
        indptr, edges = ends[: size + 1], ends[size]
        heads = onp.searchsorted(names, columns[:edges])
        if not onp.array_equal(names[onp.minimum(heads, size - 1)], columns[:edges]):
            raise MXNetError("dgl_graph_compact: an edge leads to a vertex that is not given")
        parts = heads, indptr
        renumbered.append(csr_matrix((onp.arange(edges), *parts), (size, size), graph.context, "int64"))
        mapped.append(csr_matrix((values[:edges], *parts), (size, size), graph.context, graph.dtype))
    found = renumbered + (mapped if return_mapping else [])
    return found if len(found) > 1 else found[0]


def _check_count(name: str, told: int, given: int) -> None:
    """MXNetError where `num_args` is told and not the number of arrays."""
    if told not in (0, given):
        raise MXNetError(f"{name}: num_args={told}, but {given} arrays are given")


def _sample(
    name: str, graph: CSRNDArray, weights: Numbers | None, seeds: NDArray, num_hops: int, num_neighbor: int, most: int
) -> tuple[NDArray, CSRNDArray, NDArray]:
    """Vertices with their number, edges, and hops, as in `dgl_csr_neighbor_uniform_sample`."""
    values, columns, ends = _parts(name, graph)
    hops = dict.fromkeys(seeds.asnumpy().astype(onp.int64).tolist(), 0)
    if len(hops) > most:
        raise MXNetError(f"{name}: {len(hops)} seeds are more than max_num_vertices={most}")
    draw = onp.random.default_rng(random_keys.next_key(graph.context))
    waiting, taken = list(hops), {}  # in the order in which they are met; the edges drawn of each
    while waiting and len(hops) < most:
        vertex = waiting.pop(0)
        if hops[vertex] == num_hops:
            continue
        edges = taken[vertex] = _drawn(draw, onp.arange(ends[vertex], ends[vertex + 1]), columns, weights, num_neighbor)
        for neighbour in columns[edges].tolist():
            if len(hops) < most and neighbour not in hops:
                hops[neighbour] = hops[vertex] + 1
                waiting.append(neighbour)
    if any(hops[vertex] < num_hops for vertex in waiting):
        warnings.warn(
            f"{name}: the sample ends at max_num_vertices={most}; take fewer seeds or neighbours", stacklevel=3
        )
    names = sorted(hops)
    rows = [taken.get(vertex, ()) for vertex in names] + [()] * (most - len(names))
    indptr = onp.cumsum([0, *map(len, rows)])
    edges = onp.concatenate([onp.asarray(r, onp.int64) for r in rows])
    padding = [0] * (most - len(names))
    ctx = graph.context
    return (
        array(onp.array([*names, *padding, len(names)], onp.int64), ctx, "int64"),
        csr_matrix((values[edges], columns[edges], indptr), (most, graph.shape[1]), ctx, graph.dtype),
        array(onp.array([*map(hops.get, names), *padding], onp.int64), ctx, "int64"),
    )


def _drawn(
    draw: onp.random.Generator, edges: Numbers, columns: Numbers, weights: Numbers | None, count: int
) -> Numbers:
    """`count` of the edges, all if there are no more, in ascending order; by the weights of where they lead to,
    if given.
    """
    if len(edges) <= count:
        return edges
    likely = None
    if weights is not None:
        likely = weights[columns[edges]].astype(onp.float64)
        likely /= likely.sum()
    return onp.sort(draw.choice(edges, count, replace=False, p=likely))


def _parts(name: str, graph: CSRNDArray) -> tuple[Numbers, Numbers, Numbers]:
    if getattr(graph, "stype", "") != "csr":
        raise MXNetError(f"{name} takes a CSR matrix, given {type(graph).__name__}")
    return graph.data.asnumpy(), graph.indices.asnumpy(), graph.indptr.asnumpy()
