"""Graphs as CSR matrices, of which the value at (u, v) is the number of the edge from u to v."""

from __future__ import annotations

import numpy as onp

from core.base import MXNetError
from core.ndarray.ndarray import NDArray, array
from core.ndarray.sparse import CSRNDArray, csr_matrix


def edge_id(data: CSRNDArray, u: NDArray, v: NDArray) -> NDArray:
    """The stored values at the places (u, v), -1 where nothing is stored; of the matrix's dtype."""
    values, columns, ends = _parts("edge_id", data)
    found = onp.full(u.shape, -1, values.dtype)
    for k, (row, column) in enumerate(zip(u.asnumpy().astype(onp.int64), v.asnumpy().astype(onp.int64), strict=True)):
        begin, end = ends[row], ends[row + 1]
        place = begin + onp.flatnonzero(columns[begin:end] == column)
        if len(place):
            found[k] = values[place[0]]
    return array(found, data.context, found.dtype)


def dgl_adjacency(data: CSRNDArray) -> CSRNDArray:
    """The matrix with float32 ones for its edges."""
    values, columns, ends = _parts("dgl_adjacency", data)
    return csr_matrix((onp.ones(len(values), onp.float32), columns, ends), data.shape, data.context, "float32")


def dgl_subgraph(graph: CSRNDArray, *vertices: NDArray, return_mapping: bool = False, num_args: int = 0) -> list:
    """For each array of ascending vertices the graph among them, its edges numbered anew (int64).

    With return_mapping the same graphs follow with the numbers that the edges had.
    """
    values, columns, ends = _parts("dgl_subgraph", graph)
    renumbered, mapped = [], []
    for chosen in vertices:
        names = chosen.asnumpy().astype(onp.int64)
        places, heads, indptr = [], [], [0]
        for row in names:
            edges = onp.arange(ends[row], ends[row + 1])
            to = onp.searchsorted(names, columns[edges])
            kept = (to < len(names)) & (names[onp.minimum(to, len(names) - 1)] == columns[edges])
            places.append(edges[kept])
            heads.append(to[kept])
            indptr.append(indptr[-1] + int(kept.sum()))
        places, heads = onp.concatenate(places), onp.concatenate(heads)
        shape = (len(names), len(names))
        renumbered.append(csr_matrix((onp.arange(len(places)), heads, indptr), shape, graph.context, "int64"))
        mapped.append(csr_matrix((values[places], heads, indptr), shape, graph.context, graph.dtype))
    found = renumbered + (mapped if return_mapping else [])
    return found if len(found) > 1 else found[0]


def _parts(name: str, graph) -> tuple:
    if getattr(graph, "stype", "") != "csr":
        raise MXNetError(f"{name} takes a CSR matrix, given {type(graph).__name__}")
    return graph.data.asnumpy(), graph.indices.asnumpy(), graph.indptr.asnumpy()
