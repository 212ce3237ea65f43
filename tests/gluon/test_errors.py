"""What a wrong call is told: the operator or layer that the user called, what was given, and what would fit."""

import re

import pytest

import core as mx
import gluon
from core import nd
from core.base import MXNetError
from gluon import nn, rnn


def initialized(block, hybridize=False):
    block.initialize()
    if hybridize:
        block.hybridize()
    return block


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize(
    ("make", "shape", "told"),
    [
        (lambda: nn.Dense(3, in_units=4), (2, 5), "needs weight of shape (3, 5), and weight has the shape (3, 4)"),
        (
            lambda: nn.Conv2D(3, 3, in_channels=3),
            (2, 4, 8, 8),
            "data of shape (2, 4, 8, 8) needs weight of shape (3, 4, 3, 3), and .* (3, 3, 3, 3)",
        ),
        (lambda: nn.Conv2D(3, 3), (2, 5), "Convolution: kernel (3, 3) is for data of 4 axes, given shape (2, 5)"),
        (lambda: nn.Conv2DTranspose(3, 3), (2, 5), "Deconvolution: kernel (3, 3) is for data of 4 axes"),
        (lambda: nn.LayerNorm(in_channels=5), (2, 3), "needs gamma of shape (3,), and gamma has the shape (5,)"),
        (lambda: nn.BatchNorm(axis=5), (2, 3), "BatchNorm: data of shape (2, 3) has too few axes"),
    ],
)
def test_wrong_shapes_are_told_in_terms_of_the_layer_that_was_called(make, shape, told, hybridize):
    pattern = ".*".join(map(re.escape, told.split(" .* ")))
    with pytest.raises(MXNetError, match=pattern):
        initialized(make(), hybridize)(nd.ones(shape))


def test_recurrent_layers_tell_the_axes_of_their_layout():
    with pytest.raises(ValueError, match=r"layout TNC have 3 axes, given shape \(2, 3\)"):
        initialized(rnn.LSTM(4))(nd.ones((2, 3)))
    with pytest.raises(MXNetError, match=r"inputs of 5 features are expected, given shape \(2, 3, 6\)"):
        initialized(rnn.LSTM(4, input_size=5))(nd.ones((2, 3, 6)))


@pytest.mark.parametrize(("face", "name"), [(mx.nd, "broadcast_add"), (mx.np, "add")])
def test_shapes_that_do_not_broadcast_are_named(face, name):
    told = f"{name} does not fit the arrays float32(2, 3), float32(3, 2): their shapes do not broadcast"
    with pytest.raises(MXNetError, match=re.escape(told)):
        face.ones((2, 3)) + face.ones((3, 2))


def test_values_that_do_not_fit_a_part_are_told_with_both_shapes():
    with pytest.raises(ValueError, match=r"shape \(4,\) does not fit the part 0 of an array of shape \(2, 3\)"):
        nd.ones((2, 3))[0] = nd.ones((4,))


def test_an_operator_of_any_number_of_arrays_needs_one():
    with pytest.raises(MXNetError, match=r"stack .* at least one is needed"):
        nd.stack()


def test_a_name_is_no_context():
    with pytest.raises(MXNetError, match="ctx='gpu' is no context"):
        nd.ones((2,)).as_in_context("gpu")


def test_a_file_that_cannot_be_written_is_called_as_the_caller_does(tmp_path):
    file = str(tmp_path / "absent" / "x.params")
    with pytest.raises(FileNotFoundError, match=re.escape(f"{file}'") + "$"):
        nd.save(file, nd.ones((1,)))


def test_an_unknown_initializer_is_told_before_the_first_forward_pass():
    with pytest.raises(MXNetError, match=r"'xaviar'\. Did you mean 'xavier'"):
        nn.Dense(3).initialize("xaviar")


def test_files_of_other_blocks_are_told_by_the_names_in_them(tmp_path):
    file = str(tmp_path / "dense.params")
    initialized(nn.Dense(3, in_units=2)).save_parameters(file)
    other = nn.HybridSequential(prefix="other_")
    other.add(nn.Dense(3, in_units=2, prefix="layer_"))
    with pytest.raises(AssertionError, match=r"parameter 'layer_weight' is missing .* Did you mean 'weight'"):
        other.load_parameters(file)


def test_loaders_tell_what_they_take():
    with pytest.raises(TypeError, match="a dataset has a length and takes an index, given int"):
        gluon.data.DataLoader(5, batch_size=2)
    with pytest.raises(TypeError, match="samples of type int, str cannot be stacked"):
        next(iter(gluon.data.DataLoader([1, "a"], batch_size=2)))


def test_children_that_cannot_be_traced_are_told_by_place_and_type():
    with pytest.raises(ValueError, match="'1' of HybridSequential is of type Sequential"):
        nn.HybridSequential().add(nn.Dense(1), nn.Sequential())


def test_a_trainer_tells_what_is_no_parameter():
    with pytest.raises(ValueError, match="one entry is of type int"):
        gluon.Trainer([mx.gluon.Parameter("weight", shape=(1,)), 1], "sgd")


def test_inputs_that_do_not_fit_known_shapes_are_no_value_errors():
    """MXNet raises ValueError while shapes are inferred in the first call, and MXNetError from then on."""
    net = nn.Dense(3, in_units=4)
    net.initialize()
    with pytest.raises(MXNetError) as found:
        net(mx.nd.ones((2, 5)))
    assert not isinstance(found.value, ValueError) and "first call" not in str(found.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: gluon.utils.download("http://localhost/x", path="x", retries=-1),
        lambda: gluon.utils.clip_global_norm([], 1.0),
        lambda: gluon.data.SimpleDataset([1, 2, 3]).shard(2, 5),
        lambda: gluon.data.ArrayDataset([1, 2, 3], [1, 2]),
        lambda: gluon.contrib.data.IntervalSampler(3, 5),
        lambda: mx.autograd.grad(mx.nd.ones(2), []),
        lambda: mx.autograd.backward([mx.nd.ones(2)], [mx.nd.ones(2), mx.nd.ones(2)]),
        lambda: mx.metric.create("nosuch"),
    ],
)
def test_what_mxnets_functions_assert_is_caught_as_their_users_do(call):
    for kind in (AssertionError, ValueError, mx.MXNetError):
        with pytest.raises(kind):
            call()
