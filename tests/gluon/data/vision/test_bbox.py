"""`gluon.contrib.data.vision`: transforms of a picture with its boxes, and the loader for detection (MXNet 2)."""

import random

import numpy as np
import pytest

import core as mx
from core.image import codec
from gluon.contrib.data import vision
from gluon.data.vision import transforms


def marked(height=20, width=30, box=(6, 4, 12, 10)):
    """A picture that is white in the box, and the box with a class behind it."""
    left, top, right, bottom = box
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[top:bottom, left:right] = 255
    return mx.nd.array(pixels, dtype="uint8"), mx.nd.array([[*box, 7.0]])


def assert_on_white(pixels, boxes, share=0.99):
    """The boxes enclose all that is white, and nothing else."""
    pixels, (box,) = pixels.asnumpy(), boxes.asnumpy().round().astype(int)
    left, top, right, bottom = box[:4]
    assert (pixels[top:bottom, left:right] == 255).mean() >= share
    assert (pixels == 255).sum() == (pixels[top:bottom, left:right] == 255).sum()
    assert box[4] == 7


def test_boxes_stay_on_what_they_mark():
    random.seed(3)
    np.random.seed(3)
    for transform in (
        vision.ImageBboxRandomFlipLeftRight(1),
        vision.ImageBboxRandomFlipLeftRight(0),
        vision.ImageBboxCrop((2, 3, 20, 12)),
        vision.ImageBboxRandomExpand(1, max_ratio=3, fill=(0, 1, 2), keep_ratio=False),
        vision.ImageBboxRandomCropWithConstraints(1, constraints=[(0.5, None)]),
        vision.ImageBboxResize(60, 40, 0),
    ):
        for _ in range(5):
            assert_on_white(*transform(*marked()))


def test_windows_drop_boxes_whose_centre_is_outside():
    image, boxes = marked()
    assert vision.ImageBboxCrop((10, 0, 15, 15))(image, boxes)[1].shape == (0, 5)
    kept = vision.ImageBboxCrop((10, 0, 15, 15), allow_outside_center=True)(image, boxes)[1]
    np.testing.assert_array_equal(kept.asnumpy(), [[0, 4, 2, 10, 7]])
    assert vision.ImageBboxCrop((10, 0, 25, 15))(image, boxes)[0] is image


def test_what_is_refused():
    image, boxes = marked()
    with pytest.raises(AssertionError, match="left, top, width, height"):
        vision.ImageBboxCrop((0, 0, 0, 4))
    with pytest.raises(AssertionError, match="4 or more"):
        vision.ImageBboxResize(4, 4)(image, boxes[:, :3])
    with pytest.raises(NotImplementedError, match="height, width, channels"):
        vision.ImageBboxResize(4, 4)(image[0], boxes)
    with pytest.raises(ValueError, match="holds no objects"):
        vision.BboxLabelTransform()(image, np.array([2, 5, 0, 0.1, 0.1, 0.2, 0.2, 9]))


def test_transforms_of_pictures_pass_boxes_on():
    image, boxes = marked()
    with mx.autograd.predict_mode():
        changed, same = transforms.Compose([transforms.ToTensor(), transforms.Cast("float16")])(image, boxes)
    assert changed.shape == (3, 20, 30) and changed.dtype == np.float16 and same is boxes


@pytest.mark.parametrize("faces", ["nd", "np"])
def test_loader_for_detection(tmp_path, faces):
    image, boxes = marked()
    (tmp_path / "a.png").write_bytes(codec.encode(image.asnumpy(), ".png", 1))
    shares = boxes.asnumpy()[0, :4] / [30, 20, 30, 20]
    items = [[2, 5, 7, *shares, "a.png"], [2, 5, 7, *shares, 3, *shares, "a.png"], [2, 5, 7, *shares, "a.png"]]
    with mx.util.np_shape(faces == "np"), mx.util.np_array(faces == "np"):
        loader = vision.ImageBboxDataLoader(2, (3, 40, 60), imglist=items, path_root=str(tmp_path), last_batch="keep")
        pictures, found = next(iter(loader))
        assert len(loader) == 2 and pictures.shape == (2, 3, 40, 60)
        assert type(found) is (mx.np.ndarray if faces == "np" else mx.nd.NDArray) and found.dtype == np.float32
        first, second = found.asnumpy()
        np.testing.assert_allclose(first, [[12, 8, 24, 20, 7], [-1] * 5], rtol=1e-5)
        np.testing.assert_allclose(second, [[12, 8, 24, 20, 7], [12, 8, 24, 20, 3]], rtol=1e-5)
        whole = vision.ImageBboxDataLoader(
            3, (3, 16, 16), imglist=items, path_root=str(tmp_path), rand_crop=1, rand_pad=1, rand_gray=0.1,
            rand_mirror=True, mean=True, std=[1.1, 1.03, 1.05], brightness=0.1, contrast=0.1, saturation=0.1,
            pca_noise=0.1, hue=0.1, inter_method=10, max_aspect_ratio=5, area_range=(0.1, 4.0),
        )  # fmt: skip
        assert [x.shape for x, _ in whole] == [(3, 3, 16, 16)]
