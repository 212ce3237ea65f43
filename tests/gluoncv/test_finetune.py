"""Classifiers of one's own pictures, from a folder to an ONNX file."""

import base64
import re

import numpy as np
import pytest

from core import nd
from core.base import MXNetError
from core.image import imread
from gluon.finetune import Recipe
from gluoncv.finetune import PictureClassifier, new_last_layer, picture_folders, train_classifier
from gluoncv.model_zoo import get_model

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
RECIPE = Recipe(epochs=6, rate=0.01, body_rate=1.0, batch_size=8, ema=0.5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Red and blue pictures, of which a network needs little to tell them apart."""
    root, numbers = tmp_path_factory.mktemp("pictures"), np.random.RandomState(0)
    for name, channel in (("blue", 2), ("red", 0)):
        (root / name).mkdir()
        for k in range(16):
            pixels = numbers.randint(0, 90, (40, 48, 3)).astype("uint8")
            pixels[..., channel] += 140
            Image.fromarray(pixels).save(root / name / f"{k}.png")
    return root


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    return out, *train_classifier(folder, "cifar_resnet20_v1", out, pretrained=False, size=16, recipe=RECIPE)


def test_a_folder_becomes_a_classifier(folder, trained):
    out, classifier, result = trained
    assert classifier.classes == ("blue", "red") and result.accuracy >= 5 / 6
    again = PictureClassifier.load(out)
    files = [str(folder / "red" / "0.png"), str(folder / "blue" / "1.png")]
    assert [row[0][0] for row in again.predict(files)] == ["red", "blue"]
    np.testing.assert_allclose(again.probabilities(files), classifier.probabilities(files), atol=1e-6)
    np.testing.assert_array_equal(again.probabilities([imread(files[0])]), again.probabilities(files[:1]))
    assert again.preprocessing == classifier.preprocessing and again.preprocessing.size == 16


def test_onnxruntime_says_the_same(folder, trained, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnx", reason="onnx is not installed")
    from core.contrib.onnx import export_model

    out, classifier, _ = trained
    file = str(tmp_path / "net.onnx")
    export_model(
        str(out / "model-symbol.json"), str(out / "model-0000.params"), [(1, 3, 16, 16)], "float32", file, dynamic=True
    )
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    picture = str(folder / "red" / "3.png")
    scores = session.run(None, {session.get_inputs()[0].name: classifier.preprocessing(picture).asnumpy()})[0]
    probabilities = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    np.testing.assert_allclose(probabilities, classifier.probabilities([picture]), atol=1e-5)


def test_mistakes_are_shown_as_pictures(folder, trained):
    _, classifier, _ = trained
    text = classifier.shown(str(folder / "red" / "0.png"))
    code = re.search('src="data:image/jpeg;base64,([^"]+)"', text)[1]
    assert base64.b64decode(code)[:3] == b"\xff\xd8\xff" and 'alt="0.png"' in text


@pytest.mark.parametrize(
    ("name", "size"),
    [("resnet18_v1", 32), ("resnet18_v1b", 32), ("mobilenetv2_0.25", 32), ("squeezenet1.1", 224), ("vgg11_bn", 32),
     ("mobilenetv3_small", 32)],
)  # fmt: skip
def test_the_last_layer_of_a_network_is_replaced_and_no_other(name, size):
    net = get_model(name)
    net.initialize()
    x = nd.random.normal(shape=(2, 3, size, size))
    assert net(x).shape == (2, 1000)
    before = {key: p.data().asnumpy() for key, p in net._collect_params_with_prefix().items()}
    new = new_last_layer(net, 7)
    assert net(x).shape == (2, 7)
    own = {id(p) for p in new.collect_params().values()}
    after = net._collect_params_with_prefix()
    assert before.keys() <= after.keys()
    for key, p in after.items():  # the new layer has a bias even where the old one had none
        assert id(p) in own or np.array_equal(p.data().asnumpy(), before[key])
    assert sum(id(p) in own for p in after.values()) == len(own) > 0


def test_the_new_layer_begins_on_trained_ones(tmp_path, folder):
    """The body of a classifier is that of the file it began with."""
    net = get_model("cifar_resnet20_v1")
    net.initialize()
    net(nd.zeros((1, 3, 32, 32)))
    net.save_parameters(str(tmp_path / "start.params"))
    classifier = PictureClassifier.of_zoo("cifar_resnet20_v1", ["a", "b", "c"], tmp_path / "start.params")
    np.testing.assert_array_equal(
        classifier.net.features[0].weight.data().asnumpy(), net.features[0].weight.data().asnumpy()
    )
    assert classifier.net.output.weight.shape == (3, 64) and classifier.head is classifier.net.output


def test_train_and_val_folders(folder, tmp_path):
    for part, names in (("train", ("blue", "red")), ("val", ("blue", "red"))):
        for name in names:
            (tmp_path / part / name).mkdir(parents=True)
            for k in range(3):
                Image.fromarray(np.zeros((8, 8, 3), "uint8")).save(tmp_path / part / name / f"{k}.png")
    classes, train, val = picture_folders(tmp_path)
    assert classes == ["blue", "red"] and len(train) == len(val) == 6
    assert all("/val/" in path for path, _ in val)
    (tmp_path / "val" / "green").mkdir()
    with pytest.raises(MXNetError, match="train and val have other classes, green"):
        picture_folders(tmp_path)


def test_mistakes_are_named(folder, tmp_path):
    with pytest.raises(MXNetError, match="there is no folder"):
        train_classifier(tmp_path / "nothing")
    with pytest.raises(MXNetError, match=r"has no pictures; they are expected as .*CLASS/NAME\.jpg"):
        train_classifier(tmp_path)
    with pytest.raises(MXNetError, match="is a network for detection, not one that classifies pictures"):
        PictureClassifier.of_zoo("ssd_300_vgg16_atrous_voc", "ab", pretrained=False)
