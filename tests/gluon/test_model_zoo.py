"""The networks of gluon.model_zoo.vision against recorded ones; weights from a local repository."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile

import pytest

from core import nd, sym
from gluon.model_zoo import model_store, vision
from gluon.model_zoo.vision.registry import MODELS

SAMPLE = "mobilenet0.25|mobilenetv2_0.5|resnet18_v2|resnet34_v1"


def test_all_names_are_there(reference):
    api = json.loads((reference / "out" / "mxnet_api.json").read_text())
    assert sorted(MODELS) == sorted(api["registries"]["model_zoo.vision"])
    with pytest.raises(ValueError, match="resnet18_v1"):
        vision.get_model("resnet18v1")


def test_parameters_are_the_recorded_ones(reference):
    cases = json.loads((reference / "out" / "mxnet_gluon" / "model_zoo.json").read_text())["cases"]
    assert cases
    for case in cases:
        net = vision.get_model(case["model"])
        parameters = net._collect_params_with_prefix()
        want = {name: tuple(shape) for name, shape in case["params"]}
        assert parameters.keys() == want.keys(), case["model"]
        for name, parameter in parameters.items():
            assert len(parameter.shape) == len(want[name])
            assert all(a in (0, b) for a, b in zip(parameter.shape, want[name])), (case["model"], name)


@pytest.mark.parametrize("names", [SAMPLE, pytest.param(".*", marks=pytest.mark.slow)])
def test_outputs(names, reference, root, tmp_path):
    report = tmp_path / "report.json"
    subprocess.run(
        [sys.executable, reference / "check.py", "gluon", "--only", f"^model_zoo/({names})/", "--json", report],
        env={**os.environ, "PROJECT": str(root)},
        capture_output=True,
    )
    cases = json.loads(report.read_text())["cases"]
    assert cases
    assert not [case for case in cases if case["status"] != "passed"]


def test_published_weights_are_fetched_checked_and_loaded(tmp_path, monkeypatch):
    net = vision.get_model("mobilenet0.25", classes=3)
    net.initialize()
    x = nd.ones((1, 3, 32, 32))
    want = net(x)
    plain = tmp_path / "weights.params"
    net.save_parameters(str(plain))
    content = plain.read_bytes()

    repository = tmp_path / "gluon" / "models"
    repository.mkdir(parents=True)
    monkeypatch.setenv("MXNET_GLUON_REPO", tmp_path.as_uri())
    monkeypatch.setitem(model_store.CHECKSUMS, "mobilenet0.25", hashlib.sha1(content).hexdigest())
    stem = f"mobilenet0.25-{model_store.short_hash('mobilenet0.25')}"
    with zipfile.ZipFile(repository / f"{stem}.zip", "w") as archive:
        archive.writestr(f"{stem}.params", content)

    again = vision.get_model("mobilenet0.25", classes=3, pretrained=True, root=str(tmp_path / "models"))
    assert (again(x).asnumpy() == want.asnumpy()).all()

    with zipfile.ZipFile(repository / f"{stem}.zip", "w") as archive:
        archive.writestr(f"{stem}.params", content[:-1] + b"?")
    model_store.purge(str(tmp_path / "models"))
    with pytest.raises(model_store.DownloadError, match="published"):
        model_store.get_model_file("mobilenet0.25", str(tmp_path / "models"))
    assert not list((tmp_path / "models").glob("*.params"))


def test_arguments_of_residual_blocks_come_in_mxnets_order():
    orders = {"resnet18_v1": [2, 0, 1, 3, 4], "resnet50_v1": [*range(13)], "resnet18_v2": [0, 1, 2, 3, 4]}
    for name, first in orders.items():
        net = vision.get_model(name, prefix="n_")
        arguments = net(sym.var("data")).list_arguments()
        found = [a for a in arguments if a.startswith("n_stage2_conv") and a.endswith("_weight")]
        assert found == [f"n_stage2_conv{k}_weight" for k in first]
