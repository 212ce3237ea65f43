"""Configurations are measured once for a class of shapes and remembered, in the process and on disk."""

import json
import os
import subprocess
import sys
from pathlib import Path

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
    monkeypatch.setattr(autotune, "_seconds", lambda launch, config: launch(config))
    monkeypatch.setattr(autotune, "_shipped", dict)
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
    assert sorted(path.name for path in cache.parent.iterdir()) == ["autotune.json", "autotune.lock"]


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


def test_a_configuration_that_fails_is_passed_over(cache):
    def fails(config):
        if config == FAST:
            raise RuntimeError("no such instruction")
        return 1.0

    with pytest.warns(UserWarning, match=r"k\(1\): .*BLOCK.: 32.* is passed over \(RuntimeError: no such instruction"):
        assert autotune.choose("k", (1,), [FAST, SLOW], fails) == SLOW


def test_where_all_configurations_fail_so_does_the_call(cache):
    def fails(config):
        raise RuntimeError("no such instruction")

    with pytest.warns(UserWarning, match="passed over"), pytest.raises(RuntimeError, match="no such instruction"):
        autotune.choose("k", (1,), [FAST, SLOW], fails)
    assert not cache.exists()


def test_choices_that_are_shipped_are_not_measured(cache, monkeypatch):
    monkeypatch.setattr(autotune, "_shipped", lambda: {"k(1)": autotune._describe(FAST)})
    assert autotune.choose("k", (1,), [SLOW, FAST], never) == FAST
    assert not cache.exists()


def test_the_shipped_table_is_of_choices_by_gpu():
    table = json.loads(Path(autotune.__file__).with_name("tuned.json").read_text())
    for choices in table.values():
        for choice in choices.values():
            assert choice.keys() == {"constexprs", "num_warps", "num_stages"}


def test_processes_side_by_side_lose_no_choice(cache):
    program = f"""
import sys; from pathlib import Path; from core.kernels.triton import autotune
autotune.cache_file = lambda: Path({str(cache)!r})
for number in range(20): autotune._write(f"{{sys.argv[1]}}({{number}})", autotune.Config({{}}))
"""
    writers = [subprocess.Popen([sys.executable, "-c", program, name]) for name in ("a", "b", "c")]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(json.loads(cache.read_text())) == 60


def test_nothing_is_measured_while_a_graph_is_captured(cache, monkeypatch):
    monkeypatch.setattr(autotune.torch.cuda, "is_current_stream_capturing", lambda: True)
    assert autotune.choose("k", (1,), [SLOW, FAST], never) == SLOW
    assert not cache.exists()


def test_tuning_can_be_switched_off(cache, monkeypatch):
    monkeypatch.setenv("MXNET_CUDNN_AUTOTUNE_DEFAULT", "0")
    assert autotune.choose("k", (1,), [SLOW, FAST], never) == SLOW


def test_configurations_are_compiled_side_by_side_before_they_are_measured(root, tmp_path):
    """On threads, none of them twice, and nothing is launched for it."""
    environment = {k: v for k, v in os.environ.items() if k not in ("TRITON_INTERPRET", "MXNET_CUDNN_AUTOTUNE_DEFAULT")}
    environment |= {"PYTHONPATH": str(root), "TRITON_CACHE_DIR": str(tmp_path)}
    program = Path(__file__).with_name("compiled_ahead.py")
    result = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr[-2000:]
    found = json.loads(result.stdout.splitlines()[-1])
    assert found["ahead"] == 9 and found["threads"] == [2, False]
    # Of a few tiles, the configurations that share them out are those of three others.
    assert (found["launched ahead"], found["later"], found["launched"]) == (0, 0, 13)
    assert found["tuned"] == [9, False]


def test_shapes_of_one_class_share_a_configuration():
    assert autotune.shape_class(0, 1, 5, 8, 9) == (0, 1, 8, 8, 16)
