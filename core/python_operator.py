"""The oldest operators in Python: `NumpyOp` and `NDArrayOp`, whose instances are called on symbols."""

from __future__ import annotations

from core.ndarray import array
from core.operator import CustomOp, CustomOpProp, register


class PythonOp:
    """Base: subclasses define `forward`, `backward` and what they have to tell about inputs, outputs and shapes."""

    _count = 0

    def __init__(self, need_top_grad=True):
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args, **kwargs):
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args, **kwargs):
        """The operator on symbols, by position or by name."""
        from core import symbol

        PythonOp._count += 1
        kind = f"_python_op_{PythonOp._count}"
        register(kind)(_property_of(self))
        return symbol.Custom(*args, op_type=kind, **kwargs)

    def forward(self, in_data, out_data):
        """Writes to `out_data`; here a copy of the input."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad, in_data, out_data, in_grad):
        """Writes to `in_grad`; here ones."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape):
        """(shapes of the inputs, shapes of the outputs)."""
        return in_shape, [in_shape[0]]

    def list_outputs(self):
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self):
        """Names of the inputs."""
        return ["data"]

    def need_top_grad(self):
        """Whether `backward` reads `out_grad`; a loss does not."""
        return self.need_top_grad_

    def _run(self, method, *lists):
        method(*lists)


class NDArrayOp(PythonOp):
    """An operator on arrays."""

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        """What `backward` reads."""
        return [*(out_grad if self.need_top_grad() else []), *in_data, *out_data]


class NumpyOp(PythonOp):
    """An operator on NumPy arrays."""

    def _run(self, method, *lists):
        *inputs, targets = [[a.asnumpy() for a in arrays] for arrays in lists]
        method(*inputs, targets)
        for target, values in zip(lists[-1], targets):
            target[:] = array(values, ctx=target.context, dtype=target.dtype)


def _property_of(op: PythonOp) -> type[CustomOpProp]:
    """The operator as `nd.Custom` and `sym.Custom` know operators."""

    class Application(CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            op._run(op.forward, in_data, out_data)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            op._run(op.backward, out_grad, in_data, out_data, in_grad)

    class Property(CustomOpProp):
        def __init__(self):
            super().__init__(op.need_top_grad())

        def infer_shape(self, in_shape):
            return (*op.infer_shape(in_shape)[:2], [])

        def list_arguments(self):
            return op.list_arguments()

        def list_outputs(self):
            return op.list_outputs()

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Application()

    return Property


__all__ = ["NDArrayOp", "NumpyOp", "PythonOp"]
