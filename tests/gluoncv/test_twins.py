"""Names and numbers of our networks in torchvision, timm and their authors' programs.

twins.json has, for each network, a digest of the names of its arrays there, taken from those packages by
`python -m tests.twins.compare --names`; where the packages are installed, outputs are compared too.
"""

import hashlib
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from core import nd
from core.base import MXNetError
from core.files import read_safetensors
from gluon import nn
from gluoncv.model_zoo import get_model, get_model_list, load_state_dict, save_state_dict
from gluoncv.model_zoo.state_dict import libraries, reason, state_dict

TWINS = json.loads(Path(__file__).with_name("twins.json").read_text())
# One network of each family.
SAMPLE = (
    "resnet18_v1 resnet50_v1d resnet50_v1b_gn se_resnet50_v1 se_resnext50_32x4d resnest14 densenet121 alexnet "
    "squeezenet1.0 googlenet inceptionv3 shufflenet_v2 mobilenet0.25 mobilenetv2_0.25 mobilenetv3_small dla34 darknet53 "
    "hrnet_w18_small_v1_c vgg16_ucf101 i3d_resnet50_v1_ucf101 slowfast_4x16_resnet50_kinetics400 "
    "r2plus1d_resnet18_kinetics400 fcn_resnet50_voc deeplab_resnet50_ade psp_resnet50_ade simple_pose_resnet18_v1b "
    "alpha_pose_resnet101_v1b_coco siamrpn_alexnet_v2_otb15 center_net_dla34_dcnv2_voc"
).split()


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in SAMPLE else pytest.mark.slow) for n in TWINS])
def test_names_are_those_of_the_twin(name):
    row = TWINS[name]
    net = get_model(name, pretrained_base=False, **row["keywords"])
    assert names_there(net, row["names"]) == row["digest"]


def names_there(net, library):
    from gluoncv.model_zoo.state_dict import _entries, _Map, _parameters

    found = _Map(_entries(net, library)[0], net, _parameters(net))
    names = [place.name for place in found.names.values()] + [*found._zeros, *found._copies]
    return hashlib.sha1("\n".join(sorted(names)).encode()).hexdigest()[:12]


def test_at_least_two_hundred_networks_have_a_twin():
    assert len(TWINS) >= 200


def test_every_network_has_a_twin_or_a_reason_why_not():
    for name in get_model_list():
        assert (name in TWINS) != (reason(name) is not None), name
    net = get_model("resnet18_v2")
    with pytest.raises(MXNetError, match="resnet18_v2: timm's ResNet V2 normalises neither the picture"):
        save_state_dict(net, "net.safetensors", names="timm")


def test_the_page_lists_the_networks_without_a_twin(root):
    """docs/weights.md has this table; where it differs, what the assertion shows is to go there."""
    reasons = {}
    for name in get_model_list():
        if reason(name) is not None:
            reasons.setdefault(reason(name), []).append(name)
    rows = (f"| {', '.join(f'`{name}`' for name in names)} | {why} |" for why, names in reasons.items())
    table = "\n".join(["| networks | why |", "| --- | --- |", *rows])
    page = (root / "docs" / "weights.md").read_text(encoding="utf-8")
    assert table in page, table
    assert f"{len(TWINS)} of the {len(get_model_list())} networks" in page


@pytest.fixture(scope="module")
def net():
    net = get_model("resnet18_v1", classes=10)
    net.initialize()
    net(nd.zeros((1, 3, 32, 32)))
    return net


def test_what_is_saved_for_others_comes_back_bit_for_bit(net, tmp_path):
    save_state_dict(net, tmp_path / "net.safetensors", names="timm")
    tensors, metadata = read_safetensors(tmp_path / "net.safetensors")
    assert metadata == {"format": "pt"}
    assert {"conv1.weight", "layer2.0.downsample.1.running_var", "fc.bias"} <= set(tensors)
    other = get_model("resnet18_v1", classes=10)
    load_state_dict(other, tmp_path / "net.safetensors")
    for (name, ours), back in zip(net.collect_params().items(), other.collect_params().values(), strict=True):
        np.testing.assert_array_equal(ours.data().asnumpy(), back.data().asnumpy(), err_msg=name)


def test_networks_without_a_twin_and_other_files_are_refused(net, tmp_path):
    assert libraries(net) == ["timm", "torchvision"]
    with pytest.raises(MXNetError, match="no map of names of keras for ResNetV1; its names in timm and torchvision"):
        save_state_dict(net, tmp_path / "net.safetensors", names="keras")
    with pytest.raises(MXNetError, match=r"\.safetensors"):
        save_state_dict(net, tmp_path / "net.pth", names="timm")
    fresh = get_model("resnet18_v1")
    with pytest.raises(MXNetError, match="call the network once"):
        save_state_dict(fresh, tmp_path / "fresh.safetensors", names="timm")


def test_biases_that_twins_lack_go_into_the_mean():
    net = get_model("resnet50_v1", classes=3)
    net.initialize()
    net(nd.zeros((1, 3, 32, 32)))
    block = net.features[4][0].body
    block[0].bias.set_data(nd.full((64,), 0.25))
    with pytest.warns(UserWarning, match="bottleneck stride 3x3"):
        warnings.warn(state_dict(net, "timm")[1])
    arrays, _ = state_dict(net, "timm")
    assert not any(name.endswith("conv1.bias") for name in arrays)
    np.testing.assert_array_equal(arrays["layer1.0.bn1.running_mean"], -0.25)


def test_a_network_computes_as_its_twin_after_loading():
    net = get_model("mobilenet0.25", classes=3)
    net.initialize()
    x = nd.random.uniform(-9, 9, (1, 3, 32, 32))
    net(x)
    for parameter in net.collect_params(".*gamma").values():
        parameter.set_data(parameter.data() * 20)
    arrays, differing = state_dict(net, "timm")
    assert differing == "activation relu6"
    other = get_model("mobilenet0.25", classes=3)
    load_state_dict(other, arrays, names="timm")
    assert not any(isinstance(layer, nn.Activation) for layer in other.features)
    assert state_dict(other, "timm")[1] == ""
    assert np.abs(other(x).asnumpy() - net(x).asnumpy()).max() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_outputs_and_bits_against_the_packages(name):
    for package in ("torchvision", "timm"):
        pytest.importorskip(package, reason=f"{package} is not installed, with which {name} is compared")
    from tests.twins import authors, compare, video, vision  # noqa: F401  (authors enters its twins)

    if name not in vision.TWINS:
        pytest.skip(f"{video.__doc__.splitlines()[2]}: {name} is compared with it")
    row = compare.compare(name, vision.TWINS[name])
    assert row["apart"] <= compare.TOLERANCE
    assert not row["lost"]
