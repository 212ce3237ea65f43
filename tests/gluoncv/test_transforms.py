"""Boxes, masks and pictures move together; learning rates follow their formulas; presets give what networks take."""

import math
import random

import numpy as np
import pytest

import core as mx
from gluoncv.data.transforms import bbox, experimental, image, mask
from gluoncv.data.transforms.presets import imagenet, rcnn, ssd, yolo
from gluoncv.utils import LRScheduler, LRSequential, TrainingHistory, export_block, viz

BOXES = np.array([[10.0, 20.0, 40.0, 60.0, 3.0], [0.0, 0.0, 99.0, 79.0, 1.0]])


@pytest.fixture(autouse=True)
def seeded():
    random.seed(0)
    np.random.seed(0)


def picture(height=80, width=100):
    y, x = np.mgrid[:height, :width]
    return mx.nd.array(np.stack([x, y, (x + y) / 2], -1), dtype="uint8")


def test_boxes_in_changed_pictures():
    cropped = bbox.crop(BOXES, (20, 10, 50, 40))
    assert cropped.tolist() == [[0, 10, 20, 40, 3], [0, 0, 50, 40, 1]]
    assert bbox.crop(BOXES, (30, 30, 60, 60), allow_outside_center=False).tolist() == [[0, 0, 60, 49, 1]]
    assert bbox.crop(BOXES, (None,) * 4).tolist() == BOXES.tolist()
    assert bbox.flip(BOXES, (100, 80), flip_x=True)[0].tolist() == [60, 20, 90, 60, 3]
    assert bbox.flip(bbox.flip(BOXES, (100, 80), True, True), (100, 80), True, True).tolist() == BOXES.tolist()
    assert bbox.resize(BOXES, (100, 80), (50, 160))[0].tolist() == [5, 40, 20, 120, 3]
    assert bbox.translate(BOXES, 5, -5)[0].tolist() == [15, 15, 45, 55, 3]
    with pytest.raises(ValueError, match="out_size is"):
        bbox.resize(BOXES, (100, 80), (50,))
    with pytest.raises(ValueError, match="left, top, width, height"):
        bbox.crop(BOXES, (1, 2))


def test_a_mirrored_picture_and_its_boxes_show_the_same():
    src = picture()
    left, top, right, bottom = BOXES[0, :4].astype(int)
    for px, py in ((1, 0), (0, 1), (1, 1)):
        out, (flipped_x, flipped_y) = image.random_flip(src, px, py)
        assert (flipped_x, flipped_y) == (bool(px), bool(py))
        a, b, c, d = bbox.flip(BOXES, (100, 80), flipped_x, flipped_y)[0, :4].astype(int)
        inside = out[b:d, a:c].asnumpy()[:: -1 if py else 1, :: -1 if px else 1]
        assert (inside == src[top:bottom, left:right].asnumpy()).all()


def test_sizes():
    src = picture()
    assert image.resize_short_within(src, 40, 1000).shape == (40, 50, 3)
    assert image.resize_short_within(src, 160, 100).shape == (80, 100, 3)
    assert image.resize_short_within(src, 60, 1000, mult_base=32).shape == (64, 64, 3)
    assert image.resize_long(src, 50).shape == (40, 50, 3)
    out, place = image.resize_contain(src, (60, 60), fill=7)
    assert place == (0, 6, 60, 48) and (out[:6].asnumpy() == 7).all() and out.shape == (60, 60, 3)
    out, _ = image.resize_contain(src, (60, 60), fill=(1, 2, 3))
    assert out[0, 0].asnumpy().tolist() == [1, 2, 3] and out.dtype == np.float32  # as in GluonCV 0.10
    out, (x, y, w, h) = image.random_expand(src, fill=(1, 2, 3))
    assert (out[y : y + 80, x : x + 100].asnumpy() == src.asnumpy()).all() and out.shape == (h, w, 3)
    crops = image.ten_crop(src, (30, 20))
    assert crops.shape == (10, 20, 30, 3) and (crops[5].asnumpy() == crops[0].asnumpy()[:, ::-1]).all()
    with pytest.raises(ValueError, match="do not fit"):
        image.ten_crop(src, (300, 20))


def test_arrays_of_either_face():
    src = mx.np.array(picture().asnumpy(), dtype="uint8")
    for change in (
        lambda x: image.random_expand(x, fill=3)[0],
        lambda x: image.random_flip(x, 1, 1)[0],
        lambda x: image.resize_contain(x, (60, 60))[0],
        lambda x: image.ten_crop(x, (30, 20)),
        lambda x: image.random_pca_lighting(x.astype("float32"), 0.1),
        experimental.image.random_color_distort,
    ):
        results = []
        for x in (src, src.as_nd_ndarray()):
            random.seed(1)
            np.random.seed(1)
            results.append(change(x))
            assert isinstance(results[-1], type(x))
        assert (results[0].asnumpy() == results[1].asnumpy()).all()


def test_random_crops_keep_what_they_promise():
    for _ in range(50):
        kept, (x, y, w, h) = experimental.bbox.random_crop_with_constraints(BOXES, (100, 80))
        assert len(kept) and x >= 0 and y >= 0 and x + w <= 100 and y + h <= 80
        assert (kept[:, :4] >= 0).all() and (kept[:, [0, 2]] <= w).all() and (kept[:, [1, 3]] <= h).all()
    distorted = experimental.image.random_color_distort(picture())
    assert distorted.shape == (80, 100, 3) and distorted.dtype == np.float32
    still = experimental.image.random_color_distort(picture(), 0, 1, 1, 1, 1, 0)
    assert np.abs(still.asnumpy() - picture().asnumpy()).max() < 1.5  # the YIQ matrices are rounded


def test_polygons_and_masks():
    square = [np.array([10, 20, 40, 20, 40, 60, 10, 60])]
    assert mask.flip(square, (100, 80), flip_x=True)[0].tolist() == [90, 20, 60, 20, 60, 60, 90, 60]
    assert mask.resize(square, (100, 80), (50, 160))[0][:4].tolist() == [5, 40, 20, 40]
    pytest.importorskip("pycocotools")
    bits = mask.to_mask(square, (100, 80))
    assert bits.shape == (80, 100) and bits.sum() == 30 * 40 and bits[20:60, 10:40].all()
    full = mask.fill(np.ones((1, 14, 14)), BOXES[:1, :4], (100, 80))[0]
    assert abs(int(full.sum()) - 31 * 41) < 150 and full[25:55, 15:35].all() and not full[:, 50:].any()


def test_learning_rates():
    for mode, formula in {
        "linear": lambda t: 1 - t,
        "cosine": lambda t: (1 + math.cos(math.pi * t)) / 2,
        "poly": lambda t: (1 - t) ** 2,
        "constant": lambda t: 1,
    }.items():
        schedule = LRScheduler(mode, base_lr=0.5, target_lr=0.5 if mode == "constant" else 0.1, niters=11)
        for update in range(11):
            want = 0.5 if mode == "constant" else 0.1 + 0.4 * formula(update / 10)
            assert schedule(update) == pytest.approx(want)
    step = LRScheduler("step", base_lr=1.0, nepochs=4, iters_per_epoch=10, step_epoch=[1, 3], step_factor=0.1)
    assert [step(u) for u in (0, 9, 10, 29, 30, 99)] == pytest.approx([1, 1, 0.1, 0.1, 0.01, 0.01])
    both = LRSequential([LRScheduler("linear", 0, 1.0, niters=5), LRScheduler("cosine", 1.0, 0, niters=10)])
    assert [both(u) for u in (0, 4, 5, 14, 50)] == pytest.approx([0, 1, 1, 0, 0])
    assert LRScheduler("step", nepochs=4, iters_per_epoch=5, step_iter=[1], step_epoch=[2])(9) == 0.1
    assert LRScheduler("linear", base_lr=1, target_lr=2, niters=9, baselr=0, targetlr=1)(0) == 1
    with pytest.raises(ValueError, match="mode is one of"):
        LRScheduler("exp")


def test_presets_give_inputs_and_boxes():
    src = picture()
    for preset in (ssd, yolo, rcnn):
        x, shown = preset.transform_test(src, short=64)
        assert x.shape[:2] == (1, 3) and shown.shape == (*x.shape[2:], 3) and shown.dtype == np.uint8
        normal = (shown / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        np.testing.assert_allclose(x[0].asnumpy().transpose(1, 2, 0), normal, atol=1e-4)
    x, boxes = ssd.SSDDefaultTrainTransform(64, 48)(src, BOXES)
    assert x.shape == (3, 48, 64) and boxes.shape[1] == 5 and (boxes[:, [0, 2]] <= 64).all()
    x, boxes = yolo.YOLO3DefaultValTransform(64, 48)(src, BOXES)
    np.testing.assert_allclose(boxes[0], [6.4, 12, 25.6, 36, 3], rtol=1e-6)
    x, boxes, scale = rcnn.FasterRCNNDefaultValTransform(40, 1000)(src, BOXES)
    assert x.shape == (3, 40, 50) and scale.asscalar() == 2 and boxes[0, 0] == 5
    assert imagenet.transform_eval(src, resize_short=40, crop_size=32).shape == (1, 3, 32, 32)
    with pytest.raises(TypeError, match="arrays"):
        imagenet.transform_eval(["file.jpg"])


def test_targets_come_with_the_picture():
    anchors = mx.nd.array([[[0.1, 0.25, 0.4, 0.75], [0.0, 0.0, 1.0, 1.0], [0.8, 0.8, 0.9, 0.9]]])
    x, classes, offsets = ssd.SSDDefaultTrainTransform(100, 80, anchors * mx.nd.array([100, 80, 100, 80]))(
        picture(), BOXES
    )
    assert x.shape == (3, 80, 100) and classes.shape == (3,) and offsets.shape == (3, 4)
    assert (classes.asnumpy() > 0).any()


def test_drawings(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    axes = viz.plot_bbox(
        picture(), BOXES[:, :4], scores=np.array([0.9, 0.2]), labels=np.array([0, 1]), class_names=["a", "b"]
    )
    assert len(axes.patches) == 1 and axes.texts[0].get_text() == "a 0.900"
    drawn = viz.cv_plot_bbox(picture(), BOXES[:, :4])
    assert drawn.shape == (80, 100, 3) and (drawn != picture().asnumpy()).any()
    boxes = np.array([[5, 20, 20, 40], [30, 20, 45, 40], [55, 20, 70, 40], [80, 20, 95, 40]])
    drawn = viz.cv_plot_bbox(picture(), boxes, labels=np.array([0, 7, 27, 7]))
    first, second, third, fourth = (tuple(drawn[40, x]) for x in (12, 37, 62, 87))
    assert first != second and second == third == fourth  # one of 20 colours for each class
    masks = np.zeros((1, 80, 100))
    masks[0, :40] = 1
    shaded = viz.plot_mask(picture(), masks)
    assert (shaded[40:] == picture().asnumpy()[40:]).all() and (shaded[:40] != picture().asnumpy()[:40]).any()
    palette = viz.get_color_pallete(np.array([[0, 1], [15, -1]]))
    assert palette.convert("RGB").getpixel((0, 1)) == (192, 128, 128) and palette.getpixel((1, 1)) == 255
    assert viz.get_color_pallete(np.array([[0, 18]]), "citys").convert("RGB").getpixel((0, 0)) == (128, 64, 128)
    joints, sure = np.full((1, 17, 2), 20.0), mx.nd.ones((1, 17, 1))
    joints[0, 1] = 60
    found = mx.nd.array([[[0], [1]]]), mx.nd.array(BOXES[None, :, :4]), mx.nd.array([[[0.9], [0.9]]])
    axes = viz.plot_keypoints(picture(), joints, sure, *found)
    assert len(axes.patches) == 1 and len(axes.lines) == 16
    drawn = viz.cv_plot_keypoints(picture(), joints, sure, *found, scale=2.0)
    assert drawn.shape == (160, 200, 3) and (drawn[80, 80] != drawn[78, 84]).any()
    order = viz.expand_mask(np.ones((2, 4, 4)), BOXES[:, :4], (100, 80), np.array([0.9, 0.2]), sortby="area")
    assert order[0].shape == (1, 80, 100) and order[1].tolist() == [1]
    assert (viz.cv_merge_two_images(drawn, drawn, size=(20, 30)).shape) == (20, 30, 3)
    assert viz.cv_plot_image(picture(), title_txt_list=["a"], title_txt_corner=(5, 20)).shape == (80, 100, 3)
    history = TrainingHistory(["training", "validation"])
    history.update([0.1, 0.2])
    history.update([0.05, 0.1])
    history.plot(save_path=tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 1000
    with pytest.raises(ValueError, match="2 values"):
        history.update([1])


def test_an_exported_network_prepares_its_input(tmp_path):
    from gluon import SymbolBlock, nn

    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.GlobalAvgPool2D(), nn.Dense(2))
    net.initialize()
    src = picture(32, 32)
    want = net(imagenet.transform_eval(src, 32, 32))
    export_block(str(tmp_path / "net"), net, data_shape=(32, 32, 3))
    loaded = SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    got = loaded(src.expand_dims(0).astype("float32"))
    np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-3, atol=1e-4)

    video = nn.Conv3D(2, 3, in_channels=3)
    video.initialize()
    export_block(str(tmp_path / "video"), video, (3, 4, 8, 8), layout="CTHW", preprocess=None)
    assert (tmp_path / "video-0000.params").exists()
    with pytest.raises(ValueError, match="layout is CHW or CTHW"):
        export_block(str(tmp_path / "video"), video, (4, 8, 8, 3), layout="THWC", preprocess=None)
    with pytest.raises(TypeError, match="HybridBlock"):
        export_block(str(tmp_path / "video"), video, preprocess=3)
