"""The cross-entropy of a linear layer against the layer and its loss apart, in float64."""

import pytest
import torch

from core.kernels.cpu import linear_loss as on_cpu
from core.kernels.triton import linear_loss

pytestmark = pytest.mark.usefixtures("on_device")

TOLERANCE = {torch.float64: 1e-12, torch.float32: 3e-6, torch.float16: 4e-3, torch.bfloat16: 3e-2}
# Rows, classes, width: less than a tile, several tiles and parts, a width that no descriptor takes.
SIZES = [(1, 1, 1), (5, 7, 16), (70, 333, 24), (33, 200, 9), (0, 5, 4)]


def given(count, classes, width, dtype, bias=True):
    torch.manual_seed(count + classes)
    x, w, b = torch.randn(count, width), torch.randn(classes, width), torch.randn(classes)
    label = torch.randint(-2, classes + 2, (count,)).float() + 0.5
    return x.to(dtype), w.to(dtype), b.to(dtype) if bias else None, label, torch.randn(count).to(dtype)


def apart(x, w, b, label, dloss):
    """Loss, lse and gradients by the formulas, with all logits in memory."""
    x, w, dloss = x.double(), w.double(), dloss.double()
    logits = x @ w.T + (0 if b is None else b.double())
    at = label.to(torch.int64).clamp(0, w.shape[0] - 1)
    lse = logits.logsumexp(1)
    d = (logits - lse[:, None]).exp()
    d[torch.arange(len(at)), at] -= 1
    d *= dloss[:, None]
    loss = lse - logits.gather(1, at[:, None])[:, 0]
    return [loss, lse, d @ w, d.T @ x, *([] if b is None else [d.sum(0)])]


def close(found, expected, dtype):
    found = [t for t in found if t is not None]
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        assert ours.shape == theirs.shape and not ours.isnan().any()
        assert (ours.double() - theirs).norm() <= TOLERANCE[dtype] * max(theirs.norm(), 1e-3)


def compare(backend, values, dtype):
    x, w, b, label, dloss = values
    loss, lse = backend.linear_cross_entropy(x, w, b, label)
    gradients = backend.linear_cross_entropy_grad(dloss, x, w, b, label, lse)
    assert [t.dtype for t in (loss, *gradients) if t is not None] == [dtype] * (3 + (b is not None))
    close([loss, lse, *gradients], apart(*values), dtype)


@pytest.mark.parametrize("backend", [linear_loss, on_cpu], ids=["triton", "cpu"])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("sizes", SIZES)
def test_as_a_layer_and_a_loss(sizes, dtype, backend):
    compare(backend, given(*sizes, dtype), dtype)


@pytest.mark.parametrize("backend", [linear_loss, on_cpu], ids=["triton", "cpu"])
def test_parts_and_no_bias(backend, monkeypatch):
    monkeypatch.setattr(backend, "PART", 70 * 128)
    compare(backend, given(70, 333, 24, torch.float32, bias=False), torch.float32)
    compare(backend, given(70, 333, 24, torch.float32), torch.float32)


def test_pointers(monkeypatch):
    monkeypatch.setattr(linear_loss, "_described", lambda x, w: False)
    for dtype in (torch.float32, torch.bfloat16):
        compare(linear_loss, given(70, 333, 32, dtype), dtype)


def test_rows_that_are_sure():
    """Logits of which one is far above the others, or infinitely low."""
    x, w = torch.eye(2), torch.tensor([[1e4, -1e4], [0.0, 0.0], [5.0, 5.0]])
    b, label = torch.tensor([0.0, 0.0, float("-inf")]), torch.tensor([0, 1])
    for backend in (linear_loss, on_cpu):
        loss, lse = backend.linear_cross_entropy(x, w, b, label)
        assert loss.tolist() == [0, 0] and lse.tolist() == [1e4, 0]
        gradients = backend.linear_cross_entropy_grad(torch.ones(2), x, w, b, label, lse)
        assert all((t == 0).all() for t in gradients)


def peak(run):
    """Bytes of the largest tensor that `run()` makes."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        most = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            for t in result if isinstance(result, (tuple, list)) else [result]:
                if isinstance(t, torch.Tensor):
                    self.most = max(self.most, t.untyped_storage().nbytes())
            return result

    with Watch() as watch:
        run()
    return watch.most


@pytest.mark.parametrize("backend", [linear_loss, on_cpu], ids=["triton", "cpu"])
def test_logits_are_never_in_memory(backend, monkeypatch):
    monkeypatch.setattr(backend, "PART", 64 * 128)
    x, w, b, label, dloss = given(64, 2048, 16, torch.float32)
    _, lse = backend.linear_cross_entropy(x, w, b, label)
    biggest = 2048 * 16 * 4  # the gradient of the weights
    assert peak(lambda: backend.linear_cross_entropy(x, w, b, label)) <= biggest < 64 * 2048 * 4
    assert peak(lambda: backend.linear_cross_entropy_grad(dloss, x, w, b, label, lse)) <= biggest


def _sample(dtype, bias, classes=333):
    x, w, b = torch.ones(70, 64, dtype=dtype), torch.ones(classes, 64, dtype=dtype), torch.ones(classes, dtype=dtype)
    label, b = torch.zeros(70), b if bias else None
    loss, lse = linear_loss.linear_cross_entropy(x, w, b, label)
    linear_loss.linear_cross_entropy_grad(loss, x, w, b, label, lse)


SAMPLES = [
    lambda: _sample(torch.bfloat16, True),
    lambda: _sample(torch.float32, False),
    lambda: _sample(torch.float64, True),
    lambda: _sample(torch.float32, True, classes=10),
]
