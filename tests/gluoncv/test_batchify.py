"""Batches, samplers and loaders; what they give was compared with the original's answers for the same seeds."""

import random

import numpy as np
import pytest

import core as mx
from gluon.data import SimpleDataset
from gluoncv.data import batchify
from gluoncv.data.dataloader import DetectionDataLoader, RandomTransformDataLoader, tsn_mp_batchify_fn
from gluoncv.data.sampler import ShuffleSplitSampler, SplitSampler, SplitSortedBucketSampler
from gluoncv.data.transforms.presets import rcnn
from gluoncv.model_zoo import get_model


def test_padding_to_the_longest_of_each_part():
    a, b = np.arange(8.0).reshape(2, 4), np.ones((1, 2))
    batch, lengths = batchify.Pad(axis=(0, 1), pad_val=-1, ret_length=True)([a, b])
    assert batch[1].asnumpy().tolist() == [[1, 1, -1, -1], [-1] * 4] and lengths.asnumpy().tolist() == [[2, 4], [1, 2]]
    parts = batchify.Pad(axis=(0, 1), num_shards=2)([a, b, b])
    assert [p.shape for p in parts] == [(2, 2, 4), (1, 1, 2)]
    first, second = batchify.Tuple(batchify.Pad(), batchify.Stack())([([1, 2, 3], 0), ([4], 1)])
    assert first.asnumpy().tolist() == [[1, 2, 3], [4, 0, 0]] and second.asnumpy().tolist() == [0, 1]
    assert [x.shape for x in batchify.Append()([[1, 2], [3]])] == [(1, 2), (1, 1)]
    with pytest.raises(AssertionError, match="2 fields here, given 3"):
        batchify.Tuple(batchify.Pad(), batchify.Stack())([([1], 2, 3)])


def test_samplers_cover_their_part():
    random.seed(0)
    parts = [SplitSampler(13, 3, k) for k in range(3)]
    assert sorted(i for part in parts for i in part) == list(range(12))
    shuffled = [list(ShuffleSplitSampler(13, 3, k, seed=1)) for k in range(3)]
    assert sorted(i for part in shuffled for i in part) == list(range(13)) and [len(p) for p in shuffled] == [4, 4, 5]
    keys = np.random.RandomState(0).randint(1, 100, 53)
    batches = list(SplitSortedBucketSampler(keys, 5, mult=3, shuffle=True))
    assert {i for batch in batches for i in batch} == set(range(53)) and {len(b) for b in batches} == {5}
    spread = np.mean([np.ptp(keys[b]) for b in batches])
    assert spread < np.ptp(keys) / 2


@pytest.mark.parametrize("workers", [0, 2])
def test_transforms_change_every_few_batches(workers):
    np.random.seed(3)
    data = SimpleDataset(list(np.ones(20, "float32")))
    loader = RandomTransformDataLoader(
        [lambda x: x * 1, lambda x: x * 2, lambda x: x * 3], data, interval=2, batch_size=2, num_workers=workers
    )
    seen = [batch.asnumpy().tolist() for batch in loader]
    assert len(seen) == len(loader) == 10
    assert all(a == b and a[0] == a[1] for a, b in zip(seen[::2], seen[1::2]))
    assert len({batch[0] for batch in seen}) > 1


def test_boxes_are_padded_and_clips_joined():
    data = SimpleDataset([(mx.nd.ones((2,)), np.full((n, 5), n, "float32")) for n in (1, 0, 3)])
    (_, boxes), *_ = DetectionDataLoader(data, 3)
    assert boxes.shape == (3, 3, 5) and (boxes[1] == -1).asnumpy().all() and (boxes[2] == 3).asnumpy().all()
    clips, labels = tsn_mp_batchify_fn([(mx.nd.ones((2, 3)), 1), (mx.nd.ones((1, 3)), 2)])
    assert clips.shape == (3, 3) and labels.asnumpy().tolist() == [1, 2]


def test_targets_of_proposals_are_batched():
    pytest.importorskip("pycocotools")
    random.seed(0)
    np.random.seed(0)
    net = get_model("mask_rcnn_fpn_resnet18_v1b_coco", pretrained_base=False)
    net.initialize()
    boxes = np.array([[10, 20, 60, 80, 1], [30, 5, 90, 70, 3.0]])
    polygons = [[np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])] for x0, y0, x1, y1, _ in boxes]
    transform = rcnn.MaskRCNNDefaultTrainTransform((48, 64), 96, net, ashape=32, multi_stage=True)
    samples = [transform(mx.nd.zeros((100, 120, 3), dtype="uint8"), boxes, polygons) for _ in range(4)]
    assert len(samples[0][2]) == 5 and samples[0][2][0].shape[:2] == (
        samples[0][0].shape[1] // 4,
        samples[0][0].shape[2] // 4,
    )
    imgs, labels, masks, objects, offsets, weights = batchify.MaskRCNNTrainBatchify(net, 2)(samples)
    for k in (0, 1):
        assert imgs[k].shape[2:] == masks[k].shape[2:] and labels[k].shape == (2, 2, 5)
        assert offsets[k].shape == weights[k].shape == (*objects[k].shape, 4)
        # Offsets count where there is an object, and the padding is ignored.
        assert ((weights[k].max(axis=2) > 0) == (objects[k] == 1)).asnumpy().all()
        counted = sum(int((t >= 0).sum()) for sample in samples[2 * k : 2 * k + 2] for t in sample[2])
        assert int((objects[k] >= 0).sum().asscalar()) == counted
