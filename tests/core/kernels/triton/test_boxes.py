"""Triton kernels of boxes against the CPU backend, which tests/core/ops/test_boxes.py holds to MXNet's answers."""

import pytest
import torch

from core.kernels.cpu import boxes as reference
from core.kernels.triton import _suppression, boxes

VARIANCES = (0.1, 0.1, 0.2, 0.2)


def same(name, device, *inputs, tolerance=1e-5):
    """The function called `name` of both backends, for the same inputs."""
    want = getattr(reference, name)(*inputs)
    moved = [i.to(device) if isinstance(i, torch.Tensor) else i for i in inputs]
    got = getattr(boxes, name)(*moved)
    pairs = [(got, want)] if isinstance(want, torch.Tensor) else zip(got, want, strict=True)
    for mine, true in pairs:
        torch.testing.assert_close(mine.cpu(), true, rtol=tolerance, atol=tolerance)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def some_boxes(*shape, seed=0, extent=10.0):
    corner, size = torch.rand(2, *shape, 2, generator=generator(seed)) * extent
    return torch.cat([corner, corner + size / 2], -1)


def detected(batch, n, seed=0):
    """Rows of class, score and box; some scores are equal, some too low."""
    g = generator(seed)
    label = torch.randint(0, 3, (batch, n, 1), generator=g).float()
    score = torch.randint(-1, 30, (batch, n, 1), generator=g) / 30
    return torch.cat([label, score, some_boxes(batch, n, seed=seed)], -1)


@pytest.mark.parametrize("center", [False, True])
def test_overlaps(center, device):
    same("overlaps", device, some_boxes(7), some_boxes(2, 5, seed=1), center)
    same("overlaps", device, some_boxes(67), some_boxes(1, seed=1), center)
    same("overlaps", device, some_boxes(0), some_boxes(3), center)
    same("overlaps", device, some_boxes(3).double(), some_boxes(5, seed=2).double(), center, tolerance=1e-12)


@pytest.mark.parametrize(("n", "topk"), [(1, -1), (70, -1), (37, 5), (5, 9), (5, 0), (0, -1)])
@pytest.mark.parametrize(
    ("force", "center", "out_center"), [(False, False, False), (True, True, False), (True, False, True)]
)
def test_suppression(n, topk, force, center, out_center, device):
    same("suppress", device, detected(2, n), 0.3, 0.1, topk, 2, 1, 0, 2, force, center, out_center)


def test_suppression_without_classes(device):
    same("suppress", device, detected(1, 33), 0.2, 0.0, -1, 2, 1, -1, -1, True, False, False)


def test_the_bits_of_many_boxes_are_made_part_by_part(device, monkeypatch):
    monkeypatch.setattr(_suppression, "_MOST_BYTES", 1)
    same("suppress", device, detected(2, 150), 0.3, 0.0, -1, 2, 1, 0, -1, False, False, False)


@pytest.mark.parametrize(("n", "m"), [(7, 5), (5, 7), (1, 1), (1100, 2), (0, 3)])
@pytest.mark.parametrize(("ascending", "topk"), [(False, -1), (True, 2)])
def test_matching(n, m, ascending, topk, device):
    scores = torch.randint(0, 10, (2, n, m), generator=generator()) / 10  # many ties
    same("match", device, scores, 0.35, ascending, topk)


def test_rows(device):
    rows, index = torch.rand(4, 6, generator=generator()), torch.tensor([3.0, -1, 0, 5])
    same("put_rows", device, rows, index, 7)
    same("take_rows", device, torch.rand(6, 3, generator=generator()), index)


@pytest.mark.parametrize("own", [False, True])
def test_encoding(own, device):
    anchors, g = some_boxes(2 if own else 1, 11), generator()
    samples, matches = torch.randint(-1, 2, (2, 11), generator=g).float(), torch.randint(0, 4, (2, 11), generator=g)
    means, stds = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor(VARIANCES)
    same("encode", device, samples, matches.float(), anchors, some_boxes(2, 4, seed=2), means, stds, tolerance=1e-4)


@pytest.mark.parametrize(("clip", "center"), [(-1.0, False), (0.1, True)])
def test_decoding(clip, center, device):
    data, anchors = torch.randn(2, 11, 4, generator=generator()), some_boxes(1, 11)
    same("decode", device, data, anchors, VARIANCES, clip, center)
    same("decode", device, data.double(), anchors.double(), VARIANCES, clip, center, tolerance=1e-12)


@pytest.mark.parametrize(("clip", "steps"), [(False, (-1.0, -1.0)), (True, (0.2, 0.3))])
def test_priors(clip, steps, device):
    same("priors", device, torch.zeros(2, 3, 5, 7), (0.3, 0.5), (1.0, 2.0, 0.5), clip, steps, (0.5, 0.4))


@pytest.mark.parametrize("ratio", [-1.0, 1.5])
@pytest.mark.parametrize("threshold", [0.5, -1.0])
def test_targets(ratio, threshold, device):
    anchors = reference.priors(torch.zeros(1, 3, 4, 5), (0.3, 0.5), (1.0, 2.0), False, (-1.0, -1.0), (0.5, 0.5))
    truth = torch.cat([torch.randint(0, 3, (3, 4, 1), generator=generator()).float(), some_boxes(3, 4, extent=0.5)], -1)
    truth[0, 2:, 0] = truth[1, :, 0] = -1
    predictions = torch.randn(3, 4, anchors.shape[1], generator=generator())
    same("targets", device, anchors, truth, predictions, threshold, -1.0, ratio, 0.4, VARIANCES, tolerance=1e-4)


@pytest.mark.parametrize(("nms", "force", "topk"), [(0.3, False, -1), (0.3, True, 7), (-1.0, False, -1)])
def test_detections(nms, force, topk, device):
    anchors = reference.priors(torch.zeros(1, 3, 3, 5), (0.3, 0.5), (1.0, 2.0), False, (-1.0, -1.0), (0.5, 0.5))
    n = anchors.shape[1]
    scores = torch.softmax(torch.randn(2, 4, n, generator=generator()), 1)
    offsets = torch.randn(2, 4 * n, generator=generator(1))
    same("detections", device, scores, offsets, anchors, True, 0.3, nms, force, VARIANCES, topk)


@pytest.mark.parametrize(("before", "after", "plain"), [(50, 20, False), (-1, 10, True), (10, 30, False)])
def test_proposals(before, after, plain, device):
    g = generator()
    scores, deltas = torch.rand(2, 8, 5, 6, generator=g), torch.randn(2, 16, 5, 6, generator=g) * 0.3
    info = torch.tensor([[70.0, 90.0, 1.0], [80.0, 60.0, 1.5]])
    how = (before, after, 0.6, 16, (2.0, 4.0), (0.5, 1.0), 16, plain)
    same("proposals", device, scores, deltas, info, *how, tolerance=1e-4)


ROWS, BOXES, ANCHORS = detected(1, 9), some_boxes(1, 9), some_boxes(1, 9, seed=3)
SCORES, ONES = torch.rand(1, 3, 9), torch.ones(1, 9)
SHIFTS, TRUTH, FOUR = torch.rand(1, 36), detected(1, 2, seed=1)[..., 1:], torch.ones(4)
MAP, INFO = torch.rand(1, 4, 2, 3), torch.ones(1, 3)
SAMPLES = [
    lambda: boxes.overlaps(BOXES, ANCHORS, True),
    lambda: boxes.suppress(ROWS, 0.3, 0.1, -1, 2, 1, 0, 2, False, True, False),
    lambda: boxes.suppress(ROWS, 0.3, 0.1, 0, 2, 1, 0, 2, False, True, False),
    lambda: boxes.put_rows(ROWS[0], ONES[0], 9),
    lambda: boxes.take_rows(ROWS[0], ONES[0]),
    lambda: boxes.encode(ONES, ONES, ANCHORS, BOXES, FOUR, FOUR),
    lambda: boxes.decode(BOXES, ANCHORS, VARIANCES, 0.1, False),
    lambda: boxes.match(SCORES, 0.3, False, -1),
    lambda: boxes.priors(MAP, (0.3,), (1.0, 2.0), True, (-1.0, -1.0), (0.5, 0.5)),
    lambda: boxes.targets(ANCHORS, TRUTH, SCORES, 0.5, -1.0, 2.0, 0.5, VARIANCES),
    lambda: boxes.detections(SCORES, SHIFTS, ANCHORS, True, 0.1, 0.5, False, VARIANCES, -1),
    lambda: boxes.proposals(MAP[:, :2], MAP, INFO, 9, 5, 0.5, 1, (8.0,), (1.0,), 16, False),
]
