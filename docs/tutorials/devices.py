# %% [markdown]
# # Several devices, several machines
#
# An array lives on a device, its context: `mx.gpu(0)`, `mx.gpu(1)`, `mx.cpu()`. So that this page runs anywhere, two
# CPU contexts stand for two GPUs; nothing else changes in the program.

# %%
import subprocess
import sys
from pathlib import Path

import core as mx
from gluon import Trainer, loss, nn, utils

devices = [mx.gpu(k) for k in range(mx.num_gpus())] or [mx.cpu(0), mx.cpu(1)]
print(devices)

# %% [markdown]
# ## Several devices in one process
#
# The network is initialized on all of them, each batch is split, and the trainer sums the gradients before it steps.

# %%
net = nn.Dense(1)
net.initialize(mx.init.Normal(0.1), ctx=devices)
trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore="device")
objective = loss.L2Loss()
x = mx.nd.random.normal(shape=(64, 4))
truth = mx.nd.dot(x, mx.nd.array([[1], [2], [3], [4]]))
for _ in range(60):
    xs = utils.split_and_load(x, devices)
    ys = utils.split_and_load(truth, devices)
    with mx.autograd.record():
        errors = [objective(net(a), b) for a, b in zip(xs, ys)]
    for error in errors:
        error.backward()
    trainer.step(batch_size=len(x))
print(net.weight.data(devices[0]), sum(error.mean().asscalar() for error in errors))
assert mx.test_utils.almost_equal(net.weight.data(devices[0]).asnumpy(), net.weight.data(devices[1]).asnumpy())

# %% [markdown]
# ## Several processes
#
# With `kvstore="dist_sync"` processes train together: over NCCL between GPUs, over Gloo between CPUs. Each reads a part
# of the data of its own; gradients are summed while the backward pass still runs. `torchrun` starts them, on one
# machine or, with `--nnodes` and `--rdzv-endpoint`, on several.

# %%
PROGRAM = """
import core as mx
from gluon import Trainer, loss, nn

store = mx.kv.create("dist_sync")
mx.random.seed(store.rank)                      # other data in each process
net = nn.Dense(1, in_units=4)
net.initialize(mx.init.Zero())
trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=store)
objective = loss.L2Loss()
for _ in range(120):
    x = mx.nd.random.normal(shape=(32, 4))
    truth = mx.nd.dot(x, mx.nd.array([[1], [2], [3], [4]]))
    with mx.autograd.record():
        error = objective(net(x), truth)
    error.backward()
    trainer.step(batch_size=32 * store.num_workers)
print(f"process {store.rank} of {store.num_workers}: {net.weight.data().asnumpy().round(1).tolist()}")
"""
Path("together.py").write_text(PROGRAM)
command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "together.py"]
done = subprocess.run(command, capture_output=True, text=True, timeout=200)
print(done.stdout)
assert done.returncode == 0, done.stderr
assert done.stdout.count("[[1.0, 2.0, 3.0, 4.0]]") == 2, done.stdout

# %% [markdown]
# A process that is lost or silent is named within seconds, and the others stop; with `torchrun --max-restarts` and a
# program that resumes, all go on from the newest whole checkpoint. Processes with different numbers of batches train
# inside of `with trainer.join():`.
