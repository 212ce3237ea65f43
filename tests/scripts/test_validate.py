"""validate.py and validate_weights.py count what MXNet counted with the same weights on the same pictures."""

import numpy as np
import pytest

from scripts.image_classification import validate, validate_weights

CASES = {
    "cifar_resnet20_v1": ("cifar10", "cifar_resnet20_v1_structural.params", 400, []),
    "cifar_resnet20_v2": ("cifar10", "cifar_resnet20_v2_structural.params", 200, []),
    "mobilenet0.25": (
        "imagenet_samples",
        "mobilenet0.25_coral.params",
        40,
        ["--turned", "--relu6", "--input-size", "128"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_counts_are_those_of_mxnet(name, data, weights, capsys):
    folder, file, samples, options = CASES[name]
    with np.load(weights / f"{file.removesuffix('.params').removesuffix('_structural')}.expected.npz") as expected:
        predicted, label = expected["pred_relu6" if "--relu6" in options else "pred"], expected["label"]
    right = int((predicted == label)[:samples].sum())
    arguments = [
        "--model",
        name,
        "--data-dir",
        data / folder,
        "--pretrained",
        weights / file,
        "--samples",
        samples,
        *options,
    ]
    found = validate.main([str(a) for a in arguments])
    # One picture may be on the edge between two classes.
    assert abs(found["right"] - right) <= 1 and found["count"] == samples
    assert f"{found['right']} of {samples} right" in capsys.readouterr().out


def test_published_weights_answer_as_with_mxnet(data, weights, tmp_path):
    arguments = ["--weights-dir", weights, "--data-dir", data, "--samples", 16, "--only", "resnet20_v1"]
    rows = validate_weights.main([str(a) for a in [*arguments, "--log-dir", tmp_path]])
    assert [row["weights"] for row in rows] == ["cifar_resnet20_v1", "cifar_resnet20_v1_akamaster"]
    for row in rows:
        assert row["pictures"] == 16 and row["right"] == row["right, MXNet"] and row["answered otherwise"] == 0
        assert row["logits apart"] < 1e-4
    assert (tmp_path / "image_classification" / "published_weights.log").exists()


def test_eight_bits_by_the_recipe_lose_at_most_one_picture(data, weights, tmp_path):
    arguments = ["--weights-dir", weights, "--data-dir", data, "--only", "mobilenet0.25", "--eight-bits", 50]
    clipped, _ = validate_weights.main([str(a) for a in [*arguments, "--log-dir", tmp_path]])
    assert clipped["weights"].endswith("with ReLU6") and clipped["calibrated on"] == 50
    assert clipped["right, by the recipe"] >= clipped["right"] - 1 > clipped["right, eight bits"]
