# %% [markdown]
# # Ten minutes from nothing
#
# From the first array to a trained network that reads handwritten digits, and back from a file. Nothing is downloaded:
# the digits come with scikit-learn.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import core as mx
from gluon import Trainer, loss, metric, nn
from gluon.data import ArrayDataset, DataLoader

mx.random.seed(1)
np.random.seed(1)

# %% [markdown]
# ## Arrays
#
# An `NDArray` has a shape, a dtype and a device. Operators return new arrays; writing to a part of an array changes it.

# %%
x = mx.nd.array([[1, 2, 3], [4, 5, 6]])
x[0, 1] = 10
print(x)
print(x.shape, x.dtype, x.context)
print(mx.nd.dot(x, x.T).asnumpy())

# %% [markdown]
# `asnumpy()` copies an array to NumPy. There is also `mx.np`, with NumPy's own names and rules.

# %%
print(mx.np.linspace(0, 1, 5).reshape(1, -1).mean(axis=1))

# %% [markdown]
# ## Gradients
#
# Inside of `record()` operators are written down, and `backward()` goes back through them. What a gradient is wanted
# for says so beforehand.

# %%
x = mx.nd.array([1.0, 2.0, 3.0])
x.attach_grad()
with mx.autograd.record():
    y = (x**2).sum()
y.backward()
print(x.grad)
assert (x.grad == 2 * x).asnumpy().all()

# %% [markdown]
# ## Data
#
# 1,797 pictures of 8 x 8 pixels. A data set gives samples by number, a loader puts them into batches, in a new order
# each time.

# %%
digits = load_digits()
order = np.random.permutation(len(digits.target))
pictures = (digits.images[order, None] / 16).astype("float32")
labels = digits.target[order].astype("float32")
train = DataLoader(ArrayDataset(pictures[:-360], labels[:-360]), batch_size=64, shuffle=True, last_batch="discard")
held = DataLoader(ArrayDataset(pictures[-360:], labels[-360:]), batch_size=360)

figure, axes = plt.subplots(1, 8, figsize=(8, 1.4))
for axis, picture, label in zip(axes, pictures, labels):
    axis.imshow(picture[0], cmap="gray_r")
    axis.set(title=int(label), xticks=[], yticks=[])

# %% [markdown]
# ## A network
#
# Layers learn the size of their input when they see the first batch; that is why `Dense(10)` says only what comes out.

# %%
net = nn.HybridSequential()
net.add(
    nn.Conv2D(16, kernel_size=3, padding=1, activation="relu"),
    nn.MaxPool2D(),
    nn.Conv2D(32, kernel_size=3, padding=1, activation="relu"),
    nn.MaxPool2D(),
    nn.Dense(64, activation="relu"),
    nn.Dense(10),
)
net.initialize(mx.init.Xavier())
net.summary(mx.nd.zeros((1, 1, 8, 8)))
net.hybridize()  # from now on the network is compiled at its first call

# %% [markdown]
# ## Training
#
# The loop is yours: forward inside of `record()`, backward, one step of the trainer for the size of the batch.

# %%
trainer = Trainer(net.collect_params(), "adam", {"learning_rate": 3e-3})
objective = loss.SoftmaxCrossEntropyLoss()
losses, accuracies = [], []
for _ in range(8):
    total = 0.0
    for data, label in train:
        with mx.autograd.record():
            error = objective(net(data), label)
        error.backward()
        trainer.step(batch_size=len(label))
        total += error.mean().asscalar()
    accuracy = metric.Accuracy()
    for data, label in held:
        accuracy.update(label, net(data))
    losses.append(total / len(train))
    accuracies.append(accuracy.get()[1])

figure, axis = plt.subplots(figsize=(6, 3))
axis.plot(range(1, 9), losses, label="loss on what it learns from")
axis.plot(range(1, 9), accuracies, label="accuracy on what it has not seen")
axis.set(xlabel="epoch")
axis.legend()
print(f"{accuracies[-1]:.1%} of the digits that it has not seen")
assert accuracies[-1] > 0.95

# %% [markdown]
# ## To a file and back
#
# `save_parameters` keeps the numbers; the program that loads them makes the same network. `export` keeps the graph as
# well, and whoever loads it needs no code of yours.

# %%
from gluon import SymbolBlock

net.save_parameters("digits.params")
net.export("digits")
again = SymbolBlock.imports("digits-symbol.json", ["data"], "digits-0000.params")
sample = mx.nd.array(pictures[-4:])
assert mx.test_utils.almost_equal(again(sample).asnumpy(), net(sample).asnumpy(), rtol=1e-5, atol=1e-5)
print(again(sample).argmax(axis=1).asnumpy(), labels[-4:])

# %% [markdown]
# Next: [pictures of your own](own_pictures.py), [sentences of your own](own_sentences.py), or
# [what `hybridize` did](hybridize.py).
