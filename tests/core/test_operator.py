"""Custom operators in Python: forward, gradients, attributes, errors."""

import numpy as onp
import pytest

import core as mx
from core import autograd, nd


class Scaled(mx.operator.CustomOp):
    def __init__(self, scale):
        self.scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * in_data[1] * self.scale)
        self.assign(out_data[1], req[1], in_data[0] + in_data[1])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * in_data[1] * self.scale + out_grad[1])
        self.assign(in_grad[1], req[1], out_grad[0] * in_data[0] * self.scale + out_grad[1])


@mx.operator.register("scaled_product")
class ScaledProp(mx.operator.CustomOpProp):
    def __init__(self, scale="1"):
        super().__init__(need_top_grad=True)
        self.scale = float(scale)

    def list_arguments(self):
        return ["lhs", "rhs"]

    def list_outputs(self):
        return ["product", "sum"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0], in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Scaled(self.scale)


def test_values_and_gradients():
    a, b = nd.array([1.0, 2.0]), nd.array([3.0, 5.0])
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        product, total = nd.Custom(a, rhs=b, op_type="scaled_product", scale=2)
        y = product * 10 + total
    y.backward()
    assert product.asnumpy().tolist() == [6, 20] and total.asnumpy().tolist() == [4, 7]
    onp.testing.assert_allclose(a.grad.asnumpy(), [61, 101])
    onp.testing.assert_allclose(b.grad.asnumpy(), [21, 41])


def test_errors_name_what_is_wrong():
    with pytest.raises(mx.MXNetError, match="scaled_product"):
        nd.Custom(nd.ones(1), op_type="scaled_produkt")
    with pytest.raises(mx.MXNetError, match="lhs, rhs"):
        nd.Custom(nd.ones(1), op_type="scaled_product")
    with pytest.raises(TypeError, match="CustomOpProp"):
        mx.operator.register("x")(object)


class OldSoftmax(mx.operator.NumpyOp):
    """The loss of MXNet's examples, with NumPy."""

    def __init__(self):
        super().__init__(False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

    def forward(self, in_data, out_data):
        e = onp.exp(in_data[0] - in_data[0].max(axis=1, keepdims=True))
        out_data[0][:] = e / e.sum(axis=1, keepdims=True)

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = out_data[0]
        in_grad[0][onp.arange(len(in_data[1])), in_data[1].astype(int)] -= 1


def test_operators_of_the_first_kind_act_like_the_built_in_one():
    data, label = mx.sym.var("data"), mx.sym.var("softmax_label")
    values = {"data": onp.arange(6.0).reshape(2, 3) / 3, "softmax_label": onp.array([2.0, 0])}
    found = []
    for symbol in (OldSoftmax()(data=data, label=label, name="softmax"), mx.sym.SoftmaxOutput(data, label)):
        assert symbol.list_arguments() == ["data", "softmax_label"]
        executor = symbol.simple_bind(mx.cpu(), data=(2, 3))
        executor.copy_params_from({k: mx.nd.array(v) for k, v in values.items()})
        out = executor.forward(is_train=True)[0].asnumpy()
        executor.backward()
        found.append((out, executor.grad_dict["data"].asnumpy()))
    for mine, expected in zip(*found):
        onp.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-6)


def test_sparse_storage_comes_with_the_prop():
    class Squared(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            assert out_data[0].stype == "csr"
            self.assign(out_data[0], req[0], in_data[0] * in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            assert in_grad[0].stype == "csr"
            self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])

    @mx.operator.register("test_squared_csr")
    class SquaredProp(mx.operator.CustomOpProp):
        def infer_storage_type(self, in_stype):
            return ["csr"], ["csr"], []

        def infer_storage_type_backward(self, ograd_stype, in_stype, out_stype, igrad_stype, aux_stype):
            return ["default"], ["csr"], ["csr"], ["csr"], []

        def create_operator(self, ctx, shapes, dtypes):
            return Squared()

    x = mx.nd.array([[1, 0, -3]]).tostype("csr")
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="test_squared_csr") * mx.nd.array([[1, 2, 3]])
    y.backward()
    assert y.asnumpy().tolist() == [[1, 0, 27]] and x.grad.asnumpy().tolist() == [[2, 0, -18]]


def test_no_inputs_and_errors_of_users():
    class Ones(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], 1 / self.scale)

    @mx.operator.register("test_no_inputs")
    class OnesProp(mx.operator.CustomOpProp):
        def __init__(self, length, scale):
            super().__init__()
            self.length, self.scale = int(length), float(scale)

        def list_arguments(self):
            return []

        def infer_shape(self, in_shape):
            return [], [(self.length,)], []

        def infer_type(self, in_type):
            return [], [onp.float32], []

        def create_operator(self, ctx, shapes, dtypes):
            op = Ones()
            op.scale = self.scale
            return op

    assert mx.nd.Custom(length=3, scale=2, op_type="test_no_inputs").asnumpy().tolist() == [0.5] * 3
    with pytest.raises(mx.MXNetError, match="'test_no_inputs' failed in forward: ZeroDivisionError"):
        mx.nd.Custom(length=3, scale=0, op_type="test_no_inputs")


def test_operators_tell_what_they_take():
    found = mx.operator.get_operator_arguments("Pooling")
    assert found.narg == len(found.names) == len(found.types)
    assert found.names[:5] == ["data", "kernel", "pool_type", "global_pool", "cudnn_off"]
    types = dict(zip(found.names, found.types))
    assert types["data"] == "NDArray-or-Symbol" and types["global_pool"] == "boolean, optional, default=0"
    assert types["pool_type"] == "{'avg', 'lp', 'max', 'sum'}, optional, default='max'"
    assert mx.operator.get_operator_arguments("FullyConnected").types[3] == "int, required"
    with pytest.raises(mx.MXNetError, match="Pooling"):
        mx.operator.get_operator_arguments("Poling")
