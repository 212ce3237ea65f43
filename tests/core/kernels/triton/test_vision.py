"""Triton pooling of regions and sampling of images against the CPU backend, which ATen or naive loops vouch for."""

import pytest
import torch

from core import kernels
from core.kernels.cpu import vision as reference
from core.kernels.triton import vision

ROIS = [[0, 1.2, 0.7, 4.4, 3.1], [1, 0, 0, 5, 4], [-1, 3, 3, 3.2, 3.1], [1, -4, -3, 9, 8]]
ROTATED = [[0, 2.0, 3, 4, 2, 30], [1, 3, 3, 2, 5, -75], [0, 1, 1, 0.3, 0.2, 0]]


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def same(name, device, *inputs, tolerance=1e-5):
    """The function called `name` of both backends, for the same inputs."""
    want = getattr(reference, name)(*inputs)
    moved = [i.to(device) if isinstance(i, torch.Tensor) else i for i in inputs]
    got = getattr(vision, name)(*moved)
    pairs = [(got, want)] if isinstance(want, torch.Tensor) else zip(got, want, strict=True)
    for mine, true in pairs:
        torch.testing.assert_close(mine.cpu(), true, rtol=tolerance, atol=tolerance)


@pytest.fixture(params=[False, True], ids=["atomics", "deterministic"])
def mode(request):
    """Gradients in both modes of adding."""
    before = kernels.set_deterministic(request.param)
    yield
    kernels.set_deterministic(before)


@pytest.mark.parametrize(("ratio", "aligned", "by_position"), [(-1, False, False), (2, True, False), (1, False, True)])
def test_roi_align(ratio, aligned, by_position, device, mode):
    data, rois = numbers(2, 8, 5, 6), torch.tensor(ROIS)
    options = (2, 2), 0.9, ratio, aligned, by_position
    same("roi_align", device, data, rois, *options)
    dy = numbers(4, 2 if by_position else 8, 2, 2, seed=1)
    same("roi_align_grad", device, dy, rois, *options, data.shape)


def test_regions_of_one_image_have_four_columns(device):
    same("roi_align", device, numbers(1, 3, 5, 6), torch.tensor(ROIS)[:2, 1:], (1, 2), 1.0, 1, False, False)


def test_rotated_regions(device):
    data, rois = numbers(2, 3, 5, 7), torch.tensor(ROTATED)
    same("rotated_roi_align", device, data, rois, (2, 3), 0.8, 2)
    same("rotated_roi_align", device, data, rois, (2, 3), 0.8, -1)
    same("rotated_roi_align_grad", device, numbers(3, 3, 2, 3), rois, (2, 3), 0.8, -1, data.shape)


def test_maxima_of_regions(device, mode):
    data, rois = numbers(2, 3, 5, 7), torch.tensor(ROIS)
    y, places = reference.roi_pool(data, rois, (2, 3), 0.9)
    same("roi_pool", device, data, rois, (2, 3), 0.9)
    same("roi_pool", device, data, rois[:0], (2, 3), 0.9)
    same("roi_pool_grad", device, numbers(*y.shape, seed=1), places, data.shape)
    same("roi_pool_gather", device, data, places)


@pytest.mark.parametrize("size", [(5, 7), (11, 3), (1, 1), (2, 13)])
@pytest.mark.parametrize("corners", [False, True])
def test_resizing(size, corners, device):
    for data, tolerance in ((numbers(2, 1, 5, 7), 1e-5), (numbers(1, 2, 1, 6).double(), 1e-12)):
        same("resize_bilinear", device, data, size, corners, tolerance=tolerance)
        dy = numbers(*data.shape[:2], *size, seed=1).to(data.dtype)
        same("resize_bilinear_grad", device, dy, data.shape, corners, tolerance=tolerance)


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 7), (8, 1)])
def test_adaptive_means(size, device):
    data, dy = numbers(2, 3, 5, 7), numbers(2, 3, *size, seed=1)
    same("adaptive_avg_pool", device, data, size)
    same("adaptive_avg_pool_grad", device, dy, data.shape)
    same("adaptive_avg_pool_grad", device, dy.double(), data.shape, tolerance=1e-12)


def test_sampling(device, mode):
    data, grid, dy = numbers(2, 3, 5, 7), numbers(2, 2, 4, 3, seed=1) * 1.1, numbers(2, 3, 4, 3, seed=2)
    same("bilinear_sample", device, data, grid)
    same("bilinear_sample_grad", device, dy, data, grid)
    same("bilinear_sample_grad", device, dy.double(), data.double(), grid.double(), tolerance=1e-11)
    same("bilinear_sample_grad", device, dy[:0], data[:0], grid[:0])


@pytest.mark.parametrize("windows", [((3, 3), (2, 1), (1, 2), (1, 2)), ((1, 2), (1, 1), (1, 1), (0, 0))])
def test_columns(windows, device):
    data = numbers(2, 3, 5, 7)
    same("columns", device, data, *windows)
    same("columns_grad", device, numbers(*reference.columns(data, *windows).shape, seed=1), (5, 7), *windows)


def test_deterministic_sums_repeat_and_keep_what_is_small(device):
    """Addends of very different size: the small ones survive as far as 62 bits reach."""
    before = kernels.set_deterministic(True)
    try:
        places = torch.zeros(9, 1, 1, 1, dtype=torch.int64, device=device)
        dy = torch.tensor([1e6, -1e6, 1e-3, 1, 1, 1, 1, 1, 1], device=device).view(9, 1, 1, 1)
        results = {
            float(vision.roi_pool_grad(dy[o], places, (1, 1, 1, 1))) for o in (range(9), [2, 0, 3, 1, *range(4, 9)])
        }
    finally:
        kernels.set_deterministic(before)
    assert results == {float(torch.tensor(6.001))}


def test_places_beyond_two_to_the_31(device):
    side, far = 2**15, 2**31 + 2**15 + 1  # in the third of three images
    data = torch.zeros(3, 1, side, side, dtype=torch.uint8, device=device)
    data.view(-1)[far] = 7
    places = torch.tensor([far, 0, -1], device=device).view(1, 1, 1, 3)
    assert vision.roi_pool_gather(data, places).flatten().tolist() == [7, 0, 0]


DATA, REGIONS, GRID = numbers(2, 4, 3, 3), torch.tensor(ROIS[:2]), numbers(2, 2, 2, 2)
PLACES = torch.zeros(2, 4, 1, 1, dtype=torch.int64)
SMALL = DATA[:, :, :1, :1].contiguous()
ONE = (3, 3), (1, 1), (1, 1), (0, 0)


def exactly(function, *args):
    before = kernels.set_deterministic(True)
    function(*args)
    kernels.set_deterministic(before)


SAMPLES = [
    lambda: vision.roi_align(DATA, REGIONS, (1, 1), 1.0, 1, False, False),
    lambda: vision.roi_align_grad(DATA, REGIONS[:, 1:], (3, 3), 1.0, 1, True, False, (1, 4, 3, 3)),
    lambda: exactly(vision.roi_align_grad, DATA, REGIONS[:, 1:], (3, 3), 1.0, 1, True, False, (1, 4, 3, 3)),
    lambda: vision.rotated_roi_align(DATA, torch.tensor(ROTATED[:2]), (1, 1), 1.0, 1),
    lambda: vision.rotated_roi_align_grad(SMALL, torch.tensor(ROTATED[:2]), (1, 1), 1.0, 1, (2, 4, 3, 3)),
    lambda: vision.roi_pool(DATA, REGIONS, (1, 1), 1.0),
    lambda: vision.roi_pool_grad(SMALL, PLACES, (2, 4, 3, 3)),
    lambda: vision.roi_pool_gather(DATA, PLACES),
    lambda: vision.bilinear_sample(DATA, GRID),
    lambda: vision.bilinear_sample_grad(DATA[:, :, :2, :2], DATA, GRID),
    lambda: vision.resize_bilinear(DATA, (2, 4), True),
    lambda: vision.resize_bilinear_grad(DATA, (2, 4, 2, 4), False),
    lambda: vision.adaptive_avg_pool(DATA, (2, 2)),
    lambda: vision.adaptive_avg_pool_grad(DATA, (2, 4, 5, 5)),
    lambda: vision.columns(DATA, *ONE),
    lambda: vision.columns_grad(DATA.view(2, 36, 1), (3, 3), *ONE),
]
