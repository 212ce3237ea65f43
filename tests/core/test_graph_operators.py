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


# Vertex 0 leads to 1 and 3, 1 to 4, 3 to 0, 2 and 5, 4 to 5, and 5 to 0; edges are numbered from 1 on.
@pytest.fixture
def wheel():
    ends, heads = [0, 2, 3, 3, 6, 7, 8], [1, 3, 4, 0, 2, 5, 5, 0]
    return mx.nd.sparse.csr_matrix((np.arange(1, 9), heads, ends), shape=(6, 6), dtype="int64")


def sample(graph, seeds, hops, neighbours=9, most=8):
    seeds = mx.nd.array(seeds, dtype="int64")
    options = {"num_hops": hops, "num_neighbor": neighbours, "max_num_vertices": most}
    return mx.nd.contrib.dgl_csr_neighbor_uniform_sample(graph, seeds, **options)


@pytest.mark.parametrize(
    ("seeds", "hops", "vertices", "away", "edges"),
    [
        ([0], 1, [0, 1, 3], [0, 1, 1], {0: [1, 2]}),
        ([0], 2, [0, 1, 2, 3, 4, 5], [0, 1, 2, 1, 2, 2], {0: [1, 2], 1: [3], 3: [4, 5, 6]}),
        ([4, 1], 2, [0, 1, 4, 5], [2, 0, 0, 1], {1: [3], 4: [7], 5: [8]}),
        ([0, 0], 1, [0, 1, 3], [0, 1, 1], {0: [1, 2]}),
    ],
)
def test_whole_neighbourhoods(wheel, seeds, hops, vertices, away, edges):
    names, part, far = sample(wheel, seeds, hops)
    count = len(vertices)
    assert names.asnumpy().tolist() == [*vertices, *[0] * (8 - count), count]
    assert far.asnumpy().tolist() == [*away, *[0] * (8 - count)]
    rows = np.split(part.data.asnumpy(), part.indptr.asnumpy()[1:-1])
    assert {v: r.tolist() for v, r in zip(vertices, rows, strict=False) if len(r)} == edges and part.shape == (8, 6)


def test_the_number_of_arguments_is_theirs_where_it_is_given(wheel):
    """As in MXNet, which needs it: graph and seeds; graph, probabilities and seeds; graphs and vertices."""
    seeds, shares = mx.nd.array([0], dtype="int64"), mx.nd.ones(6)
    for call, given in (
        (mx.nd.contrib.dgl_csr_neighbor_uniform_sample, (wheel, seeds)),
        (mx.nd.contrib.dgl_csr_neighbor_non_uniform_sample, (wheel, shares, seeds)),
    ):
        call(*given, num_args=len(given))
        with pytest.raises(mx.MXNetError, match="num_args"):
            call(*given, num_args=len(given) + 1)


def test_samples_end_at_the_largest_number_of_vertices(wheel):
    with pytest.warns(UserWarning, match="max_num_vertices=4"):
        names, part, far = sample(wheel, [0, 3], 2, most=4)
    assert names.asnumpy().tolist() == [0, 1, 2, 3, 4] and far.asnumpy().tolist() == [0, 1, 1, 0]
    assert part.indptr.asnumpy().tolist() == [0, 2, 2, 2, 5]
    with pytest.raises(mx.MXNetError, match="3 seeds are more than max_num_vertices=2"):
        sample(wheel, [0, 1, 2], 1, most=2)


def test_neighbours_are_drawn_alike_or_by_weight():
    graph = mx.nd.sparse.csr_matrix((np.arange(3), [1, 2, 3], [0, 3, 3, 3, 3]), shape=(4, 4), dtype="int64")
    seed, weights = mx.nd.array([0], dtype="int64"), mx.nd.array([0, 1, 2, 5])
    counts = np.zeros((2, 3))
    mx.random.seed(3)
    for _ in range(400):
        alike = sample(graph, [0], 1, neighbours=1)[1]
        names, weighted, likely, _ = mx.nd.contrib.dgl_csr_neighbor_non_uniform_sample(
            graph, weights, seed, num_hops=1, num_neighbor=1, max_num_vertices=4
        )
        for row, part in zip(counts, (alike, weighted), strict=True):
            row[part.data.asnumpy()[0]] += 1
        assert likely.asnumpy()[1] == weights.asnumpy()[names.asnumpy()[1]]
    expected = 400 * np.array([[1 / 3] * 3, [1 / 8, 2 / 8, 5 / 8]])
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_sampled_graphs_without_their_empty_rows(wheel):
    names, part, _ = sample(wheel, [4, 1], 2)
    compact, numbers = mx.nd.contrib.dgl_graph_compact(part, names, graph_sizes=4, return_mapping=True)
    assert compact.asnumpy().tolist() == [[0] * 4, [0, 0, 0, 0], [0, 0, 0, 1], [2, 0, 0, 0]]
    assert compact.indices.asnumpy().tolist() == [2, 3, 0] and numbers.data.asnumpy().tolist() == [3, 7, 8]
    pairs = part, part, names, names
    assert len(mx.nd.contrib.dgl_graph_compact(*pairs, graph_sizes=(4, 4), return_mapping=False)) == 2
    with pytest.warns(UserWarning):
        names, part, _ = sample(wheel, [0, 3], 2, most=4)
    with pytest.raises(mx.MXNetError, match="a vertex that is not given"):
        mx.nd.contrib.dgl_graph_compact(part, names, graph_sizes=4, return_mapping=False)
