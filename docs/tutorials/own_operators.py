# %% [markdown]
# # An operator of one's own
#
# Three ways, from the shortest to the fastest: an expression of operators, a Python class, a Triton kernel. This page
# runs without a GPU: Triton interprets its kernels, slowly, where `TRITON_INTERPRET=1` is set before Triton is loaded.

# %%
import os

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np

import core as mx
from gluon import nn

# %% [markdown]
# ## An expression
#
# What can be said with operators needs nothing else. It has gradients, compiles, and is fused into one kernel where its
# parts go element by element.


# %%
class Swish(nn.HybridBlock):
    """x sigmoid(beta x)."""

    def __init__(self, beta=1.0, **kwargs):
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F, x):
        return x * F.sigmoid(x * self._beta)


swish = Swish()
swish.hybridize()
x = mx.nd.array([-1.0, 0.0, 2.0])
print(swish(x))

# %% [markdown]
# ## A class in Python
#
# `CustomOp` is MXNet's way. It may do anything, with NumPy too, and says itself what its gradient is.


# %%
class Cube(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] ** 3)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 3 * in_data[0] ** 2 * out_grad[0])


@mx.operator.register("cube")
class CubeProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Cube()


x.attach_grad()
with mx.autograd.record():
    y = mx.nd.Custom(x, op_type="cube")
y.backward()
print(y, x.grad)
assert np.allclose(x.grad.asnumpy(), 3 * x.asnumpy() ** 2)

# %% [markdown]
# ## A Triton kernel
#
# The kernel computes a block of elements; the launcher allocates the result and says how many blocks there are; the
# gradient is written with operators. After `register` the operator is in `nd`, `sym` and hybridized blocks.

# %%
import triton.language as tl


@mx.rtc.jit
def kernel(x, out, n, slope, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    tl.store(out + at, tl.where(v > 0, v, v * slope), mask=at < n)


@mx.rtc.register("my_leaky")
def leaky(x, *, slope: float = 0.1):
    out = mx.rtc.empty_like(x)
    kernel[(mx.rtc.cdiv(x.numel(), 64),)](x, out, x.numel(), slope, BLOCK=64)
    return out


@mx.rtc.gradient(leaky)
def rule(dy, x, attrs):
    return [mx.nd.where(x > 0, dy, dy * attrs.slope)]


values = np.linspace(-2, 2, 9).astype("float32")
x = mx.nd.array(values)
x.attach_grad()
with mx.autograd.record():
    y = mx.nd.my_leaky(x, slope=0.25)
y.backward()
assert np.allclose(y.asnumpy(), np.where(values > 0, values, values * 0.25))
assert np.allclose(x.grad.asnumpy(), np.where(values > 0, 1, 0.25))
print(y)

# %% [markdown]
# A wrong attribute is refused as it is with every other operator:

# %%
try:
    mx.nd.my_leaky(x, slop=0.25)
except mx.MXNetError as error:
    print(error)
else:
    raise AssertionError("a wrong attribute was taken")
