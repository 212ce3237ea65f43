"""Recognisers of actions learn to tell camera moves over two real pictures apart; features and classes are written."""

import numpy as np
import pytest

from scripts.action_recognition import feat_extract, inference, test_recognizer, train_recognizer

SIZE = "--input-size 32 --new-height 32 --new-width 40".split()
TWO = ["--model", "resnet18_v1b_custom", "--num-classes", "2", "--num-segments", "2", *SIZE]


@pytest.fixture
def listed(data, tmp_path):
    """Folders of frames: a window that wanders over a picture, four videos of six frames, and their list."""
    from PIL import Image

    lines = []
    for k, name in enumerate(["giraffe.jpg", "venice-boat.jpg"] * 2):
        picture = Image.open(data / "demo" / name).convert("RGB").resize((96, 96))
        (tmp_path / f"video{k}").mkdir()
        for t in range(6):
            left, top = 2 * t + 8 * (k // 2), 4 * t
            picture.crop((left, top, left + 64, top + 64)).save(tmp_path / f"video{k}" / f"img_{t + 1:05d}.jpg")
        lines.append(f"video{k} 6 {k % 2}\n")
    (tmp_path / "videos.txt").write_text("".join(lines))
    return tmp_path / "videos.txt"


def test_training_resuming_and_test(programs, listed, tmp_path):
    folder = ["--dataset", "custom", "--data-dir", tmp_path, "--val-list", listed]
    training = "--batch-size 4 --num-epochs 3 --lr 0.02 --clip-grad 40 --no-wd --save-frequency 3".split()
    program = [train_recognizer.main, *TWO, *folder, *training, "--train-list", listed, "--test-untrained"]
    whole = programs(*program, into="whole")
    record = programs.record("whole")
    assert record["epochs"][-1]["loss"] < record["epochs"][0]["loss"] and record["untrained"]["top5"] == 1
    programs.interrupted(*program, rows=2, into="twice")
    assert programs(*program, "--resume", into="twice") == whole
    assert programs.record("twice") == record
    (saved,) = (tmp_path / "whole").rglob("recognizer-0003.params")
    tested = test_recognizer.main(
        [*TWO, *map(str, folder), "--resume-params", str(saved), "--three-crop", "--use-softmax"]
    )
    assert 0 <= tested["top1"] <= tested["top5"] == 1
    given = ["--data-list", str(listed), "--data-dir", str(tmp_path), "--resume-params", str(saved)]
    classes = inference.main([*TWO, *given, "--save-logits", "--save-preds", "--save-dir", str(tmp_path / "out")])
    logits = np.load(tmp_path / "out" / "resnet18_v1b_custom_video3_logits.npy")
    assert len(classes) == 4 and logits.argmax() == classes[3]
    said = (tmp_path / "out" / "predictions.log").read_text().splitlines()
    assert said[3] == f"video3: class {classes[3]}" and len(said) == 4


def test_gradients_of_several_batches_make_a_step(programs, listed, tmp_path):
    folder = ["--dataset", "custom", "--data-dir", tmp_path, "--val-list", listed, "--train-list", listed]
    training = "--batch-size 2 --accumulate 2 --num-epochs 2 --lr 0.02 --train-only --label-smoothing".split()
    programs(train_recognizer.main, *TWO, *folder, *training)
    first, second = programs.record()["epochs"]
    assert second["loss"] < first["loss"]


def test_features_of_clips(listed, tmp_path):
    given = "--model i3d_resnet50_v1_custom --num-classes 2 --new-length 8 --input-size 32 --new-height 32 --new-width 40".split()
    (tmp_path / "one.txt").write_text(listed.read_text().splitlines()[0])
    (file,) = feat_extract.main(
        [
            *given,
            "--data-list",
            str(tmp_path / "one.txt"),
            "--data-dir",
            str(tmp_path),
            "--save-dir",
            str(tmp_path / "out"),
        ]
    )
    assert np.load(file).shape == (2048,)
