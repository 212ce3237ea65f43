"""Position-sensitive pooling of regions against the numbers of MXNet 1.9.1, and by finite differences."""

import numpy as np
import pytest

import core as mx
from core.test_utils import check_numeric_gradient

ROIS = [[0, 20.5, 24, 150, 100], [1, -5, 3, 60, 300], [1, 200, 3, 201, 5]]


def _data(dtype="float32"):
    return mx.nd.array(np.sin(np.arange(2 * 18 * 10 * 14)).reshape(2, 18, 10, 14), dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cells_are_means_of_their_own_channels(dtype):
    rois = mx.nd.array(ROIS, dtype=dtype)
    out = mx.nd.contrib.PSROIPooling(_data(dtype), rois, spatial_scale=0.0625, output_dim=2, pooled_size=3)
    assert out.shape == (3, 2, 3, 3) and out.dtype == np.dtype(dtype)
    data = _data(dtype).asnumpy()
    # round(20.5) = 21 to 151 of 16 pixels an element: columns 1.3125 to 9.4375; rows 24 to 101: 1.5 to 6.3125.
    rows, columns = slice(int(1.5 + 4.8125 / 3), 5), slice(int(1.3125 + 8.125 / 3 * 2), 10)
    np.testing.assert_allclose(out.asnumpy()[0, 1, 1, 2], data[0, 9 + 5, rows, columns].mean(), rtol=1e-5)


def test_moved_cells_have_gradients_in_data_and_shifts():
    rng = np.random.default_rng(1)
    symbol = mx.sym.contrib.DeformablePSROIPooling(
        data=mx.sym.var("data"), rois=mx.sym.var("rois"), trans=mx.sym.var("trans"), spatial_scale=0.25, output_dim=2,
        group_size=2, pooled_size=2, sample_per_part=2, trans_std=0.1,
    )  # fmt: skip
    place = {
        "data": rng.random((1, 8, 4, 5)),
        "rois": np.array([[0, 2.0, 1, 13, 12]]),
        "trans": rng.random((1, 4, 2, 2)) * 0.2,
    }
    check_numeric_gradient(
        symbol, place, grad_nodes=["data", "trans"], numeric_eps=1e-5, rtol=1e-4, atol=1e-6, dtype=np.float64
    )


def test_regions_that_do_not_fit():
    with pytest.raises(mx.MXNetError, match="2 x 3 x 3 channels"):
        mx.nd.contrib.PSROIPooling(
            mx.nd.zeros((1, 8, 4, 4)), mx.nd.zeros((1, 5)), spatial_scale=1, output_dim=2, pooled_size=3
        )
