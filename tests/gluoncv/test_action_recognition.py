"""Networks for actions: means over segments, weights of networks for pictures, what a non-local block computes."""

import numpy as np
import pytest

from core import nd
from gluoncv import model_zoo
from gluoncv.model_zoo.action_recognition import NonLocal, i3d_inception, i3d_resnet
from gluoncv.model_zoo.action_recognition.recognizer import adopt


def test_scores_are_those_of_the_mean_of_the_parts():
    net = model_zoo.get_model("resnet18_v1b_custom", nclass=3, num_segments=2, num_crop=2, pretrained_base=False)
    net.initialize()
    x = nd.random.normal(shape=(8, 3, 64, 64))
    got = net(x)
    assert got.shape == (2, 3)
    net.num_segments = net.num_crop = 1
    np.testing.assert_allclose(got.asnumpy(), net(x).asnumpy().reshape(2, 4, 3).mean(1), rtol=1e-4, atol=1e-5)


def test_names_of_the_users_classes_tell_their_number():
    net = model_zoo.get_model("resnet18_v1b_custom", classes=["walk", "run"], pretrained_base=False)
    assert net.output.weight.shape[0] == 2


def test_features_instead_of_scores():
    net = model_zoo.get_model("r2plus1d_resnet18_kinetics400", feat_ext=True, pretrained_base=False)
    assert net(nd.random.normal(shape=(1, 3, 4, 32, 32))).shape == (1, 512)


@pytest.mark.parametrize("kind", ["resnet50_v1b", "googlenet", "inceptionv3"])
def test_weights_for_pictures_are_spread_over_the_time(kind, monkeypatch):
    """All frames that a convolution sees, together, weigh as much as the picture did."""
    pictures = model_zoo.get_model(kind, pretrained_base=False)
    pictures.initialize()
    size = 224 if kind == "googlenet" else 299 if kind == "inceptionv3" else 64
    picture = nd.random.normal(shape=(1, 3, size, size))
    pictures(picture)
    room = i3d_resnet if kind.startswith("resnet") else i3d_inception
    monkeypatch.setattr(room, "get_model", lambda name, **kwargs: pictures)
    names = {"resnet50_v1b": "i3d_resnet50_v1", "googlenet": "i3d_inceptionv1", "inceptionv3": "i3d_inceptionv3"}
    net = model_zoo.get_model(f"{names[kind]}_kinetics400")
    video, still = net._collect_params_with_prefix(), pictures._collect_params_with_prefix()
    rename = room._renamed if kind.startswith("resnet") else net._renamed
    seen = 0
    for name, parameter in video.items():
        if name.startswith(("fc.", "head.", "output.")):
            continue
        want, got = still[rename(name)].data().asnumpy(), parameter.data().asnumpy()
        np.testing.assert_allclose(got.sum(2) if got.ndim == 5 else got, want, rtol=1e-5, atol=1e-6)
        seen += 1
    # All but the last layer, which GoogLeNet has under two names.
    assert seen >= len(still) - 4


def test_non_local_blocks_keep_weights_of_their_own(monkeypatch):
    pictures = model_zoo.get_model("resnet50_v1b", pretrained_base=False)
    pictures.initialize()
    pictures(nd.ones((1, 3, 32, 32)))
    monkeypatch.setattr(i3d_resnet, "get_model", lambda name, **kwargs: pictures)
    net = model_zoo.get_model("i3d_nl5_resnet50_v1_kinetics400")
    parameters = net._collect_params_with_prefix()
    want = pictures.layer2[1].conv1.weight.data().asnumpy()
    got = parameters["res_layers.1.1.bottleneck.0.weight"].data().asnumpy()
    np.testing.assert_allclose(got.sum(2), want, rtol=1e-5, atol=1e-6)
    assert "res_layers.1.1.bottleneck.8.theta.weight" in parameters


def test_weights_of_another_shape_are_refused():
    small, large = (model_zoo.get_model(f"resnet{n}_v1b_kinetics400", pretrained_base=False) for n in (18, 34))
    large.initialize()
    large(nd.ones((1, 3, 32, 32)))
    adopt(small, large, skip=lambda name: name.startswith("output."))
    with pytest.raises(AssertionError, match=r"output.weight has the shape \(7, 512\)"):
        adopt(model_zoo.get_model("resnet18_v1b_kinetics400", nclass=7, pretrained_base=False), large)


@pytest.mark.parametrize("sub_sample", [False, True])
def test_non_local_block(sub_sample):
    """Attention of every place to every other one, in float64 NumPy."""
    block = NonLocal(8, sub_sample=sub_sample, use_bn=False)
    block.initialize()
    x = nd.random.normal(shape=(2, 8, 3, 4, 4))
    values = {name: p.data().asnumpy().astype("float64") for name, p in block._collect_params_with_prefix().items()}

    def conv(name, x):
        return (
            np.einsum("oi,nithw->nothw", values[f"{name}.weight"][:, :, 0, 0, 0], x)
            + values[f"{name}.bias"][None, :, None, None, None]
        )

    def halved(x):
        return x.reshape(2, 4, 3, 2, 2, 2, 2).max((4, 6)) if sub_sample else x

    data = x.asnumpy().astype("float64")
    query = conv("theta", data).reshape(2, 4, -1)
    key, value = (halved(conv(name, data)).reshape(2, 4, -1) for name in ("phi", "g"))
    energy = np.einsum("nci,ncj->nij", query, key) / 2
    attention = np.exp(energy - energy.max(2, keepdims=True))
    attention /= attention.sum(2, keepdims=True)
    seen = np.einsum("ncj,nij->nci", value, attention).reshape(2, 4, 3, 4, 4)
    np.testing.assert_allclose(block(x).asnumpy(), conv("W", seen) + data, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="nonlocal_type is gaussian, got 'dot'"):
        NonLocal(8, nonlocal_type="dot")
