"""An operator of one's own, in Python: softmax with its loss, in a Module and in a Gluon network.

    python examples/custom_operator.py

For one in Triton, which runs on a GPU as fast as those that come with it, see "Your own kernels" in the README.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import core as mx
from core import autograd, nd


class Softmax(mx.operator.CustomOp):
    """Probabilities forward; backward the gradient of their cross-entropy with the labels."""

    def forward(self, is_train, req, in_data, out_data, aux):
        scores = in_data[0].asnumpy()
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], nd.array(powers / powers.sum(axis=1, keepdims=True)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        gradient = out_data[0].asnumpy().copy()
        labels = in_data[1].asnumpy().astype(int)
        gradient[np.arange(len(labels)), labels] -= 1
        self.assign(in_grad[0], req[0], nd.array(gradient))


@mx.operator.register("own_softmax")
class SoftmaxProperties(mx.operator.CustomOpProp):
    """Names and shapes of its inputs and outputs."""

    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


def main(argv: list[str] | None = None) -> tuple[float, float]:
    """Gives the accuracies on three clouds of points: of the Module, and of the Gluon network."""
    random = np.random.RandomState(0)
    mx.random.seed(0)
    y = random.randint(0, 3, 300).astype(np.float32)
    x = (random.standard_normal((300, 2)) + np.array([[0, 3], [3, -2], [-3, -2]])[y.astype(int)]).astype(np.float32)
    found = with_module(x, y), with_gluon(x, y)
    print("accuracy of the Module {:.3f}, of the Gluon network {:.3f}".format(*found))
    return found


def with_module(x: np.ndarray, y: np.ndarray) -> float:
    """The operator as a symbol."""
    scores = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="scores")
    symbol = mx.sym.Custom(data=scores, label=mx.sym.var("softmax_label"), op_type="own_softmax", name="softmax")
    batches = mx.io.NDArrayIter(x, y, 30, shuffle=True)
    module = mx.mod.Module(symbol, context=mx.cpu())
    module.fit(batches, num_epoch=5, optimizer_params={"learning_rate": 0.05}, eval_metric="acc")
    ((_, accuracy),) = module.score(batches, "acc")
    return accuracy


def with_gluon(x: np.ndarray, y: np.ndarray) -> float:
    """The operator as a function."""
    weight, bias = nd.zeros((2, 3)), nd.zeros((3,))
    for parameter in (weight, bias):
        parameter.attach_grad()
    data, label = nd.array(x), nd.array(y)
    for _ in range(50):
        with autograd.record():
            probabilities = nd.Custom(nd.dot(data, weight) + bias, label, op_type="own_softmax")
        probabilities.backward()
        for parameter in (weight, bias):
            parameter -= 0.1 * parameter.grad / len(label)
    return float((probabilities.argmax(axis=1) == label).mean().asscalar())


if __name__ == "__main__":
    main()
