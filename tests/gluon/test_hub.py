"""Weights by name from a hub on this machine: there, missing, slow, damaged, interrupted, offline, wanted by four."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed, through which the hub is read")

from core.base import MXNetError
from core.files import write_safetensors
from gluon import hub
from gluon.store import DownloadError
from tests.gluon.hub_server import NOWHERE


@pytest.fixture
def server(hub_server, monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 1)
    write_safetensors(tmp_path / "model.safetensors", {"a": np.arange(40000, dtype="float32")})
    hub_server.files["owner/net"] = {
        "model.safetensors": (tmp_path / "model.safetensors").read_bytes(), "config.json": b"{}", "other.bin": b"x",
    }  # fmt: skip
    return hub_server


NET = hub.HubFile("owner/net")


def test_names():
    assert hub.parse("hf://timm/resnet50d.gluon_in1k") == ("timm/resnet50d.gluon_in1k", None, None)
    assert hub.parse("hf://a/b@v1.0:sub/x.safetensors") == ("a/b", "v1.0", "sub/x.safetensors")
    assert str(hub.parse("hf://a/b@v1:x")) == "hf://a/b@v1:x"
    for wrong in ("hf://a", "hf://a/b/c", "hf://a/b:../x", "http://a/b"):
        with pytest.raises(MXNetError, match="OWNER/NAME"):
            hub.parse(wrong)


def test_a_file_comes_once_and_its_digest_is_kept(server):
    path = Path(hub.fetch(NET))
    assert path.read_bytes() == server.files["owner/net"]["model.safetensors"]
    assert len(path.resolve().name) == 64
    gets = [path for command, path in server.requests if command == "GET"]
    assert hub.fetch(NET) == str(path)
    assert [path for command, path in server.requests if command == "GET"] == gets
    by_revision = hub.fetch(NET._replace(revision=server.commit, file="other.bin"))
    assert Path(by_revision).read_bytes() == b"x"


def test_folders_have_what_the_repository_has_and_weights_in_safetensors(server):
    folder = Path(hub.fetch_folder(NET, ("vocab.txt", "other.bin")))
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors", "other.bin"]
    server.files["owner/old"] = {"config.json": b"{}", "pytorch_model.bin": b"x"}
    with pytest.raises(DownloadError, match=r"no weights in \.safetensors.*hf://owner/old:pytorch_model\.bin"):
        hub.fetch_folder(hub.HubFile("owner/old"), ())
    folder = Path(hub.fetch_folder(hub.HubFile("owner/old", file="pytorch_model.bin"), ()))
    assert (folder / "pytorch_model.bin").exists()


@pytest.mark.parametrize("place", ["owner/nothing", "owner/net@v9", "owner/net:nothing.safetensors"])
def test_what_is_missing_is_named(server, place):
    with pytest.raises(DownloadError, match=rf"has no hf://{place}"):
        hub.fetch(hub.parse(f"hf://{place}"))


def test_what_has_another_digest_is_neither_used_nor_kept(server):
    server.answers = ["corrupt"]
    with pytest.raises(DownloadError, match="the digest"):
        hub.fetch(NET)
    assert Path(hub.fetch(NET)).read_bytes() == server.files["owner/net"]["model.safetensors"]


def test_an_interrupted_download_goes_on(server):
    server.answers = ["cut"]
    path = Path(hub.fetch(NET))
    assert path.read_bytes() == server.files["owner/net"]["model.safetensors"]
    assert sum(command == "GET" and "model" in path for command, path in server.requests) == 2


def test_a_stalled_answer_is_asked_for_again(server):
    server.answers = ["slow"]
    begun = time.monotonic()
    assert Path(hub.fetch(NET)).read_bytes() == server.files["owner/net"]["model.safetensors"]
    assert time.monotonic() - begun < 25


def test_offline_takes_what_is_there_and_says_what_is_not(server, monkeypatch):
    path = hub.fetch(NET)
    seen = len(server.requests)
    for setting in ("MXNET_OFFLINE", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(setting, "1")
        assert hub.fetch(NET) == path
        with pytest.raises(DownloadError, match=r"OFFLINE forbids the .*HF_ENDPOINT"):
            hub.fetch(NET._replace(file="other.bin"))
        monkeypatch.delenv(setting)
    assert len(server.requests) == seen


def test_without_a_network_it_ends_soon(server, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    begun = time.monotonic()
    with pytest.raises(DownloadError, match=r"127\.0\.0\.1:9 is not to be had: .*HF_ENDPOINT names a mirror"):
        hub.fetch(NET)
    assert time.monotonic() - begun < 5


def test_four_processes_want_one_file(server):
    want = server.files["owner/net"]["model.safetensors"]
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if Path(hub.fetch(NET)).read_bytes() == want else 1)
            except BaseException:
                os._exit(2)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4


def test_the_package_is_named_where_it_is_absent(monkeypatch):
    monkeypatch.setattr(hub, "installed", lambda: False)
    with pytest.raises(DownloadError, match=r"pip install 'gluon-triton\[hub\]'"):
        hub.fetch(NET)
