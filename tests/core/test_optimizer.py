"""Optimizers: what the recorded cases do not reach."""

import functools

import numpy as np
import pytest

import core as mx
import gluon
from core import autograd, nd


def test_names_are_found_and_unknown_ones_get_a_proposal():
    assert isinstance(mx.optimizer.create("SGD"), mx.optimizer.SGD)
    with pytest.raises(ValueError, match="adam"):
        mx.optimizer.create("adamm")


def test_an_update_of_its_own_is_respected():
    class Half(mx.optimizer.Optimizer):
        def create_state(self, index, weight):
            return nd.zeros(weight.shape)

        def update(self, index, weight, grad, state):
            self._update_count(index)
            weight[:] = weight - 0.5 * grad
            state[:] = grad

    updater = mx.optimizer.get_updater(Half())
    weight = nd.ones((3,))
    updater(0, nd.ones((3,)), weight)
    np.testing.assert_array_equal(weight.asnumpy(), [0.5] * 3)
    np.testing.assert_array_equal(updater.states[0].asnumpy(), [1] * 3)


def test_weights_and_gradients_that_are_no_arrays_are_refused():
    for weight, gradient in ((nd.ones(2), np.ones(2)), (np.ones(2), nd.ones(2))):
        with pytest.raises(TypeError, match="weight and gradient are arrays"):
            mx.optimizer.SGD(learning_rate=0.1).update(0, weight, gradient, None)


def test_decay_by_names():
    optimizer = mx.optimizer.SGD(learning_rate=1.0, wd=0.1, param_idx2name={0: "fc_weight", 1: "fc_bias"})
    assert optimizer._get_wds([0, 1]) == [0.1, 0.0]
    optimizer.set_lr_mult({"fc_bias": 2.0})
    assert optimizer._get_lrs([0, 1]) == [1.0, 2.0]


def test_adamw_shrinks_weights_beside_the_step():
    weight, gradient = nd.ones((2,)), nd.zeros((2,))
    updater = mx.optimizer.get_updater(mx.optimizer.AdamW(learning_rate=0.1, wd=0.5))
    updater(0, gradient, weight)
    rate = 0.1 * np.sqrt(1 - 0.999) / (1 - 0.9)  # of the first step, which the decay follows
    np.testing.assert_allclose(weight.asnumpy(), 1 - rate * 0.5, rtol=1e-6)


def _drawn(seed, dtype="float32"):
    return nd.array(np.random.RandomState(seed).randn(2, 2), dtype=dtype)


def test_steps_of_adabelief_are_those_of_mxnet_2():
    weight, gradient, mean, var = _drawn(0), _drawn(1), _drawn(2), abs(_drawn(3))
    given = {"lr": 0.1, "eta": 0.7, "wd": 0.1, "clip_gradient": 0.5, "epsilon": 1e-2}
    skipped = nd.contrib.adabelief_update(weight, gradient, mean, var, float("nan"), **given)
    assert (skipped.asnumpy() == weight.asnumpy()).all() and (mean.asnumpy() == _drawn(2).asnumpy()).all()
    skipped[:] = 0  # a copy
    assert (weight.asnumpy() == _drawn(0).asnumpy()).all()
    stepped = nd.contrib.adabelief_update(weight, gradient, mean, var, nd.array([0.5]), **given)
    np.testing.assert_allclose(stepped.asnumpy().ravel(), [1.7809, 0.40813, 1.37684, 2.16755], atol=1e-5)
    np.testing.assert_allclose(mean.asnumpy().ravel(), [-0.32508, -0.07723, -1.9392, 1.445], atol=1e-5)
    np.testing.assert_allclose(var.asnumpy().ravel(), [1.79752, 0.44611, 0.10954, 1.87472], atol=1e-5)
    half, master = _drawn(0, "float16"), _drawn(0)
    states = _drawn(2), abs(_drawn(3)), master
    nd.contrib.mp_adabelief_update(half, _drawn(1, "float16"), *states, 0.5, out=half, **given)
    np.testing.assert_allclose(half.asnumpy().ravel(), [1.78125, 0.4082, 1.37695, 2.16797], atol=1e-5)
    np.testing.assert_allclose(master.asnumpy().ravel(), [1.7809, 0.40813, 1.37684, 2.16755], atol=1e-5)


def test_steps_of_lans_are_those_of_mxnet_2():
    weights, gradients, means = [_drawn(0), _drawn(5)], [_drawn(1), _drawn(6)], [_drawn(2), _drawn(7)]
    variances = [abs(_drawn(3)), abs(_drawn(8))]
    nd.contrib.multi_lans_update(
        weights, gradients, means, variances, step_count=[1, 3], lrs=[0.1, 0.2], wds=[0.0, 0.1], out=weights,
        lower_bound=0.5, upper_bound=1.0, rescale_grad=0.3, clip_gradient=0.2, epsilon=1e-2,
    )  # fmt: skip
    np.testing.assert_allclose(weights[0].asnumpy().ravel(), [1.7658, 0.40576, 1.07604, 2.22774], atol=1e-5)
    np.testing.assert_allclose(weights[1].asnumpy().ravel(), [0.26652, -0.31075, 2.36949, -0.25507], atol=1e-5)
    np.testing.assert_allclose(variances[1].asnumpy().ravel(), [0.09115, 1.09023, 1.94506, 1.385], atol=1e-5)


def test_words_of_mxnet_2_for_optimizers():
    assert mx.optimizer.AdaGrad(epsilon=0.5).float_stable_eps == mx.optimizer.LARS(epsilon=0.5).eps == 0.5
    rmsprop = mx.optimizer.RMSProp(rho=0.8, momentum=0.7)
    assert (rmsprop.gamma1, rmsprop.gamma2) == (0.8, 0.7)


def test_group_adagrad_is_for_matrices_without_decay():
    """Both are AssertionErrors in MXNet."""
    weight = nd.ones((2, 2))
    with pytest.raises(AssertionError, match="decay"):
        mx.optimizer.contrib.GroupAdaGrad(wd=0.1).update(0, weight, weight.copy(), nd.zeros((2, 1)))
    with pytest.raises(AssertionError, match=r"matrices.*\(2,\)"):
        mx.optimizer.contrib.GroupAdaGrad().create_state(0, nd.ones(2))


def test_states_as_bytes():
    updater = mx.optimizer.get_updater(mx.optimizer.Adam())
    weight = nd.ones((2, 3))
    updater(0, nd.ones((2, 3)), weight)
    other = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=5.0))
    other.set_states(updater.get_states(dump_optimizer=True))
    assert other.optimizer.num_update == 1
    assert other.optimizer.learning_rate == 0.001
    for a, b in zip(updater.states[0], other.states[0]):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


def test_a_rate_of_its_own_for_one_parameter_is_respected():
    class Decaying(mx.optimizer.Adam):
        def _get_lr(self, index):
            return 0.5 / self.num_update

        def _get_lrs(self, indices):  # keras-mxnet gives one for each parameter of an aggregate: none
            return []

    updater = mx.optimizer.get_updater(Decaying())
    weight = nd.ones(3)
    for want in (0.5, 0.25):  # steps of Adam along a constant gradient are as long as the rate
        updater(0, nd.ones(3), weight)
        np.testing.assert_allclose(weight.asnumpy(), [want] * 3, atol=1e-6)


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_sparse_weights_and_gradients_take_steps(stype):
    grad = mx.nd.array([[1, 2], [0, 0], [3, -4], [0, 0]]).tostype("row_sparse")
    weight = mx.nd.ones((4, 2)).tostype(stype)
    adam = mx.optimizer.Adam(clip_gradient=5.0, learning_rate=0.001, rescale_grad=1 / 64)
    state = adam.create_state_multi_precision(0, weight)
    for _ in range(3):
        adam.update_multi_precision(0, weight, grad, state)
    # MXNet 1.9.1
    expected = [[0.99700004, 0.99700004], [1, 1], [0.99700004, 1.0030001], [1, 1]]
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-6)
    assert weight.stype == stype


@pytest.mark.parametrize("name", ["sgd", "adam", "adagrad"])
def test_half_precision_weights_take_sparse_gradients(name):
    rows = mx.nd.array([[1, 2], [0, 0], [3, -4], [0, 0]], dtype="float16")
    results = []
    for stype in ("default", "row_sparse"):
        weight = mx.nd.ones((4, 2), dtype="float16")
        optimizer = mx.optimizer.create(name, learning_rate=0.1, multi_precision=True)
        state = optimizer.create_state_multi_precision(0, weight)
        for _ in range(2):
            optimizer.update_multi_precision(0, weight, rows.tostype(stype), state)
        assert weight.dtype == np.float16
        results.append(weight.asnumpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-3)
    assert (results[1][0] != 1).all()


def test_a_lazy_optimizer_leaves_rows_without_gradient_alone():
    first, second = (
        mx.nd.array([[1, 1], [0, 0.0]]).tostype("row_sparse"),
        mx.nd.array([[0, 0], [1, 1.0]]).tostype("row_sparse"),
    )
    found = {}
    for lazy in (True, False):
        weight = mx.nd.ones((2, 2))
        sgd = mx.optimizer.SGD(momentum=0.9, learning_rate=0.1, wd=0.1, lazy_update=lazy)
        state = sgd.create_state(0, weight)
        sgd.update(0, weight, first, state)
        sgd.update(0, weight, second, state)
        found[lazy] = weight.asnumpy()[:, 0]
    np.testing.assert_allclose(found[True], [1 - 0.11, 1 - 0.11], rtol=1e-6)
    np.testing.assert_allclose(found[False], [1 - 0.11 - 0.099 - 0.0089, 0.99 - 0.009 - 0.1099], rtol=1e-6)


@pytest.mark.parametrize(("momentum", "kept"), [(0.0, 1.0), (0.9, 0.9715)])
def test_nag_without_momentum_leaves_rows_without_gradient_alone(momentum, kept):
    """MXNet 1.9.1 takes a step of SGD then: no decay where there is no gradient."""
    weight, optimizer = mx.nd.ones((2, 1)), mx.optimizer.NAG(learning_rate=0.5, momentum=momentum, wd=0.03)
    gradient = mx.nd.sparse.row_sparse_array(([[0.0]], [0]), shape=(2, 1))
    optimizer.update(0, weight, gradient, optimizer.create_state(0, weight))
    np.testing.assert_allclose(weight.asnumpy()[:, 0], [0.985 if momentum == 0 else 0.9715, kept], rtol=1e-6)


@pytest.mark.parametrize("stype, second", [("default", 0.0), ("row_sparse", 1.0)])
def test_ftrl_leaves_rows_of_a_sparse_weight_without_gradient_alone(stype, second):
    weight = mx.nd.ones((3, 1)).tostype(stype)
    updater = mx.optimizer.get_updater(mx.optimizer.Ftrl(lamda1=0.1))
    updater(0, mx.nd.array([[1.0], [0.0], [-2.0]]).tostype("row_sparse"), weight)
    # MXNet 1.9.1: of a row_sparse weight, only the rows of the gradient change
    np.testing.assert_allclose(weight.asnumpy().ravel(), [0.445, second, 0.73], rtol=1e-5)


def test_several_weights_in_one_step_of_adamw_or_lamb():
    rng = np.random.RandomState(0)
    arrays = [[mx.nd.array(rng.rand(3)) for _ in range(2)] for _ in range(4)]
    weights, grads, mean, var = arrays
    expected = [w.copy() for w in weights]
    for k in range(2):
        state = mean[k].copy(), var[k].copy()
        mx.nd.contrib.adamw_update(expected[k], grads[k], *state, 0.5, lr=1, eta=0.1, wd=0.01, out=expected[k])
    mx.nd.contrib.multi_adamw_update(
        weights, grads, mean, var, out=weights, size=2, lrs=[1, 1], wds=[0.01] * 2, etas=[0.1] * 2, rescale_grad=0.5
    )
    for got, want in zip(weights, expected):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-6)
    before = [w.asnumpy() for w in weights]
    mx.nd.contrib.multi_lamb_update(
        weights, grads, mean, var, step_count=[1, 1], lrs=[0.1] * 2, wds=[0.0] * 2, out=weights
    )
    assert all((w.asnumpy() < b).all() for w, b in zip(weights, before))


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [  # what MXNet 2.0.0 makes of the weight below in three updates
        ("adabelief", {"wd": 0.1, "learning_rate": 0.1}, [0.6593154, -0.14991175, 1.6524134]),
        ("lans", {"wd": 0.1, "learning_rate": 0.1, "upper_bound": 1.0}, [0.82820195, -0.34104697, 1.812675]),
    ],
)
def test_optimizers_of_mxnet_2(name, options, expected):
    optimizer = mx.optimizer.create(name, **options)
    update = mx.optimizer.get_updater(optimizer)
    weight = nd.array([1.0, -0.5, 2.0])
    for k in range(1, 4):
        update([0], [nd.array([0.5 * k, -1.0, 0.1 * k])], [weight])
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-5)


def test_a_layer_without_gradient_stays_as_it_is_under_lans():
    weight = nd.array([1.0, -0.5])
    mx.optimizer.get_updater(mx.optimizer.create("lans", learning_rate=0.1))(0, nd.zeros(2), weight)
    np.testing.assert_array_equal(weight.asnumpy(), [1.0, -0.5])


# without sgld, whose noise differs
@pytest.mark.parametrize("name", sorted(set(mx.optimizer.Optimizer.opt_registry) - {"sgld"}))
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_weights_of_np_take_the_steps_of_nd(name, dtype):
    def stepped(array):
        weight = array(np.arange(1, 7).reshape(2, 3), dtype=dtype)
        update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, multi_precision=True))
        for k in (1, 2):
            update(0, array(np.full((2, 3), k), dtype=dtype), weight)
        return weight

    expected = stepped(nd.array)
    with mx.util.np_array(True):
        weight = stepped(mx.np.array)
    assert type(weight) is mx.np.ndarray and (expected.asnumpy() != np.arange(1, 7).reshape(2, 3)).any()
    np.testing.assert_array_equal(weight.asnumpy(), expected.asnumpy())


def test_steps_in_the_style_of_mxnet_2():
    class Own(mx.optimizer.Optimizer):
        def step(self, indices, weights, grads, states):
            self._update_count(indices)
            for index, weight, grad in zip(indices, weights, grads, strict=True):
                weight[:] = weight - self._get_lr(index) * grad

        def fused_step(self, indices, weights, grads, states):
            weights[0][:] = -1

    for fused, expected in ((False, 0.75), (True, -1.0)):
        net = gluon.nn.Dense(1, in_units=2, use_bias=False)
        net.initialize(init="ones")
        trainer = gluon.Trainer(net.collect_params(), Own(learning_rate=0.5, use_fused_step=fused))
        with autograd.record():
            out = net(nd.full((1, 2), 0.5))
        out.backward()
        trainer.step(1)
        np.testing.assert_array_equal(net.weight.data().asnumpy(), np.full((1, 2), expected))


def test_update_operators_at_the_edges_of_their_attributes():
    """As MXNet 1.9.1: signs of gradients know no scale, sums of squares are float32, a rate of 0 may divide to NaN."""
    weight, grad = nd.array([1.0, -2.0]), nd.array([0.5, -3.0])
    for scale in (-1, 0, 3):
        assert nd.signsgd_update(weight, grad, lr=0.5, rescale_grad=scale).asnumpy().tolist() == [0.5, -1.5]
    squares = nd.multi_sum_sq(nd.array([3, 4], dtype="float64"), nd.array([2], dtype="float64"), num_arrays=2)
    assert squares.dtype == np.float32 and squares.asnumpy().tolist() == [25, 4]
    rates = nd.multi_lars(nd.array([0.3]), nd.array([4]), nd.array([9]), nd.array([0.0]), eta=1, eps=0, rescale_grad=-1)
    np.testing.assert_allclose(rates.asnumpy(), [-0.2], rtol=1e-6)
    for update, states in ((nd.ftrl_update, 2), (functools.partial(nd.ftml_update, t=1), 3)):
        assert np.isnan(update(weight, grad, *(nd.ones(2) for _ in range(states)), lr=0).asnumpy()).all()


@pytest.mark.parametrize("finite", [nd.all_finite, lambda x, **how: nd.multi_all_finite(x, x, num_arrays=2, **how)])
def test_what_out_held_counts_without_init_output(finite):
    """MXNet's loss scalers ask for many arrays in parts, and read one answer."""
    for held in (0, 1):
        for value, good in ((1.0, 1), (np.nan, 0)):
            for init_output in (True, False):
                out = nd.full((1,), held)
                finite(nd.array([2.0, value]), init_output=init_output, out=out)
                assert out.asscalar() == (good if init_output else good * held)
                assert finite(nd.array([2.0, value]), init_output=init_output, out=(listed := [nd.full((1,), held)]))
                assert listed[0].asscalar() == out.asscalar()
    for out in (nd.ones((2,)), nd.ones((1,), dtype="float16")):
        for init_output in (True, False):
            with pytest.raises(mx.MXNetError, match=r"\(2,\)|float16"):
                finite(nd.ones((2,)), init_output=init_output, out=out)


def test_what_out_holds_counts_in_a_compiled_block_too():
    class Steps(gluon.HybridBlock):
        def hybrid_forward(self, F, x, flag, weight, mom):
            F.all_finite(x, init_output=False, out=flag)
            F.nag_mom_update(weight, x, mom, lr=0.1, momentum=0.9, wd=0.5, out=weight)
            return x + 1

    for compiled in (False, True):
        block = Steps()
        block.hybridize(compiled)
        for held in (0, 1, 1):
            flag, weight, mom = nd.full((1,), held), nd.array([1.0, 2.0]), nd.array([0.1, 0.2])
            block(nd.array([0.5, -0.5]), flag, weight, mom)
            assert flag.asscalar() == held
            want = 0.9 * np.array([0.1, 0.2]) - 0.1 * (np.array([0.5, -0.5]) + 0.5 * weight.asnumpy())
            np.testing.assert_allclose(mom.asnumpy(), want, rtol=1e-5)
