"""Depth is learned from a rendered video with laser points, judged, and drawn; its loss against what geometry says."""

import argparse

import numpy as np
import pytest
from PIL import Image

from core import nd
from gluoncv.model_zoo import get_model
from scripts.depth import demo, evaluation, test, train
from scripts.depth.reprojection import Reprojection

HEIGHT, WIDTH, FOCAL, WALL = 64, 64, 40.0, 8.0
DRIVE = "2011_09_26/drive_0001_sync"


@pytest.fixture
def kitti(tmp_path):
    """Four frames, of two cameras, of a wall of stripes 8 m ahead, with laser points of it."""
    rng = np.random.RandomState(0)
    stripes = np.repeat(rng.randint(0, 255, (HEIGHT, 40, 3)), 4, axis=1).astype("uint8")
    for frame in range(4):
        for camera in (2, 3):
            path = tmp_path / "data" / DRIVE / f"image_0{camera}" / "data" / f"{frame:010d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            left = 4 * frame + 3 * (camera - 2)
            Image.fromarray(stripes[:, left : left + WIDTH]).save(path)
        column, row = np.meshgrid(np.arange(1, WIDTH, 2), np.arange(1, HEIGHT, 2))
        points = np.stack(
            [np.full(row.shape, WALL), -(column - 32) * WALL / FOCAL, -(row - 32) * WALL / FOCAL, row * 0]
        )
        laser = tmp_path / "data" / DRIVE / "velodyne_points" / "data" / f"{frame:010d}.bin"
        laser.parent.mkdir(parents=True, exist_ok=True)
        laser.write_bytes(points.reshape(4, -1).T.astype("float32").tobytes())
    eye = "1 0 0 0 1 0 0 0 1"
    camera = f"{FOCAL} 0 32 0 0 {FOCAL} 32 0 0 0 1 0"
    folder = tmp_path / "data" / "2011_09_26"
    lines = [f"S_rect_02: {WIDTH} {HEIGHT}", f"R_rect_00: {eye}", f"P_rect_02: {camera}", f"P_rect_03: {camera}"]
    (folder / "calib_cam_to_cam.txt").write_text("\n".join(lines))
    (folder / "calib_velo_to_cam.txt").write_text("R: 0 -1 0 0 0 -1 1 0 0\nT: 0 0 0\n")
    for split, parts in (("eigen_zhou", ("train", "val")), ("eigen", ("test",))):
        for part in parts:
            path = tmp_path / "splits" / split / f"{part}_files.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{DRIVE} 1 l\n{DRIVE} 2 l\n")
    where = ["--data_path", tmp_path / "data", "--splits_dir", tmp_path / "splits", "--png"]
    return [*where, "--height", 64, "--width", 64, "--batch_size", 2, "--scales", 0, 1]


@pytest.mark.parametrize("further", [["--frame_ids", 0, -1, 1], ["--frame_ids", 0, "--use_stereo"]])
def test_training_resuming_and_judging(programs, kitti, tmp_path, further):
    program = [train.main, *kitti, *further, "--num_epochs", 2]
    whole = programs(*program, into="whole")
    record = programs.record("whole")
    assert len(record["epochs"]) == 2 and 0 <= whole["a1"] <= 1 and np.isfinite(whole["loss"])
    programs.interrupted(*program, rows=2, into="twice")
    assert programs(*program, "--resume", into="twice") == whole
    assert programs.record("twice") == record
    (saved,) = (tmp_path / "whole").rglob("monodepth2-0002.params")
    given = [*kitti, "--load_weights_folder", saved.parent, "--eval_model", saved.name, "--save_pred_disps"]
    both = test.main(
        [*map(str, given), "--post_process", "--eval_stereo" if "--use_stereo" in further else "--eval_mono"]
    )
    assert 0 <= both["a1"] <= 1
    found = test.main([*map(str, given), "--eval_stereo" if "--use_stereo" in further else "--eval_mono"])
    assert 0 <= found["a1"] <= 1
    disparities = np.load(saved.parent / "disps_eigen_split.npy")
    assert disparities.shape == (2, HEIGHT, WIDTH)
    # All of a wall at one depth: its median is the truth.
    np.save(tmp_path / "flat.npy", np.full((2, 8, 16), 0.5))
    flat = test.main([*map(str, kitti), "--eval_mono", "--ext_disp_to_eval", str(tmp_path / "flat.npy")])
    assert flat["abs_rel"] < 1e-6 and flat["a1"] == 1
    half = test.main([*map(str, kitti), "--eval_stereo", "--ext_disp_to_eval", str(tmp_path / "flat.npy")])
    assert half["abs_rel"] == pytest.approx(abs(2 * evaluation.STEREO_SCALE - WALL) / WALL, rel=1e-5)


def test_mirror_images_stand_in_at_the_left_and_count_half_in_the_middle():
    found = evaluation.joined(np.full((1, 2, 41), 3.0), np.full((1, 2, 41), 1.0))[0, 0]
    np.testing.assert_allclose(found[[0, 1, 2]], 1.0, atol=1e-5)
    np.testing.assert_allclose(found[4:-4], 2.0, atol=1e-5)
    np.testing.assert_allclose(found[[-3, -2, -1]], 3.0, atol=1e-5)


def test_the_loss_is_least_at_the_true_depth():
    """A picture moved by six pixels, seen by a camera that moved sideways, is explained by one depth."""
    rng = np.random.RandomState(1)
    wide = np.kron(rng.rand(1, 3, 32, 40), np.ones((1, 1, 1, 2))).astype("float32")
    args = argparse.Namespace(
        height=32, width=64, scales=[0], min_depth=0.1, max_depth=100.0, disparity_smoothness=0.0, v1_multiscale=False,
        avg_reprojection=False, disable_automasking=False, no_ssim=False,
    )  # fmt: skip
    matrix = np.eye(4, dtype="float32")[None]
    matrix[0, 0, 0], matrix[0, 1, 1], matrix[0, 0, 2], matrix[0, 1, 2] = 40, 40, 31.5, 15.5
    to_other = np.eye(4, dtype="float32")[None]
    to_other[0, 0, 3] = -0.6  # 40 * 0.6 / 4 m = 6 pixels
    inputs = {
        ("color", 0, 0): nd.array(wide[..., :64]), ("color", 1, 0): nd.array(wide[..., 6:70]), ("K", 0): nd.array(matrix),
        ("inv_K", 0): nd.array(np.linalg.inv(matrix)),
    }  # fmt: skip
    criterion = Reprojection(args, 1, nd.zeros(1).context)

    def loss(depth):
        disparity = (1 / depth - 1 / 100) / (1 / 0.1 - 1 / 100)
        return criterion(inputs, {0: nd.full((1, 1, 32, 64), disparity)}, {1: nd.array(to_other)}).asscalar()

    found = {depth: loss(depth) for depth in (2.0, 3.0, 4.0, 5.0, 8.0)}
    assert min(found, key=found.get) == 4.0 and found[4.0] < 0.5 * min(found[3.0], found[5.0])


def test_the_demo_draws(data, tmp_path):
    name = "monodepth2_resnet18_kitti_stereo_640x192"
    net = get_model(name, pretrained_base=False)
    net(nd.zeros((1, 3, 64, 64)))
    net.save_parameters(str(tmp_path / "net.params"))
    given = ["--images", str(data / "demo" / "street_small.jpg"), "--pretrained", str(tmp_path / "net.params")]
    (found,) = demo.main([*given, "--height", "64", "--width", "64", "--save-dir", str(tmp_path)])
    with Image.open(tmp_path / "street_small.png") as shown:
        assert shown.size == found.shape[::-1]
