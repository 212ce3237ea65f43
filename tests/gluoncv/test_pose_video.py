"""Persons, videos and tracked boxes: what goes through a transform and back;
the draws were compared with the original's.
"""

import random

import numpy as np
import pytest

import core as mx
from gluoncv.data.transforms import block, pose, track, video
from gluoncv.data.transforms.presets import alpha_pose, center_net, simple_pose

PAIRS = [[k, k + 1] for k in range(1, 17, 2)]


@pytest.fixture(autouse=True)
def seeded():
    random.seed(0)
    np.random.seed(0)


def picture(height=100, width=120):
    y, x = np.mgrid[:height, :width]
    return mx.nd.array(np.stack([x, y, (x + y) / 2], -1), dtype="uint8")


def joints(seed=0):
    found = np.zeros((17, 3, 2), "float32")
    found[:, :2, 0] = np.random.RandomState(seed).uniform((15, 25), (55, 75), (17, 2))
    found[:, :2, 1] = 1
    return found


def test_affine_maps_and_their_inverse():
    center, scale = np.array([50.0, 40]), np.array([80.0, 60])
    there = pose.get_affine_transform(center, scale, 30, (64, 48))
    back = pose.get_affine_transform(center, scale, 30, (64, 48), inv=1)
    for point in ([0, 0], [50, 40], [7, 90]):
        np.testing.assert_allclose(pose.affine_transform(pose.affine_transform(point, there), back), point, atol=1e-4)
    np.testing.assert_allclose(pose.affine_transform(center, there), [32, 24], atol=1e-5)
    # The picture holds its own places: after the map, each pixel says where it came from.
    out = pose.crop(picture().asnumpy(), center, scale, (64, 48), rot=30)
    np.testing.assert_allclose(out[24, 32, :2], center, atol=1)
    np.testing.assert_allclose(out[10, 40, :2], pose.affine_transform([40, 10], back), atol=1)


def test_joints_come_back_from_their_heat_maps():
    truth = joints()
    label = {"bbox": (10.0, 20.0, 60.0, 80.0), "joints_3d": truth}
    transform = simple_pose.SimplePoseDefaultTrainTransform(
        17, PAIRS, (128, 96), (32, 24), random_flip=False, scale_factor=0, rotation_factor=0
    )
    x, target, weight, name = transform(picture(), label, "name")
    assert x.shape == (3, 128, 96) and target.shape == (17, 32, 24) and weight.shape == (17, 1, 1) and name == "name"
    value, scale, center, score, _ = simple_pose.SimplePoseDefaultValTransform(17, PAIRS, (128, 96))(
        picture(), label, ""
    )
    np.testing.assert_allclose(value.asnumpy(), x.asnumpy())
    found, peaks = pose.get_final_preds(mx.nd.array(target[None]), center[None], scale[None])
    assert np.abs(found[0].asnumpy() - truth[:, :2, 0]).max() < scale[1] / 32 * 1.1 and (peaks > 0.9).asnumpy().all()


def test_persons_of_a_detector():
    classes, scores = mx.nd.array([[[0], [1], [0]]]), mx.nd.array([[[0.9], [0.9], [0.2]]])
    boxes = mx.nd.array([[[10, 20, 60, 80], [0, 0, 9, 9], [0, 0, 9, 9]]])
    inputs, grown = pose.detector_to_simple_pose(picture(), classes, scores, boxes, (64, 48))
    assert inputs.shape == (1, 3, 64, 48) and grown == [[3.75, 12.5, 66.25, 87.5]]
    inputs, grown = pose.detector_to_alpha_pose(picture(), classes, scores, boxes, (64, 48))
    assert inputs.shape == (1, 3, 64, 48) and grown.tolist() == [[2, 11, 67, 89]]
    heat = mx.nd.zeros((1, 2, 16, 12))
    heat[0, :, 8, 6] = 1
    for decode in (pose.heatmap_to_coord, pose.heatmap_to_coord_alpha_pose):
        place = decode(heat, np.array([[2.0, 11, 67, 89]]))[0][0, 0].asnumpy()
        np.testing.assert_allclose(place, [34.5, 50], atol=4)
    assert pose.detector_to_simple_pose(picture(), classes, scores * 0, boxes) == (None, [])
    assert pose.detector_to_alpha_pose(picture(), classes, scores * 0, boxes) == (None, None)


def test_mirrored_joints_and_heat_maps_agree():
    flipped = pose.flip_joints_3d(joints(), 120, PAIRS)
    assert flipped[1, 0, 0] == 119 - joints()[2, 0, 0]
    np.testing.assert_allclose(pose.flip_joints_3d(flipped, 120, PAIRS), joints(), rtol=1e-6)
    heat = np.random.RandomState(0).rand(2, 17, 5, 4)
    assert (pose.flip_heatmap(heat, PAIRS)[:, 1] == heat[:, 2, :, ::-1]).all()
    assert (alpha_pose.flip_heatmap(heat[0], PAIRS) == pose.flip_heatmap(heat, PAIRS)[0]).all()


@pytest.mark.parametrize("options", [{}, {"random_sample": True, "random_crop": True}])
def test_alpha_pose_samples(options):
    transform = alpha_pose.AlphaPoseDefaultTrainTransform(17, PAIRS, (64, 48), (16, 12), **options)
    label = {"bbox": (10.0, 20.0, 60.0, 80.0), "joints_3d": joints()}
    for _ in range(4):
        x, target, weight, _ = transform(picture(), label, 3)
        assert x.shape == (3, 64, 48) and target.shape == (17, 16, 12) and target.min() >= 0 and target.max() <= 1
    x, box, score, number = alpha_pose.AlphaPoseDefaultValTransform(17, PAIRS, (64, 48))(picture(), label, 3)
    assert x.shape == (3, 64, 48) and box.shape == (1, 4) and (score, number) == (1, 3)


def test_center_net_samples():
    boxes = np.array([[10, 20, 60, 80, 1], [30, 5, 90, 70, 3.0]])
    x, heat, sizes, mask, offsets, _ = center_net.CenterNetDefaultTrainTransform(64, 64, 5)(picture(), boxes)
    assert (
        x.shape == (3, 64, 64)
        and heat.shape == (5, 16, 16)
        and sizes.shape == mask.shape == offsets.shape == (2, 16, 16)
    )
    x, resized = center_net.CenterNetDefaultValTransform(60, 60)(picture(), boxes)
    np.testing.assert_allclose(resized[0], [5, 15, 30, 45, 1], atol=1e-4)  # a square around 120 x 100, halved
    back = center_net.get_post_transform(120, 100, 60, 60)
    np.testing.assert_allclose(pose.affine_transform(resized[0, :2], back), [10, 20], atol=1e-3)


def test_videos():
    clip = [picture(48, 64).asnumpy() for _ in range(3)]
    mean, std, ratios = [0.4, 0.5, 0.6], [0.1, 0.2, 0.3], [1.0, 0.875, 0.75, 0.66]
    for transform in (
        video.VideoGroupTrainTransform((20, 24), ratios, mean, std),
        video.VideoGroupTrainTransformV2((20, 24), 40, ratios, mean, std, fix_crop=False),
        video.VideoGroupTrainTransformV3((20, 24), 30, 40, mean, std),
        video.VideoGroupTrainTransformV4((20, 24), mean, std),
        video.VideoGroupValTransform((20, 24), mean, std),
        video.VideoGroupValTransformV2((20, 24), 30, mean, std),
    ):
        frames = transform(clip)
        # The same part of all frames, and it is a part of the picture: red grows to one side, green downwards.
        assert len(frames) == 3 and frames[0].shape == (3, 20, 24) and (frames[0] == frames[2]).all()
        assert (np.diff(frames[0][1], axis=0) >= 0).all()
    assert [f.shape for f in video.ShortSideRescale(24)(clip)] == [(24, 32, 3)] * 3
    assert len(video.VideoThreeCrop((48, 30))(clip)) == 9 and len(video.VideoTenCrop((20, 30))(clip)) == 30
    assert video.VideoCenterCrop((20, 30))(clip)[0][0, 0].tolist() == [17, 14, 15]
    with pytest.raises(ValueError, match="do not fit"):
        video.VideoTenCrop(100)(clip)


def test_a_moved_target_is_where_its_box_is():
    image = np.zeros((200, 200, 3), "uint8")
    image[60:120, 50:130] = 255
    for _ in range(5):
        augment = track.SiamRPNaugmentation(shift=20, scale=0.1, blur=0, flip=0.5, color=0)
        crop, box = augment(image, track.Corner(50.0, 60.0, 130.0, 120.0), 127)
        rows, columns = (np.flatnonzero(crop[..., 0].max(axis=k) > 127) for k in (1, 0))
        np.testing.assert_allclose(box, [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], atol=2)
    center = track.corner2center(track.Corner(1, 2, 5, 8))
    assert center == (3, 5, 4, 6) and track.center2corner(center) == (1, 2, 5, 8)


def test_blocks():
    assert block.RandomCrop(32)(picture()).shape == (32, 32, 3) and block.RandomCrop(130, 20)(picture()).shape == (
        130,
        130,
        3,
    )
    erased = block.RandomErasing(probability=1.0, mean=(200, 201, 202))(picture())
    share = (erased.asnumpy() == [200, 201, 202]).all(-1).mean()
    assert 0.01 < share < 0.45
    with pytest.raises(TypeError, match="probability is a float"):
        block.RandomErasing(probability=1)


def test_frames_are_normalised_by_channel():
    frames = [np.arange(12.0).reshape(3, 2, 2)]
    (found,) = video.VideoNormalize([1, 2, 3], [1, 2, 4])(frames)
    expected = (frames[0] - np.array([1, 2, 3])[:, None, None]) / np.array([1, 2, 4])[:, None, None]
    np.testing.assert_allclose(found, expected)
