"""Flags that programs share: command lines for GluonCV are taken, or refused with what serves here."""

import argparse

import pytest

from core import nd
from gluoncv.model_zoo import get_model
from scripts.action_recognition import train_recognizer
from scripts.common.devices import add_refused_argument
from scripts.gan import train_cgan, train_srgan, train_wgan
from scripts.object_detection import train_faster_rcnn, train_ssd, train_yolo3
from scripts.pose_estimation import train_simple_pose, validate


@pytest.mark.parametrize(
    "program, flag", [(train_ssd, "--dali"), *((p, "--horovod") for p in (train_ssd, train_yolo3, train_faster_rcnn))]
)
def test_what_is_not_here_is_refused_with_what_serves(program, flag, capsys):
    with pytest.raises(SystemExit):
        program.parse_args([flag])
    assert f"{flag} is not here: " in capsys.readouterr().err
    assert not hasattr(program.parse_args([]), flag.strip("-"))


def test_refused_flags_leave_no_trace():
    parser = argparse.ArgumentParser()
    add_refused_argument(parser, "--horovod", "try --gpus")
    assert vars(parser.parse_args([])) == {}


def test_command_lines_of_gluoncv_for_films():
    given = """--model i3d_resnet50_v1_custom --use-amp --last-gamma --mixup --mixup-alpha 0.2 --teacher none --input-5d
        --prefetch-ratio 1.5 --hashtag 0123abcd --crop-ratio 0.8"""
    args = train_recognizer.parse_args(given.split())
    assert (args.dtype, args.prefetch_ratio, args.hashtag) == ("float16", 1.5, "0123abcd")
    assert train_recognizer.parse_args(["--model", "x"]).dtype == "float32"


def test_networks_for_poses_by_data_set_and_with_closed_branches():
    given = ["--model", "alpha_pose_resnet101_v1b", "--dataset", "coco"]
    for program in (train_simple_pose, validate):
        assert program.parse_args(given).model == "alpha_pose_resnet101_v1b_coco"
        assert program.parse_args([*given[:1], "simple_pose_resnet18_v1b"]).model == "simple_pose_resnet18_v1b"
    net = get_model("simple_pose_resnet18_v1b", pretrained_base=False)
    train_simple_pose.close_residual_branches(net)
    net.initialize()
    net(nd.zeros((1, 3, 32, 32)))
    scales = {
        name: p.data().asnumpy() for name, p in net._collect_params_with_prefix().items() if name.endswith("gamma")
    }
    closed = {name for name, scale in scales.items() if (scale == 0).all()}
    assert len(closed) == 8 and all(name.endswith("bn2.gamma") for name in closed)


def test_generative_networks_share_flags(tmp_path):
    for program, more, batch, beta in (
        (train_srgan, [], 16, 0.9),
        (train_cgan, [], 1, 0.5),
        (train_wgan, ["--dataset", "mnist"], 64, 0.5),
    ):
        args = program.parse_args(["--dataroot", str(tmp_path), *more])
        assert (args.batchSize, args.beta1, args.experiment.name, args.log_interval) == (batch, beta, "samples", 0)
