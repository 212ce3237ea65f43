"""Tiles of products shared out: when, and the check of it that `scripts/validate_gpu.py` makes."""

import pytest

from core.kernels.triton import tiles
from core.kernels.triton._balance import shares_of
from core.kernels.triton.targets import TARGETS
from scripts.benchmarks import gpu_balance, gpu_stages


@pytest.fixture
def setting(device, tmp_path):
    return gpu_stages.Setting(tmp_path, device == "cpu", 1)


def test_when_tiles_are_shared_out():
    """Never slower than in rounds, by blocks of K: what is handed on counts as four."""
    assert shares_of(192, 12, 132) == (0, 18)  # BERT's projection on 132 processors: 18 blocks, not 24
    assert shares_of(300, 48, 132) == (1, 62)  # 110, not 144
    assert shares_of(264, 48, 132) is None  # two full rounds
    assert shares_of(260, 48, 132) is None  # almost
    assert shares_of(66, 48, 132) is None  # few tiles are split along K
    assert shares_of(192, 4, 132) is None  # shares so short would fill no pipeline
    for count in range(1, 700):
        for steps in (1, 2, 3, 9, 17, 64):
            shares = shares_of(count, steps, 108)
            if shares is not None:
                whole, each = shares
                assert tiles.split_along(64 * steps, 64, count, 108)[0] == 1
                assert whole * steps + each < -(-count // 108) * steps
                assert 108 * (whole * steps + each) >= count * steps


@pytest.mark.parametrize("way", ["descriptors", "pointers"])
def test_products_share_tiles_out_whatever_the_rule_says(way, setting, monkeypatch):
    launched = []
    for name in ("_gemm_balanced", "_gemm_balanced_pointers"):
        kernel = getattr(gpu_balance.matmul, name)
        monkeypatch.setattr(kernel, "run", lambda *a, run=kernel.run, n=name, **kw: launched.append(n) or run(*a, **kw))
    found = gpu_stages.check_shared("float32", way, setting)
    assert found["products"] >= 2 and 0 < found["largest error"] < 1e-6
    assert (
        launched
        == [{"descriptors": "_gemm_balanced", "pointers": "_gemm_balanced_pointers"}[way]] * 2 * found["products"]
    )
    factors = iter((1, 2, 1.0001, 1.0001))
    monkeypatch.setattr(gpu_balance, "run", lambda product: (product.truth() * next(factors)).float())
    assert gpu_stages.check_shared("float32", way, setting)["error"].startswith("another result the second time")
    found = gpu_stages.check_shared("float32", way, setting)
    assert found["status"] == "wrong" and 9e-5 < found["largest error"] < 1.1e-4


def test_a_way_that_a_device_has_not_is_skipped_with_a_reason(setting, monkeypatch):
    monkeypatch.setattr(gpu_balance, "target_of", lambda device: TARGETS["cuda:80"])
    found = gpu_stages.check_shared("float32", "descriptors", setting)
    assert found == {"status": "skipped", "error": "cuda:80 has no descriptors"}
