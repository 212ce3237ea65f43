"""train_horovod.py and train_mixup_cifar10.py, on some real pictures."""

import os
import sys

import numpy as np
import pytest

from core import nd
from scripts import launch
from scripts.common.autoaugment import POLICIES, AutoAugment, apply
from scripts.image_classification import train_horovod, train_mixup_cifar10

TINY = ["--model", "mobilenet0.25", "--input-size", "32", "--samples", "16", "--batch-size", "4", "--num-epochs", "1"]


def test_one_process_learns_with_policies(data, programs):
    given = ["--data-dir", data / "imagenet_samples", *TINY, "--no-cuda", "--auto_aug", "--mixup", "--label-smoothing"]
    found = programs(train_horovod.main, *given)
    assert 0 <= found["top1"] <= found["top5"] <= 1 and programs.record()["epochs"][0]["loss"] > 0


@pytest.mark.slow
def test_two_processes_share_pictures_and_tests(data, tmp_path):
    program = [os.path.join("scripts", "image_classification", "train_horovod.py"), "--data-dir"]
    given = [*program, str(data / "imagenet_samples"), *TINY, "--no-cuda", "--warmup-epochs", "0"]
    code = launch.main(["-n", "2", *given, "--log-dir", str(tmp_path), "--save-dir", str(tmp_path / "checkpoints")])
    assert code == 0, sys.stderr
    log = (tmp_path / "image_classification" / "horovod.log").read_text()
    assert "final: top1" in log


def test_numbers_of_processes_by_mpirun():
    environment = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}
    train_horovod.find_numbers(environment)
    assert (environment["RANK"], environment["LOCAL_RANK"], environment["WORLD_SIZE"]) == ("1", "1", "4")
    assert environment["MASTER_ADDR"] == "127.0.0.1"


def test_blends(data, programs):
    given = [
        "--data-dir",
        data / "cifar10",
        "--samples",
        32,
        "--batch-size",
        16,
        "--num-epochs",
        2,
        "--mixup-off-epoch",
        1,
    ]
    args = train_mixup_cifar10.parse_args(["--model", "cifar_resnet56_v1"])
    assert (args.mixup, args.mixup_off_epoch, args.run) == (True, 20, "cifar_resnet56_v1_mixup")
    programs(train_mixup_cifar10.main, *map(str, given), "--model", "cifar_resnet20_v1")
    rows = programs.record()["epochs"]
    # Accuracy is counted where pictures are not blended.
    assert ["train_accuracy" in row for row in rows] == [False, True]


def test_policies_change_pictures_and_keep_their_size(data):
    from PIL import Image

    picture = Image.open(data / "demo" / "dog.jpg").convert("RGB").resize((48, 32))
    operations = {operation for policy in POLICIES for operation, *_ in policy}
    for operation in operations - {"AutoContrast"}:  # which leaves a picture of full contrast as it is
        changed = apply(picture, operation, 9)
        assert changed.size == picture.size and np.any(np.asarray(changed) != np.asarray(picture)), operation
    inverted = np.asarray(apply(picture, "Invert", 0)).astype(int)
    assert (inverted + np.asarray(picture) == 255).all()
    assert AutoAugment()(nd.array(np.asarray(picture), dtype="uint8")).shape == (32, 48, 3)
    assert len(POLICIES) == 25
