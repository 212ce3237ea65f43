"""The store of weights against a server on this machine that sends whole archives, cuts, corrupts,
stalls and drops them.
"""

import hashlib
import http.server
import io
import os
import threading
import time
import warnings
import zipfile

import pytest

from core import nd
from core.base import MXNetError
from gluon import store
from gluon.store import DownloadError
from gluoncv import model_zoo
from gluoncv.model_zoo import model_store


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.requests.append(self.path)
        answer = server.answers.pop(0) if server.answers else "whole"
        body = server.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        if answer == "drop":
            self.connection.close()
            return
        begin = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if begin else 200)
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - begin))
        self.end_headers()
        if answer == "corrupt":
            body = bytes(len(body))
        half = (begin + len(body)) // 2
        self.wfile.write(body[begin : half if answer in ("truncate", "stall") else None])
        if answer == "stall":
            self.wfile.flush()
            server.released.wait(20)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Weights of a small network, and what is published of them: an archive of one file."""
    net = model_zoo.get_model("cifar_resnet20_v1")
    net.initialize()
    net.infer_shape(nd.zeros((1, 3, 32, 32)))
    path = tmp_path_factory.mktemp("weights") / "net.params"
    net.save_parameters(str(path))
    return path.read_bytes()


@pytest.fixture
def server(weights, monkeypatch, tmp_path):
    sha1 = hashlib.sha1(weights).hexdigest()
    monkeypatch.setitem(model_store.checksums(), "cifar_resnet20_v1", sha1)
    monkeypatch.setattr(store.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(store, "STALL_SECONDS", 0.5)
    monkeypatch.delenv("MXNET_OFFLINE", raising=False)
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    name, archive = f"cifar_resnet20_v1-{sha1[:8]}", io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr(f"{name}.params", weights)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests, server.answers, server.released = [], [], threading.Event()
        server.sha1, server.name = sha1, name
        server.files = {f"/gluon/models/{name}.zip": archive.getvalue(), "/mine.params": weights}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        server.url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("MXNET_GLUON_REPO", server.url)
        yield server
        server.released.set()
        server.shutdown()


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_published_weights_come_from_the_mirror_once(server, tmp_path):
    for _ in range(2):
        model_zoo.get_model("cifar_resnet20_v1", pretrained=True)
    assert server.requests == [f"/gluon/models/{server.name}.zip"]
    folder = tmp_path / "home" / "models"
    assert [p.name for p in folder.glob("*.params")] == [f"{server.name}.params"]
    assert model_store.cached() == [(f"{server.name}.params", (folder / f"{server.name}.params").stat().st_size)]
    model_store.purge()
    assert model_store.cached() == []


@pytest.mark.parametrize("answers", [["truncate"], ["stall"], ["drop"], ["truncate", "drop", "stall"]])
def test_broken_downloads_are_taken_up(answers, server):
    server.answers = list(answers)
    began = time.monotonic()
    model_zoo.get_model("cifar_resnet20_v1", pretrained=True)
    assert len(server.requests) == len(answers) + 1
    assert time.monotonic() - began < 15


def test_corrupt_archives_are_refused(server, tmp_path):
    server.answers = ["corrupt"] * 9
    with pytest.raises(DownloadError, match="not the published archive"):
        model_zoo.get_model("cifar_resnet20_v1", pretrained=True)
    assert not list((tmp_path / "home" / "models").glob("*.params"))
    server.answers = []
    model_zoo.get_model("cifar_resnet20_v1", pretrained=True)


def test_an_archive_of_other_weights_is_refused(server, monkeypatch):
    other = server.sha1[:8] + "0" * 32
    monkeypatch.setitem(model_store.checksums(), "cifar_resnet20_v1", other)
    with pytest.raises(DownloadError, match=f"{server.name}.params has the SHA-1 {server.sha1}, not {other}"):
        model_zoo.get_model("cifar_resnet20_v1", pretrained=True)
    assert model_store.cached() == []


def test_a_version_by_its_hash(server):
    model_zoo.get_model("cifar_resnet20_v1", pretrained=server.sha1[:10])
    assert server.requests == [f"/gluon/models/{server.name}.zip"]
    with pytest.raises(DownloadError, match="404"):
        model_zoo.get_model("cifar_resnet20_v1", pretrained="0123abcd")


def test_files_folders_and_urls(server, weights, tmp_path):
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "anything.params"
    file.write_bytes(weights)
    for pretrained in (str(file), file, file.parent, f"{server.url}/mine.params", file.as_uri()):
        assert os.path.getsize(model_store.weights_file("cifar_resnet20_v1", pretrained)) == len(weights)
        model_zoo.get_model("cifar_resnet20_v1", pretrained=pretrained)
    (file.parent / "cifar_resnet20_v1-best.params").write_bytes(weights)
    assert model_store.weights_file("cifar_resnet20_v1", file.parent).endswith("cifar_resnet20_v1-best.params")
    with pytest.raises(MXNetError, match=r"no single file of weights for dla34; it has: anything.params, cifar"):
        model_store.weights_file("dla34", file.parent)
    with pytest.raises(MXNetError, match=r"'nowhere\.params' is no file, no folder, no URL"):
        model_zoo.get_model("cifar_resnet20_v1", pretrained="nowhere.params")


def test_a_network_of_features_leaves_the_classifier_of_its_file(tmp_path):
    file = str(tmp_path / "dla34.params")
    whole = model_zoo.get_model("dla34")
    whole.initialize()
    whole.infer_shape(nd.zeros((1, 3, 64, 64)))
    whole.save_parameters(file)
    features = model_zoo.get_model("dla34", pretrained=file, use_feature=True)
    x = nd.random.uniform(shape=(1, 3, 64, 64))
    pooled = nd.concat(*[level.mean(axis=(2, 3)) for level in features(x)], dim=1)
    assert abs(whole.fc(pooled) - whole(x)).max().asscalar() < 1e-4
    kept = {name: array for name, array in nd.load(file).items() if not name.startswith("base_layer")}
    nd.save(file, kept)
    with pytest.raises(AssertionError, match="base_layer"):
        model_zoo.get_model("dla34", pretrained=file, use_feature=True)


def test_offline(server, monkeypatch, tmp_path):
    monkeypatch.setenv("MXNET_OFFLINE", "1")
    for pretrained in (True, f"{server.url}/mine.params"):
        with pytest.raises(DownloadError, match="MXNET_OFFLINE forbids"):
            model_zoo.get_model("cifar_resnet20_v1", pretrained=pretrained)
    with pytest.raises(DownloadError, match="resnet18_v1b"):
        model_zoo.get_model("resnet18_v1b_kinetics400")
    assert server.requests == []
    model_zoo.get_model("fcn_resnet50_voc", pretrained_base=False)
