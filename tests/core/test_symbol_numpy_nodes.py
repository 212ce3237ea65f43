"""Files that MXNet wrote in NumPy mode: their nodes are NumPy's functions."""

import json

import numpy as np
import pytest

import core as mx


def loaded(*nodes):
    """A graph of one input `x` and of nodes (operator, inputs, attributes), of which the last is the output."""
    rows = [{"op": "null", "name": "x", "inputs": []}]
    for i, (kind, inputs, attrs) in enumerate(nodes):
        rows.append({"op": kind, "name": f"node{i}", "attrs": attrs, "inputs": [[k, 0, 0] for k in inputs]})
    return mx.sym.load_json(json.dumps({"nodes": rows, "arg_nodes": [0], "heads": [[len(nodes), 0, 0]]}))


X = np.array([[0.5, 1.5, 2.0], [3.0, 0.25, 1.0]], np.float32)
PLACE = {"ctx": "cpu(0)", "dtype": "float32"}


@pytest.mark.parametrize(
    "nodes, expected",
    [
        ([("_npi_exp", [0], {})], np.exp(X)),
        ([("_npi_arctan", [0], {}), ("_npi_multiply", [0, 1], {})], X * np.arctan(X)),
        ([("_npi_multiply_scalar", [0], {"scalar": "2.0", "is_int": "True"})], X * 2),
        ([("_npi_concatenate", [0, 0], {"axis": "-1", "num_args": "2"})], np.concatenate([X, X], -1)),
        ([("_npi_stack", [0, 0], {"axis": "1", "num_args": "2"})], np.stack([X, X], 1)),
        ([("_np_transpose", [0], {"axes": "None"})], X.T),
        ([("_npi_ones", [], {"shape": "(3, 2)", **PLACE}), ("_np_dot", [0, 1], {})], X @ np.ones((3, 2))),
        (
            [("_npi_arange", [], {"start": "1", "stop": "4", "step": "1", **PLACE}), ("_npi_add", [0, 1], {})],
            X + [1, 2, 3],
        ),
        ([("_npi_flip", [0], {"axis": "1"}), ("_np_copy", [1], {})], X[:, ::-1]),
        ([("_npi_einsum", [0, 0], {"subscripts": "ij,kj->ik", "optimize": "0", "num_args": "2"})], X @ X.T),
        ([("_npi_tensordot", [0, 0], {"a_axes_summed": "[1]", "b_axes_summed": "[1]"})], X @ X.T),
        ([("_npi_concatenate", [0, 0], {"axis": "None", "num_args": "2"})], np.concatenate([X, X], None)),
        ([("_npi_vstack", [0, 0], {"num_args": "2"})], np.vstack([X, X])),
        ([("_np_roll", [0], {"shift": "1", "axis": "1"})], np.roll(X, 1, 1)),
        ([("_npi_pad", [0], {"pad_width": "((1, 1), (0, 2))", "mode": "constant"})], np.pad(X, ((1, 1), (0, 2)))),
        (
            [("_npi_norm", [0], {"axis": "(1,)", "ord": "2", "keepdims": "False", "flag": "1"})],
            np.linalg.norm(X, axis=1),
        ),
        (
            [("_npi_greater_scalar", [0], {"scalar": "1.0"}), ("_npi_where_scalar2", [1], {"x": "1", "y": "5"})],
            np.where(X > 1, 1, 5),
        ),
    ],
)
def test_what_numpy_computes(nodes, expected):
    (out,) = loaded(*nodes).eval(x=mx.np.array(X))
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-6)


def test_whole_numbers_stay_whole():
    graph = loaded(("_npi_add_scalar", [0], {"scalar": "1.0", "is_int": "True"}))
    (out,) = graph.eval(x=mx.np.array([1, 2], dtype="int32"))
    assert out.dtype == np.int32 and out.asnumpy().tolist() == [2, 3]
    for whole in ("True", "False"):  # and fractions fractions, however often they are read and written
        attrs = {"scalar": "1.0", "is_int": whole}
        again = mx.sym.load_json(loaded(("_npi_add_scalar", [0], attrs)).tojson())
        assert json.loads(again.tojson())["nodes"][1]["attrs"] == attrs


def test_attributes_that_later_versions_added_and_left_unset():
    pooling = {"kernel": "[2,2]", "stride": "[2,2]", "pool_type": "max", "output_size": "None", "p_value": "None"}
    (out,) = loaded(("Pooling", [0], pooling)).eval(x=mx.nd.arange(16).reshape((1, 1, 4, 4)))
    assert out.asnumpy().ravel().tolist() == [5, 7, 13, 15]
    with pytest.raises(mx.MXNetError, match="output_size"):
        loaded(("Pooling", [0], {**pooling, "output_size": "[1,1]"}))
    with pytest.raises(mx.MXNetError, match="_npi_percentile"):
        loaded(("_npi_percentile", [0], {"q_scalar": "50"}))


@pytest.mark.parametrize(
    ("make", "kind", "attrs"),
    [
        (lambda m, x: x * 2, "_npi_multiply_scalar", {"is_int": "True", "scalar": "2.0"}),
        (lambda m, x: x * 0.5, "_npi_multiply_scalar", {"is_int": "False", "scalar": "0.5"}),
        (lambda m, x: m.tensordot(x, x, 2), "_npi_tensordot_int_axes", {"axes": "2"}),
        (
            lambda m, x: m.einsum("ij,kj->ik", x, x),
            "_npi_einsum",
            {"num_args": "2", "optimize": "0", "subscripts": "ij,kj->ik"},
        ),
        (lambda m, x: m.sort(x, axis=1), "sort", {"axis": "1", "is_ascend": "True"}),
        (lambda m, x: m.argsort(x, axis=1), "argsort", {"axis": "1", "dtype": "int64", "is_ascend": "True"}),
        (lambda m, x: m.around(x, 1), "_npi_around", {"decimals": "1"}),
        (lambda m, x: m.average(x), "_npi_average", {"axis": "None", "returned": "False", "weighted": "False"}),
        (
            lambda m, x: m.linalg.norm(x, axis=1),
            "_npi_norm",
            {"axis": "(1,)", "flag": "1", "keepdims": "False", "ord": "2"},
        ),
        (
            lambda m, x: m.linalg.norm(x),
            "_npi_norm",
            {"axis": "None", "flag": "-2", "keepdims": "False", "ord": "2"},
        ),
        (lambda m, x: m.diff(x, axis=1), "_npi_diff", {"axis": "1"}),
        (lambda m, x: m.roll(x, 1, axis=1), "_np_roll", {"axis": "1", "shift": "1"}),
        (lambda m, x: m.trace(x), "_np_trace", {}),
        (lambda m, x: m.moveaxis(x, 0, 1), "_np_moveaxis", {"destination": "1", "source": "0"}),
        (lambda m, x: m.atleast_3d(x), "_np_atleast_3d", {"num_args": "1"}),
        (lambda m, x: m.vstack([x, x]), "_npi_vstack", {"num_args": "2"}),
        (lambda m, x: m.any(x, axis=1), "_np_any", {"axis": "1"}),
        (lambda m, x: m.rot90(x), "_npi_rot90", {"axes": "(0, 1)", "k": "1"}),
        (lambda m, x: m.split(x, 3, axis=1)[0], "_split_v2", {"axis": "1", "indices": "()", "sections": "3"}),
        (
            lambda m, x: m.pad(x, ((1, 1), (0, 0))),
            "_npi_pad",
            {"constant_value": "0", "mode": "constant", "pad_width": "((1, 1), (0, 0))"},
        ),
    ],
)
def test_functions_are_written_as_nodes_of_mxnet(make, kind, attrs):
    values = mx.np.array([[1.25, 2.0, -3.0], [4.0, 0.5, 6.0]])
    with mx.util.np_shape(True), mx.util.np_array(True):
        text = make(mx.sym.np, mx.sym.var("x").as_np_ndarray()).tojson()
        expected = make(mx.np, values)
        (found,) = mx.sym.load_json(text).eval(x=values)
    row = json.loads(text)["nodes"][-1]
    assert (row["op"], row.get("attrs", {})) == (kind, attrs)
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-6)


def test_where_takes_numbers_and_the_condition_alone():
    c, x = (mx.sym.var(name).as_np_ndarray() for name in "cx")
    values = {"c": mx.np.array([3, 0, 1]), "x": mx.np.array([1, 2, 4])}
    assert mx.sym.np.where(c, x, 5.0).eval(**values)[0].tolist() == [1, 5, 4]
    assert mx.sym.np.where(c, 5.0, x).eval(**values)[0].tolist() == [5, 2, 5]
    assert mx.sym.np.where(c, 5.0, 6.0).eval(c=values["c"])[0].tolist() == [5, 6, 5]
    places = mx.sym.np.where(c)
    assert places.list_arguments() == ["c"] and places.eval(c=values["c"])[0].tolist() == [0, 2]
    with pytest.raises(ValueError, match="both x and y"):
        mx.sym.np.where(c, x)


def test_axes_of_transpose_come_in_every_form():
    """Shapes of MXNet 1.9.1 for an array of shape (2, 3, 4)."""
    x = mx.sym.var("x").as_np_ndarray()
    forms = [
        x.transpose(2, 0, 1), x.transpose((2, 0, 1)), x.transpose([2, 0, 1]), x.transpose(-1, 0, 1),
        x.transpose(axes=(2, 0, 1)), mx.sym.np.transpose(x, "(2,0,1)"),
    ]  # fmt: skip
    assert {form.infer_shape(x=(2, 3, 4))[1][0] for form in forms} == {(4, 2, 3)}
    for form in (x.transpose(), x.transpose(None)):
        assert form.infer_shape(x=(2, 3, 4))[1] == [(4, 3, 2)]
    assert mx.sym.np.transpose(x, 0).infer_shape(x=(3,))[1] == [(3,)]
