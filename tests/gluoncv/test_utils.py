"""Networks changed as a whole, work on several devices, archives, crops; and losses of hard examples."""

import io
import tarfile
import zipfile

import numpy as np
import pytest

import core as mx
import gluoncv
from core import autograd
from core.base import MXNetError
from gluon import nn
from gluon.loss import L2Loss
from gluoncv.loss import MixSoftmaxCrossEntropyOHEMLoss, SoftmaxCrossEntropyLoss, SoftmaxCrossEntropyOHEMLoss
from gluoncv.utils import block, compress_json, filesystem, parallel, split_and_load, split_data, transforms, version
from gluoncv.utils.data import tracking
from gluoncv.utils.download import is_valid_url


def network():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, in_units=4), nn.BatchNorm(in_channels=3))
    net.initialize(mx.init.One())
    return net


def test_frozen_statistics_learning_rates_and_what_is_not_finite():
    net, x = network(), mx.nd.array([[1, 2, 3, 4], [5, 6, 7, 9]])
    net.hybridize()

    def spread():
        with autograd.record():
            return float(net(x).asnumpy().std())

    assert spread() == pytest.approx(1, abs=1e-3)
    block.freeze_bn(net)
    assert spread() > 5
    block.freeze_bn(net, False)
    assert spread() == pytest.approx(1, abs=1e-3)
    block.set_lr_mult(net, ".*bias", 5.0)
    assert net[0].bias.lr_mult == 5 and net[0].weight.lr_mult == 1
    net[1].gamma.set_data(mx.nd.array([np.nan, np.inf, 2]))
    block.purge_model_nan(net, posinf=7)
    assert net[1].gamma.data().asnumpy().tolist() == [0, 7, 2]


@pytest.mark.parametrize("sync", [False, True])
def test_two_devices_give_what_one_gives(sync):
    contexts, x = [mx.cpu(0), mx.cpu(1)], mx.nd.arange(16).reshape((4, 4))
    gradients = []
    for devices in ([mx.cpu(0)], contexts):
        net = nn.Dense(3, in_units=4)
        net.initialize(mx.init.One(), ctx=devices)
        model, criterion = (kind(part, devices, sync) for kind, part in (
            (parallel.DataParallelModel, net), (parallel.DataParallelCriterion, L2Loss()),
        ))  # fmt: skip
        with autograd.record():
            losses = criterion(model(x), mx.nd.ones((4, 3)))
        parallel.parallel_backward(losses, sync)
        gradients.append(sum(net.weight.grad(ctx).asnumpy() for ctx in devices))
    np.testing.assert_allclose(*gradients)


def test_workers():
    class Double(parallel.Parallelizable):
        def forward_backward(self, x):
            return 1 / x

    pool = parallel.Parallel(2, Double())
    for x in (1, 2, 4, 8):
        pool.put(x)
    assert sorted(pool.get() for _ in range(4)) == [1 / 8, 1 / 4, 1 / 2, 1]
    pool.put(0)
    with pytest.raises(ZeroDivisionError):
        pool.get()


def test_pieces():
    x = mx.nd.arange(14).reshape((7, 2))
    assert [len(p) for p in split_data(x, 3, even_split=False)] == [2, 2, 3]
    assert [len(p) for p in split_data(x, 3, even_split=False, multiplier=2)] == [2, 2, 3]
    assert [p.context for p in split_and_load(x, [mx.cpu(0), mx.cpu(1)], even_split=False)] == [mx.cpu(0), mx.cpu(1)]
    with pytest.raises(ValueError, match="no 3 equal pieces"):
        split_data(x, 3)


def test_archives_and_folders(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("q/1.txt", "x")
    with tarfile.open(tmp_path / "evil.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../outside.txt"), io.BytesIO())
    assert filesystem.unzip(tmp_path / "a.zip", tmp_path) == str(tmp_path / "q/1.txt")
    with pytest.raises(MXNetError, match="outside of the folder"):
        filesystem.untar(tmp_path / "evil.tar.gz", tmp_path / "in")
    assert str(filesystem.PathTree(tmp_path / "q")) == "q/\n└── 1.txt"
    with pytest.raises(ImportError, match="pip install mmcv"):
        filesystem.try_import_mmcv()
    packed = compress_json.encode_json(tmp_path / "q/1.txt")
    assert compress_json.get_compressed_model("m", {"m": packed}) == "x"
    assert is_valid_url("https://a.com/x?y") and not is_valid_url("a.com")
    version.check_version("0.8.0")
    with pytest.raises(AssertionError, match=gluoncv.__version__):
        version.check_version("1.0")


def test_crops():
    pytest.importorskip("PIL")
    from PIL import Image

    crop = transforms.EfficientNetRandomCrop(32)
    assert all(0.09 < np.prod(crop(Image.new("RGB", (60, 40))).size) / 2400 <= 1 for _ in range(30))
    image = np.zeros((100, 120, 3), "uint8")
    image[20:60, 30:70] = 255
    template, search = tracking.crop_like_SiamFC(image, [30, 20, 70, 60.0])
    # A target of 40 pixels with a margin of 40 takes half of the template, and the same pixels of the search region.
    for part in (template, search):
        assert abs((part > 127).mean() * part[..., 0].size - 64**2) < 300
    assert template.shape == (127, 127, 3) and search.shape == (255, 255, 3)


def test_gradients_of_hard_places_alone():
    rng = np.random.RandomState(0)
    scores, labels = rng.randn(1, 4, 40, 40) * 3, rng.randint(-1, 4, (1, 40, 40))
    pred, label = mx.nd.array(scores), mx.nd.array(labels)
    pred.attach_grad()
    with autograd.record():
        loss = SoftmaxCrossEntropyOHEMLoss()(pred, label)
    loss.backward()
    np.testing.assert_allclose(loss.asnumpy(), SoftmaxCrossEntropyLoss()(pred, label).asnumpy(), rtol=1e-5)
    right = np.exp(scores - np.log(np.exp(scores).sum(1, keepdims=True)))
    right = np.where(labels >= 0, np.take_along_axis(right, labels[:, None].clip(0), 1)[:, 0], 2)
    hard = (right <= 0.6) | (right <= np.sort(right.ravel())[255])
    assert 256 < hard.sum() < (labels >= 0).sum()
    assert ((np.abs(pred.grad.asnumpy()).max(axis=1) > 0) == hard).all()
    both = MixSoftmaxCrossEntropyOHEMLoss()(pred, pred, label)
    np.testing.assert_allclose(both.asnumpy(), 1.2 * loss.asnumpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: gluoncv.utils.LRScheduler("nope", niters=3), ValueError),
        (lambda: gluoncv.utils.LRScheduler("step", niters=3), ValueError),
        (lambda: gluoncv.utils.LRSequential([]), ValueError),
        (lambda: gluoncv.utils.LRSequential([1]), ValueError),
        (lambda: gluoncv.utils.TrainingHistory("x").update([1, 2]), ValueError),
        (lambda: gluoncv.model_zoo.resnet.get_resnet(3, 18), ValueError),
        (lambda: gluoncv.model_zoo.squeezenet.get_squeezenet("3.0"), ValueError),
        (lambda: gluoncv.data.transforms.presets.yolo.transform_test("x"), TypeError),
    ],
)
def test_what_the_original_asserts_is_an_assertion_error_too(call, error):
    with pytest.raises(AssertionError) as found:
        call()
    assert isinstance(found.value, error)
