"""The ImageNet recipe on real pictures: what it learns from, that each refinement takes part,
and going on after a stop.
"""

import numpy as np
import pytest

from core import nd
from scripts.common.pictures import mixup, shares
from scripts.image_classification import train_imagenet

SMALL = "--model mobilenet0.25 --input-size 32 --samples 16 --batch-size 8 --num-epochs 2 --lr-decay-epoch 9".split()
TRICKS = "--mixup --label-smoothing --mixup-off-epoch 1 --no-wd --lr-mode cosine --warmup-epochs 1 --save-frequency 1".split()


@pytest.fixture
def folder(data):
    return ["--data-dir", data / "imagenet_samples"]


def test_refinements_and_a_resumption(programs, folder, tmp_path):
    whole = programs(train_imagenet.main, *folder, *SMALL, *TRICKS, into="whole")
    assert set(whole) == {"top1", "top5"} and (tmp_path / "whole" / "checkpoints" / "imagenet-0002.params").exists()
    programs.interrupted(train_imagenet.main, *folder, *SMALL, *TRICKS, rows=1, into="twice")
    assert programs(train_imagenet.main, *folder, *SMALL, *TRICKS, "--resume", into="twice") == whole
    assert programs.record("twice") == programs.record("whole")


def test_a_student_learns_what_its_teacher_says(programs, folder, weights):
    teacher = "--teacher mobilenetv2_1.0 --hard-weight 0 --temperature 2 --num-epochs 4 --lr 0.2".split()
    given = [*teacher, "--teacher-params", weights / "mobilenetv2_1.0_coral.params"]
    programs(train_imagenet.main, *folder, *SMALL, *given)
    losses = [row["loss"] for row in programs.record()["epochs"]]
    assert losses[-1] < losses[0]


def test_tests_between_epochs(programs, folder):
    programs(train_imagenet.main, *folder, *SMALL, "--eval-frequency", "0", "--data-nthreads", "0")
    assert ["top1" in row for row in programs.record()["epochs"]] == [False, True]


def test_labels_as_shares():
    label = nd.array([0, 2])
    assert shares(label, 4, 0.1).asnumpy() == pytest.approx(np.eye(4)[[0, 2]] * 0.9 + 0.1 / 4)
    np.random.seed(0)
    ((data, mixed),) = mixup([(nd.array([[1.0], [3.0]]), label)], 0.2, 4)
    assert mixed.asnumpy().sum(axis=1) == pytest.approx(1)
    assert data.asnumpy()[:, 0] == pytest.approx(mixed.asnumpy()[:, [0, 2]] @ [1, 3])
