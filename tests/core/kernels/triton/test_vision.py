"""Triton pooling of regions against the CPU wing, which is tested against naive loops."""

import numpy as np
import pytest
import torch

from core.kernels.cpu import vision as reference
from core.kernels.triton import vision

ROIS = [[0, 1.2, 0.7, 4.4, 3.1], [1, 0, 0, 5, 4], [-1, 3, 3, 3.2, 3.1], [1, -4, -3, 9, 8]]


def numbers(*shape):
    return torch.from_numpy(np.random.RandomState(0).standard_normal(shape).astype("float32"))


@pytest.mark.parametrize(("ratio", "aligned", "by_position"), [(-1, False, False), (2, True, False), (1, False, True)])
def test_roi_align(ratio, aligned, by_position, device):
    data, rois = numbers(2, 8, 5, 6), torch.tensor(ROIS)
    options = (2, 2), 0.9, ratio, aligned, by_position
    want = reference.roi_align(data, rois, *options)
    got = vision.roi_align(data.to(device), rois.to(device), *options).cpu()
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
    dy = numbers(*want.shape)
    want = reference.roi_align_grad(dy, rois, *options, data.shape)
    got = vision.roi_align_grad(dy.to(device), rois.to(device), *options, data.shape).cpu()
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


def test_regions_of_one_image_have_four_columns(device):
    data, rois = numbers(1, 3, 5, 6), torch.tensor(ROIS)[:2, 1:]
    want = reference.roi_align(data, rois, (1, 2), 1.0, 1, False, False)
    got = vision.roi_align(data.to(device), rois.to(device), (1, 2), 1.0, 1, False, False).cpu()
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


DATA, REGIONS = numbers(2, 4, 3, 3), torch.tensor(ROIS[:2])
SAMPLES = [
    lambda: vision.roi_align(DATA, REGIONS, (1, 1), 1.0, 1, False, False),
    lambda: vision.roi_align_grad(DATA, REGIONS[:, 1:], (3, 3), 1.0, 1, True, False, (1, 4, 3, 3)),
]
