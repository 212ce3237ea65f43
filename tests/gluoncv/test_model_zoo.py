"""The networks of gluoncv.model_zoo against recorded ones and with published weights."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from core import nd
from core.name import NameManager
from core.symbol import var
from gluon import nn
from gluon.store import DownloadError
from gluoncv import model_zoo

# One small network of each family.
SAMPLE = (
    "cifar_resnet20_v[12]|mobilenetv3_small|resnet18_v1b|se_resnet18_v2|googlenet|shufflenet_v[12]|dla34|nasnet_4_1056|"
    "resnest14|cifar_residualattentionnet56|hrnet_w18_small_v1_s|fcn_resnet50_ade|"
    "mobile_pose_mobilenetv3_small|monodepth2_resnet18_posenet_kitti_mono_640x192|inceptionv1_kinetics400|"
    "slowfast_4x16_resnet50_custom|"
    "ssd_300_mobilenet0.25_custom|yolo3_mobilenet0.25_custom|center_net_mobilenetv3_small_duc_voc|siamrpn_alexnet_v2_otb15|"
    "custom_mask_rcnn_fpn|mobilenet1.0_int8"
)
NORMALISED = (
    "resnet18_v1 resnet18_v2 resnet18_v1b se_resnet18_v1 densenet121 inceptionv3 vgg11_bn mobilenet0.25 "
    "mobilenetv2_0.25 mobilenetv3_small googlenet shufflenet_v1 shufflenet_v2 dla34 nasnet_4_1056 resnest14 "
    "cifar_residualattentionnet56 cifar_resnet20_v1 cifar_resnet20_v2 cifar_wideresnet16_10 cifar_resnext29_32x4d "
    "resnext50_32x4d senet_154 darknet53 xception hrnet_w18_small_v1_c hrnet_w18_small_v1_s fastscnn_citys "
    "fcn_resnet50_voc simple_pose_resnet18_v1b mobile_pose_mobilenetv3_small inceptionv1_kinetics400 "
    "r2plus1d_resnet18_kinetics400"
).split()
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


def cases(reference, names):
    """Recorded tables of the networks whose whole name matches `names`."""
    for path in sorted((reference / "out" / "gluoncv_zoo").glob("*.json")):
        if re.fullmatch(names, path.stem):
            yield path.stem, json.loads(path.read_text())


def test_names():
    assert model_zoo.get_model("CIFAR_ResNet20_v1").name.startswith("cifarresnetv1")
    assert set(model_zoo.pretrained_model_list()) <= set(model_zoo.get_model_list())
    with pytest.raises(ValueError, match=r"no model 'cifar_resnet_20_v1'. Did you mean 'cifar_resnet20_v1'"):
        model_zoo.get_model("cifar_resnet_20_v1")
    with pytest.raises(ValueError, match="no published weights for 'resnet101_v1e'"):
        model_zoo.get_model("resnet101_v1e", pretrained=True)


def test_published_files_are_the_recorded_ones(reference, tmp_path, monkeypatch):
    """The first digits of the checksums, which are in the files' names,
    against those recorded in the table of networks.
    """
    rows = [line.split("|") for line in (reference / "out" / "gluoncv_zoo" / "INDEX.md").read_text().splitlines()]
    want = {row[1].strip(): row[-2].strip() for row in rows if len(row) > 8}
    monkeypatch.setenv("MXNET_OFFLINE", "1")
    listed = {name for name, digits in want.items() if digits and set(digits) <= set("0123456789abcdef")}
    assert listed <= set(model_zoo.pretrained_model_list())
    for name in model_zoo.pretrained_model_list():
        # High-resolution networks have files of other names, which the table has not.
        with pytest.raises(DownloadError, match=f"-{want[name] or '........'}"):
            model_zoo.model_store.get_model_file(name, str(tmp_path))


@pytest.mark.parametrize("names", [SAMPLE, pytest.param(".*", marks=pytest.mark.slow)])
def test_parameters_are_the_recorded_ones(names, reference):
    for name, case in cases(reference, names):
        with NameManager():  # some parameters are called by names that count the networks made before
            net = model_zoo.get_model(name, **{"pretrained_base": False, **case["build_kwargs"]})
        parameters = net._collect_params_with_prefix()
        for alias, key in case.get("aliases", {}).items():
            assert parameters.pop(alias) is parameters[key], (name, alias)
        want = {row[0]: row[1:] for row in case["params"]}
        assert parameters.keys() == want.keys(), name
        for key, parameter in parameters.items():
            shape, grad_req = want[key][0], want[key][1] if len(want[key]) > 1 else "write"
            if parameter.shape is not None:
                assert len(parameter.shape) == len(shape), (name, key)
                assert all(a in (0, b) for a, b in zip(parameter.shape, shape)), (name, key)
            assert parameter.grad_req == grad_req, (name, key)


class _Norm(nn.BatchNorm):
    """A normalisation of the user's."""


@pytest.mark.parametrize("name", NORMALISED)
def test_normalisation_is_that_of_the_user(name):
    net = model_zoo.get_model(name, norm_layer=_Norm, norm_kwargs={"momentum": 0.123}, pretrained_base=False)
    found = []
    net.apply(lambda block: found.append(block) if isinstance(block, nn.BatchNorm) else None)
    assert found
    assert all(type(block) is _Norm and block._kwargs["momentum"] == 0.123 for block in found)


@pytest.mark.parametrize("names", [SAMPLE, pytest.param(".*", marks=pytest.mark.slow)])
def test_outputs(names, reference, root, tmp_path):
    report = tmp_path / "report.json"
    names = "|".join(map(re.escape, filter(re.compile(names).fullmatch, model_zoo.get_model_list())))
    subprocess.run(
        [sys.executable, reference / "check.py", "gluoncv", "--only", f"^({names})$", "--json", report],
        env={**os.environ, "PROJECT": str(root)},
        capture_output=True,
    )
    found = json.loads(report.read_text())["cases"]
    assert found
    assert not [case for case in found if case["status"] != "passed"]


@pytest.mark.parametrize("name", [f"cifar_resnet{n}_v{v}" for n in (20, 56) for v in (1, 2)])
def test_published_weights_give_the_recorded_logits(name, weights):
    """Weights of dmlc/web-data, logits of MXNet 1.9.1 on the first 64 test pictures of CIFAR-10."""
    net = model_zoo.get_model(name, pretrained=weights / f"{name}_structural.params")
    pictures = np.load(weights / "cifar10_test_first64.npz")
    want = np.load(weights / f"{name}.expected.npz")["logits"]
    x = (pictures["pixels"].astype("float32") / 255 - np.float32(MEAN)) / np.float32(DEVIATION)
    got = net(nd.array(np.ascontiguousarray(x.transpose(0, 3, 1, 2)))).asnumpy()
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-4)


def test_weights_under_the_names_of_an_export(weights):
    """The original file, whose names are those of the network's variables, holds the same numbers."""
    original = model_zoo.get_model("cifar_resnet20_v1", prefix="cifarresnetv10_")
    original.collect_params().load(str(weights / "cifar_resnet20_v1.params"))
    net = model_zoo.get_model("cifar_resnet20_v1", pretrained=weights / "cifar_resnet20_v1_structural.params")
    want = net._collect_params_with_prefix()
    for key, parameter in original._collect_params_with_prefix().items():
        assert (parameter.data().asnumpy() == want[key].data().asnumpy()).all(), key


def test_arguments_that_upstreams_builders_take():
    assert model_zoo.get_model("hrnet_w18_small_v1_c", classes=3).classifier.weight.shape[0] == 3
    for kind, operator in (("nearest", "UpSampling"), ("bilinear", "_contrib_BilinearResize2D")):
        written = model_zoo.get_hrnet("w18_small_v1", kind)(var("data")).tojson()
        assert set(re.findall("UpSampling|_contrib_BilinearResize2D", written)) == {operator}
    # Whether there is squeeze and excitation, the name says.
    assert not any(
        ".se." in name for name in model_zoo.get_model("resnext50_32x4d", use_se=True)._collect_params_with_prefix()
    )


def test_a_network_begins_with_the_weights_of_a_file_for_its_body(tmp_path):
    body = model_zoo.get_model("mobilenetv3_small")
    body.initialize()
    body(nd.zeros((1, 3, 64, 64)))
    body.save_parameters(str(tmp_path / "body.params"))
    net = model_zoo.get_model("mobile_pose_mobilenetv3_small", pretrained_base=str(tmp_path / "body.params"))
    ours, theirs = (next(iter(part.features.collect_params().values())).data().asnumpy() for part in (net, body))
    np.testing.assert_array_equal(ours, theirs)
