"""Detectors: what their parts compute, against formulas in float64; classes that change; what they give in training."""

import numpy as np
import pytest

from core import autograd, nd, sym
from gluon import SymbolBlock, nn
from gluoncv import loss, model_zoo
from gluoncv.model_zoo.center_net import CenterNetTargetGenerator, bodies
from gluoncv.model_zoo.rcnn import FasterRCNN, RCNNTargetGenerator, RCNNTargetSampler
from gluoncv.model_zoo.rcnn.rpn import RPNTargetGenerator, generate_base_anchors
from gluoncv.model_zoo.ssd import SSDTargetGenerator, presets, vgg_atrous
from gluoncv.model_zoo.yolo import YOLOV3PrefetchTargetGenerator
from gluoncv.nn import bbox, coder, matcher, sampler
from gluoncv.utils.bbox import bbox_iou

BOXES = np.array([[[10, 20, 60, 80], [30, 30, 40, 90]]], "float32")
ANCHORS = np.array([[[12, 18, 58, 85], [0, 0, 20, 20], [28, 35, 45, 88], [70, 70, 90, 90]]], "float32")


def small_ssd(classes=("a", "b", "c")):
    net = model_zoo.get_ssd(
        "mobilenet0.25", 64, ["relu22_fwd", "relu26_fwd"], [16], [10, 20, 30, 40], [[1, 2, 0.5]] * 3, [16, 32, 64],
        list(classes), "", pretrained_base=False,
    )  # fmt: skip
    net.initialize()
    return net


# ---------------------------------------------------------------------------------------------- parts


def test_formats_of_boxes():
    corners = nd.array(BOXES)
    center = bbox.BBoxCornerToCenter()(corners)
    assert center.asnumpy().tolist() == [[[35, 50, 50, 60], [35, 60, 10, 60]]]
    assert (bbox.BBoxCenterToCorner()(center).asnumpy() == BOXES).all()
    assert bbox.BBoxArea()(corners).asnumpy().ravel().tolist() == [3000, 600]
    assert bbox.BBoxArea(fmt="center")(center).asnumpy().ravel().tolist() == [3000, 600]
    want = bbox_iou(BOXES[0].astype(float), ANCHORS[0].astype(float))
    np.testing.assert_allclose(bbox.BBoxBatchIOU()(corners, nd.array(ANCHORS)).asnumpy()[0], want, rtol=1e-5)
    clipped = bbox.BBoxClipToImage()(nd.array([[[-5, 3, 70, 200]]]), nd.zeros((1, 3, 100, 50)))
    assert clipped.asnumpy().tolist() == [[[0, 3, 50, 100]]]
    with pytest.raises(ValueError, match="'corner' or 'center', got fmt='corners'"):
        bbox.BBoxArea(fmt="corners")


def test_offsets_and_back():
    """Encoded boxes decode to themselves, and are what the paper says."""
    matches, samples = nd.array([[0, 1, 1, -1]]), nd.array([[1, 0, 1, -1]])
    targets, mask = coder.NormalizedBoxCenterEncoder()(samples, matches, nd.array(ANCHORS), nd.array(BOXES))
    assert mask.asnumpy()[0, :, 0].tolist() == [1, 0, 1, 0]
    anchor, box = ANCHORS[0, 0].astype(float), BOXES[0, 0].astype(float)
    size, shift = anchor[2:] - anchor[:2], (box[:2] + box[2:] - anchor[:2] - anchor[2:]) / 2
    want = [*(shift / size / 0.1), *(np.log((box[2:] - box[:2]) / size) / 0.2)]
    np.testing.assert_allclose(targets.asnumpy()[0, 0], want, rtol=1e-5)
    as_numpy = coder.NumPyNormalizedBoxCenterEncoder()(samples.asnumpy(), matches.asnumpy().astype(int), ANCHORS, BOXES)
    np.testing.assert_allclose(as_numpy[0], targets.asnumpy(), rtol=1e-5)
    decoded = coder.NormalizedBoxCenterDecoder(convert_anchor=True)(targets, nd.array(ANCHORS)).asnumpy()[0]
    np.testing.assert_allclose(decoded[[0, 2]], BOXES[0], rtol=1e-5)
    grown = coder.NormalizedBoxCenterDecoder(convert_anchor=True, clip=1.0)(
        nd.array([[[0, 0, 50, 50]]]), nd.array(ANCHORS[:, :1])
    )
    np.testing.assert_allclose(grown.asnumpy()[0, 0, 2] - grown.asnumpy()[0, 0, 0], 46 * np.e, rtol=1e-5)


def test_matches():
    """The best of each box is taken first, however little it overlaps; others from the threshold on."""
    ious = nd.array([[[0.9, 0.1], [0.6, 0.0], [0.2, 0.3], [0.0, 0.0]]])
    both = matcher.CompositeMatcher([matcher.BipartiteMatcher(share_max=False), matcher.MaximumMatcher(0.5)])
    assert both(ious).asnumpy().tolist() == [[0, 0, 1, -1]]
    assert matcher.MaximumMatcher(0.5)(ious).asnumpy().tolist() == [[0, 0, -1, -1]]
    assert sampler.NaiveSampler()(both(ious)).asnumpy().tolist() == [[1, 1, 1, -1]]


def test_hard_negatives():
    matches = nd.array([[0, -1, -1, -1, -1]])
    background = np.array([0, 3, -2, 1, -4], "float32")
    logits = nd.array(np.stack([background, np.zeros(5, "float32")], axis=1)[None])
    ious = nd.array([[0.9, 0.1, 0.1, 0.1, 0.6]])
    # Two negatives: the least sure to be background, but not the last one, which overlaps.
    assert sampler.OHEMSampler(2, thresh=0.5)(matches, logits, ious).asnumpy().tolist() == [[1, 0, -1, -1, 0]]


def test_quota():
    np.random.seed(0)
    matches = nd.array([[0] * 10 + [-1] * 20])
    ious = nd.array(np.array([[0.9] * 10 + [0.1] * 20], "float32")[..., None])
    samples = sampler.QuotaSampler(8, 0.5, 0.5, pos_ratio=0.25)(matches, ious).asnumpy()
    assert ((samples > 0).sum(), (samples < 0).sum()) == (2, 6)
    custom = nd.Custom(matches, ious, op_type="quota_sampler", num_sample=8, pos_thresh=0.5, pos_ratio=0.25)
    assert ((custom > 0).sum().asscalar(), (custom < 0).sum().asscalar()) == (2, 6)


def test_centers():
    heat, size, offset = np.zeros((3, 2, 2, 4, 8), "float32")
    heat[0, 1, 2, 5], heat[0, 0, 1, 3], heat[1, 0, 3, 7], heat[1, 1, 0, 1] = 0.9, 0.8, 0.7, 0.6
    size[0, :, 2, 5], offset[0, :, 2, 5] = (2, 3), (0.25, 0.5)
    labels, scores, boxes = coder.CenterNetDecoder(topk=2, scale=4.0)(*map(nd.array, (heat, size, offset)))
    assert labels.asnumpy().tolist() == [[1, 0], [0, 1]]
    np.testing.assert_allclose(scores.asnumpy(), [[0.9, 0.8], [0.7, 0.6]])
    assert boxes.asnumpy()[0].tolist() == [[17, 4, 25, 16], [12, 4, 12, 4]]
    assert boxes.asnumpy()[1].tolist() == [[28, 12, 28, 12], [4, 0, 4, 0]]


# ---------------------------------------------------------------------------------------------- targets and losses


def test_targets_of_ssd():
    centers = bbox.BBoxCornerToCenter()(nd.array(ANCHORS))
    classes, targets, mask = SSDTargetGenerator(negative_mining_ratio=-1)(
        centers, None, nd.array(BOXES), nd.array([[[4], [2]]])
    )
    assert classes.asnumpy().tolist() == [[5, 0, 3, 0]]
    decoded = coder.NormalizedBoxCenterDecoder()(targets, centers).asnumpy()[0]
    np.testing.assert_allclose(decoded[[0, 2]], BOXES[0], rtol=1e-5)
    assert mask.asnumpy()[0, :, 0].tolist() == [1, 0, 1, 0]


def test_anchors_that_overlap_by_half_are_positive():
    """Behind the best anchor of a box, those that overlap it by at least 0.5 (Liu et al., 2016)."""
    corners = nd.array([[[0, 0, 10, 10], [0, 0, 10, 6], [0, 0, 10, 4]]])  # overlaps of 1, 0.6 and 0.4
    given = (bbox.BBoxCornerToCenter()(corners), None, nd.array([[[0, 0, 10, 10]]]), nd.array([[[1]]]))
    assert SSDTargetGenerator(negative_mining_ratio=-1)(*given)[0].asnumpy().tolist() == [[2, 2, 0]]
    classes = SSDTargetGenerator(iou_thresh=0.7, negative_mining_ratio=-1)(*given)[0]
    assert classes.asnumpy().tolist() == [[2, 0, 0]]


def test_loss_of_ssd():
    """One positive and, of four, the three worst negatives; Huber's loss of its box."""
    random = np.random.RandomState(0)
    scores, boxes = (
        random.standard_normal((1, 5, 3)).astype("float32"),
        random.standard_normal((1, 5, 4)).astype("float32"),
    )
    classes, targets = np.array([[2, 0, 0, 0, 0]], "float32"), np.zeros((1, 5, 4), "float32")
    total, class_loss, box_loss = loss.SSDMultiBoxLoss()(*map(nd.array, (scores, boxes, classes, targets)))
    entropy = -np.log(np.exp(scores) / np.exp(scores).sum(-1, keepdims=True))[0]
    want = entropy[0, 2] + np.sort(entropy[1:, 0])[1:].sum()
    huber = np.where(abs(boxes[0, 0]) > 1, abs(boxes[0, 0]) - 0.5, 0.5 * boxes[0, 0] ** 2).sum()
    np.testing.assert_allclose(class_loss[0].asscalar(), want, rtol=1e-5)
    np.testing.assert_allclose(box_loss[0].asscalar(), huber, rtol=1e-5)
    np.testing.assert_allclose(total[0].asscalar(), want + huber, rtol=1e-5)


def test_focal_loss():
    pred, label = np.array([[0.3, -0.7]], "float32"), np.array([0], "float32")
    p = 1 / (1 + np.exp(-pred[0].astype(float)))
    want = -(0.25 * (1 - p[0]) ** 2 * np.log(p[0]) + 0.75 * p[1] ** 2 * np.log(1 - p[1])) / 2
    np.testing.assert_allclose(loss.FocalLoss(num_class=2)(nd.array(pred), nd.array(label)).asscalar(), want, rtol=1e-5)
    with pytest.raises(ValueError, match="num_class is a positive number, got None"):
        loss.FocalLoss()


def test_targets_of_center_net():
    heatmap, size, mask, offset, _ = CenterNetTargetGenerator(2, 32, 32)(
        np.array([[4.5, 4.0, 14.0, 16.0], [0, 0, 0, 0]]), np.array([1, 0])
    )
    assert heatmap.asnumpy()[1, 10, 9] == heatmap.asnumpy().max() == 1
    assert not heatmap.asnumpy()[0].any()
    assert size.asnumpy()[:, 10, 9].tolist() == [9.5, 12]
    assert offset.asnumpy()[:, 10, 9].tolist() == [0.25, 0]
    assert mask.asnumpy().sum() == 2


def test_targets_of_proposals():
    np.random.seed(0)
    base = generate_base_anchors(16, (32, 64), (0.5, 1, 2))
    # The well-known anchors of Faster R-CNN for 16 pixels: 23 x 12, 16 x 16 and 11 x 22 times the scale.
    assert (base[:, 2:] - base[:, :2] + 1).tolist() == [[46, 24], [92, 48], [32, 32], [64, 64], [22, 44], [44, 88]]
    objects, targets, mask = RPNTargetGenerator()(nd.array(BOXES[0]), nd.array(ANCHORS[0]), 85, 100)
    # The last anchor leaves the picture of 85 pixels; the third is the best of the second box.
    assert objects.tolist() == [1, 0, 1, -1]
    assert mask[:, 0].tolist() == [1, 0, 1, 0]
    assert np.isfinite(targets).all()


def test_samples_of_regions():
    rois = nd.array(np.concatenate([ANCHORS, ANCHORS + 100], axis=1))
    scores = nd.array(np.array([[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, -1, -1]], "float32")[..., None])
    truth = nd.array(np.concatenate([BOXES, np.full((1, 1, 4), -1, "float32")], axis=1))
    regions, samples, matches = RCNNTargetSampler(1, 8, 6, 0.5, 0.5, 3)(rois, scores, truth)
    ious = bbox_iou(regions.asnumpy()[0].astype(float), BOXES[0].astype(float)).max(axis=1)
    # Four regions overlap a box (two are the boxes themselves), of which three are drawn; three do not.
    assert sorted(samples.asnumpy()[0].tolist()) == [-1, -1, -1, 1, 1, 1]
    assert ((ious >= 0.5) == (samples.asnumpy()[0] > 0)).all()
    classes, targets, mask, indices = RCNNTargetGenerator(3, max_pos=3)(
        regions, samples, matches, nd.array([[[1], [2], [-1]]]), truth
    )
    assert set(classes.asnumpy()[0].tolist()) <= {0, 2, 3}
    assert targets.shape == mask.shape == (1, 3, 3, 4)
    chosen = classes.asnumpy()[0][indices.asnumpy()[0].astype(int)].astype(int)
    assert (mask.asnumpy()[0].sum(axis=2).argmax(axis=1) + 1 == chosen).all()


def test_yolo_trains_on_targets():
    net = model_zoo.get_model("yolo3_mobilenet0.25_custom", classes=["a", "b"], pretrained_base=False)
    net.initialize()
    x = nd.random.normal(shape=(1, 3, 64, 64))
    with autograd.train_mode():
        boxes, anchors, offsets, maps, *_ = net(x)
    assert boxes.shape == (1, 3 * (4 + 16 + 64), 4)
    truth, labels = nd.array([[[4, 6, 34, 38], [-1, -1, -1, -1]]]), nd.array([[[1], [-1]]])
    targets = YOLOV3PrefetchTargetGenerator(2)(x, maps, anchors, offsets, truth, labels)
    objects, centers, scales, weights, classes = (target.asnumpy()[0] for target in targets)
    (at,) = np.flatnonzero(objects)
    # Of 33 x 23, 30 x 61 and the others, 33 x 23 is most like 30 x 32; the centre (19, 22) is in column 2, row 2 of 8.
    assert at == (4 + 16) * 3 + (2 * 8 + 2) * 3 + 2
    np.testing.assert_allclose(centers[at], [19 / 8 - 2, 22 / 8 - 2], rtol=1e-6)
    np.testing.assert_allclose(scales[at], np.log([30 / 33, 32 / 23]), rtol=1e-5)
    np.testing.assert_allclose(weights[at], 2 - 30 * 32 / 64 / 64, rtol=1e-6)
    assert classes[at].tolist() == [0, 1]
    with autograd.record():
        losses = net(x, truth, *targets)
        sum(losses).backward()
    assert all(np.isfinite(part.asnumpy()).all() for part in losses)
    with pytest.raises(TypeError, match="only in training"):
        net(x, truth, *targets)


# ---------------------------------------------------------------------------------------------- detectors


def test_ssd_in_training_and_after():
    net, x = small_ssd(), nd.random.normal(shape=(2, 3, 64, 64))
    with autograd.train_mode():
        scores, offsets, anchors = net(x)
    count = 4 * (16 + 4 + 1)
    assert (scores.shape, offsets.shape, anchors.shape) == ((2, count, 4), (2, count, 4), (1, count, 4))
    assert anchors.asnumpy()[0, 0].tolist() == [8, 8, 10, 10]
    assert [part.shape for part in net(x)] == [(2, 100, 1), (2, 100, 1), (2, 100, 4)]
    net.set_nms(nms_thresh=0, post_nms=5)
    assert net(x)[0].shape == (2, 3 * count, 1)
    net.hybridize()
    want = [part.asnumpy() for part in net(x)]
    for got, other in zip(net(x), want, strict=True):
        np.testing.assert_allclose(got.asnumpy(), other, rtol=1e-5, atol=1e-5)
    net.set_nms(nms_thresh=0.45, post_nms=7)
    assert net(x)[0].shape == (2, 7, 1)


@pytest.mark.parametrize("reuse", [["c", "a"], {"x": "c", 1: 0}])
def test_classes_change_and_keep_weights(reuse):
    net, x = small_ssd(), nd.random.normal(shape=(1, 3, 64, 64))
    with autograd.train_mode():
        before = net(x)[0].asnumpy()
    classes = ["c", "q", "a"] if isinstance(reuse, list) else ["x", "y"]
    kept = {0: 2, 2: 0} if isinstance(reuse, list) else {0: 2, 1: 0}
    net.reset_class(classes, reuse_weights=reuse)
    with autograd.train_mode():
        after = net(x)[0].asnumpy()
    assert after.shape[2] == len(classes) + 1
    np.testing.assert_allclose(after[..., 0], before[..., 0], rtol=1e-5, atol=1e-6)
    for new, old in kept.items():
        np.testing.assert_allclose(after[..., new + 1], before[..., old + 1], rtol=1e-5, atol=1e-6)
    assert net(x)[0].shape == (1, 100, 1)


def test_classes_that_are_not_there():
    net = small_ssd()
    with pytest.raises(ValueError, match="'z' is not among the old classes"):
        net.reset_class(["q"], reuse_weights={"q": "z"})
    with pytest.warns(UserWarning, match="'z' is not among both"):
        small_ssd().reset_class(["q"], reuse_weights=["z"])


def test_expanded_layers_start_well():
    net = small_ssd()
    # Shapes are found out while the network is traced.
    net.hybridize()
    net(nd.zeros((1, 3, 64, 64)))
    parameters = net.features.collect_params()
    for ending, value in (("bn0_gamma", 1), ("bn0_moving_var", 1), ("bn0_beta", 0), ("bn0_moving_mean", 0)):
        (found,) = [p for name, p in parameters.items() if name.endswith(f"expand_{ending}")]
        assert (found.data().asnumpy() == value).all()
    assert isinstance(net.class_predictors, nn.HybridSequential)


@pytest.mark.parametrize("name", ["center_net_mobilenetv3_small_duc_voc", "custom_faster_rcnn_fpn"])
def test_detectors_are_exported(name, tmp_path):
    """What an export computes is what the network computed."""
    settings = {"classes": ["a", "b"], "rpn_test_post_nms": 8} if name.startswith("custom") else {}
    net, x = model_zoo.get_model(name, pretrained_base=False, **settings), nd.random.normal(shape=(1, 3, 64, 64))
    net.initialize()
    want = [part.asnumpy() for part in net(x)]
    net.hybridize()
    net(x)
    files = net.export(str(tmp_path / "net"))
    for got, other in zip(SymbolBlock.imports(files[0], ["data"], files[1])(x), want, strict=True):
        np.testing.assert_allclose(got.asnumpy(), other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("mode", ["align", "pool"])
def test_regions_are_pooled_from_the_level_of_their_size(mode):
    """Level 4 for the 224 pixels of the pictures that networks are trained on, one more each time it doubles (Lin et
    al., 2017), within the levels that there are."""

    class Pyramid:
        _min_stage, _max_stage, _strides, _roi_mode, _roi_size = 2, 6, (4, 8, 16, 32, 64), mode, (2, 2)
        _pool = FasterRCNN._pool

    features = [nd.full((1, 1, 1024 // 2**level, 1024 // 2**level), level) for level in (2, 3, 4, 5, 6)]
    sides = [20, 111, 113, 223, 225, 447, 449, 1000]
    rois = nd.array([[0, 0, 0, side - 1, side - 1] for side in sides])
    pooled = FasterRCNN._pyramid_roi_feats(Pyramid(), nd, features, rois)
    assert pooled.shape == (len(sides), 1, 2, 2)
    assert pooled.asnumpy().reshape(-1, 4).tolist() == [[level] * 4 for level in (2, 2, 3, 3, 4, 4, 5, 5)]


@pytest.mark.parametrize(
    ("body", "first", "later"),
    [
        ("resnet18_v1b", "layers1_conv0", "layers2_conv0"),
        ("mobilenet1.0", "_conv4_", "_conv7_"),
        ("mobilenetv2_1.0", "linearbottleneck2_conv0", "linearbottleneck3_conv0"),
    ],
)
def test_pyramids_train_what_comes_behind_the_first_stage(body, first, later):
    net = model_zoo.get_model("custom_faster_rcnn_fpn", classes=["a"], pretrained_base=False, base_network_name=body)
    trained, every = net.collect_train_params(), net.collect_params()
    for part, wanted in ((first, False), (later, True)):
        (name,) = [name for name in every if part in name and name.endswith("weight") and "rpn" not in name]
        assert (name in trained) is wanted
    assert not any("batchnorm" in name for name in trained)
    net.initialize()
    net.features(nd.zeros((1, 3, 64, 64)))
    statistics = {name: value.data().asnumpy() for name, value in every.items() if name.endswith("running_mean")}
    with autograd.record():
        maps = net.features(nd.random.normal(3, 1, shape=(1, 3, 64, 64)))
    assert [x.shape[2] for x in maps] == [16, 8, 4, 2, 1]
    assert statistics
    for name, before in statistics.items():  # normalisation of the body stays as it is
        np.testing.assert_array_equal(every[name].data().asnumpy(), before)


@pytest.mark.parametrize(("side", "maps"), [(300, (38, 19, 10, 5, 3, 1)), (512, (64, 32, 16, 8, 4, 2, 1))])
def test_maps_of_the_published_detectors(side, maps):
    """Sides and channels of the maps (Liu et al., 2016, figure 2)."""
    body = vgg_atrous.get_vgg_atrous_extractor(16, side)
    shapes = sym.Group(list(body(sym.var("data")))).infer_shape(data=(1, 3, side, side))[1]
    channels = (512, 1024, 512, *[256] * (len(maps) - 3))
    assert shapes == [(1, c, s, s) for c, s in zip(channels, maps)]


def test_the_first_map_is_that_of_the_fourth_stage():
    body = vgg_atrous.VGGAtrousExtractor((1, 1, 1, 1, 1), (2, 3, 4, 5, 6), [[(7, 3, 2, 1)]])
    shapes = sym.Group(list(body(sym.var("data")))).infer_shape(data=(1, 3, 64, 64))[1]
    assert shapes == [(1, 5, 8, 8), (1, 1024, 4, 4), (1, 7, 2, 2)]


def test_sizes_of_anchors_follow_the_paper():
    """Liu et al., 2016: a tenth of the picture (VOC), then equal steps from a fifth to nine tenths, and one beyond."""
    assert [30, *(300 * (20 + 17 * k) // 100 for k in range(6))] == presets._VOC_300
    np.testing.assert_allclose(presets._COCO_512, [512 * (0.1 + 0.16 * k) for k in range(7)])


def test_layers_are_doubled_and_added_one_after_the_other():
    block = bodies.IDAUp(8, [8, 16, 32], [1, 2, 4])
    block.initialize()
    layers = [nd.random.uniform(shape=(1, c, 16 // s, 16 // s)) for c, s in ((8, 1), (16, 2), (32, 4))]
    found = block(*layers)
    assert [x.shape for x in found] == [(1, 8, 16, 16)] * 3
    first = block.nodes[0](block.ups[0](block.projs[0](layers[1])) + layers[0])
    np.testing.assert_allclose(found[1].asnumpy(), first.asnumpy(), rtol=1e-5)
    assert len(block.ups) == len(block.projs) == len(block.nodes) == 2
