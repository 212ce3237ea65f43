"""The small programs under examples/ do on real data what they are there to show."""

import importlib.util
import json

import numpy as np
import pytest


@pytest.fixture
def example(root, monkeypatch, tmp_path):
    """The main function of an example, run in a folder of the test."""
    monkeypatch.chdir(tmp_path)

    def load(name: str):
        spec = importlib.util.spec_from_file_location(f"example_{name}", root / "examples" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return lambda *arguments: module.main([str(argument) for argument in arguments])

    return load


def test_multi_label(example, data):
    shares = example("multi_label")("--data-dir", data / "mnist", "--samples", 2000, "--epochs", 6)
    # More often than by always saying no (digits) or by chance.
    assert min(shares[:10]) > 0.92 and min(shares[10:]) > 0.8


def test_neural_style(example, data, tmp_path):
    pictures = ["--content", data / "demo" / "venice-boat.jpg", "--style", data / "demo" / "starry_night.jpg"]
    losses = example("neural_style")(*pictures, "--size", 32, "--steps", 8)
    assert losses[-1] < 0.8 * losses[0] and (tmp_path / "styled.png").stat().st_size > 500


def test_profiler(example, tmp_path):
    table = example("profiler")("--steps", 2)
    events = json.loads((tmp_path / "profile.json").read_text())["traceEvents"]
    assert "convolution" in table.lower() and any("onvolution" in str(event.get("name")) for event in events)


def test_visualization(example, capsys):
    drawing = example("visualization")("--model", "mobilenet0.25", "--size", 64).read_text()
    assert "digraph" in drawing and "Total params" in capsys.readouterr().out


def test_module(example, data, tmp_path):
    assert example("module")("--data-dir", data / "mnist", "--samples", 3000, "--epochs", 4) > 0.85
    assert (tmp_path / "mlp-symbol.json").is_file() and (tmp_path / "mlp-0002.params").is_file()


def test_char_rnn(example, data):
    given = ["--text", data / "tinyshakespeare" / "input.txt", "--steps", 25, "--units", 32, "--length", 20]
    losses, written = example("char_rnn")(*given, "--write", 20)
    assert np.mean(losses[-3:]) < 0.85 * losses[0] and len(written) == 21


def test_bucketing(example, data):
    text = data / "sherlockholmes" / "sherlockholmes.train.txt"
    first, *_, last = example("bucketing")("--text", text, "--sentences", 300, "--units", 16, "--epochs", 3)
    assert last < 0.8 * first


def test_cnn_text_classification(example, data):
    given = ["--data", data / "mr" / "rt-polarity.all", "--samples", 3000, "--epochs", 3, "--units", 24]
    assert example("cnn_text_classification")(*given) > 0.58


def test_gan(example, data, tmp_path):
    digits = example("gan")("--data-dir", data / "mnist", "--steps", 120, "--batch-size", 32).asnumpy()
    # What is drawn is dark at the border and lighter in the middle, as digits are; untrained, it is grey all over.
    mean = digits.mean(axis=0).reshape(28, 28)
    assert mean[:3].mean() < 0.25 < 0.3 + mean[:3].mean() < mean[10:18, 10:18].mean() + 0.3
    assert (tmp_path / "digits.png").stat().st_size > 500


def test_custom_operator(example):
    assert min(example("custom_operator")()) > 0.95


def test_classify(example, data, weights):
    picture = next((data / "imagenet_samples" / "images").glob("n01440764*"))  # a tench, class 0
    given = ["--model", "mobilenetv2_1.0", "--weights", weights / "mobilenetv2_1.0_coral.params"]
    ((best, share), *_), *_ = example("classify")(picture, *given)
    assert 0 <= best < 1000 and 0 < share <= 1
