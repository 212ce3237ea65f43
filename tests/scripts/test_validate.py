"""validate.py counts what MXNet counted with the same weights on the same pictures."""

import numpy as np
import pytest

from scripts.image_classification import validate

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
