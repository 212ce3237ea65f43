"""Graphs as CSR matrices; the expected numbers are those of MXNet 1.9.1."""

import numpy as np
import pytest

import core as mx


@pytest.fixture
def graph():
    edges = [[0, 2, 0, 5], [1, 0, 0, 3], [0, 4, 0, 0], [7, 0, 9, 8]]
    return mx.nd.array(edges).tostype("csr").astype("int64")


def test_numbers_of_edges(graph):
    found = mx.nd.contrib.edge_id(graph, mx.nd.array([0, 0, 3, 2]), mx.nd.array([1, 2, 3, 0]))
    assert found.dtype == np.int64 and found.asnumpy().tolist() == [2, -1, 8, -1]


def test_adjacency_has_ones(graph):
    ones = mx.nd.contrib.dgl_adjacency(graph)
    assert ones.dtype == np.float32 and ones.stype == "csr"
    np.testing.assert_array_equal(ones.asnumpy(), graph.asnumpy() != 0)


def test_the_graph_among_some_vertices(graph):
    inner, numbers = mx.nd.contrib.dgl_subgraph(graph, mx.nd.array([0, 1, 3], dtype="int64"), return_mapping=True)
    assert inner.data.asnumpy().tolist() == [0, 1, 2, 3, 4, 5]
    assert numbers.asnumpy().tolist() == [[0, 2, 5], [1, 0, 3], [7, 0, 8]]
    first, second = mx.nd.contrib.dgl_subgraph(graph, mx.nd.array([0, 3]), mx.nd.array([1, 2]))
    assert first.shape == (2, 2) and second.indptr.asnumpy().tolist() == [0, 0, 1]


def test_dense_arrays_are_refused():
    with pytest.raises(mx.MXNetError, match="CSR matrix"):
        mx.nd.contrib.edge_id(mx.nd.ones((2, 2)), mx.nd.array([0]), mx.nd.array([0]))
