"""Layers, losses and metrics on np arrays, and blocks in the style of MXNet 2."""

import numpy as onp
import pytest

import core as mx
import gluon
from core import autograd, np, npx
from gluon import nn, rnn

pytestmark = pytest.mark.usefixtures("numpy_semantics")

LAYERS = [
    nn.Conv2D(2, 3), nn.Conv2DTranspose(2, 2), nn.BatchNorm(), nn.InstanceNorm(), nn.GroupNorm(3), nn.LayerNorm(),
    nn.PReLU(), nn.GELU(), nn.Swish(), nn.ELU(), nn.SELU(), nn.LeakyReLU(0.1), nn.ReflectionPad2D(1), nn.Dropout(0.3),
    nn.MaxPool2D(), nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(2), nn.Embedding(5, 2), nn.HybridLambda("tanh"),
    nn.HybridLambda("leaky_relu"), nn.Lambda("tanh"),
]  # fmt: skip


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_layers_give_np_arrays(layer):
    layer.initialize()
    x = np.ones((2, 3, 4, 4))
    x.attach_grad()
    with autograd.record():
        y = layer(x)
    assert isinstance(y, np.ndarray)
    y.backward()


@pytest.mark.parametrize("kind", [nn.Concatenate, nn.HybridConcatenate])
def test_results_side_by_side(kind):
    net = kind(axis=1)
    net.add(nn.Identity(), nn.HybridLambda("relu"))
    y = net(np.array([[1.0, 2.0]]))
    assert isinstance(y, np.ndarray) and y.tolist() == [[1, 2, 1, 2]]


@pytest.mark.parametrize(
    "name", ["L1Loss", "L2Loss", "HuberLoss", "HingeLoss", "KLDivLoss", "LogisticLoss", "SigmoidBCELoss", "SDMLLoss"]
)
def test_losses_give_np_arrays(name):
    assert isinstance(getattr(gluon.loss, name)()(np.ones((2, 3)), np.ones((2, 3))), np.ndarray)


def test_losses_with_other_labels():
    x = np.ones((2, 3))
    assert isinstance(gluon.loss.SoftmaxCELoss()(x, np.array([0, 1])), np.ndarray)
    assert isinstance(gluon.loss.CosineEmbeddingLoss()(x, x, np.array([1, -1])), np.ndarray)
    assert isinstance(gluon.loss.CTCLoss()(np.ones((2, 7, 4)), np.array([[1, 2], [2, 1]])), np.ndarray)


def test_losses_of_np_are_one_for_each_instance_as_in_mxnet_2():
    x, classic = np.array([[1.0, 0.0], [1.0, 1.0]]), np.ones((2, 2)).as_nd_ndarray()
    labels = np.array([1, -1])
    for cosine in (gluon.loss.CosineEmbeddingLoss(), gluon.loss.CosineEmbeddingLoss()):
        onp.testing.assert_allclose(cosine(x, x, labels).asnumpy(), [0, 1], atol=1e-6)
        cosine.hybridize()
        assert cosine(x, x, labels).shape == (2,)
    assert cosine(classic, classic, labels.as_nd_ndarray()).shape == (2, 1)
    poisson = gluon.loss.PoissonNLLLoss()
    onp.testing.assert_allclose(poisson(x, x).asnumpy(), [onp.e / 2, onp.e - 1], rtol=1e-6)
    assert poisson(classic, classic).shape == (1,)


def test_recurrent_layers_and_cells():
    layer, cell = rnn.LSTM(4), rnn.GRUCell(4)
    layer.initialize()
    cell.initialize()
    outputs, states = layer(np.ones((3, 2, 5)), layer.begin_state(batch_size=2))
    assert all(isinstance(a, np.ndarray) for a in (outputs, *states))
    outputs, states = cell.unroll(3, np.ones((2, 3, 5)), merge_outputs=True)
    assert all(isinstance(a, np.ndarray) for a in (outputs, *states))


def test_forward_style_blocks_train():
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(3)
            self.weight = gluon.Parameter("weight", shape=(3, 0), allow_deferred_init=True)

        def infer_shape(self, x):
            self.weight.shape = (3, x.shape[1])

        def forward(self, x):
            return self.dense(x) + np.dot(x, self.weight.data().T)

    net = Net()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    assert isinstance(net(np.ones((4, 5))), np.ndarray)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    loss_function, losses = gluon.loss.SoftmaxCrossEntropyLoss(), []
    x, y = np.array(onp.random.RandomState(0).standard_normal((4, 5)), dtype="float32"), np.array([0, 1, 2, 1])
    for _ in range(20):
        with autograd.record():
            loss = loss_function(net(x), y)
        loss.backward()
        trainer.step(4)
        losses.append(float(loss.mean()))
    assert losses[-1] < 0.2 * losses[0]
    assert isinstance(net.weight.grad(), np.ndarray)


def test_metrics_take_np_arrays():
    metric = mx.metric.Accuracy()
    metric.update(np.array([0, 1]), np.array([[0.9, 0.1], [0.8, 0.2]]))
    assert metric.get() == ("accuracy", 0.5)


def test_initializers_of_users_get_arrays_of_np():
    class Sparse(mx.init.Initializer):
        def _init_weight(self, name, data):
            data[:] = mx.np.random.uniform(-10, 10, data.shape)
            data *= mx.np.abs(data) >= 5

    mx.npx.set_np()
    try:
        net = nn.Dense(4, in_units=50)
        net.initialize(Sparse())
        values = net.weight.data()
        assert type(values) is mx.np.ndarray and ((mx.np.abs(values) >= 5) + (values == 0)).asnumpy().all()
    finally:
        mx.npx.reset_np()


def test_sliced_inputs_are_exported(tmp_path):
    class Part(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x[:][1:3, 2, :2]

    mx.npx.set_np()
    try:
        net, x = Part(), mx.np.arange(60).reshape(4, 5, 3)
        net.hybridize()
        want = net(x).asnumpy()
        net.export(str(tmp_path / "part"))
        again = gluon.SymbolBlock.imports(
            str(tmp_path / "part-symbol.json"), ["data"], str(tmp_path / "part-0000.params")
        )
        assert (want == x.asnumpy()[1:3, 2, :2]).all() and (again(x).asnumpy() == want).all()
    finally:
        mx.npx.reset_np()


def test_unknown_sizes_are_told_as_minus_one():
    dense, conv = nn.Dense(3), nn.Conv2D(4, 3)
    assert dense.weight.shape == (3, -1) and conv.weight.shape == (4, -1, 3, 3)
    assert repr(dense) == "Dense(-1 -> 3, linear)" and "(-1 -> 4" in repr(conv)
    dense.initialize()
    dense(np.ones((2, 5)))
    assert dense.weight.shape == (3, 5)
    npx.reset_np()
    assert conv.weight.shape == (4, 0, 3, 3) and repr(nn.Dense(3)) == "Dense(None -> 3, linear)"


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("product", [mx.np.dot, lambda x, w: x.dot(w)])
def test_products_tell_parameters_the_extent_that_they_miss(product, hybridize):
    class Linear(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = self.params.get("weight", shape=(0, 3), allow_deferred_init=True)

        def hybrid_forward(self, F, x, weight):
            return product(x, weight)

    with mx.util.np_shape(), mx.util.np_array():
        layer = Linear()
        layer.initialize(mx.init.One())
        layer.hybridize(hybridize)
        assert layer(mx.np.ones((2, 4, 5))).asnumpy().tolist() == [[[5] * 3] * 4] * 2
        assert layer.weight.shape == (5, 3)


@pytest.mark.parametrize("hybridize", [False, True])
def test_gelu_by_its_approximation(hybridize):
    layer = nn.GELU(approximation="tanh")
    layer.hybridize(hybridize)
    x = onp.linspace(-3, 3, 7, dtype="float32")
    expected = 0.5 * x * (1 + onp.tanh(onp.sqrt(2 / onp.pi) * (x + 0.044715 * x**3)))
    onp.testing.assert_allclose(layer(np.array(x)).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="tanh"):
        nn.GELU(approximation="sigmoid")


def test_comparisons_of_exported_blocks_choose_and_stay_bool(tmp_path):
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.np.where(x > 0, x, x * 2), x > 0

    x = np.array([[-1.0, 2.0], [3.0, -4.0]])
    net = Net()
    net.hybridize()
    net(x)
    net.export(str(tmp_path / "net"))
    chosen, positive = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"])(x)
    assert chosen.asnumpy().tolist() == [[-2, 2], [3, -8]]
    assert positive.dtype == bool and positive.asnumpy().tolist() == [[False, True], [True, False]]


@pytest.mark.parametrize("make", [nn.Swish, gluon.loss.L2Loss, gluon.loss.HuberLoss, lambda: rnn.GRUCell(3)])
def test_layers_give_symbols_with_the_semantics_of_their_inputs(make):
    block = make()
    inputs = [np.random.uniform(size=(2, 4, 5)) for _ in range(2 if isinstance(block, gluon.loss.Loss) else 1)]
    run = (lambda x: block.unroll(4, x, merge_outputs=True)[0]) if isinstance(block, rnn.GRUCell) else block
    block.initialize()
    expected = run(*inputs)
    values = {f"data{i}": x for i, x in enumerate(inputs)}
    total = mx.sym.np.sum(run(*(mx.sym.var(name).as_np_ndarray() for name in values)))
    values |= {p.name: p.data() for p in block.collect_params().values()}
    found = total.eval(**{name: values[name].as_nd_ndarray() for name in total.list_arguments()})[0]
    onp.testing.assert_allclose(found.asnumpy(), expected.asnumpy().sum(), rtol=1e-5)
