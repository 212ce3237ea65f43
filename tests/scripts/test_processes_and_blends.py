"""train_horovod.py and train_mixup_cifar10.py, on some real pictures."""

import math
import os
import shutil
import sys

import numpy as np
import pytest

import core as mx
from core import nd
from core.files import read_states
from core.optimizer.states import from_plain
from gluoncv.utils import LRSequential
from scripts import launch
from scripts.common.autoaugment import POLICIES, AutoAugment, apply
from scripts.image_classification import train_horovod, train_mixup_cifar10
from tests.support import ranks

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


def begin(rank, given, folder):
    train_horovod.main([*given, "--log-dir", folder, "--save-dir", f"{folder}/checkpoints"])


def test_one_process_goes_on_where_two_began(data, programs, monkeypatch):
    tiny = [*TINY[:-1], "4", "--keep", "4", "--no-cuda", "--warmup-epochs", "0", "--lr", "0.04"]
    given = ["--data-dir", str(data / "imagenet_samples"), *tiny]
    checkpoints = programs.folder / "run" / "checkpoints"
    assert ranks.run(2, begin, given, str(programs.folder / "run")) == [None, None]
    rates = {}

    def read(count, epoch):
        optimizer = mx.optimizer.create("nag")
        _, optimizer = from_plain(*read_states(str(checkpoints / f"epoch-{epoch:04d}" / "trainer.states")), optimizer)
        rates[count, epoch] = optimizer.num_update, optimizer.lr_scheduler.learning_rate

    monkeypatch.setattr("core.lr_scheduler.LRSequential", LRSequential, raising=False)
    for epoch in (2, 3):
        read(2, epoch)
        shutil.rmtree(checkpoints / f"epoch-{epoch:04d}")
    shutil.rmtree(checkpoints / "epoch-0004")
    programs(train_horovod.main, *given, "--resume")
    read(1, 2), read(1, 3)
    # 16 pictures, 4 in a batch: 2 updates an epoch with two processes, 4 with one. GluonCV's cosine ends one update early.
    assert {key: number for key, (number, _) in rates.items()} == {(2, 2): 4, (2, 3): 6, (1, 2): 8, (1, 3): 12}
    falls = {key: (1 + math.cos(math.pi * rates[key][0] / (16 // key[0] - 1))) / 2 for key in rates}
    assert {key: rate for key, (_, rate) in rates.items()} == pytest.approx({k: 0.04 * k[0] * falls[k] for k in rates})
    assert len(programs.record()["epochs"]) == 4 and programs.record()["arguments"]["lr"] == 0.04


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
