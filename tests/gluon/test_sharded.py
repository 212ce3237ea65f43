"""Sharded trainers of two to four processes against one process: weights, memory, bytes and checkpoints."""

import functools
import gc
import warnings

import numpy as np
import pytest
import torch

import core as mx
import gluon
from core import autograd, nd
from core.kernels import communication
from core.kvstore import scaling
from core.kvstore import sharded as sharded_units
from gluon import nn
from tests.support import ranks

LOSS = gluon.loss.L2Loss()
run = functools.partial(ranks.run, HEARTBEAT=30.0)  # four processes on two busy cores are silent for seconds
ADAM = {"learning_rate": 0.01, "wd": 0.02}


class Tied(gluon.HybridBlock):
    """Words in and words out with one matrix."""

    def __init__(self, **options):
        super().__init__(**options)
        with self.name_scope():
            self.words = nn.Embedding(11, 6, prefix="words_")
            self.body = nn.HybridSequential(prefix="body_")
            with self.body.name_scope():
                self.body.add(nn.Dense(9, in_units=6, activation="tanh", flatten=False), nn.LayerNorm(in_channels=9))
                self.body.add(nn.Dense(6, in_units=9, flatten=False))
            self.out = nn.Dense(11, in_units=6, flatten=False, params=self.words.params, prefix="words_")

    def hybrid_forward(self, F, x):
        return self.out(self.body(self.words(x)))


def network(seed=0, hybridize=False):
    mx.random.seed(seed)
    net = Tied(prefix="net_")
    net.initialize(mx.init.Xavier())
    net.body[0].bias.wd_mult = 0
    net.body[2].weight.lr_mult = 0.5
    if hybridize:
        net.hybridize()
    return net


def train(net, trainer, steps, rank=0, count=1, first=0):
    for k in range(first, steps):
        numbers = np.random.RandomState(k)
        x, y = nd.array(numbers.randint(0, 11, (12, 3))), nd.array(numbers.standard_normal((12, 3, 11)))
        with autograd.record():
            loss = LOSS(net(x[rank::count]), y[rank::count])
        loss.backward()
        trainer.step(12)


def weights(net):
    return {name: p.data().asnumpy() for name, p in net.collect_params().items()}


@functools.lru_cache
def alone(optimizer="adam", steps=4, **more):
    net = network()
    train(net, gluon.Trainer(net.collect_params(), optimizer, ADAM, **more), steps)
    return weights(net)


def alike(results, expected):
    for found in results:
        assert not isinstance(found, str), found
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], results[0][name])
            np.testing.assert_allclose(found[name], values, rtol=0, atol=1e-6, err_msg=name)


def sharded(rank, stage, optimizer="adam", hybridize=False, **more):
    net = network(rank, hybridize)
    trainer = gluon.Trainer(net.collect_params(), optimizer, ADAM, kvstore="dist_sharded", stage=stage, **more)
    train(net, trainer, 4, rank, communication.size())
    return weights(net)


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setattr(ranks, "PATIENCE", 30.0)


@pytest.fixture
def small_units(monkeypatch):
    monkeypatch.setattr("gluon.sharding.UNIT_BYTES", 100)


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("count", [2, 4])
def test_shards_train_as_one(count, stage, small_units):
    alike(run(count, sharded, stage), alone())


def test_hybridized(small_units):
    alike(run(2, sharded, 3, "adam", True), alone())


BY_NORMS = {  # whose schedule moves the rate, which LARS's momentum follows
    "lamb": lambda: {"learning_rate": 0.01, "wd": 0.02, "upper_bound": 1.5},
    "lars": lambda: {
        "wd": 0.02, "momentum": 0.9, "eta": 0.5,
        "lr_scheduler": mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.4),
    },
}  # fmt: skip
JOBS = [("lamb", 1, {}), ("lamb", 3, {"clip_global_norm": 0.02}), ("lars", 2, {}), ("lars", 3, {})]


def by_norms(rank, jobs, mesh=None):
    found = []
    for optimizer, stage, more in jobs:
        net = network(rank)
        kind = {"kvstore": "dist_sharded", "stage": stage, "mesh": mesh} | more
        train(
            net,
            gluon.Trainer(net.collect_params(), optimizer, BY_NORMS[optimizer](), **kind),
            4,
            rank,
            communication.size(),
        )
        found.append(weights(net))
    return found


@pytest.mark.parametrize(("count", "mesh"), [(2, None), (4, None), (4, (2, 2))])
def test_norms_of_whole_parameters(count, mesh, small_units):
    results = run(count, by_norms, JOBS, mesh)
    for k, (optimizer, _, more) in enumerate(JOBS):
        net = network()
        train(net, gluon.Trainer(net.collect_params(), optimizer, BY_NORMS[optimizer](), **more), 4)
        alike([found if isinstance(found, str) else found[k] for found in results], weights(net))


def on_a_mesh(rank, mesh):
    return [
        sharded(rank, 1, mesh=mesh),
        sharded(rank, 2, "sgd", mesh=mesh, clip_global_norm=0.05),
        sharded(rank, 3, mesh=mesh),
        sharded(rank, 3, "adam", True, mesh=mesh),
    ]


@pytest.mark.parametrize(("count", "mesh"), [(4, (2, 2)), (2, (2, 1))])
def test_replicas_of_shards(count, mesh, small_units):
    results = run(count, on_a_mesh, mesh)
    expected = [alone(), alone("sgd", clip_global_norm=0.05), alone(), alone()]
    for k, values in enumerate(expected):
        alike([found if isinstance(found, str) else found[k] for found in results], values)


class Fragile(gluon.HybridBlock):
    """A layer that fails when it is told to."""

    failing = False

    def __init__(self, **options):
        super().__init__(**options)
        self.dense = nn.Dense(6, in_units=6, prefix=f"dense_{self.prefix}")

    def forward(self, x):
        x = self.dense(x)
        if self.failing:
            raise ValueError("told to fail")
        return x


class Stack(gluon.Block):
    def __init__(self, **options):
        super().__init__(**options)
        self.layers = [Fragile(prefix=f"{letter}_") for letter in "abcd"]
        for layer in self.layers:
            self.register_child(layer)
        self.order = (0, 1, 2, 3)

    def forward(self, x):
        for k in self.order:
            x = self.layers[k](x)
        return x


class Two(gluon.HybridBlock):
    """Two outputs, of which the loss may read one."""

    def __init__(self, **options):
        super().__init__(**options)
        self.one, self.two = (nn.Dense(3, in_units=3, prefix=name) for name in ("one_", "two_"))

    def hybrid_forward(self, F, x):
        x = F.tanh(self.one(x))
        return x, self.two(x)


def two(rank, count):
    mx.random.seed(0)
    net = Two(prefix="net_")
    net.initialize(mx.init.Xavier())
    net.hybridize()
    kind = {"kvstore": "dist_sharded", "stage": 3} if count > 1 else {}
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, **kind)
    for k in range(3):
        with autograd.record():
            first, second = net(nd.array([[0.1, 0.2, 0.3], [0.3, 0.5, 0.1]])[rank::count])
            loss = (second**2).sum() if k < 2 else (first**2).sum() + second.sum() * 0
        loss.backward()
        trainer.step(2)
    return weights(net)


def test_an_output_of_a_plan_that_nothing_reads():
    alike(run(2, two, 2), two(0, 1))


def ahead(rank, hybridize):
    """Whether each layer's weights were on their way when they were needed, in three steps, and weights after that."""
    mx.random.seed(0)
    net = Stack(prefix="net_")
    net.initialize(mx.init.Xavier())
    if hybridize:
        for layer in net.layers:
            layer.dense.hybridize()
    kind = {"kvstore": "dist_sharded", "stage": 3} if communication.size() > 1 else {}
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, **kind)
    wake, waits, left = sharded_units.Unit.wake, [], []

    def recorded(unit):
        if unit.flat is None:
            waits[-1].append((unit.rows[0].name[6], unit._coming is not None))
        wake(unit)

    def held():
        units = trainer._shards.units if kind else []
        return [unit.rows[0].name for unit in units if unit.flat is not None or unit._coming is not None or unit.users]

    def step():
        waits.append([])
        with autograd.record():
            loss = (
                net(
                    nd.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.6, 0.4, 0.2, 0.5, 0.3, 0.1]])[
                        rank :: communication.size()
                    ]
                )
                ** 2
            ).sum()
        loss.backward()
        trainer.step(4)
        left.extend(held())

    sharded_units.Unit.wake = recorded
    try:
        step()
        step()
        net.layers[2].failing = True
        for _ in range(2):
            waits.append([])
            with pytest.raises(ValueError, match="told to fail"):
                net(nd.ones((2, 6)))
            left.extend(held())
        net.layers[2].failing = False
        net.order = (1, 0, 3, 2)
        step()
    finally:
        sharded_units.Unit.wake = wake
    return waits, left, weights(net)


@pytest.mark.parametrize("hybridize", [False, True])
def test_weights_come_one_layer_ahead_and_go_after_errors(hybridize):
    results = run(2, ahead, hybridize)
    *_, expected = ahead(0, False)
    alike([found if isinstance(found, str) else found[2] for found in results], expected)
    for waits, left, _ in results:
        first, second, failed, again, other = ("".join(n.upper() if coming else n for n, coming in w) for w in waits)
        # Capitals: on their way before the layer was called, or its gradient rule; a plan needs no weights for the
        # gradient of an input that has none.
        last = None if not hybridize else -1
        assert (first, second) == ("abcddcba"[:last], "aBCDdCBA"[:last])
        assert (failed, again) == ("aBC", "aBC")
        assert other.lower() == "badccdab"[:last] and other[:2] == "ba" and left == []


def clipped(rank, stage):
    return sharded(rank, stage, "sgd", clip_global_norm=0.05)


@pytest.mark.parametrize("stage", [1, 3])
def test_norms_are_those_of_all_parts(stage, small_units):
    alike(run(3, clipped, stage), alone("sgd", clip_global_norm=0.05))


# ---------------------------------------------------------------- networks


def bert(rank, stage, parts=1):
    """With its three heads; that of masked words has the matrix of the words."""
    import gluonnlp as nlp

    mx.random.seed(rank)
    encoder = nlp.model.BERTEncoder(
        units=16, hidden_size=32, num_layers=2, num_heads=2, max_length=8, dropout=0.0, prefix="e_"
    )
    net = nlp.model.BERTModel(encoder, 19, 2, units=16, embed_size=16, prefix="b_")
    net.initialize(mx.init.Xavier())
    numbers = np.random.RandomState(0)
    ids, types, masked = (nd.array(numbers.randint(0, n, (4, k))) for n, k in ((19, 8), (2, 8), (8, 2)))
    return learn(rank, stage, net, [ids, types, nd.array([8, 5, 7, 3]), masked], parts)


def resnet(rank, stage, parts=1):
    import gluoncv

    mx.random.seed(rank)
    net = gluoncv.model_zoo.cifar_resnet20_v1(prefix="r_")
    net.initialize(mx.init.Xavier())
    x = nd.array(np.random.RandomState(0).standard_normal((4, 3, 16, 16)))
    net(x)
    return learn(rank, stage, net, [x], parts)


def learn(rank, stage, net, inputs, parts):
    """Weights after three steps; without a stage in one process, which adds the gradients of all parts up."""
    count = communication.size() * parts
    kind = {"kvstore": "dist_sharded", "stage": stage} if stage else {"kvstore": None}
    if parts > 1:
        for p in net.collect_params().values():
            p.grad_req = p.grad_req if p.grad_req == "null" else "add"
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9}, **kind)
    for _ in range(3):
        for part in range(parts):
            with autograd.record():
                out = net(*[x[rank + part :: count] for x in inputs])
                loss = sum((one**2).mean() for one in (out if isinstance(out, (list, tuple)) else [out]))
            loss.backward()
        trainer.step(count)
        if parts > 1:
            net.collect_params().zero_grad()
    return {name: p.data().asnumpy() for name, p in net.collect_params().items() if p.grad_req != "null"}


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("build", [bert, resnet])
def test_networks_train_as_one(build, stage, count):
    alike(run(count, build, stage), expected_of(build, count))


@functools.lru_cache
def expected_of(build, count):
    return build(0, None, count)


# ---------------------------------------------------------------- memory and bytes

WIDTH, LAYERS = 256, 8


def deep():
    mx.random.seed(0)
    net = nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(*[nn.Dense(WIDTH, in_units=WIDTH, use_bias=False) for _ in range(LAYERS)])
    net.initialize(mx.init.Xavier())
    return net


def measured(rank, stage, mesh=None):
    gc.freeze()  # what the process was born with, other tests' arrays among it, is none of its own
    net = deep()
    trainer = gluon.Trainer(net.collect_params(), "adam", ADAM, kvstore="dist_sharded", stage=stage, mesh=mesh)
    x, sent, between, begin = nd.ones((2, WIDTH)), [], [], communication._begin

    def step():
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        memory = held()
        trainer.step(1)
        return memory

    step()
    operations = {communication._REDUCE_SCATTER, communication._ALL_GATHER}

    def counted(what, tensor, operation, *rest, **more):
        if operation in operations:
            whole, part = (pick(t.nbytes for t in rest if hasattr(t, "nbytes")) for pick in (max, min))
            sent.append(whole - part)  # to processes of this replica
        elif operation is torch.distributed.all_reduce and rest[0].nbytes > 4096:
            between.append(2 * rest[0].nbytes * (mesh[0] - 1) // mesh[0])
        return begin(what, tensor, operation, *rest, **more)

    communication._begin = counted
    during = step()
    return during, held(), sum(sent), sum(between)


def held():
    """Bytes of all tensors that this process made, those of a few elements aside."""
    gc.collect()
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors = [x for x in gc.get_objects() if isinstance(x, torch.Tensor)]
        tensors += [x._data for x in gc.get_objects() if isinstance(x, nd.NDArray)]
        for tensor in tensors:
            memory = tensor.untyped_storage()
            found[memory.data_ptr()] = memory.nbytes()
    return sum(size for size in found.values() if size > 4096)


@pytest.mark.parametrize(("count", "stage"), [(2, 1), (2, 2), (2, 3), (4, 1), (4, 2), (4, 3)])
def test_memory_and_bytes_are_those_of_the_formula(count, stage, monkeypatch):
    monkeypatch.setattr("gluon.sharding.UNIT_BYTES", 4 * WIDTH**2)
    many = 4 * LAYERS * WIDTH**2
    whole, parts = {1: (2, 2), 2: (1, 2), 3: (0, 3)}[stage]
    for during, memory, sent, between in run(count, measured, stage):
        # After the backward pass: the parts of gradients, and whole ones of the units that are under way.
        gradients = 0 if stage == 1 else many * (1 / count + sharded_units.UNDER_WAY / LAYERS)
        assert during == pytest.approx(many * (whole + parts / count) + gradients, rel=0.1)
        assert memory == pytest.approx(many * (whole + parts / count), rel=0.1)
        assert sent == pytest.approx((3 if stage == 3 else 2) * many * (count - 1) / count, rel=0.01)
        assert between == 0


def test_memory_and_bytes_of_replicas_are_those_of_the_formula(monkeypatch):
    monkeypatch.setattr("gluon.sharding.UNIT_BYTES", 4 * WIDTH**2)
    work = scaling.Work(LAYERS * WIDTH**2, flops=0, largest=WIDTH**2)
    expected = scaling.estimate(work, scaling.Mesh(4, link=1, rate=1, shards=2), 2)
    for _, memory, sent, between in run(4, measured, 2, (2, 2)):
        assert memory == pytest.approx(4 * LAYERS * WIDTH**2 * (1 + 2 / 2), rel=0.1)
        assert sent == pytest.approx(expected.sent, rel=0.01)
        assert between == pytest.approx(expected.between, rel=0.01)


def written(rank, folder):
    """Bytes of tensors while a network is saved and exported, at most, and after that, beyond those before; weights."""
    gc.freeze()
    mx.random.seed(0)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(*[nn.Dense(WIDTH, in_units=WIDTH, use_bias=False) for _ in range(LAYERS)])
    net.initialize(mx.init.Xavier())
    net.hybridize()
    net(nd.ones((2, WIDTH)))
    gluon.Trainer(net.collect_params(), "sgd", kvstore="dist_sharded", stage=3)
    before, most, wake = held(), [], sharded_units.Unit.wake

    def looked(unit):
        wake(unit)
        most.append(held() - before)

    sharded_units.Unit.wake = looked
    net.save_parameters(f"{folder}/{rank}.params")
    net.export(f"{folder}/{rank}")
    sharded_units.Unit.wake = wake
    return max(most), held() - before, weights(net)


def test_files_of_whole_networks_gather_one_array_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("gluon.sharding.UNIT_BYTES", 4 * WIDTH**2)
    for rank, (most, after, values) in enumerate(run(2, written, str(tmp_path))):
        assert 0 < most <= 2 * 4 * WIDTH**2 and after < 4096  # of LAYERS times as many as one array
        saved, exported = nd.load(f"{tmp_path}/{rank}.params"), nd.load(f"{tmp_path}/{rank}-0000.params")
        for k, (name, value) in enumerate(values.items()):
            np.testing.assert_array_equal(saved[f"{k}.weight"].asnumpy(), value)
            np.testing.assert_array_equal(exported[f"arg:{name}"].asnumpy(), value)


# ---------------------------------------------------------------- checkpoints


def saves(rank, stage, folder, mesh=None):
    net = network(rank)
    trainer = gluon.Trainer(net.collect_params(), "adam", ADAM, kvstore="dist_sharded", stage=stage, mesh=mesh)
    train(net, trainer, 2, rank, communication.size())
    trainer.save_shards(folder)
    net.save_parameters(f"{folder}/whole-{rank}.params")
    return weights(net)


def loads(rank, stage, folder):
    net = network(rank + 5)
    trainer = gluon.Trainer(net.collect_params(), "adam", ADAM, kvstore="dist_sharded", stage=stage)
    trainer.load_shards(folder)
    train(net, trainer, 4, rank, communication.size(), first=2)
    return weights(net)


@pytest.mark.parametrize(("before", "after"), [((3, 2), (2, 3)), ((2, 3), (4, 1)), ((4, 3, (2, 2)), (2, 2))])
def test_checkpoints_load_with_other_numbers_of_processes(before, after, tmp_path, small_units):
    count, stage, *mesh = before
    alike(run(count, saves, stage, str(tmp_path), *mesh), alone(steps=2))
    net = network(3)
    net.load_parameters(f"{tmp_path}/whole-1.params")
    for name, values in alone(steps=2).items():
        np.testing.assert_allclose(net.collect_params()[name].data().asnumpy(), values, rtol=0, atol=1e-6)
    count, stage = after
    alike(run(count, loads, stage, str(tmp_path)), alone())


# ---------------------------------------------------------------- errors


def refused(rank, what):
    net = network()
    if what == "lans":
        gluon.Trainer(net.collect_params(), "lans", kvstore="dist_sharded")
    elif what == "mesh":
        gluon.Trainer(net.collect_params(), "sgd", kvstore="dist_sharded", mesh=(2, 2))
    elif what == "a list":
        gluon.Trainer(list(net.collect_params().values()), "sgd", kvstore="dist_sharded", stage=3)
    else:
        trainer = gluon.Trainer(net.collect_params(), "sgd", kvstore="dist_sharded", stage=3)
        if what == "states":
            trainer.save_states("states")
        elif what == "set":
            net.body[0].bias.set_data(nd.zeros((9,)))
        elif what == "stale":
            with autograd.record():
                loss = net.words(nd.array([1, 2])).sum()
            loss.backward()
            trainer.step(1)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("lans", "LANS needs whole ones"),
        ("mesh", "for all 2 processes, got (2, 2)"),
        ("a list", "give the Trainer net.collect_params() as it is"),
        ("states", "use save_shards and load_shards"),
        ("set", "parameter 'net_body_dense0_bias' lies on several processes"),
        ("stale", "UserWarning: the gradient of parameter 'net_body_dense0_weight' on a process"),
    ],
)
def test_what_shards_cannot_do(what, text):
    for found in run(2, refused, what):
        assert text in found


def test_a_stage_is_for_shards():
    with pytest.raises(ValueError, match="stage is for kvstore 'dist_sharded', given 'device'"):
        gluon.Trainer(network().collect_params(), "sgd", stage=1)
    with pytest.raises(ValueError, match="mesh is for kvstore 'dist_sharded', given 'device'"):
        gluon.Trainer(network().collect_params(), "sgd", mesh=(2, 2))
    with pytest.warns(UserWarning, match="trains alone"), pytest.raises(ValueError, match="1, 2 or 3, got 4"):
        gluon.Trainer(network().collect_params(), "sgd", kvstore="dist_sharded", stage=4)
