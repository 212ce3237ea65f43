"""Arguments that do not fit: refused as MXNet 1.9.1 refuses them, in its classes of exceptions."""

import numpy as onp
import pytest

import core as mx
from core import np, npx, sym
from core.base import MXNetError

nd = mx.nd


def x(*shape, dtype="float32"):
    return nd.ones(shape or (2, 3), dtype=dtype)


@pytest.fixture
def numpy_semantics():
    npx.set_np()
    yield
    npx.reset_np()


BIAS = {"num_hidden": 4, "no_bias": True}
UNREAD = {
    "FullyConnected": lambda F, v: F.FullyConnected(v(2, 3), v(4, 3), v(4), **BIAS),
    "Convolution": lambda F, v: F.Convolution(
        v(1, 2, 5, 5), v(4, 2, 3, 3), v(4), kernel=(3, 3), num_filter=4, no_bias=True
    ),
    "Deconvolution": lambda F, v: F.Deconvolution(v(1, 2, 5, 5), v(2, 4, 3, 3), v(4), kernel=(3, 3), num_filter=4),
    "SequenceMask": lambda F, v: F.SequenceMask(v(4, 2, 3), v(2)),
    "SequenceLast": lambda F, v: F.SequenceLast(v(4, 2, 3), v(2)),
    "SequenceReverse": lambda F, v: F.SequenceReverse(v(4, 2, 3), v(2)),
    "softmax": lambda F, v: F.softmax(v(2, 3), v(2)),
    "LeakyReLU": lambda F, v: F.LeakyReLU(v(1, 2, 5, 5), v(2)),
    "CTCLoss": lambda F, v: F.CTCLoss(v(4, 2, 3), v(2, 2), v(2)),
}


@pytest.mark.parametrize("name", UNREAD)
def test_inputs_that_attributes_leave_out_are_refused(name):
    """Lengths without use_sequence_length, a bias beside no_bias, ...: MXNet expects fewer inputs, and says so."""
    with pytest.raises(MXNetError):
        UNREAD[name](nd, x)
    with pytest.raises(MXNetError):
        UNREAD[name](sym, lambda *shape: sym.var(f"v{len(shape)}"))


def test_inputs_that_attributes_ask_for_are_missed():
    for call in (
        lambda: nd.FullyConnected(x(), x(4, 3), num_hidden=4),
        lambda: nd.SequenceMask(x(4, 2, 3), use_sequence_length=True),
        lambda: nd.LeakyReLU(x(), act_type="prelu"),
        lambda: nd.Convolution(x(1, 2, 5, 5), None, x(4), kernel=(3, 3), num_filter=4),
    ):
        with pytest.raises(MXNetError, match="is missing"):
            call()


@pytest.mark.parametrize("value", [None, "a", 1.0, [1.0, 2.0], x().asnumpy()], ids=repr)
def test_what_is_no_array_is_told(value):
    for call, name in (
        (lambda: nd.CTCLoss(value, x()), "data"),
        (lambda: nd.LayerNorm(value, x(3), x(3)), "data"),
        (lambda: nd.where(x(), x(), value), "y"),
        (lambda: nd.linalg.gemm2(value, x()), "A"),
    ):
        said = (
            "is missing"
            if value is None
            else f"is to be an array, given {type(value).__module__}.{type(value).__name__}"
        )
        with pytest.raises(TypeError, match=f"input '{name}' {said}"):
            call()
    with pytest.raises(TypeError, match=f"weight and gradient are arrays, given NDArray and {type(value).__name__}"):
        mx.optimizer.SGD().update(0, x(), value, None)
    if value is not None:
        for call in (lambda: nd.CTCLoss(value, x()), lambda: nd.linalg.gemm2(value, x())):
            with pytest.raises(AssertionError):
                call()


def test_functions_of_np_tell_what_is_no_array(numpy_semantics):
    for call in (np.argsort, np.flip, np.diag, np.linalg.cholesky):
        with pytest.raises(TypeError, match="takes an array"):
            call((1.0,))


def test_bools_are_no_numbers_and_numbers_but_0_and_1_no_bools():
    nd.sum(x(), axis=(1, 0)), nd.sum(x(), 1), nd.sum(x(), keepdims=0), nd.tile(x(), reps=1)  # equal, and remembered
    for call in (
        lambda: x().sum(True),
        lambda: nd.sum(x(), axis=(True, 0)),
        lambda: nd.Dropout(x(), p=True),
        lambda: nd.one_hot(x(2), True),
        lambda: nd.tile(x(), reps=True),
        lambda: nd.sum(x(), keepdims=0.0),
        lambda: sym.FullyConnected(sym.var("x"), num_hidden=True),
        lambda: nd.sum(x(), keepdims=2),
        lambda: nd.sum(x(), keepdims="2"),
    ):
        with pytest.raises(MXNetError, match="does not fit"):
            call()
    assert nd.sum(x(), axis=0, keepdims=1).shape == (1, 3)
    assert nd.sum(x(), axis="(0, 1)", keepdims="true").shape == (1, 1)


def test_negative_axes_of_transposes_are_for_np_alone(numpy_semantics):
    for axes in ((0, -1), (-1, -2), (1, -2)):
        with pytest.raises(MXNetError, match="negative"):
            nd.transpose(x(), axes=axes)
        with pytest.raises(MXNetError):
            sym.transpose(sym.var("x"), axes=axes).infer_shape(x=(2, 3))
        a = np.arange(6).reshape(2, 3)
        want = a.asnumpy().transpose(axes)
        assert (a.transpose(*axes).asnumpy() == want).all()
        made = sym.np.transpose(sym.var("a").as_np_ndarray(), axes)
        for graph in (made, sym.load_json(made.tojson())):
            assert (graph.as_nd_ndarray().bind(mx.cpu(), {"a": a}).forward()[0].asnumpy() == want).all()
    with pytest.raises(ValueError):
        np.transpose(a, (0, -2))
    with pytest.raises(MXNetError):
        np.transpose(a, (0, 2))


def test_axes_out_of_bounds_are_index_errors_too(numpy_semantics):
    """MXNet's operators raise its own error there, and its functions in Python IndexError or ValueError."""
    for call in (
        lambda: np.split(np.ones((2, 3)), 2, axis=2),
        lambda: nd.concatenate([x(), x()], axis=2),
        lambda: nd.argmax(x(), axis=2),
    ):
        for kind in (MXNetError, IndexError, ValueError):
            with pytest.raises(kind, match="out of bounds"):
                call()


def test_shapes_are_ints_or_their_text(numpy_semantics):
    assert np.ones("(2,)").shape == nd.ones("(2,)").shape == np.random.uniform(size="(2,)").shape == (2,)
    for call in (nd.zeros, np.zeros, np.ones, lambda shape: np.random.uniform(size=shape)):
        for shape in ((2.5, 3), (2, None), "a", 1.5):
            with pytest.raises(MXNetError, match="does not fit"):
                call(shape)


def test_states_of_another_shape_are_refused():
    data, weights, state = x(5, 2, 3), x(96), x(1, 2, 3)
    for cell in (x(1, 2, 1), x(6)):
        with pytest.raises(MXNetError, match="state_cell"):
            nd.RNN(data, weights, state, cell, mode="lstm", state_size=3, num_layers=1)
    with pytest.raises(MXNetError, match="state"):
        nd.RNN(data, x(24), x(4, 2, 3), mode="rnn_tanh", state_size=3, num_layers=1)


def test_updates_are_of_one_shape_and_dtype():
    for weight, grad in ((x(dtype="float64"), x()), (x(), x(dtype="float16"))):
        with pytest.raises(MXNetError, match="one dtype"):
            nd.sgd_update(weight, grad, lr=0.1)
        with pytest.raises(MXNetError, match="one dtype"):
            nd.adam_update(weight, grad, weight, weight, lr=0.1)
    with pytest.raises(MXNetError, match="shape"):
        mx.optimizer.SGD().update(0, x(), x(6), None)


def test_shapes_of_symbols_are_tuples_of_lengths():
    v = sym.var("a") + 1
    for shape in (2, "a"):
        with pytest.raises(TypeError, match="tuple of ints"):
            v.infer_shape(a=shape)
    with pytest.raises(MXNetError):
        v.infer_shape(a=(-2, 3))


def test_the_first_call_of_a_layer_tells_unfit_inputs_as_value_errors():
    for layer, data in ((mx.gluon.nn.Conv2D(4, 3), x(2, 3)), (mx.gluon.nn.Conv2D(4, 3), x(1, 2, 3, 4, 5))):
        layer.initialize()
        for kind in (ValueError, MXNetError):
            with pytest.raises(kind):
                layer(data)


def test_the_first_call_of_a_block_keeps_the_class_of_errors():
    class Own(MXNetError):
        pass

    class Layer(mx.gluon.HybridBlock):
        def __init__(self, call):
            super().__init__()
            self.call, self.w = call, self.params.get("w", shape=(0, 3), allow_deferred_init=True)

        def hybrid_forward(self, F, x, w):
            return self.call(x)

    def fail(x):
        raise Own("no paper")

    def misfit(v):
        return nd.dot(v, x(7, 7))

    for call, kind, said in (
        (fail, Own, "^no paper\nin layer Layer, called with"),
        (misfit, ValueError, "first call, while shapes are unknown: "),
    ):
        layer = Layer(call)
        layer.initialize()
        with pytest.raises(kind, match=said):
            layer(x())


def test_results_go_to_a_list_of_one_array_too(numpy_semantics):
    out = [np.zeros(3)]
    assert np.amin(np.ones((2, 3)), axis=0, out=out) is out and out[0].sum() == 3
    with pytest.raises(TypeError):
        nd.full((2, 2), 3.5, out=(2, 2))


def test_shapes_are_any_sequences_of_ints():
    assert nd.empty(range(1, 3)).shape == nd.full(range(1, 3), 1.0).shape == (1, 2)
    assert np.random.normal(size=onp.array([1, 2])).shape == (1, 2)
    assert np.random.normal(size="None").shape == ()
    with pytest.raises(MXNetError, match="shape=b'ab' does not fit"):
        nd.empty(b"ab")


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int8"])
def test_whole_numbers_are_refused_where_results_have_fractions(dtype):
    v, m, p = (nd.ones(s, dtype=dtype) for s in ((2, 3), (1, 3, 3), (1, 2, 4, 4)))
    calls = [
        *(lambda t=t: nd.Activation(v, t) for t in ("relu", "sigmoid", "tanh", "softrelu", "softsign")),
        *(lambda t=t: nd.LeakyReLU(v, act_type=t) for t in ("leaky", "elu", "selu", "gelu", "rrelu")),
        *(lambda f=f: f(v) for f in (nd.hard_sigmoid, nd.L2Normalization, nd.Dropout, nd.MakeLoss, nd.all_finite)),
        *(lambda f=f: f(m) for f in (nd.linalg.sumlogdiag, nd.linalg.extractdiag, nd.linalg.syrk)),
        lambda: nd.linalg.gemm2(m, m),
        lambda: nd.batch_dot(m, m),
        lambda: nd.LRN(p, nsize=3),
        lambda: nd.UpSampling(p, scale=2, sample_type="nearest"),
        lambda: nd.Pooling(p, kernel=(2, 2)),
        lambda: nd.pad(p, mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)),
        lambda: nd.LinearRegressionOutput(v, v),
        lambda: nd.contrib.box_iou(nd.ones((1, 4), dtype=dtype), nd.ones((1, 4), dtype=dtype)),
        lambda: nd.contrib.MultiBoxPrior(p),
        lambda: mx.sym.Activation(mx.sym.var("x"), act_type="relu").eval(x=v)[0].asnumpy(),
    ]
    for call in calls:
        with pytest.raises(mx.base.MXNetError, match=f"arrays of {dtype} are not accepted"):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: nd.UpSampling(x(1, 1, 2, 2), scale=0, sample_type="nearest"),
        lambda: mx.sym.UpSampling(mx.sym.var("x"), scale=0, sample_type="nearest"),
        lambda: mx.sym.Dropout(mx.sym.var("x"), p=1.5),
        lambda: mx.sym.RNN(*map(mx.sym.var, "abcd"), state_size=1, num_layers=1, mode="lstm", p=-0.5),
        lambda: mx.sym.Embedding(mx.sym.var("x"), mx.sym.var("w"), input_dim=0, output_dim=2),
        lambda: mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=0),
        lambda: mx.sym.ROIPooling(mx.sym.var("x"), mx.sym.var("r"), pooled_size=(1, 1), spatial_scale=2),
        lambda: mx.sym.SliceChannel(mx.sym.var("x"), num_outputs=0),
    ],
)
def test_numbers_beyond_the_bounds_of_an_attribute(call):
    with pytest.raises(mx.base.MXNetError, match=r"from (1 on|0 to 1)"):
        call()


@pytest.mark.parametrize(
    "function, given",
    [
        ("uniform", ()), ("normal", ()), ("gamma", ()), ("exponential", ()), ("poisson", ()), ("randn", (2,)),
        ("randint", (0, 5)), ("negative_binomial", (1, 0.5)), ("generalized_negative_binomial", ()),
        ("uniform", ([0.5], [0.9])), ("poisson", ([0.5],)), ("multinomial", ([0.5, 0.5],)),
    ],
)  # fmt: skip
def test_samplers_refuse_words_that_they_do_not_know(function, given):
    given = [nd.array(v) if isinstance(v, list) else v for v in given]
    with pytest.raises(mx.base.MXNetError, match="size"):
        getattr(nd.random, function)(*given, size=(2,))


def test_np_samplers_refuse_words_that_they_do_not_know(numpy_semantics):
    for function in (np.random.rand, np.random.randn):
        with pytest.raises(TypeError, match="shape"):
            function(2, shape=(2,))


def test_an_input_that_a_loaded_node_does_not_read():
    s = mx.sym.FullyConnected(mx.sym.var("x"), mx.sym.var("w"), mx.sym.var("b"), num_hidden=3)
    loaded = mx.sym.load_json(s.tojson().replace('"num_hidden": "3"', '"num_hidden": "3", "no_bias": "True"'))
    with pytest.raises(mx.base.MXNetError, match="bias"):
        loaded.infer_shape(x=(2, 4))


def test_groups_without_a_context_and_keywords_that_an_optimizer_has_not():
    with mx.AttrScope(ctx_group="a"):
        a = mx.sym.var("x") * 2
    with mx.AttrScope(ctx_group="b"):
        b = a + 1
    with pytest.raises(mx.base.MXNetError, match="ctx_group 'b'"):
        b.simple_bind(mx.cpu(), x=(2,), group2ctx={"a": mx.cpu(1)})
    with pytest.raises(mx.base.MXNetError, match="ctx_group 'b'"):
        b.bind(mx.cpu(), [nd.ones(2)], group2ctx={"a": mx.cpu(0)})
    assert b.bind(mx.cpu(), [nd.ones(2)]).forward()[0].asnumpy().tolist() == [3, 3]
    with pytest.raises(TypeError, match="epsilon"):
        mx.optimizer.Adamax(epsilon=0.1)
