"""Inputs of networks for poses, videos and depth, beside the data sets and programs of GluonCV that make them."""

import numpy as np
import pytest

from core import nd
from core.base import MXNetError
from core.image import imresize
from gluoncv.data import VideoClsCustom
from gluoncv.data.transforms import for_model, video
from gluoncv.data.transforms.pose import detector_to_alpha_pose, detector_to_simple_pose
from gluoncv.model_zoo import get_model, list_models
from gluoncv.model_zoo.cards import preprocessing_of

# Of the programs that trained them: --new-length, --new-step, --new-width, --new-height, --input-size,
# --fast-temporal-stride, --slow-temporal-stride
PUBLISHED = {
    "c3d_kinetics400": (16, 2, 171, 128, 112, 0, 0),
    "i3d_inceptionv1_kinetics400": (32, 2, 340, 256, 224, 0, 0),
    "i3d_inceptionv3_kinetics400": (32, 2, 450, 340, 299, 0, 0),
    "i3d_nl10_resnet101_v1_kinetics400": (32, 2, 340, 256, 224, 0, 0),
    "i3d_resnet50_v1_sthsthv2": (16, 2, 340, 256, 224, 0, 0),
    "i3d_resnet50_v1_ucf101": (32, 2, 340, 256, 224, 0, 0),
    "inceptionv3_kinetics400": (1, 1, 450, 340, 299, 0, 0),
    "p3d_resnet101_kinetics400": (16, 2, 340, 256, 224, 0, 0),
    "r2plus1d_resnet34_kinetics400": (16, 2, 171, 128, 112, 0, 0),
    "resnet152_v1b_kinetics400": (1, 1, 340, 256, 224, 0, 0),
    "slowfast_4x16_resnet50_kinetics400": (64, 1, 340, 256, 224, 2, 16),
    "slowfast_8x8_resnet101_kinetics400": (64, 1, 340, 256, 224, 2, 8),
    "vgg16_ucf101": (1, 1, 340, 256, 224, 0, 0),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_frames_are_chosen_as_by_the_published_commands(name):
    p = preprocessing_of(name)
    assert (p.length, p.step, p.width, p.height, p.size, p.fast, p.slow) == PUBLISHED[name]


@pytest.fixture(scope="module")
def frames():
    numbers = np.random.RandomState(0)
    return [np.full((60, 90, 3), k, "uint8") + numbers.randint(0, 40, (60, 90, 3), dtype="uint8") for k in range(80)]


@pytest.mark.parametrize("name", ["c3d_kinetics400", "slowfast_4x16_resnet50_kinetics400", "resnet50_v1b_kinetics400"])
def test_frames_become_what_the_data_set_gives(frames, tmp_path, name):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    (tmp_path / "clip").mkdir()
    for k, frame in enumerate(frames, 1):
        image.fromarray(frame).save(tmp_path / "clip" / f"{k}.png")
    (tmp_path / "list.txt").write_text(f"clip {len(frames)} 0\n")
    length, step, width, height, size, fast, slow = PUBLISHED.get(name, (1, 1, 340, 256, 224, 0, 0))
    slowfast = {"slowfast": True, "fast_temporal_stride": fast, "slow_temporal_stride": slow} if fast else {}
    data = VideoClsCustom(
        str(tmp_path), str(tmp_path / "list.txt"), train=False, test_mode=True, name_pattern="%d.png", new_length=length,
        new_step=step, new_width=width, new_height=height, target_width=size, target_height=size, num_segments=2,
        transform=video.VideoGroupValTransform(size, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), **slowfast,
    )  # fmt: skip
    net = get_model(name, pretrained_base=False, num_segments=2)
    want = data[0][0].asnumpy()
    np.testing.assert_array_equal(net.preprocess(frames).asnumpy(), want)
    np.testing.assert_array_equal(net.preprocess([nd.array(f, dtype="uint8") for f in frames]).asnumpy(), want)
    assert want.shape == {1: (2, 3, size, size), 16: (2, 3, 16, size, size), 64: (2, 3, 36, size, size)}[length]
    with pytest.raises(MXNetError, match="not described by one picture"):
        for_model(net)


def test_a_video_file_becomes_the_same_as_its_frames(data):
    pytest.importorskip("av", reason="PyAV is not installed")
    from gluoncv.data.video_custom.reader import VideoReader

    file = data / "demo" / "Woman.mp4"
    with VideoReader(str(file)) as reader:
        every = list(reader)
    prepared = preprocessing_of("i3d_resnet50_v1_kinetics400")
    got = prepared(file)
    assert got.shape == (1, 3, 32, 224, 224)
    np.testing.assert_array_equal(got.asnumpy(), prepared(every).asnumpy())


@pytest.mark.parametrize(
    ("name", "detected"),
    [("simple_pose_resnet18_v1b", detector_to_simple_pose), ("mobile_pose_resnet18_v1b", detector_to_simple_pose),
     ("alpha_pose_resnet101_v1b_coco", detector_to_alpha_pose)],
)  # fmt: skip
def test_persons_are_cut_out_as_behind_a_detector(name, detected):
    picture = np.random.RandomState(0).randint(0, 256, (200, 300, 3)).astype("uint8")
    boxes = nd.array([[[20, 30, 120, 180], [150, 10, 240, 190]]])
    want, _ = detected(picture, nd.zeros((1, 2, 1)), nd.ones((1, 2, 1)), boxes)
    net = get_model(name, pretrained_base=False)
    np.testing.assert_array_equal(net.preprocess(picture, boxes[0]).asnumpy(), want.asnumpy())
    assert net.preprocess(picture).shape == (1, 3, 256, 192)
    with pytest.raises(MXNetError, match=r"\(persons, 4\), got \(4,\)"):
        net.preprocess(picture, [1, 2, 3, 4])


def test_depth():
    picture = np.random.RandomState(0).randint(0, 256, (100, 300, 3)).astype("uint8")
    got = get_model("monodepth2_resnet18_kitti_mono_640x192", pretrained_base=False).preprocess(picture).asnumpy()
    small = imresize(nd.array(picture, dtype="uint8"), 640, 192).asnumpy()
    np.testing.assert_allclose(got[0], small.transpose(2, 0, 1) / 255, atol=1e-6)
    both = preprocessing_of("monodepth2_resnet18_posenet_kitti_mono_640x192")(picture, picture[:, ::-1])
    assert both.shape == (1, 6, 192, 640)
    np.testing.assert_array_equal(both[:, :3].asnumpy(), got)
    with pytest.raises(MXNetError, match="made of 2 pictures, got 1"):
        preprocessing_of("monodepth2_resnet18_posenet_kitti_mono_640x192")(picture)


def test_every_network_says_how_inputs_are_made():
    assert [name for name in list_models() if preprocessing_of(name) is None] == list_models(task="tracking")
