"""Weights by name: MXNet's server, the hub, timm and torchvision, each of them on this machine, or gone."""

import hashlib
import time

import numpy as np
import pytest

from core import nd
from core.base import MXNetError
from gluon.store import DownloadError
from gluoncv.data.transforms import for_model
from gluoncv.model_zoo import get_model, list_models, save_state_dict, sources
from gluoncv.model_zoo.cards import Preprocessing, preprocessing_of, task_of
from tests.gluon.hub_server import NOWHERE


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """ResNet-18 v1b with random numbers, as timm names them."""
    net = get_model("resnet18_v1b")
    net.initialize()
    net(nd.zeros((1, 3, 32, 32)))
    path = tmp_path_factory.mktemp("weights") / "model.safetensors"
    save_state_dict(net, path, names="timm")
    return net, path.read_bytes()


@pytest.fixture
def server(hub_server, weights):
    hub_server.files["timm/resnet18.gluon_in1k"] = {"model.safetensors": weights[1]}
    return hub_server


def same(net, weights):
    return (net.fc.weight.data().asnumpy() == weights[0].fc.weight.data().asnumpy()).all()


@pytest.mark.parametrize(
    "pretrained", ["hf://timm/resnet18.gluon_in1k", "timm/resnet18.gluon_in1k", "timm/resnet18",
                   "hf://timm/resnet18.gluon_in1k@main:model.safetensors"]
)  # fmt: skip
def test_weights_of_timm_by_name(server, weights, pretrained):
    net = get_model("resnet18_v1b", pretrained=pretrained)
    assert same(net, weights)
    assert net.card.origin.startswith("hf://timm/resnet18.gluon_in1k")
    assert net.card.licence == "apache-2.0"
    assert net.card.digest == f"SHA-256 {hashlib.sha256(weights[1]).hexdigest()}"
    assert net.card.preprocessing.interpolation == "bicubic"
    assert net.classes[0] == "tench" and len(net.card.classes) == 1000


def test_published_weights_come_from_timm_where_the_server_is_gone(server, weights, capsys):
    net = get_model("resnet18_v1b", pretrained=True)
    assert same(net, weights)
    assert "hf://timm/resnet18.gluon_in1k" in capsys.readouterr().err


def test_with_no_network_it_ends_soon_and_says_what_helps(server, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    begun = time.monotonic()
    with pytest.raises(DownloadError) as error:
        get_model("resnet50_v1d", pretrained=True)
    assert time.monotonic() - begun < 10
    text = str(error.value)
    for fact in (
        NOWHERE,
        "hf://timm/resnet50d.gluon_in1k",
        "Put resnet50_v1d-",
        "models",
        "MXNET_GLUON_REPO",
        "HF_ENDPOINT",
    ):
        assert fact in text


def test_a_server_that_answers_without_the_file_is_no_dead_end(server, monkeypatch):
    """What a retired bucket does: it answers, with 404."""
    monkeypatch.setenv("MXNET_GLUON_REPO", server.url)
    with pytest.raises(DownloadError) as error:
        get_model("cifar_resnet20_v1", pretrained=True)
    for fact in (server.url, "404", "Put cifar_resnet20_v1-", "models", "MXNET_GLUON_REPO"):
        assert fact in str(error.value)


def test_other_names_are_refused_with_those_that_there_are(server):
    with pytest.raises(
        MXNetError, match=r"no weights 'resnet50d\.nothing'.*For resnet50_v1d there are resnet50d\.a1_in1k"
    ):
        get_model("resnet50_v1d", pretrained="timm/resnet50d.nothing")
    with pytest.raises(MXNetError, match=r"timm/resnet18 are weights of resnet18_v1b, not of resnet50_v1d"):
        get_model("resnet50_v1d", pretrained="timm/resnet18")
    with pytest.raises(DownloadError, match="has no hf://nobody/nothing"):
        get_model("resnet18_v1b", pretrained="hf://nobody/nothing")


def test_weights_of_torchvision_by_name(server, weights, monkeypatch, tmp_path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "resnet18.pth"
    torch.save({k: torch.tensor(v) for k, v in sources_arrays(weights).items()}, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    url = (path.rename(tmp_path / f"resnet18-{digest[:8]}.pth")).as_uri()
    row = [*sources._torchvision()["resnet18.imagenet1k_v1"]]
    monkeypatch.setitem(sources._torchvision(), "resnet18.imagenet1k_v1", [row[0], url, *row[2:]])
    net = get_model("resnet18_v1b", pretrained="torchvision/resnet18")
    assert same(net, weights) and net.card.origin == url
    wrong = tmp_path / "resnet18-00000000.pth"
    wrong.write_bytes(b"x" * 99)
    monkeypatch.setitem(sources._torchvision(), "resnet18.imagenet1k_v1", [row[0], wrong.as_uri(), *row[2:]])
    with pytest.raises(DownloadError, match="its name says 00000000"):
        get_model("resnet18_v1b", pretrained="torchvision/resnet18")


def sources_arrays(weights):
    from gluoncv.model_zoo.state_dict import state_dict

    return state_dict(weights[0], "torchvision")[0]


def test_every_row_names_a_network_of_the_zoo():
    known = set(list_models())
    for table in (sources._timm(), sources._torchvision()):
        assert {row[0] for row in table.values()} <= known
    assert sum(key.endswith(".gluon_in1k") for key in sources._timm()) == 26


def test_lists_by_task_pattern_and_weights():
    assert list_models(task="depth") == [name for name in list_models() if name.startswith("monodepth2")]
    assert "resnet50_v1d" in list_models(pretrained=True, filter="resnet*", task="classification")
    assert "dla34" in list_models(pretrained=True)
    assert "hrnet_w48_s" not in list_models(task="classification")
    assert len(list_models()) == 333
    with pytest.raises(MXNetError, match="there is no task 'detecting'; there are action"):
        list_models(task="detecting")


def test_tasks():
    names = {
        "resnet18_v1b_custom": "action", "i3d_resnet50_v1_custom": "action", "ssd_300_vgg16_atrous_custom": "detection",
        "mask_rcnn_resnet18_v1b_coco": "instance segmentation", "hrnet_w48_s": "segmentation", "siamrpn_alexnet_v2_otb15": "tracking",
        "fcn_resnet101_voc_int8": "segmentation", "resnet50_v1_int8": "classification", "simple_pose_resnet18_v1b": "pose",
    }  # fmt: skip
    assert {name: task_of(name) for name in names} == names


def test_a_picture_becomes_an_input_as_the_network_was_trained():
    net = get_model("cifar_resnet20_v1")
    picture = np.random.RandomState(0).randint(0, 256, (32, 32, 3), "uint8")
    want = (picture / 255 - (0.4914, 0.4822, 0.4465)) / (0.2023, 0.1994, 0.2010)
    np.testing.assert_allclose(net.preprocess(picture).asnumpy()[0], want.transpose(2, 0, 1), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(
        for_model(net)(nd.array(picture, dtype="uint8")).asnumpy(), net.preprocess(picture)[0].asnumpy()
    )
    assert net.preprocess(picture).shape == (1, 3, 32, 32)
    assert preprocessing_of("inceptionv3") == Preprocessing(299, 342)
    assert preprocessing_of("resnet50_v1d")(np.zeros((300, 400, 3), "uint8")).shape == (1, 3, 224, 224)
    with pytest.raises(MXNetError, match=r"\(height, width, 3\), got \(32, 32\)"):
        net.preprocess(picture[..., 0])


def test_smoothed_pictures_count_every_pixel():
    """Columns of black and white become grey; without smoothing single columns are seen. A step stays where it is."""
    pytest.importorskip("PIL", reason="Pillow is not installed")
    columns = np.zeros((64, 96, 3), "uint8")
    columns[:, ::2] = 255
    plain = {"mean": (0.0,) * 3, "deviation": (1.0,) * 3}
    grey = Preprocessing(0, 16, smoothed=True, **plain)(columns).asnumpy()
    assert grey.shape == (1, 3, 16, 24) and abs(grey - 0.5).max() < 0.05
    threes = np.zeros((48, 48, 3), "uint8")
    threes[:, ::3] = 255
    assert Preprocessing(0, 16, **plain)(threes).asnumpy().std() == 0
    assert abs(Preprocessing(0, 16, **plain)(threes).asnumpy().mean() - 1 / 3) > 0.2
    assert abs(Preprocessing(0, 16, smoothed=True, **plain)(threes).asnumpy().mean() - 1 / 3) < 0.03
    step = np.zeros((64, 64, 3), "uint8")
    step[:, 32:] = 255
    seen = Preprocessing(0, 16, smoothed=True, **plain)(step).asnumpy()[0, 0, 0]
    np.testing.assert_allclose(seen + seen[::-1], 1, atol=0.01)
    assert seen[6] < 0.05 and seen[9] > 0.95


def test_cards_are_read_by_people():
    text = str(get_model("resnet18_v1b").card)
    assert text.splitlines()[:3] == ["resnet18_v1b", "  task: classification", "  weights: random numbers"]
    assert "shorter side 256 (bilinear); middle 224" in text
    with pytest.raises(MXNetError, match="a network for pose"):
        for_model(get_model("simple_pose_resnet18_v1b", pretrained_base=False))
