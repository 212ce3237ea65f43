"""What GluonCV's own scripts and tutorials ask of it."""

import importlib
import warnings

import pytest

import core as mx
from gluoncv import auto
from gluoncv.model_zoo import get_model


@pytest.mark.parametrize("name", ["simple_pose_resnet18_v1b", "mobile_pose_mobilenet1.0"])
def test_pose_networks_take_the_context_of_their_base(name):
    net = get_model(name, num_joints=5, pretrained_base=False, pretrained_ctx=mx.cpu(1), pretrained=False)
    net.initialize(ctx=mx.cpu(1))
    assert net(mx.nd.zeros((1, 3, 64, 64), mx.cpu(1))).shape == (1, 5, 16, 16)


def test_trackers_are_initialized_when_they_are_made(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net = get_model("siamrpn_alexnet_v2_otb15")
        net.template(mx.nd.ones((1, 3, 127, 127)))
        assert net.track(mx.nd.ones((1, 3, 287, 287)))["loc"].shape == (1, 20, 21, 21)
        net.save_parameters(str(tmp_path / "weights.params"))
        for options in ({}, {"pretrained": str(tmp_path / "weights.params")}):
            there = get_model("siamrpn_alexnet_v2_otb15", ctx=mx.cpu(1), **options)
            assert {tuple(p.list_ctx()) for p in there.collect_params().values()} == {(mx.cpu(1),)}


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("kitti", "KITTIDataset KITTIDepthDataset MonoDataset dict_batchify_fn generate_depth_map readlines sub2ind"),
        ("otb", "OTBVideo Video"),
        ("tracking_data", "AnchorTarget SubDataset"),
    ],
)
def test_packages_of_data_sets_have_the_names_of_their_modules(module, names):
    found = importlib.import_module(f"gluoncv.data.{module}")
    assert all(callable(getattr(found, name)) for name in names.split())


def test_tasks_and_estimators_know_their_data_sets():
    for made in (auto.ImageClassification, auto.ImageClassificationEstimator):
        assert made.Dataset is auto.ImageClassificationDataset
    for made in (auto.ObjectDetection, auto.SSDEstimator, auto.FasterRCNNEstimator):
        assert made.Dataset is auto.ObjectDetectionDataset
