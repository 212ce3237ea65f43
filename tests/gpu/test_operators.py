"""Every operator of the table on a GPU, forward and backward, gives what the CPU gives; a few in half precision."""

import pytest
import torch

import core as mx
from core.ops.registry import TABLE
from tests.support.once import NAMES, OWN, applied, filled

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", NAMES)
def test_operator(name):
    op, sample = TABLE[name], filled(TABLE[name])
    found, expected = applied(op, sample, mx.gpu(0)), applied(op, sample)
    for mine, true in zip(found, expected, strict=True):
        assert mine.shape == true.shape and mine.dtype == true.dtype
        if name not in OWN and not name.startswith(("_random_", "_sample_")):
            torch.testing.assert_close(mine.cpu(), true, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "name, shapes",
    [("dot", ((5, 7), (7, 3))), ("_npi_matmul", ((2, 5, 7), (2, 7, 3))), ("softmax", ((5, 33),)), ("sum", ((9, 70),))],
)
def test_half_precision(name, shapes, dtype):
    numbers = [torch.randn(shape, generator=torch.Generator().manual_seed(3)) for shape in shapes]
    found, expected = (
        TABLE[name](*(mx.nd.array(x.numpy(), ctx=ctx, dtype=kind) for x in numbers)).astype("float32").asnumpy()
        for ctx, kind in ((mx.gpu(0), dtype), (mx.cpu(), "float32"))
    )
    torch.testing.assert_close(torch.from_numpy(found), torch.from_numpy(expected), rtol=3e-2, atol=3e-2)
