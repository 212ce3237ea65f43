# %% [markdown]
# # From MXNet to here
#
# Programs for MXNet 1.9.1 run unchanged: `python -m core.mxnet train.py` starts one, and in a notebook
# `core.install_as_mxnet()` comes before the first `import mxnet`. This page goes through what differs, by what you see.

# %%
import core

core.install_as_mxnet()

import mxnet as mx
from mxnet import library
from mxnet.gluon import nn

print(mx.__version__, mx.nd.ones((2,)))


def says(call):
    """What an error says."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("no error")


# %% [markdown]
# ## Errors come at once
#
# MXNet computes in the background, and an error shows up where a result is read. Here it is raised by the line that
# causes it, as under MXNet's `NaiveEngine`.

# %%
print(says(lambda: mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((2, 3)))))

# %% [markdown]
# ## "there is no attribute", "did you mean"
#
# Attributes and names of operators are checked, with what is nearest.

# %%
print(says(lambda: mx.nd.Pooling(mx.nd.ones((1, 1, 4, 4)), kernal=(2, 2))))
print(says(lambda: mx.nd.softmx))

# %% [markdown]
# ## Deferred initialization
#
# As in MXNet: a layer without `in_units` has no parameters before the first call.

# %%
net = nn.Dense(3)
net.initialize()
print(says(lambda: net.weight.data()))
net(mx.nd.ones((1, 5)))
print(net.weight.data().shape)

# %% [markdown]
# ## Writing to an array that the backward pass needs
#
# This is an error, as in MXNet.

# %%
x = mx.nd.ones((2,))
x.attach_grad()


def overwrite():
    with mx.autograd.record():
        y = x * 2
        z = y * y
        y[:] = 0
    z.backward()


print(says(overwrite))

# %% [markdown]
# ## Random numbers
#
# Seeds repeat, but the numbers are not MXNet's: compare results of training, not single draws.

# %%
mx.random.seed(7)
first = mx.nd.random.normal(shape=(2,)).asnumpy()
mx.random.seed(7)
assert (first == mx.nd.random.normal(shape=(2,)).asnumpy()).all()

# %% [markdown]
# ## Files
#
# `.params`, `-symbol.json`, `.rec`, optimizer states and vocabularies are read and written. Nothing that is loaded is
# executed: from pickles only NumPy arrays and plain containers are read, and anything else is refused by name.

# %%
net.save_parameters("dense.params")
other = nn.Dense(3)
other.load_parameters("dense.params")
print(says(lambda: nn.Dense(4, in_units=5).load_parameters("dense.params"))[:300])

# %% [markdown]
# ## Devices
#
# `mx.gpu()` on a machine without one:

# %%
if mx.context.num_gpus() == 0:
    print(says(lambda: mx.nd.ones((1,), ctx=mx.gpu())))

# %% [markdown]
# ## What there is not
#
# | you used | here |
# | --- | --- |
# | a C++ extension, `library.load` | an operator in Python or Triton: [own operators](own_operators.py) |
# | `optimize_for("TensorRT")` and other backends | the name is accepted, the network compiles as with `hybridize` |
# | `mx.rtc.CudaModule` | `mx.rtc.jit`, a Triton kernel |
# | Horovod, parameter servers (`dist_async`) | `dist_sync` over NCCL or Gloo: [devices](devices.py) |
# | engine types, `MXNET_ENGINE_TYPE` | accepted, and nothing changes |

# %%
print(says(lambda: library.load("libmine.so")))
