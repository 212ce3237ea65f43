"""What beginners do wrong, and the sentence that they are to read: what was wrong, where, and what to do."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import traceback

import numpy as np
import pytest

import core as mx
import gluon
import gluoncv
import gluonnlp
from core import autograd, nd
from core.util import is_check_values
from gluon import loss, nn


def network():
    """A small convolutional network that has seen pictures of (3, 8, 8)."""
    net = nn.HybridSequential()
    body = nn.HybridSequential()
    body.add(nn.Conv2D(8, 3), nn.BatchNorm(), nn.Flatten())
    net.add(body, nn.Dense(10))
    net.initialize()
    net(nd.zeros((2, 3, 8, 8)))
    return net


def recorded():
    """A result of (2, 2) on the tape."""
    x = nd.ones((2, 2))
    x.attach_grad()
    with autograd.record():
        return x * 2


def parameters():
    return network().collect_params()


class NoSuper(nn.HybridBlock):
    def __init__(self):
        self.dense = nn.Dense(2)


class NoSuperAndNoChildren(nn.HybridBlock):
    def __init__(self):
        self.factor = 2

    def hybrid_forward(self, F, x):
        return x * self.factor


class Hidden(nn.Block):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Dense(2)]

    def forward(self, x):
        return self.layers[0](x)


class Branch(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        return x if x.sum() > 0 else -x


class UnknownWord(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.relu(x, dat=3)


def no_decord():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "decord", None)
        gluoncv.utils.filesystem.try_import_decord()


def call(block, *args):
    block.initialize()
    return block(*args)


def hybridized(net, *args):
    net.hybridize()
    return net(*args)


def torch_tensor():
    import torch

    return torch.zeros(2, 3, 8, 8)


def update():
    trainer = gluon.Trainer(parameters(), "sgd")
    trainer.step(2)


def backward_without_record():
    network()(nd.zeros((2, 3, 8, 8))).backward()


softmax = loss.SoftmaxCrossEntropyLoss()
scores, pictures = nd.ones((4, 10)), nd.ones((2, 10, 6, 6))

# What is done -> sentences that come
MISTAKES = {
    "super() forgotten": (lambda: NoSuper(), "NoSuper.__init__ has to call super().__init__() before anything else"),
    "super() forgotten, no children": (lambda: NoSuperAndNoChildren()(scores), "has to call super().__init__()"),
    "super() forgotten, initialize": (lambda: NoSuperAndNoChildren().initialize(), "has to call super().__init__()"),
    "NumPy array": (lambda: network()(np.zeros((2, 3, 8, 8))), "got numpy.ndarray: convert it with mx.nd.array(x)"),
    "torch tensor": (lambda: network()(torch_tensor()), "got torch.Tensor: convert it with mx.nd.array(x.detach()"),
    "list": (lambda: network()([1.0, 2.0]), "got builtins.list: convert it with mx.nd.array(x)"),
    "float64": (
        lambda: network()(nd.zeros((2, 3, 8, 8), dtype="float64")),
        "data is float64 and weight float32; convert with data.astype('float32')", "in layer 0.0 Conv2D(3 -> 8",
    ),
    "int32": (lambda: network()(nd.zeros((2, 3, 8, 8), dtype="int32")), "data is int32 and weight float32; convert"),
    "NHWC": (
        lambda: network()(nd.zeros((2, 8, 8, 3))),
        "their channels came last; Conv2D takes NCHW: x.transpose((0, 3, 1, 2))", "in layer 0.0 Conv2D(",
    ),
    "another size of pictures": (
        lambda: network()(nd.zeros((2, 3, 9, 9))),
        "data of shape (2, 392) needs weight of shape (10, 392), and weight has the shape (10, 288)",
        "in layer 1 Dense(288 -> 10, linear), called with float32(2, 392)",
    ),
    "the same, hybridized": (
        lambda: hybridized(network(), nd.zeros((2, 3, 9, 9))),
        "data of shape (2, 392) needs weight of shape (10, 392)", "in layer 1 Dense(288 -> 10",
    ),
    "no batch": (lambda: network()(nd.zeros((3, 8, 8))), "kernel (3, 3) is for data of 4 axes, given shape (3, 8, 8)"),
    "not initialized": (lambda: nn.Dense(3)(scores), "Call initialize() on the block", "in layer Dense(None -> 3"),
    "layers in a list": (lambda: call(Hidden(), scores), "has not been initialized", "in layer Dense("),
    "one-hot labels": (
        lambda: softmax(scores, nd.one_hot(nd.arange(4), 10)),
        "labels of shape (4,) are class numbers; one-hot labels or probabilities take sparse_label=False",
    ),
    "class numbers for sparse_label=False": (
        lambda: loss.SoftmaxCELoss(sparse_label=False)(scores, nd.zeros(4)), "class numbers take sparse_label=True",
    ),
    "class axis": (lambda: softmax(pictures, nd.zeros((2, 6, 6))), "classes are on axis 1 of the predictions, give the loss axis=1"),
    "labels of another batch": (lambda: softmax(scores, nd.zeros(5)), "labels of shape (4,) are class numbers; given (5,)"),
    "targets of another shape": (
        lambda: loss.L2Loss()(nd.ones((4, 1)), nd.ones((4, 3))),
        "labels of shape (4, 3) do not fit predictions of shape (4, 1)",
    ),
    "labels of NumPy": (lambda: softmax(scores, np.zeros(4)), "given numpy.ndarray", "convert it with mx.nd.array(x)"),
    "unknown optimizer": (lambda: gluon.Trainer(parameters(), "adamm"), "there is no optimizer 'adamm'. Did you mean 'adam'?"),
    "lr": (
        lambda: gluon.Trainer(parameters(), "sgd", {"lr": 0.1}),
        "SGD has no argument 'lr'. Did you mean 'learning_rate'?",
    ),
    "betas": (lambda: mx.optimizer.Adam(betas=(0.9, 0.99)), "Adam has no argument 'betas'. Did you mean 'beta"),
    "network for parameters": (lambda: gluon.Trainer(network(), "sgd"), "got HybridSequential: pass net.collect_params()"),
    "activations": (lambda: nn.Dense(2, activations="relu"), "Dense has no argument 'activations'. Did you mean 'activation'?"),
    "pad": (lambda: nn.Conv2D(2, 3, pad=1), "Conv2D has no argument 'pad'. Did you mean 'padding'?"),
    "unknown activation": (
        lambda: call(nn.Dense(2, activation="rellu"), scores), "Did you mean 'relu'?", "in layer act Activation(rellu)",
    ),
    "layers to the constructor": (lambda: nn.HybridSequential([nn.Dense(2)]), "blocks go in by add(...)"),
    "class for a layer": (lambda: nn.HybridSequential().add(nn.Dense), "given the class Dense: call it, Dense(...)"),
    "function for a layer": (lambda: nn.HybridSequential().add(nd.relu), "the function relu: wrap it, HybridLambda('relu')"),
    "list of layers": (lambda: nn.Sequential().add([nn.Dense(2)]), "spread a list, add(*layers)"),
    "Linear": (lambda: nn.Linear, "what PyTorch calls so is nn.Dense(units, flatten=False) here"),
    "Conv2d": (lambda: nn.Conv2d, "gluon.nn has no layer 'Conv2d'. Did you mean 'Conv2D'?"),
    "resnet50": (lambda: gluoncv.model_zoo.get_model("resnet50"), "there is no model 'resnet50'. Did you mean 'resnet50_v1"),
    "bert": (lambda: gluonnlp.model.get_model("bert"), "Did you mean 'bert_12_768_12'?"),
    "load_huggingface": (
        lambda: gluonnlp.model.load_huggingface("bert-base-uncased"),
        "there is no folder 'bert-base-uncased'", "load_huggingface('hf://google-bert/bert-base-uncased')",
    ),
    "nd.dots": (lambda: nd.dots, "nd has no function 'dots'. Did you mean 'dot'?"),
    "gluon.Trainr": (lambda: gluon.Trainr, "gluon has no part 'Trainr'. Did you mean 'Trainer'?"),
    "mx.ndd": (lambda: mx.ndd, "mxnet has no part 'ndd'. Did you mean 'nd'?"),
    "unknown initializer": (lambda: nn.Dense(2).initialize("xavir"), "Did you mean 'xavier'?"),
    "no such device": (lambda: nd.ones(2, ctx="gpuu"), "ctx='gpuu' is no context; mx.cpu() or mx.gpu(0) are accepted"),
    "no record": (backward_without_record, "Compute it inside autograd.record()"),
    "step without backward": (update, "is not from a backward pass since the last step"),
    "shapes": (lambda: nd.ones((2, 3)) + nd.ones((4, 3)), "float32(2, 3), float32(4, 3): their shapes do not broadcast"),
    "axs": (lambda: nd.sum(scores, axs=1), "sum has no attribute 'axs'. Did you mean 'axis'?"),
    "unknown word of relu": (lambda: nd.relu(scores, foo=3), "relu has no attribute 'foo'. Inputs: data; attributes: none"),
    "unknown word in a network": (
        lambda: call(UnknownWord(), scores), "relu has no attribute 'dat'. Did you mean 'data'?", "in layer UnknownWord",
    ),
    "unknown word of a symbol": (lambda: mx.sym.relu(mx.sym.var("x"), foo=3), "relu has no attribute 'foo'"),
    "no kernel": (lambda: nn.Conv2D(8), "Conv2D.__init__() missing 1 required positional argument: 'kernel_size'"),
    "no hidden size": (lambda: gluon.rnn.LSTMCell(), "LSTMCell.__init__() missing 1 required positional argument"),
    "dtype": (lambda: nd.ones(2, dtype="flaot32"), "unknown dtype 'flaot32'; accepted are float32"),
    "branch on a value": (
        lambda: hybridized(Branch(), scores), "return x if x.sum() > 0 else -x",
        "Express the choice with operators", "in layer Branch",
    ),
    "export before a call": (lambda: network().export("net"), "call hybridize(), then the block on arrays, and export after"),
    "samples of several lengths": (
        lambda: gluonnlp.data.batchify.Stack()([np.ones(2), np.ones(3)]), "use Pad for sequences of different lengths",
    ),
    "decord": (no_decord, "videos by PyAV, which `pip install 'gluon-triton[video]'` installs"),
    "unknown metric": (lambda: mx.metric.create("acuracy"), "Did you mean 'accuracy'?"),
    "backward without record": (lambda: network()(nd.ones((2, 3, 8, 8))).sum().backward(), "Compute it inside autograd.record()"),
    "gradient of another shape": (
        lambda: recorded().backward(nd.ones((3, 3))),
        "an output gradient of shape (3, 3) does not fit the output, whose shape is (2, 2)",
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_explained(mistake):
    do, *sentences = MISTAKES[mistake]
    with pytest.raises(Exception) as raised:  # of which class, other tests say
        do()
    text = "".join(traceback.format_exception_only(raised.value))
    for sentence in sentences:
        assert sentence in text, text
    assert text.count("in layer") <= 1


@pytest.mark.parametrize(
    "kind", sorted({*mx.optimizer.Optimizer.opt_registry.values()}, key=lambda kind: kind.__name__)
)
def test_optimizers_name_themselves(kind):
    if not kind.__module__.startswith("core."):
        pytest.skip("of another test")
    with pytest.raises(TypeError, match=f"^{kind.__name__} has no argument 'nothing'"):
        kind(nothing=1)


def test_a_path_goes_through_blocks_of_the_user():
    class Net(nn.Block):
        def __init__(self):
            super().__init__()
            self.features = nn.HybridSequential()
            self.features.add(nn.Dense(4), nn.Dense(3, in_units=7))

        def forward(self, x):
            return self.features(x)

    with pytest.raises(mx.MXNetError) as raised:
        call(Net(), nd.ones((2, 5)))
    (note,) = raised.value.__notes__
    assert note == "in layer features.1 Dense(7 -> 3, linear), called with float32(2, 4)"


# ------------------------------------------------------------------------------------------ values


@pytest.fixture
def checked():
    before = mx.util.set_check_values(True)
    yield
    mx.util.set_check_values(before)


def test_indices_and_labels_out_of_range_raise_by_operator_and_layer(checked):
    embedding = nn.Embedding(5, 2)
    with pytest.raises(mx.MXNetError, match=r"Embedding: data is 7 at \(1,\); accepted are 0 to 4") as raised:
        call(embedding, nd.array([0, 7]))
    assert raised.value.__notes__[0].startswith("in layer Embedding(5 -> 2")
    with pytest.raises(mx.MXNetError, match=r"index is 10 at .*; accepted are 0 to 9") as raised:
        softmax(scores, nd.array([0, 1, 2, 10]))
    assert "SoftmaxCrossEntropyLoss" in raised.value.__notes__[0]
    for wrong in (lambda: nd.take(scores, nd.array([4])), lambda: nd.one_hot(nd.array([-1]), 3)):
        with pytest.raises(ValueError, match="accepted are 0 to"):
            wrong()
    assert nd.take(scores, nd.array([4]), mode="wrap").shape == (1, 10)


def test_the_operator_that_makes_nan_is_named_also_in_hybridized_and_backward_passes(checked):
    class Log(nn.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.log(x)

    net = nn.HybridSequential()
    net.add(nn.Flatten(), Log())
    net.hybridize()
    for _ in range(2):
        with pytest.raises(mx.MXNetError, match=r"log made nan of finite numbers, at \(0, 1\)") as raised:
            net(nd.array([[1, -1]]))
    assert raised.value.__notes__[0].startswith("in layer 1 Log")
    x = nd.array([0.0])
    x.attach_grad()
    with autograd.record():
        y = nd.sqrt(x)
    with pytest.raises(mx.MXNetError, match="the gradient of sqrt made inf of finite numbers"):
        y.backward()


def test_checks_leave_nothing_behind():
    assert not is_check_values()
    assert mx.util.set_check_values(True) is False
    assert mx.util.set_check_values(False) is True
    assert np.isneginf(nd.log(nd.array([0])).asscalar())
    net = nn.Dense(2)
    call(net, scores)
    net.hybridize()
    net(scores)
    assert net.plan_of(scores) is not None


def test_checks_can_be_asked_for_in_the_environment(root, tmp_path):
    result = run(root, tmp_path, "from core import nd\nnd.log(nd.array([0]))\n", MXNET_CHECK_VALUES="1")
    assert "log made -inf of finite numbers" in result.stderr


# ------------------------------------------------------------------------------------------ tracebacks

PROGRAM = """
from core import nd
from gluon import nn

class Net(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, in_units=7)

    def hybrid_forward(self, F, x):
        return self.dense(x)

net = Net()
net.initialize()
net(nd.ones((2, 5)))
"""


def run(root, folder, program, **environment):
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program))
    given = {"PATH": "", "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run([sys.executable, str(path)], env=given, capture_output=True, text=True)


def test_a_printed_traceback_ends_at_the_line_of_the_user(root, tmp_path):
    lines = run(root, tmp_path, PROGRAM).stderr.splitlines()
    frames = [line for line in lines if line.startswith("  File ")]
    assert len(frames) == 2 and all("program.py" in line for line in frames)
    assert "return self.dense(x)" in lines[lines.index(frames[-1]) + 1]
    assert "in layer dense Dense(7 -> 3, linear), called with float32(2, 5)" in lines
    assert "MXNET_FULL_TRACEBACK=1 shows them" in lines[0]


def test_the_whole_traceback_can_be_had(root, tmp_path):
    text = run(root, tmp_path, PROGRAM, MXNET_FULL_TRACEBACK="1").stderr
    assert "core/dispatch.py" in text and "gluon/block/block.py" in text and "left out" not in text


def test_a_program_that_prints_tracebacks_itself_is_left_alone(root, tmp_path):
    program = "import sys\nsys.excepthook = lambda *_: print('mine', file=sys.stderr)\n" + PROGRAM
    assert run(root, tmp_path, program).stderr == "mine\n"
