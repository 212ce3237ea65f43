"""The executor: what it shows before it runs, arguments of one name, gradients that come in."""

import ctypes

import numpy as np
import pytest

import core as mx
from core.base import MXNetError


def test_outputs_are_there_before_the_first_pass():
    parts = mx.sym.SliceChannel(mx.sym.var("x"), num_outputs=3, axis=1)
    executor = parts.simple_bind(mx.cpu(), x=(2, 6))
    assert [o.shape for o in executor.outputs] == [(2, 2)] * 3
    cast = mx.sym.Cast(mx.sym.var("x", dtype="int32"), dtype="float16").simple_bind(mx.cpu(), x=(2, 2))
    assert cast.outputs[0].dtype == np.float16 and not cast.outputs[0].asnumpy().any()
    assert list(cast.output_dict) == cast._symbol.list_outputs()


def test_outputs_are_the_same_arrays_after_every_pass():
    executor = (mx.sym.Variable("x") * 2 + 1).simple_bind(mx.cpu(), x=(2,))
    taken, named = executor.outputs[0], executor.output_dict
    for value in (3, 5):
        executor.arg_dict["x"][:] = value
        (output,) = executor.forward(is_train=value == 3)
        assert output is taken and taken.asnumpy().tolist() == [2 * value + 1] * 2
        assert [array.asnumpy().tolist() for array in named.values()] == [[2 * value + 1] * 2]


def test_losses_need_no_gradient_in_a_list():
    x, label = mx.sym.Variable("x"), mx.sym.Variable("label")
    plain, loss = x * 3, mx.sym.LinearRegressionOutput(x * 2, label, name="loss")  # label 0: gradient 2 * 2 of 1
    ones = mx.nd.ones((2,))
    for outputs, given, expected in (
        ([plain, loss], [ones], 7), ([plain, mx.sym.make_loss(x * 4)], [ones], 7),
        ([plain], [ones, ones], 3), ([plain, loss], [ones, ones, ones], 7), ([loss], [], 4),
    ):  # fmt: skip
        shapes = {"x": (2,), "label": (2,)} if any(o is loss for o in outputs) else {"x": (2,)}
        executor = mx.sym.Group(outputs).simple_bind(mx.cpu(), **shapes)
        executor.arg_dict["x"][:] = 1
        executor.forward(is_train=True)
        executor.backward(given)
        assert executor.grad_dict["x"].asnumpy().tolist() == [expected] * 2


def test_arguments_of_one_name_are_bound_in_order():
    first, second = mx.sym.var("x"), mx.sym.var("x")
    product = first * mx.sym.square(second)
    grads = [mx.nd.zeros((1,)), mx.nd.zeros((1,))]
    executor = product.bind(mx.cpu(), args=[mx.nd.array([2]), mx.nd.array([3])], args_grad=grads)
    assert executor.forward(is_train=True)[0].asscalar() == 18
    executor.backward()
    assert [g.asscalar() for g in grads] == [9, 12]


def test_heads_take_the_dtype_of_the_output():
    x = mx.sym.var("x", dtype="float64")
    executor = mx.sym.dot(x, x).simple_bind(mx.cpu(), x=(2, 2))
    executor.forward(is_train=True, x=np.eye(2))
    executor.backward([mx.nd.ones((2, 2))])
    assert executor.grad_dict["x"].dtype == np.float64
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), np.full((2, 2), 2.0))


@pytest.mark.parametrize("name", ["broadcast_mod", "_mod"])
def test_remainders_of_integers_have_no_gradient(name):
    a, b = (mx.sym.Cast(mx.sym.var(n), dtype="int32") for n in "ab")
    op = getattr(mx.sym, name, None) or getattr(mx.sym._internal, name)
    grads = [mx.nd.ones((3,)), mx.nd.ones((3,))]
    executor = op(a, b).bind(mx.cpu(), args=[mx.nd.array([5, 6, 7]), mx.nd.array([3, 3, 3])], args_grad=grads)
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [2, 0, 1]
    executor.backward([mx.nd.ones((3,))])
    assert not any(g.asnumpy().any() for g in grads)


def test_a_range_finds_its_end_in_what_it_is_added_to():
    for repeat, expected in ((1, [1, 3, 5, 7, 9, 11]), (2, [1, 1, 3, 3, 5, 5])):
        steps = mx.sym.arange(start=1, stop=None, step=2, repeat=repeat, infer_range=True)
        executor = mx.sym.elemwise_add(steps, mx.sym.zeros(shape=[6])).bind(mx.cpu(), args={})
        assert executor.forward()[0].asnumpy().tolist() == expected


def test_simple_bind_takes_shapes_alone():
    executor = mx.sym.take(mx.sym.var("a"), mx.sym.var("i"), axis=1).simple_bind(
        mx.cpu(), a=(2, 3), i=(2,), axis=1, mode="wrap"
    )
    assert executor.outputs[0].shape == (2, 2)


def test_a_monitor_of_everything_sees_variables_and_inputs():
    net = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=1, name="fc"), act_type="relu", name="act"
    )
    executor, seen = net.simple_bind(mx.cpu(), grad_req="null", x=(1, 2)), []
    executor.set_monitor_callback(lambda name, array: seen.append(mx.base.py_str(name)), monitor_all=True)
    executor.forward()
    names = "x fc_data fc_weight fc_weight fc_bias fc_bias fc_output act_input0 act_output"
    assert seen == names.split()
    executor.reshape(x=(5, 2), allow_up_sizing=True).forward()
    assert seen == names.split() * 2


def test_what_monitors_get_can_be_cast_to_handles():
    executor, seen = mx.sym.negative(mx.sym.var("x"), name="less").simple_bind(mx.cpu(), x=(2,)), []

    def look(name, array):
        handle = ctypes.cast(array, mx.base.NDArrayHandle)
        seen.append((name, mx.nd.NDArray(handle, writable=False).asnumpy().tolist()))

    executor.set_monitor_callback(look, monitor_all=True)
    executor.forward(x=mx.nd.array([1, 2]))
    assert seen[0] == ("x", [1, 2]) and seen[-1] == ("less_output", [-1, -2])


def test_what_the_symbol_lacks_may_be_none():
    x = mx.nd.array([1, 2])
    executor = (mx.sym.var("x") * 2).bind(mx.cpu(), {"x": x, "bias": None}, {"x": mx.nd.zeros(2), "bias": None})
    assert executor.forward()[0].asnumpy().tolist() == [2, 4]
    with pytest.raises(TypeError, match="given NoneType"):
        mx.sym.var("x").bind(mx.cpu(), {"x": None})


def test_what_nothing_depends_on_has_gradient_zero():
    like = mx.sym.contrib.BilinearResize2D(mx.sym.var("x"), mx.sym.var("like"), mode="like")
    grads = {"x": mx.nd.ones((1, 1, 2, 2)), "like": mx.nd.ones((1, 1, 4, 4))}
    executor = like.bind(mx.cpu(), {name: g.copy() for name, g in grads.items()}, grads)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((1, 1, 4, 4)))
    assert not grads["like"].asnumpy().any() and grads["x"].asnumpy().all()


def test_functions_of_symbols_that_are_more_than_an_operator():
    x = mx.nd.array([[1, 2, 3], [4, 5, 6]])
    counts = mx.sym.histogram(mx.sym.var("x"), bins=2, range=(1, 6)).bind(mx.cpu(), {"x": x}).forward()[0]
    assert counts.asnumpy().tolist() == [3, 3]
    parts = mx.sym.split_v2(mx.sym.var("x"), (1,), axis=1).bind(mx.cpu(), {"x": x}).forward()
    assert [p.shape for p in parts] == [(2, 1), (2, 2)]
    assert [p.shape for p in x.split_v2((1,), axis=1)] == [(2, 1), (2, 2)] and len(x.split_v2(2)) == 2
    assert mx.sym.eye(2, k=1).bind(mx.cpu(), {}).forward()[0].asnumpy().tolist() == [[0, 1], [0, 0]]


def test_a_reshaped_executor_shares_memory():
    dense = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=4, name="f")
    whole = dense.simple_bind(mx.cpu(), x=(5, 4), grad_req="null")
    for array, value in zip(whole.arg_arrays, (1, 1, 0)):
        array[:] = value
    part = whole.reshape(x=(3, 4))
    assert (part.forward()[0].asnumpy() == 4).all()
    assert (whole.outputs[0].asnumpy()[:3] == 4).all()
    longer = whole.reshape(allow_up_sizing=True, x=(6, 4))
    longer.arg_arrays[0][:] = 0
    assert (whole.arg_arrays[0].asnumpy() == 1).all() and (longer.arg_arrays[1].asnumpy() == 1).all()


def test_variables_of_one_name_have_shapes_of_their_own():
    net = mx.sym.FullyConnected(mx.sym.var("data"), name="f", num_hidden=3)
    net = mx.sym.FullyConnected(net, name="f", num_hidden=2)
    arguments, outputs, _ = net.infer_shape(data=(5, 4))
    assert arguments == [(5, 4), (3, 4), (3,), (2, 3), (2,)] and outputs == [(5, 2)]


def test_numbers_evenly_spaced_as_a_symbol():
    np.testing.assert_allclose(mx.sym.linspace(0, 1, 5).eval()[0].asnumpy(), np.linspace(0, 1, 5))


def test_storage_types_of_bound_arrays_and_gradients():
    out = mx.sym.sparse.dot(mx.sym.var("x", stype="csr"), mx.sym.var("w"))
    executor = out.simple_bind(mx.cpu(), {"x": "null", "w": "write"}, x=(2, 3), w=(3, 1))
    assert executor.arg_dict["x"].stype == "csr" and executor.grad_dict["w"].stype == "row_sparse"
    looked_up = mx.sym.contrib.SparseEmbedding(mx.sym.var("i"), input_dim=5, output_dim=2, name="e")
    executor = looked_up.simple_bind(mx.cpu(), {"i": "null", "e_weight": "write"}, i=(2,))
    executor.forward(is_train=True, i=np.array([3, 1]))
    executor.backward(mx.nd.ones((2, 2)))
    assert executor.grad_dict["e_weight"].indices.asnumpy().tolist() == [1, 3]


@pytest.mark.parametrize(("before", "after"), [("default", "csr"), ("csr", "default"), ("default", "row_sparse")])
def test_storage_is_cast_inside_a_graph(before, after):
    x = mx.nd.array([[0, 1], [2, 0]]).tostype(before)
    executor = mx.sym.cast_storage(mx.sym.var("x", stype=before), stype=after).bind(
        mx.cpu(), {"x": x}, [mx.nd.zeros((2, 2))]
    )
    out = executor.forward(is_train=True)[0]
    assert out.stype == after and out.asnumpy().tolist() == [[0, 1], [2, 0]]
    executor.backward(mx.nd.array([[1, 2], [3, 4]]))
    assert executor.grad_dict["x"].asnumpy().tolist() == [[1, 2], [3, 4]]


def test_what_programs_put_into_the_dictionaries_besides_is_not_computed_with():
    executor = (mx.sym.var("x") * 2).bind(mx.cpu(), {"x": mx.nd.ones(2)})
    executor.arg_dict["states"] = [mx.sym.var("y")]  # a test of sockeye's does
    assert executor.forward()[0].asnumpy().tolist() == [2, 2]


def _dense(batch, **options):
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    return layer.simple_bind(mx.cpu(), data=(batch, 5), **options)


def test_executors_share_arrays():
    """As in MXNet 1.9.1: told arguments with another executor, the others through a dictionary of arrays by name."""
    buffer = {}
    first = _dense(4, shared_buffer=buffer)
    assert sorted(buffer) == sorted([*first.arg_dict, *(f"grad of {n}" for n in first.grad_dict)])
    second = _dense(2, shared_exec=first, shared_arg_names=["fc_weight", "fc_bias"], shared_buffer=buffer)
    first.arg_dict["fc_weight"][:] = 1
    first.arg_dict["data"][:] = 2
    assert second.arg_dict["data"].shape == (2, 5)
    np.testing.assert_array_equal(second.forward()[0].asnumpy(), np.full((2, 3), 10, "float32"))
    assert second.grad_dict["fc_weight"] is first.grad_dict["fc_weight"]
    with pytest.raises(MXNetError, match="cannot share"):
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc").simple_bind(
            mx.cpu(), data=(4, 5), shared_exec=first, shared_arg_names=["fc_weight"]
        )


def test_errors_have_the_classes_of_mxnet():
    """simple_bind and reshape raise MXNetError (a RuntimeError), bind and forward ValueError or TypeError."""
    for options in ({"grad_req": "foo"}, {"grad_req": ["write"]}, {"grad_req": {"data": "foo"}}):
        with pytest.raises(MXNetError, match="cannot bind"):
            _dense(2, **options)
    executor = _dense(2)
    with pytest.raises(MXNetError, match="allow_up_sizing"):
        executor.reshape(data=(4, 5))
    with pytest.raises(MXNetError, match="partial_shaping"):
        executor.reshape(data=(2, 3))
    with pytest.raises(ValueError, match="is to be an array"):
        executor.forward(data=[[1] * 5] * 2)
    product = mx.sym.var("a") * mx.sym.var("b")
    for arrays in (None, [1, 2], {"a": 1, "b": 2}):
        with pytest.raises(TypeError):
            product.bind(mx.cpu(), arrays)


def test_operators_work_on_the_context_of_their_group():
    """Contexts and numbers of MXNet 1.9.1; an operator without a group works where its first input is."""
    with mx.AttrScope(ctx_group="first"):
        x = (mx.sym.var("a") + mx.sym.var("b")) * 3
    with mx.AttrScope(ctx_group="second"):
        x = x + mx.sym.var("c")
    groups = {"first": mx.cpu(0), "second": mx.cpu(1)}
    executor = (x * 2).simple_bind(mx.cpu(0), group2ctx=groups, a=(2, 2), b=(2, 2), c=(2, 2))
    assert executor.outputs[0].context == mx.cpu(1)
    for value, name in enumerate("abc", 1):
        executor.arg_dict[name][:] = value
    (out,) = executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 2), ctx=mx.cpu(1)))
    assert out.context == mx.cpu(1) and (out.asnumpy() == 24).all()
    gradients = {name: (g.context, g.asnumpy()[0, 0]) for name, g in executor.grad_dict.items()}
    assert gradients == {"a": (mx.cpu(0), 6), "b": (mx.cpu(0), 6), "c": (mx.cpu(1), 2)}
    smaller = executor.reshape(a=(1, 2), b=(1, 2), c=(1, 2))
    assert smaller.forward()[0].context == mx.cpu(1)
    bound = x.bind(mx.cpu(0), executor.arg_dict, group2ctx=groups)
    assert bound.forward()[0].context == mx.cpu(1)


def test_statistics_on_another_context_than_the_group_are_kept():
    """0.1 of the mean and of the variance after a step, in arrays that lie elsewhere than the operator works."""
    with mx.AttrScope(ctx_group="b"):
        out = mx.sym.BatchNorm(mx.sym.var("data"), name="bn", fix_gamma=False)
    place = mx.cpu(2)
    ones, grad = mx.nd.ones(2, ctx=place), mx.nd.zeros(2, ctx=place)
    args = {"data": mx.nd.array([[1.0, 2], [3, 6]]), "bn_gamma": ones, "bn_beta": ones}
    aux = {name: mx.nd.zeros(2) for name in out.list_auxiliary_states()}
    bound = out.bind(mx.cpu(0), args, args_grad={"bn_gamma": grad}, aux_states=aux, group2ctx={"b": place})
    assert bound.forward(is_train=True)[0].context == place
    bound.backward(mx.nd.ones((2, 2), ctx=place))
    np.testing.assert_allclose(aux["bn_moving_mean"].asnumpy(), [0.2, 0.4], rtol=1e-6)
    np.testing.assert_allclose(aux["bn_moving_var"].asnumpy(), [0.1, 0.4], rtol=1e-6)
    assert aux["bn_moving_mean"].context == mx.cpu(0)


@pytest.mark.parametrize(
    "make", [lambda: mx.sym.zeros((2,)), lambda: mx.sym.arange(3), lambda: mx.sym.random.uniform(shape=(2,))]
)
def test_operators_without_inputs_work_on_the_context_of_their_group(make):
    with mx.AttrScope(ctx_group="a"):
        made = make()
    bound = (made * 2).bind(mx.cpu(0), {}, group2ctx={"a": mx.cpu(1)})
    assert bound.outputs[0].context == bound.forward()[0].context == mx.cpu(1)


def test_monitors_number_the_inputs_of_operators_that_name_none():
    seen = []  # the names are those that MXNet 1.9.1 shows
    data = mx.sym.var("data")
    out = mx.sym.softmax(mx.sym.softmin(mx.sym.relu(data, name="r"), name="m"), name="s")
    out = mx.sym.sum(mx.sym.clip(mx.sym.transpose(mx.sym.LeakyReLU(out, name="l"), name="t"), 0, 1, name="c"), name="u")
    executor = out.simple_bind(mx.cpu(), data=(2, 3))
    executor.set_monitor_callback(lambda name, array: seen.append(name), monitor_all=True)
    executor.forward()
    read = ["r_input0", "m_input0", "s_data", "l_data", "t_input0", "c_input0", "u_input0"]
    assert [name for name in seen if "output" not in name] == ["data", *read]


@pytest.mark.parametrize("name", ["size_array", "shape_array", "ones_like"])
def test_gradients_that_no_operator_reads_may_have_any_shape(name):
    """As in MXNet 1.9.1, whose test of size_array hands on as many ones as the array has elements."""
    gradient = mx.nd.ones((2, 3))
    executor = getattr(mx.sym, name)(mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.ones((2, 3))}, {"x": gradient})
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(5)])
    assert not gradient.asnumpy().any()


def test_a_bias_may_be_a_column():
    """MXNet takes (num_hidden, 1) as well, which biases stored by rows have."""
    bias = mx.sym.var("bias", shape=(3, 1), stype="row_sparse")
    net = mx.sym.FullyConnected(mx.sym.var("x"), mx.sym.var("w"), bias, num_hidden=3)
    executor = net.simple_bind(mx.cpu(), x=(2, 4))
    assert [a.shape for a in executor.arg_arrays] == [(2, 4), (3, 4), (3, 1)]
    executor.arg_dict["bias"][:] = mx.nd.array([[1], [2], [3]])
    assert executor.forward()[0].asnumpy().tolist() == [[1, 2, 3]] * 2


def test_numbers_that_name_rows_leave_the_weight_its_dtype():
    data = mx.sym.var("data")
    for lookup in (mx.sym.Embedding, mx.sym.contrib.SparseEmbedding):
        net = lookup(data=data, input_dim=5, output_dim=2, name="embed")
        assert net.infer_type(data="int32")[:2] == ([np.int32, np.float32], [np.float32])
