# %% [markdown]
# # `hybridize`, and what it prints
#
# Without `hybridize` a network runs operator by operator, as it is written. With it, the first call is traced into a
# graph, the graph is made shorter, and a plan is written: a flat list of kernel calls in memory that is used again.

# %%
import re
import time

import matplotlib.pyplot as plt

import core as mx
from core.graph import explain
from gluon import nn

net = nn.HybridSequential()
net.add(
    nn.Conv2D(8, kernel_size=3, padding=1, use_bias=False),
    nn.BatchNorm(),
    nn.Activation("relu"),
    nn.GlobalAvgPool2D(),
    nn.Dense(10),
)
net.initialize()
x = mx.nd.random.normal(shape=(2, 3, 32, 32))
eager = net(x)
net.hybridize()
compiled = net(x)
assert mx.test_utils.almost_equal(eager.asnumpy(), compiled.asnumpy(), rtol=1e-4, atol=1e-5)

# %% [markdown]
# ## The plan
#
# `explain` prints a row for each step: its kernel, what it makes, how many bytes that takes, and the number of the
# buffer where it lies. Batch normalization is gone: in prediction it is folded into the weights of the convolution,
# and the activation into its kernel. Steps whose results are not needed any more lend their buffers to later ones.

# %%
text = explain(net, x)
assert "batch_norm" not in text and "conv relu" in text

# %% [markdown]
# As a picture: steps from left to right, and the buffer that each one writes to. One that is written to twice is memory
# that was used again.

# %%
rows = [re.split(r"\s{2,}", line) for line in text.splitlines()[1:] if line[:1].isdigit()]
figure, axis = plt.subplots(figsize=(7, 1.8))
for step, kernel, shape, _, buffer in rows:
    axis.barh(int(buffer), 1, left=int(step), edgecolor="black", color=f"C{buffer}", alpha=0.5)
    axis.text(int(step) + 0.5, int(buffer), f"{kernel}\n{shape}", ha="center", va="center", fontsize=7)
axis.set(xlabel="step", ylabel="buffer", yticks=sorted({int(row[4]) for row in rows}))
figure.tight_layout()

# %% [markdown]
# In training the statistics of the batch are needed, so the normalization stays, and the backward part follows.

# %%
with mx.autograd.record():
    text = explain(net, x)
assert "backward" in text and "batch_norm" in text

# %% [markdown]
# ## Shapes and guards
#
# The first plan is for the shapes of the first call. A second shape makes the lengths that differ symbols: `n0` below
# stands for any batch size, and that plan serves them all. What the program compares lengths with becomes a guard,
# a condition that the plan checks before it runs.

# %%
net(mx.nd.random.normal(shape=(4, 3, 32, 32)))
text = explain(net, mx.nd.random.normal(shape=(7, 3, 32, 32)))
assert "n0" in text


class Halves(nn.HybridBlock):
    """Long sequences are cut, which is decided by comparing a length."""

    def forward(self, x):
        return x[:, :16].sum(axis=1) if x.shape[1] > 16 else x.sum(axis=1)


halves = Halves()
halves.hybridize()
for length in (20, 24, 8, 30):
    halves(mx.nd.ones((2, length)))
text = explain(halves, mx.nd.ones((2, 40)))
assert "> 16" in text or ">= 17" in text

# %% [markdown]
# ## What cannot be traced
#
# A graph has no values, only shapes. A branch on a value is an error that names the line and the way out.


# %%
class Branching(nn.HybridBlock):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


branching = Branching()
branching.hybridize()
try:
    branching(mx.nd.ones((3,)))
except mx.MXNetError as error:
    print(error)
else:
    raise AssertionError("a branch on a value was traced")

# %% [markdown]
# The way out is an operator that chooses, such as `where`, or leaving the one block without `hybridize`:


# %%
class Choosing(nn.HybridBlock):
    def forward(self, x):
        return x * mx.nd.where(x.sum() > 0, mx.nd.array([2.0]), mx.nd.array([1.0]))


choosing = Choosing()
choosing.hybridize()
for sign in (1, -1):
    print(choosing(sign * mx.nd.ones((3,))))

# %% [markdown]
# ## Is it worth it?
#
# Ask the clock on your own network. Small networks gain most, for theirs is the time of Python.


# %%
def milliseconds(network, batch, calls=30):
    network(batch).wait_to_read()
    start = time.perf_counter()
    for _ in range(calls):
        network(batch).wait_to_read()
    return (time.perf_counter() - start) / calls * 1e3


with_plan = milliseconds(net, x)
net.hybridize(active=False)
print(f"operator by operator {milliseconds(net, x):.2f} ms, by the plan {with_plan:.2f} ms")
