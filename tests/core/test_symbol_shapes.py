"""What follows from shapes that are known in part, executors over groups of contexts, and what they tell of memory.

The expected shapes are those of MXNet 1.9.1.
"""

import re

import numpy as np
import pytest

import core as mx
from core.ops.registry import TABLE
from core.symbol.compose import compose
from core.util import np_shape
from gluon import rnn

sym = mx.sym
x, y = sym.var("x"), sym.var("y")


def _arguments(symbol, **given):
    return dict(zip(symbol.list_arguments(), symbol.infer_shape(**given)[0], strict=True))


def _var(name, *shape):
    return sym.var(name, shape=shape)


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        (_var("a", 0, 10) + _var("b", 12, 0), {"a": (12, 10), "b": (12, 10)}),
        (sym.FullyConnected(_var("a", 0, 10), num_hidden=21, name="f") + _var("b", 5, 0), {"a": (5, 10), "b": (5, 21)}),
        (
            sym.SliceChannel(_var("a", 0, 10), num_outputs=10, axis=1, squeeze_axis=True)[1] + _var("b", 5),
            {"a": (5, 10)},
        ),
        (sym.SliceChannel(_var("a", 0, 15, 0), num_outputs=3)[1] + _var("b", 3, 5, 2), {"a": (3, 15, 2)}),
        (
            sym.Convolution(_var("a", 0, 10, 0, 0), num_filter=21, kernel=(3, 3), pad=(1, 1))
            + _var("b", 5, 21, 32, 32),
            {"a": (5, 10, 32, 32)},
        ),
        (
            sym.Convolution(_var("a", 0, 10, 0, 0), num_filter=4, kernel=(3, 2), stride=(2, 1), dilate=(1, 2))
            + _var("b", 5, 4, 7, 6),
            {"a": (5, 10, 15, 8)},
        ),
        (
            _var("d", 2, 0) + sym.Concat(_var("a", 0, 10), _var("b", 0, 5), dim=1),
            {"a": (2, 10), "b": (2, 5), "d": (2, 15)},
        ),
        (_var("d", 2, 9) + sym.Concat(_var("a", 0, 4), _var("b", 0, 0), dim=1), {"a": (2, 4), "b": (2, 5)}),
        (sym.relu(sym.BatchNorm(_var("a", 0, 3))) + _var("b", 4, 0), {"a": (4, 3), "b": (4, 3)}),
        *(
            (sym.Convolution(_var("a", 3, 3, 10, 10), rule(weight), kernel=(2, 2), num_filter=1), {"w": (1, 3, 2, 2)})
            for weight in (_var("w", 1, 0, 2, 2), _var("w", 0, 0, 0, 0), sym.var("w"))
            for rule in (sym.sin, sym.zeros_like, sym.make_loss, lambda w: w * 2, lambda w: sym.clip(w, 0, 1))
        ),
        (
            sym.FullyConnected(_var("a", 4, 5), sym.transpose(_var("w", 0, 3)), num_hidden=3, no_bias=True),
            {"w": (5, 3)},
        ),
        (
            sym.FullyConnected(_var("a", 4, 5), sym.flip(sym.var("w"), axis=1), num_hidden=3, no_bias=True),
            {"w": (3, 5)},
        ),
    ],
)
def test_extents_follow_backwards(symbol, expected):
    found = _arguments(symbol)
    assert {name: found[name] for name in expected} == expected


def test_a_weight_computed_from_others_gets_its_shape():
    weight, shift = sym.var("weight"), _var("shift", 1)
    like = sym._internal._identity_with_attr_like_rhs(sym.broadcast_add(weight, shift), weight)
    net = sym.FullyConnected(sym.var("data"), like, num_hidden=11, no_bias=True)
    assert _arguments(net, data=(7, 100))["weight"] == (11, 100)


@pytest.mark.parametrize(
    ("symbol", "given", "expected"),
    [
        (sym.dot(x, y), {"x": (0, 3, 4), "y": (4, 5)}, (0, 3, 5)),
        (sym.batch_dot(x, y), {"x": (0, 3, 4), "y": (0, 4, 5)}, (0, 3, 5)),
        (sym.batch_dot(x, y), {"x": (0, 3, 4), "y": (0, 0, 5)}, ()),
        (sym.Embedding(x, y, input_dim=100, output_dim=10), {"x": (0, 5), "y": (100, 10)}, (0, 5, 10)),
        (sym.transpose(x, axes=(0, 3, 2, 1)), {"x": (0, 3, 224, 224)}, (0, 224, 224, 3)),
        (sym.pick(x, y, axis=1), {"x": (0, 3, 3), "y": (0, 3)}, (0, 3)),
        (sym.sin(x), {}, ()),
        (sym.Pooling(x, kernel=(2, 2), stride=(2, 2)), {"x": (0, 3, 8, 0)}, (0, 3, 4, 0)),
    ],
)
def test_extents_follow_forwards(symbol, given, expected):
    assert symbol.infer_shape_partial(**given)[1] == [expected]
    with np_shape():
        given = {name: tuple(n or -1 for n in shape) for name, shape in given.items()}
        assert symbol.infer_shape_partial(**given)[1] == [tuple(n or -1 for n in expected) or None]


def test_what_is_known_of_one_operand_holds_for_the_result():
    first = sym.FullyConnected(x, num_hidden=128, name="first")
    out = sym.Activation(first + sym.FullyConnected(y, num_hidden=128, name="second"), act_type="relu")
    with pytest.warns(UserWarning, match="cannot tell all shapes; give those of y"):
        assert out.infer_shape(x=(10, 64)) == (None, None, None)
    arguments, outputs, _ = out.infer_shape_partial(x=(10, 64))
    found = dict(zip(out.list_arguments(), arguments, strict=True))
    assert outputs == [(10, 128)] and found["first_weight"] == (128, 64) and found["second_weight"] == ()


@pytest.mark.parametrize("unknown", [0, -1])
def test_constants_of_unknown_extents_find_them_through_other_operators(unknown):
    """As in MXNet 1.9.1."""
    for one, other in (((2, 3), (unknown, unknown)), ((2, unknown), (3, unknown))):
        total = sym.ones(shape=one) + sym.transpose(sym.ones(shape=other))
        assert total.infer_shape() == ([], [(2, 3)], [])
        assert total.bind(mx.cpu(), {}).forward()[0].shape == (2, 3)
    assert sym.concat(x, sym.zeros(shape=(unknown, 3)), dim=1).infer_shape(x=(2, 4))[1] == [(2, 7)]
    assert sym.ones(shape=(unknown, 3)).infer_shape_partial()[1] == [(0, 3)]


def test_one_extent_follows_from_the_elements_of_the_new_shape():
    """As in MXNet 1.9.1."""
    for shape in ((3, 4), (-1, 4)):
        out = sym.Reshape(x, shape=shape) + sym.var("y", shape=(3, 4))
        assert out.infer_shape(x=(2, 0)) == ([(2, 6), (3, 4)], [(3, 4)], [])


def test_slopes_are_one_a_channel():
    for given, slopes in (((5,), (1,)), ((2, 5), (5,)), ((2, 5, 4), (5,))):
        assert sym.LeakyReLU(x, act_type="prelu").infer_shape(x=given)[0] == [given, slopes]


def test_contradictions_are_told():
    with pytest.raises(mx.MXNetError, match=r"\(-1, 2, 5\), but \(4, 3, -1\)"):
        (_var("a", 0, 2, 5) + _var("b", 4, 3, 0)).infer_shape()


@pytest.mark.parametrize(
    "shape, fits", [((0, 3), True), ((4, 0), True), ((0, 5), False), ((7, 0), False), ((0, 3, 1), False)]
)
def test_shapes_declared_in_part_are_held_against_the_data(shape, fits):
    net = sym.FullyConnected(x, _var("w", *shape), num_hidden=4, name="f")
    if fits:
        assert net.infer_shape(x=(2, 3)) == ([(2, 3), (4, 3), (4,)], [(2, 4)], [])
    else:
        with pytest.raises(mx.MXNetError, match=r"FullyConnected 'f': input 'weight' .* \(4, 3\) follows from data"):
            net.infer_shape(x=(2, 3))


def test_variables_live_where_their_group_says():
    with mx.AttrScope(ctx_group="one"):
        first = sym.FullyConnected(x, num_hidden=8, name="first")
    own = set(first.list_arguments())
    with mx.AttrScope(ctx_group="two"):
        net = sym.BatchNorm(sym.FullyConnected(first, num_hidden=4, name="second"))
    groups = {"one": mx.cpu(1), "two": mx.cpu(2)}
    with mx.AttrScope(ctx_group="one"):
        net = net(x=sym.var("x"))
    executor = net.simple_bind(mx.cpu(0), group2ctx=groups, x=(2, 5))
    for name, array in executor.arg_dict.items():
        assert name == "x" or array.context == groups["one" if name in own else "two"]
    executor.forward(is_train=True)
    executor.backward()


def test_options_of_training_are_keywords_of_operators():
    net = sym.Convolution(x, kernel=(1, 1), num_filter=1, name="conv", lr_mult=1, attr={"__mood__": "so so"})
    found = net.attr_dict()
    assert found["conv"]["lr_mult"] == found["conv"]["__lr_mult__"] == "1" and found["conv_bias"]["__mood__"] == "so so"
    assert sym.load_json(net.tojson()).attr_dict() == found


def test_memory_that_an_executor_takes():
    squares = x
    for _ in range(6):
        squares = squares * squares

    def megabytes(symbol, **options):
        text = symbol.simple_bind(mx.cpu(), x=(4, 256, 256), **options).debug_str()
        return int(re.search(r"Total (\d+) MB allocated", text)[1])

    kept, let_go, blocked = megabytes(squares), megabytes(squares, grad_req="null"), megabytes(sym.BlockGrad(squares))
    assert (kept, let_go, blocked) == (6, 2, 2)


def test_backward_after_a_forward_for_inference():
    arrays, grads = [mx.nd.array([2.0, 3.0]), mx.nd.array([5.0, 7.0])], [mx.nd.zeros((2,)), mx.nd.zeros((2,))]
    executor = (x * y).bind(mx.cpu(), arrays, grads)
    executor.forward()
    executor.backward([mx.nd.array([1.0, 10.0])])
    np.testing.assert_array_equal(grads[0].asnumpy(), [5, 70])
    np.testing.assert_array_equal(grads[1].asnumpy(), [2, 30])


@pytest.mark.parametrize(
    "given, shape, reverse, target",
    [((0, 3, 5, 5), (0, -1), False, (2, 75)), ((2, 3, 0, 5), (0, 0, -1), True, (3, 5, 10)), ((64, 0), (-4, 16, -1, -2), False, (16, 4, 7))],
)  # fmt: skip
def test_a_reshape_tells_the_one_extent_that_is_missing(given, shape, reverse, target):
    out = mx.sym.elemwise_add(mx.sym.var("x").reshape(shape, reverse=reverse), mx.sym.ones(shape=target))
    (found,), (result,), _ = out.infer_shape(x=given)
    assert result == target and 0 not in found and np.prod(found) == np.prod(target)


def test_bilinear_upsampling_makes_its_filter():
    up = mx.sym.UpSampling(mx.sym.var("data"), scale=3, sample_type="bilinear", num_filter=2, name="up")
    assert up.list_arguments() == ["data", "up_weight"]
    assert up.infer_shape(data=(1, 2, 4, 5))[0] == [(1, 2, 4, 5), (2, 1, 5, 5)]
    assert up.infer_shape(data=(1, 2, 4, 5))[1] == [(1, 2, 12, 15)]


def test_slices_of_unknown_extents_are_unknown():
    data = mx.sym.var("data", shape=(0, 20))
    assert mx.sym.slice(data, begin=(None, 3), end=(5, 10)).infer_shape_partial()[1] == [(0, 7)]
    assert mx.sym.slice_axis(mx.sym.var("d", shape=(10, 0)), axis=1, begin=0, end=5).infer_shape_partial()[1] == [
        (10, 0)
    ]
    assert mx.nd.slice(mx.nd.arange(4), begin=(2,), end=(2,)).shape == (0,)


@pytest.mark.parametrize("layer", [rnn.LSTM, rnn.GRU])
def test_both_directions_of_a_recurrent_layer_find_out_their_weights(layer):
    """The shapes are those that MXNet 1.9.1 tells."""
    out = layer(5, 2, bidirectional=True, prefix="r_")(mx.sym.Variable("data"))
    rows = 20 if layer is rnn.LSTM else 15
    shapes = dict(zip(out.list_arguments(), out.infer_shape(data=(7, 2, 4))[0], strict=True))
    assert shapes["r_l0_i2h_weight"] == shapes["r_r0_i2h_weight"] == (rows, 4)
    assert shapes["r_l1_i2h_weight"] == shapes["r_r1_i2h_weight"] == (rows, 10)
    states = [s for s in out.get_internals().infer_shape(data=(7, 2, 4))[1] if s == (4, 2, 5)]
    assert len(states) == (4 if layer is rnn.LSTM else 2)  # the first and the last ones
    two = [mx.sym.Variable(name, shape=(3, 0)).reshape((-1,)) for name in "ab"]
    odd = mx.sym.RNN(mx.sym.Variable("data"), mx.sym.concat(*two, dim=0), mode="gru", state_size=1, num_layers=1)
    with pytest.raises(mx.MXNetError):
        odd.simple_bind(mx.cpu(), data=(7, 2, 4))


@pytest.mark.parametrize(("projection", "parameters", "width"), [(3, 860, 3), (None, 1120, 5)])
def test_shapes_of_recurrent_layers_with_projections(projection, parameters, width):
    """Those that MXNet 1.9.1 finds."""
    inputs = [mx.sym.var(name) for name in ("data", "parameters", "state", "cell")]
    out = mx.sym.RNN(
        *inputs, mode="lstm", state_size=5, num_layers=2, projection_size=projection, bidirectional=True,
        state_outputs=True,
    )  # fmt: skip
    arguments, outputs, _ = out.infer_shape(data=(7, 2, 4))
    assert arguments == [(7, 2, 4), (parameters,), (4, 2, width), (4, 2, 5)]
    assert outputs == [(7, 2, 2 * width), (4, 2, width), (4, 2, 5)]


def test_parameters_behind_operators_that_keep_shapes_are_found_out():
    weight = mx.sym.abs(mx.sym.Cast(mx.sym.var("w"), dtype="float32")) * 2
    dense = mx.sym.FullyConnected(mx.sym.var("x"), weight, num_hidden=3, name="f")
    arguments, outputs, _ = dense.infer_shape(x=(2, 5))
    assert dict(zip(dense.list_arguments(), arguments)) == {"x": (2, 5), "w": (3, 5), "f_bias": (3,)}
    assert outputs == [(2, 3)]


def test_scalars_have_a_shape_under_np_shape():
    x, y = (mx.sym.var(name).as_np_ndarray() for name in "xy")
    with mx.np_shape():
        assert mx.sym.np.kron(x, y).infer_shape(x=(2, 3), y=()) == ([(2, 3), ()], [(2, 3)], [])
        assert (x + y).infer_shape(x=(), y=())[1] == [()]
    assert (mx.sym.var("x") + mx.sym.var("y")).infer_shape(x=(), y=(2, 3))[0] == [(2, 3), (2, 3)]


@pytest.mark.parametrize(
    ("given", "outputs", "state"),
    [
        ({"data": (5, 2, 3), "init": (2, 4)}, (5, 2, 4), (2, 4)),
        ({"data": (0, 0, 3), "init": (0, 4)}, (0, 0, 4), (0, 4)),
        ({"data": (0, 2, 3), "init": (2, 4)}, (0, 2, 4), (2, 4)),
        ({"data": (5, 0, 3)}, (5, 0, 4), (0, 4)),
    ],
)
def test_what_is_known_goes_through_loops(given, outputs, state):
    """The answers of MXNet 1.9.1."""

    def body(step, states):
        h = sym.FullyConnected(step, num_hidden=4, flatten=False, name="fc") + states[0]
        return h, [h]

    stacked, (last,) = sym.contrib.foreach(body, sym.var("data"), [sym.var("init")])
    both = sym.concat(stacked, sym.reverse(stacked, axis=0), dim=2)
    inputs = {**given, "init": state, "fc_weight": (4, 3), "fc_bias": (4,)}
    for symbol, expected in ((stacked, outputs), (last, state), (both, (*outputs[:2], 8))):
        arguments, found, _ = symbol.infer_shape_partial(**given)
        assert dict(zip(symbol.list_arguments(), arguments, strict=True)) == inputs
        assert found == [expected]


def test_first_states_find_their_batch_size_through_layer_normalisation():
    state = mx.rnn.GRUCell(4).begin_state()[0]
    gates = sym.LayerNorm(sym.FullyConnected(state, num_hidden=8, name="h"), name="n")
    update, rest = sym.split(gates, num_outputs=2)
    cell = sym.Activation(update + x, act_type="sigmoid") * state + rest
    assert cell.infer_shape(x=(3, 4))[1] == [(3, 4)]


def test_labels_of_several_places_lie_in_a_row():
    output = sym.SoftmaxOutput(sym.Variable("data"), multi_output=True, name="softmax")
    for data, label in (((1, 3, 12, 14), (1, 168)), ((2, 3, 7), (2, 7)), ((2, 3), (2, 1))):
        assert output.infer_shape(data=data)[0] == [data, label]
    assert output.infer_shape(data=(2, 3, 4, 5), softmax_label=(2, 4, 5))[0][1] == (2, 4, 5)


def test_shapes_of_outputs_for_printing():
    from core.symbol_doc import SymbolDoc

    layer = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    assert SymbolDoc.get_output_shape(layer, data=(2, 4)) == {"fc_output": (2, 3)}


@pytest.mark.parametrize(
    ("output", "data", "fit", "unfit"),
    [
        (sym.SoftmaxOutput, (4, 5), [(4,), (4, 5)], [(5,), (4, 1), (3,), (1, 4)]),
        (lambda *a, **k: sym.SoftmaxOutput(*a, multi_output=True, **k), (4, 5, 2, 3), [(4, 6), (4, 2, 3), (4, 1, 2, 3), (4, 5, 2, 3)], [(4,), (4, 3, 2), (4, 5)]),
        (lambda *a, **k: sym.SoftmaxOutput(*a, preserve_shape=True, **k), (4, 5, 2), [(4, 5), (4, 5, 2)], [(4,), (4, 1)]),
        (sym.LinearRegressionOutput, (4, 5), [(4, 5), (4, 5, 1)], [(4,), (4, 1), (5, 4), (20,)]),
        (sym.LogisticRegressionOutput, (4, 1), [(4,), (4, 1)], [(1, 4), (5,)]),
        (sym.SVMOutput, (4, 5), [(4,)], [(5,), (4, 5)]),
    ],
)  # fmt: skip
def test_labels_fit_their_data(output, data, fit, unfit):
    made = output(x, sym.var("l"))
    for label in fit:
        assert _arguments(made, x=data, l=label)["l"] == label
    assert _arguments(made, x=data)["l"] == fit[0]  # of which nothing is said
    for label in unfit:
        with pytest.raises(mx.MXNetError, match=re.escape(f"a label of shape {label} does not fit")):
            made.infer_shape(x=data, l=label)


# Operators of which MXNet 1.9.1 tells the first input's shape from the result's, and the attributes of those that need some.
OF_ONE_SHAPE = """
BlockGrad SoftmaxActivation _contrib_div_sqrt_dim _contrib_gradientmultiplier _contrib_round_ste _contrib_sign_ste
_copy _equal _greater _greater_equal _hypot _identity_with_attr_like_rhs _lesser _lesser_equal _linalg_potrf
_linalg_potri _logical_and _logical_or _logical_xor _maximum _minimum _mod _not_equal _power _sample_exponential
_sample_gamma _sample_generalized_negative_binomial _sample_negative_binomial _sample_normal _sample_poisson
_sample_uniform _scatter_elemwise_div _shuffle _sparse_retain abs add_n arccos arccosh arcsin arcsinh arctan arctanh
cbrt ceil cos cosh degrees elemwise_add elemwise_div elemwise_mul elemwise_sub erf erfinv exp expm1 fix floor gamma
gammaln log log10 log1p log2 log_softmax logical_not make_loss negative ones_like radians rcbrt reciprocal relu rint
round rsqrt sigmoid sign sin sinh softmin softsign sqrt square tan tanh trunc zeros_like
Activation Cast _contrib_quadratic _linalg_trmm _linalg_trsm _scatter_minus_scalar _scatter_plus_scalar amp_cast
amp_multicast cast_storage clip cumsum _np_cumsum reverse hard_sigmoid multi_lars smooth_l1 softmax
"""
GIVEN = {
    "Activation": {"act_type": "relu"}, "Cast": {"dtype": "float64"}, "_contrib_quadratic": {"a": 0.5, "b": 2.0, "c": 1.0},
    "_scatter_minus_scalar": {"scalar": 0.5}, "_scatter_plus_scalar": {"scalar": 0.5}, "amp_cast": {"dtype": "float64"},
    "amp_multicast": {"num_outputs": 2}, "cast_storage": {"stype": "default"}, "clip": {"a_min": -0.5, "a_max": 0.5},
    "cumsum": {"axis": 1}, "_np_cumsum": {"axis": 2}, "reverse": {"axis": (0, 2)}, "smooth_l1": {"scalar": 0.5},
    "multi_lars": {"eta": 0.5, "eps": 0.5},
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ONE_SHAPE.split())
def test_any_operator_of_one_shape_tells_its_input_from_its_result(name):
    op = TABLE[name]
    given = [sym.var("a"), sym.var("c")] if name == "amp_multicast" else [sym.var("a")]
    made = compose(op, name, given if op.variadic else {op.inputs[0]: given[0]}, GIVEN.get(name, {}), type(x))
    made = made[0] if len(made.list_outputs()) > 1 else made
    total = sym.elemwise_add(made, sym.var("b"))
    found = dict(zip(total.list_arguments(), total.infer_shape_partial(b=(2, 3, 4, 4))[0], strict=True))
    assert found["a"] == (2, 3, 4, 4)
    found = dict(zip(total.list_arguments(), total.infer_shape_partial(b=(2, 3, 0, 4), a=(0, 3, 4, 4))[0], strict=True))
    assert found["a"] == found["b"] == (2, 3, 4, 4)


@pytest.mark.parametrize(
    ("condition", "a", "b", "result", "expected"),
    [
        ((2, 3), None, None, (2, 3), [(2, 3), (2, 3), (2, 3)]),
        ((2, 3), None, (0, 0), None, [(0, 0), (0, 0), (0, 0)]),
        ((2, 3), (0, 3), (2, 0), None, [(2, 3), (2, 3), (2, 3)]),
        ((2, 3), (2, 0), None, (0, 0), [(2, 0), (2, 0), (0, 0)]),
        ((2,), (2, 0), (2, 0), (0, 3), [(2, 3), (2, 3), (2, 3)]),
        ((0, 3), None, (0, 3), (2, 0), [(), (0, 3), (2, 0)]),
        (None, None, (2, 3), (2, 3), [(), (2, 3), (2, 3)]),
    ],
)
def test_where_tells_shapes_once_that_of_the_condition_is_known(condition, a, b, result, expected):
    named = {"c": condition, "a": a, "b": b, "d": result}
    variables = [sym.var(n, shape=s) if s else sym.var(n) for n, s in named.items()]
    total = sym.elemwise_add(sym.where(*variables[:3]), variables[3])
    found = [shape or () for shape in total.infer_shape_partial()[0][1:]]
    assert found[:2] == expected[:2]
    assert found[2] in (expected[2], (2, 0))  # of the array that is added, more than MXNet where the sum tells it


def test_of_the_parameters_of_recurrent_networks_those_of_unknown_lengths_share_what_is_left():
    parts = [sym.var("a", shape=(2,)), sym.var("b", shape=(0,)), sym.var("c", shape=(0,))]
    joined = sym.elemwise_add(sym._internal._rnn_param_concat(*parts, dim=0), sym.var("d"))
    assert joined.infer_shape_partial(d=(8,))[0][:3] == [(2,), (3,), (3,)]
    joined = sym.elemwise_add(sym.Concat(*parts, dim=0), sym.var("d"))
    assert joined.infer_shape_partial(d=(8,))[0][:3] == [(2,), (0,), (0,)]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((2, 3), (0, 3), (0, 3)), ((2, 3), (1, 0), (2, 0)), ((2, 3), (0,), (2, 0)), ((0, 3), (2, 0), (0, 0)),
        ((1, 3), (2, 0), (2, 0)), ((1, 0), (1, 3), (1, 0)), ((3,), (0, 1), (0, 3)), ((0,), (3,), (0,)),
    ],
)  # fmt: skip
def test_what_is_broadcast_has_a_shape_as_far_as_it_is_known(a, b, expected):
    assert sym.broadcast_add(_var("a", *a), _var("b", *b)).infer_shape_partial()[1] == [expected]


@pytest.mark.parametrize("parts", [2, 3, 10, 11, 13])
def test_parts_of_an_axis_of_unknown_length(parts):
    # MXNet 1.9.1 takes the unknown length for -1 here, and refuses what does not divide that
    assert sym.split(x, num_outputs=parts, axis=0).infer_shape_partial(x=(0, 4))[1] == [(0, 4)] * parts
    # as MXNet 1.9.1
    assert sym.slice_axis(x, axis=0, begin=0, end=3000).infer_shape_partial(x=(0, 4))[1] == [(0, 4)]
