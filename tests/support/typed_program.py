"""An ordinary program, in which a type checker finds nothing (tests/test_types.py)."""

from typing import assert_type

import numpy

import core as mx
import gluon
import gluoncv
from core import autograd, nd, np, npx
from gluon import Trainer, data, loss, nn, rnn
from gluon.data.vision import transforms
from gluoncv.data import transforms as gcv_transforms


class Net(nn.HybridBlock):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.features = nn.HybridSequential()
        self.features.add(nn.Conv2D(8, 3, padding=1, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(2), nn.Flatten())
        self.output = nn.Dense(classes)

    def forward(self, x: nd.NDArray) -> nd.NDArray:
        return self.output(self.features(x))


class Old(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense = nn.Dense(2)

    def hybrid_forward(self, F, x, weight=None):
        return F.relu(self.dense(x))


ctx = mx.cpu()
mx.random.seed(1)
net = Net()
net.initialize(mx.init.Xavier(), ctx=ctx)
net.hybridize(static_alloc=True)
pictures = nd.random.uniform(shape=(8, 3, 8, 8))
labels = nd.array([0, 1, 2, 3, 4, 5, 6, 7])
dataset = data.ArrayDataset(pictures, labels)
loader = data.DataLoader(dataset, batch_size=4, shuffle=True)
criterion = loss.SoftmaxCrossEntropyLoss()
trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
metric = mx.metric.Accuracy()
for epoch in range(2):
    metric.reset()
    for x, y in loader:
        with autograd.record():
            scores = net(x)
            value = criterion(scores, y)
        value.backward()
        trainer.step(x.shape[0])
        metric.update([y], [scores])
        print(epoch, metric.get()[1], value.mean().asscalar())
a = nd.ones((2, 3))
b = (a * 2 + 1 - a / 3) ** 2
b[0, 1:] = 0
c = b[0].reshape((3, 1)).asnumpy()
total: float = float(c.sum())
d = nd.dot(a, b, transpose_b=True).softmax(axis=-1)
print(nd.concat(a, b, dim=0).shape, -a, a > 1, abs(a), a.T, len(a), d.dtype)
npx.set_np()
p = np.array([[1.0, 2.0], [3.0, 4.0]])
q = npx.softmax(np.dot(p, p.T) + 1)
print(np.mean(q), q.sum(axis=0), np.linalg.norm(p), np.random.uniform(size=(2, 2)))
npx.reset_np()
s = mx.sym.var("data")
out = mx.sym.FullyConnected(s, num_hidden=3, name="fc")
print(out.list_arguments(), (out + 1).tojson()[:10])
augment = transforms.Compose([transforms.RandomResizedCrop(8), transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])
train = dataset.transform_first(augment)
picture = nd.zeros((16, 16, 3), dtype="uint8")
detected, box = gcv_transforms.presets.ssd.transform_test(picture, short=8)
resnet = gluoncv.model_zoo.get_model("cifar_resnet20_v1", classes=10)
lstm = rnn.LSTM(5, num_layers=2)
lstm.initialize()
states = lstm.begin_state(batch_size=2)
optimizer = mx.optimizer.SGD(learning_rate=0.1, momentum=0.9)
schedule = mx.lr_scheduler.FactorScheduler(step=10, factor=0.5)
old = Old()
old.initialize()
print(nn.Dense(2, activation="relu"), old(a), schedule(3), isinstance(a, nd.NDArray), numpy.asarray(c))
nd.save("x", [a])
reader = gluon.utils.split_and_load(a, [ctx])
assert_type(a + b, nd.NDArray)
assert_type(nd.relu(a), nd.NDArray)
assert_type(a.shape, tuple[int, ...])
assert_type(net(pictures), nd.NDArray)
