# %% [markdown]
# # Eight bits
#
# A trained network is quantized after training: layers with weights compute with whole numbers of eight bits, and the
# ranges of what flows between them are found by running a few batches, the calibration.

# %%
import numpy as np
from sklearn.datasets import load_digits

import core as mx
from gluon import Trainer, loss, nn

mx.random.seed(1)
digits = load_digits()
order = np.random.RandomState(0).permutation(len(digits.target))
x = mx.nd.array(digits.images[order, None] / 16)
y = mx.nd.array(digits.target[order])

net = nn.HybridSequential()
net.add(
    nn.Conv2D(16, kernel_size=3, padding=1, activation="relu"),
    nn.MaxPool2D(),
    nn.Dense(64, activation="relu"),
    nn.Dense(10),
)
net.initialize(mx.init.Xavier())
net.hybridize()
trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 5e-3})
objective = loss.SoftmaxCrossEntropyLoss()
for _ in range(3):
    for begin in range(0, 1400, 100):
        with mx.autograd.record():
            error = objective(net(x[begin : begin + 100]), y[begin : begin + 100])
        error.backward()
        trainer.step(100)


def accuracy(network):
    return float((network(x[1400:]).argmax(axis=1) == y[1400:]).mean().asscalar())


print(f"float32: {accuracy(net):.3f}")

# %% [markdown]
# ## Quantizing
#
# `calib_mode="naive"` takes the smallest and largest value that a layer gave, `"entropy"` the range that loses least.
# The batches of the calibration are such as the network will see, and need no labels.

# %%
batches = [x[begin : begin + 100] for begin in range(0, 400, 100)]
quantized = mx.contrib.quantization.quantize_net(net, calib_data=batches, calib_mode="naive")
print(f"int8: {accuracy(quantized):.3f}")
assert accuracy(quantized) > accuracy(net) - 0.03

# %% [markdown]
# How far are the scores apart, and where would it hurt? Near ties.

# %%
import matplotlib.pyplot as plt

before, after = net(x[1400:]).asnumpy(), quantized(x[1400:]).asnumpy()
figure, axis = plt.subplots(figsize=(4, 4))
axis.plot(before.ravel(), after.ravel(), ".", markersize=1)
axis.set(xlabel="score in float32", ylabel="score in int8")
print(f"mean difference {np.abs(before - after).mean():.3f}, scores span {np.ptp(before):.1f}")

# %% [markdown]
# ## Leaving a layer out
#
# A layer that loses too much stays on floating point: `exclude_layers_match` has parts of names.

# %%
names = [name for name in net.collect_params() if name.endswith("weight")]
print(names)
partly = mx.contrib.quantization.quantize_net(
    net, calib_data=batches, calib_mode="naive", exclude_layers_match=["conv"]
)
print(f"int8 but for the convolution: {accuracy(partly):.3f}")
assert accuracy(partly) > accuracy(net) - 0.03

# %% [markdown]
# ## Correcting biases
#
# Rounded weights move the mean of what a layer gives, most in depthwise convolutions, whose few weights are mostly of one
# sign. With `correct_biases=True` the quantized network gets biases of its own that move it back.

# %%
corrected = mx.contrib.quantization.quantize_net_v2(net, calib_data=batches, calib_mode="naive", correct_biases=True)
print(f"int8, biases corrected: {accuracy(corrected):.3f}")
assert accuracy(corrected) > accuracy(net) - 0.03

# %% [markdown]
# ## To a file
#
# The quantized network is exported as any other, and read by whoever reads symbols of MXNet.

# %%
quantized.export("digits-int8")
again = mx.nd.load("digits-int8-0000.params")
print(len(again), "arrays")
