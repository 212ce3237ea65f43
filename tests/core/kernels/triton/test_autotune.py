"""Configurations are measured once for a class of shapes and remembered, in the process and on disk."""

import json

import pytest

from core.kernels.triton import autotune
from core.kernels.triton.autotune import Config

SLOW, FAST = Config({"BLOCK": 16}), Config({"BLOCK": 32}, num_warps=8)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A GPU's worth of measuring without one: BLOCK=32 is the fastest. Yields the cache file."""
    path = tmp_path / "gluon-triton" / "autotune.json"
    monkeypatch.setattr(autotune, "INTERPRETED", False)
    monkeypatch.setattr(autotune, "_remembered", {})
    monkeypatch.setattr(autotune, "cache_file", lambda: path)
    monkeypatch.setattr(autotune, "_milliseconds", lambda launch, config: launch(config))
    monkeypatch.delenv("MXNET_CUDNN_AUTOTUNE_DEFAULT", raising=False)
    monkeypatch.setattr(autotune.torch.cuda, "is_current_stream_capturing", lambda: False)
    return path


def launch(config):
    return 1 / config["BLOCK"]


def never(config):
    raise AssertionError("measured again")


def test_the_fastest_is_chosen_and_remembered(cache, monkeypatch):
    assert autotune.choose("k", (1, "fp16"), [SLOW, FAST], launch) == FAST
    assert autotune.choose("k", (1, "fp16"), [SLOW, FAST], never) == FAST
    monkeypatch.setattr(autotune, "_remembered", {})
    assert autotune.choose("k", (1, "fp16"), [SLOW, FAST], never) == FAST
    assert [path.name for path in cache.parent.iterdir()] == [cache.name]


def test_choices_of_other_shapes_stay(cache):
    autotune.choose("k", (1,), [SLOW, FAST], launch)
    autotune.choose("k", (2,), [SLOW, FAST], lambda config: config["BLOCK"])
    assert json.loads(cache.read_text()).keys() == {"k(1)", "k(2)"}


def test_a_remembered_configuration_that_is_gone_is_measured_again(cache):
    autotune.choose("k", (1,), [SLOW, FAST], launch)
    autotune._remembered.clear()
    assert autotune.choose("k", (1,), [SLOW, Config({"BLOCK": 64})], launch) == Config({"BLOCK": 64})


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_damaged_file_is_said_and_replaced(cache, content):
    cache.parent.mkdir()
    cache.write_text(content)
    with pytest.warns(UserWarning, match="cannot be read"):
        assert autotune.choose("k", (1,), [SLOW, FAST], launch) == FAST
    assert json.loads(cache.read_text()).keys() == {"k(1)"}


def test_a_folder_that_cannot_be_written_costs_a_warning(cache):
    cache.parent.write_text("a file in its place")
    with pytest.warns(UserWarning, match="cannot be written"):
        assert autotune.choose("k", (1,), [SLOW, FAST], launch) == FAST
    assert autotune.choose("k", (1,), [SLOW, FAST], never) == FAST


def test_nothing_is_measured_while_a_graph_is_captured(cache, monkeypatch):
    monkeypatch.setattr(autotune.torch.cuda, "is_current_stream_capturing", lambda: True)
    assert autotune.choose("k", (1,), [SLOW, FAST], never) == SLOW
    assert not cache.exists()


def test_tuning_can_be_switched_off(cache, monkeypatch):
    monkeypatch.setenv("MXNET_CUDNN_AUTOTUNE_DEFAULT", "0")
    assert autotune.choose("k", (1,), [SLOW, FAST], never) == SLOW


def test_shapes_of_one_class_share_a_configuration():
    assert autotune.shape_class(0, 1, 5, 8, 9) == (0, 1, 8, 8, 16)
