"""What programs written for MXNet were seen to ask, and failed to get: one question each."""

import numpy as np
import pytest

import core as mx


def test_expand_dims_squeeze_and_flatten_share_memory_on_request():
    x = mx.nd.ones((1, 2, 3))
    x.squeeze(axis=0, inplace=True)[0, 0] = 9
    x.expand_dims(-1, inplace=True)[0, 0, 1] = 8
    x.flatten(inplace=True)[0, 5] = 7
    x.squeeze(axis=0)[:] = 0
    np.testing.assert_array_equal(x.asnumpy(), [[[9, 8, 1], [1, 1, 7]]])
    assert x.flatten(inplace=True).shape == (1, 6) and x.squeeze(inplace=True).shape == (2, 3)


def test_an_array_names_its_type():
    like = mx.nd.ones((2,), dtype="float16")
    assert mx.nd.ones((2,)).astype(like).dtype == np.float16
    assert mx.nd.zeros((2,), dtype=mx.nd.ones((1,)).dtype).dtype == np.float32


def test_nested_arrays_are_flattened_and_grouped_again():
    from gluon.block import _flatten, _regroup

    a, b, c = (mx.nd.full((1,), i) for i in range(3))
    flat, form = _flatten([a, [b, (c,)], None], "input")
    assert flat == [a, b, c, None] and form == [0, [0, [0]], -1]
    assert _regroup(flat, form) == [a, [b, [c]], None]
    with pytest.raises(ValueError, match="input"):
        _flatten([a, 3], "input")


class Nested(mx.gluon.HybridBlock):
    """Two results, one of them in a list."""

    def hybrid_forward(self, F, x, more):
        return x + more[0], [x * more[1]]


def test_formats_of_a_hybridized_block_are_kept_beside_its_file(tmp_path):
    x, more = mx.nd.array([1, 2]), [mx.nd.array([3, 4]), mx.nd.array([5, 6])]
    net = Nested()
    assert net._in_format is None
    net.hybridize()
    net(x, more)
    assert (net._in_format, net._out_format) == ([0, [0, 0]], [0, [0]])
    net.export(str(tmp_path / "net"))
    again = mx.gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data0", "data1", "data2"])
    assert [y.asnumpy().tolist() for y in again(x, *more)] == [[4, 6], [5, 12]]
    again._in_format, again._out_format = net._in_format, net._out_format
    total, (product,) = again(x, more)
    assert total.asnumpy().tolist() == [4, 6] and product.asnumpy().tolist() == [5, 12]


def test_the_graph_of_a_hybridized_block_is_found_under_mxnets_name():
    from gluon import nn

    net = nn.HybridSequential()
    net.add(nn.Dense(2))
    net.initialize()
    net.hybridize()
    assert net._cached_graph == ()
    net(mx.nd.ones((1, 3)))
    inputs, out = net._cached_graph
    assert [x.name for x in inputs] == ["data"] and out.list_arguments() == [
        "data",
        net[0].weight.name,
        net[0].bias.name,
    ]


def test_parameters_of_other_networks_are_passed_over_by_set_params_unless_some_may_miss():
    out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    given = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.ones((2,)), "other": mx.nd.ones((1,))}
    module = mx.mod.Module(out, label_names=None)
    module.bind([("data", (1, 3))], for_training=False)
    module.set_params(given, {})
    module.init_params(mx.init.One(), arg_params=given, aux_params={}, force_init=True)
    with pytest.raises(ValueError, match="other"):
        module.set_params(given, {}, allow_missing=True)
    module.set_params(given, {}, allow_missing=True, allow_extra=True)
    assert sorted(module.get_params()[0]) == ["fc_bias", "fc_weight"]


def test_arrays_that_programs_put_in_place_of_a_parameters_are_computed_with():
    from gluon import nn

    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize()
    x, weight = mx.nd.ones((3, 2)), mx.nd.array([[2.0, 3.0]])
    net(x)
    weight.attach_grad()
    with mx.autograd.record():
        net.weight._data[net.weight._ctx_map[mx.cpu().device_typeid & 1][0]] = weight * 2
        out = net(x)
    out.backward()
    np.testing.assert_array_equal(out.asnumpy(), [[10]] * 3)
    np.testing.assert_array_equal(weight.grad.asnumpy(), [[6, 6]])


def test_operators_without_attributes_take_any_word():
    x = mx.sym.log(mx.sym.var("x"), axis=-1)
    assert mx.nd.log(mx.nd.ones((1,)), axis=0).asscalar() == 0
    assert x.eval(x=mx.nd.ones((2,)))[0].asnumpy().tolist() == [0, 0]


@pytest.mark.parametrize("hybridize", [False, True])
def test_what_was_differentiated_before_is_constant_in_the_next_recording(hybridize):
    """As states of recurrent networks are that programs carry on:
    each step of them is recorded and differentiated alone.
    """
    from gluon import nn

    net = nn.HybridLambda(lambda F, h, x: h * x)
    if hybridize:
        net.hybridize()
    x = mx.nd.full((2,), 3)
    x.attach_grad()
    h = mx.nd.ones((2,))
    for k in range(1, 4):
        with mx.autograd.record():
            h = net(h, x)
        h.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), 3.0 ** (k - 1))
    with mx.autograd.record():
        alone = h * 2
        h[:] = 0
    with pytest.raises(mx.MXNetError, match="recorded"):
        alone.backward()


def test_a_step_divides_by_a_number_that_is_an_array():
    for face in (mx.nd, mx.np):
        net = mx.gluon.nn.Dense(1, use_bias=False, in_units=1)
        net.initialize(mx.init.One())
        trainer = mx.gluon.Trainer(net.collect_params(), "adam" if face is mx.np else "sgd", {"learning_rate": 1.0})
        with mx.autograd.record():
            net(mx.nd.array([[4.0]])).backward()
        trainer.step(face.array([2, 6]).sum())
        np.testing.assert_allclose(net.weight.data().asnumpy(), 0.5 if face is mx.nd else 0, atol=1e-6)


def test_a_block_may_print_its_arrays_while_it_is_traced(capsys):
    class Talking(mx.gluon.nn.HybridBlock):
        def hybrid_forward(self, F, x):
            y = F.relu(x)
            print(y, f"{y} {y!r}", [y])
            return y

    for array, shown in (
        (mx.nd.ones((1, 4)), "<NDArray 1x4 @cpu(0), traced>"),
        (mx.np.ones((1, 4)), "<ndarray 1x4 @cpu(0), traced>"),
    ):
        net = Talking()
        net(array)
        assert "1." in capsys.readouterr().out
        net.hybridize()
        np.testing.assert_array_equal(net(array).asnumpy(), np.ones((1, 4)))
        assert capsys.readouterr().out.count(shown) == 4


def test_numpys_broadcast_arrays_takes_arrays_beside_numbers():
    a, b, c = np.broadcast_arrays(mx.np.ones((2, 3)), 2, np.zeros(3))
    assert a.shape == b.shape == c.shape == (2, 3) and float(b.sum()) == 12


def test_gradients_are_those_at_values_that_were_written_in_a_pause_of_the_recording():
    """As spectral normalisation does with its vectors; figures by MXNet 1.9.1."""
    u = mx.gluon.Parameter("u", shape=(1, 2))
    u.initialize(mx.init.One())
    w, c = mx.nd.array([[1.0, 2], [3, 4]]), mx.nd.ones((2,))
    w.attach_grad()
    with mx.autograd.record():
        y = mx.nd.dot(u.data(), w)
        with mx.autograd.pause():
            u.set_data(mx.nd.array([[5.0, 7.0]]))
    y.backward()
    assert w.grad.asnumpy().tolist() == [[5, 5], [7, 7]] and u.grad().asnumpy().tolist() == [[3, 7]]
    with mx.autograd.record():
        y = w * c
        with mx.autograd.pause():
            c[:] = 3
            c += 1
    y.backward()
    assert w.grad.asnumpy().tolist() == [[4, 4], [4, 4]]
    with mx.autograd.record():
        y = w * c
    c[:] = 5
    with pytest.raises(mx.MXNetError, match="changed in place"):
        y.backward()


def test_names_that_scripts_of_the_toolkits_import_at_their_top():
    from gluoncv.data.transforms.presets.ssd import SSDDALIPipeline
    from gluonnlp.base import numba_jitclass, numba_njit, numba_prange, numba_types

    with pytest.raises(mx.MXNetError, match="DALI"):
        SSDDALIPipeline(device_id=0)

    @numba_jitclass([("field", numba_types.int32[:])])
    class Sum:
        @numba_njit
        def of(self, n):
            return sum(i for i in numba_prange(n))

    assert Sum().of(4) == 6


def test_none_and_words_become_numbers_as_numpy_converts_them():
    x = mx.nd.zeros(2)
    for value, want in (
        ([None], [np.nan, np.nan]),  # rl_coach sets a coefficient so that it does not use
        ([None, 1], [np.nan, 1]),
        (["1", "2.5"], [1, 2.5]),
        (np.array([1, "3"], dtype=object), [1, 3]),
    ):
        x[:] = value
        np.testing.assert_array_equal(x.asnumpy(), want)
    np.testing.assert_array_equal(mx.nd.array([None, 2.5]).asnumpy(), [np.nan, 2.5])
    assert mx.nd.array(np.array([1, 2], dtype=object), dtype="int32").asnumpy().tolist() == [1, 2]
    for wrong in (["a"], [{}]):
        with pytest.raises(TypeError, match="no numbers"):
            mx.nd.array(wrong)


def test_pictures_are_decoded_into_an_array(tmp_path):
    from PIL import Image  # an extra

    pixels = np.arange(60, dtype="uint8").reshape(4, 5, 3)
    path = tmp_path / "picture.png"
    Image.fromarray(pixels).save(path)
    for read, source in ((mx.image.imdecode, path.read_bytes()), (mx.image.imread, str(path))):
        out = mx.nd.zeros(pixels.shape, dtype="uint8")
        assert read(source, 1, False, out) is out  # mxnet-model-server passes it by place
        np.testing.assert_array_equal(out.asnumpy(), pixels[:, :, ::-1])
