"""Downloads against a real HTTP server on this machine that can cut connections and answer range requests."""

import contextlib
import functools
import hashlib
import http.server
import io
import multiprocessing
import os
import threading
import time
import urllib.request
import warnings

import pytest

from core import store as core_store
from gluon import store

BODY = bytes(range(256)) * 4000
SHA1 = hashlib.sha1(BODY).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.requests.append(self.headers.get("Range"))
        answer = server.answers.pop(0) if server.answers else "whole"
        if isinstance(answer, int):
            self.send_error(answer)
            return
        if callable(answer):
            answer(self)
            return
        begin, version = 0, getattr(server, "version", None)
        same = self.headers.get("If-Range") in (None, version)
        if (wanted := self.headers.get("Range")) and answer != "ignore range" and same:
            begin = int(wanted.removeprefix("bytes=").rstrip("-"))
            if begin >= len(BODY):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{len(BODY) - 1}/{len(BODY)}")
        else:
            self.send_response(200)
        if version:
            self.send_header("ETag", version)
        body = bytes(len(BODY)) if answer == "wrong" else BODY[begin:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if answer in ("cut", "stall") else body)
        if answer == "stall":
            self.wfile.flush()
            server.released.wait(20)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(store.time, "sleep", lambda seconds: None)
    monkeypatch.delenv("MXNET_OFFLINE", raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests, server.answers, server.released = [], [], threading.Event()
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        server.url = f"http://127.0.0.1:{server.server_port}/file.bin"
        yield server
        server.released.set()
        server.shutdown()


@contextlib.contextmanager
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def content(path):
    with open(path, "rb") as file:
        return file.read()


def test_the_file_arrives_under_its_name_or_the_given_one(server, tmp_path):
    assert store.download(server.url, tmp_path, sha1_hash=SHA1) == str(tmp_path / "file.bin")
    assert store.download(server.url, tmp_path / "new" / "other") == str(tmp_path / "new" / "other")
    assert content(tmp_path / "file.bin") == content(tmp_path / "new" / "other") == BODY
    assert {p.name for p in tmp_path.iterdir()} == {"file.bin", "file.bin.lock", "new"}


def test_a_right_file_is_kept_and_a_wrong_one_replaced(server, tmp_path):
    path = tmp_path / "file.bin"
    path.write_bytes(b"mine")
    store.download(server.url, path)
    assert path.read_bytes() == b"mine" and server.requests == []
    store.download(server.url, path, sha1_hash=SHA1)
    store.download(server.url, path, sha1_hash=SHA1)
    assert path.read_bytes() == BODY and len(server.requests) == 1
    store.download(server.url, path, sha1_hash=SHA1, overwrite=True)
    assert len(server.requests) == 2


def test_a_cut_connection_is_taken_up_where_it_ended(server, tmp_path):
    server.answers = ["cut", 503]
    with quiet():
        path = store.download(server.url, tmp_path, sha1_hash=SHA1)
    assert content(path) == BODY
    assert server.requests == [None] + [f"bytes={len(BODY) // 2}-"] * 2


def test_a_later_call_resumes_only_with_a_checksum(server, tmp_path):
    for sha1, second in ((SHA1, f"bytes={len(BODY) // 2}-"), (None, None)):
        server.answers, server.requests[:] = ["cut"], []
        with pytest.raises(store.DownloadError, match=r"ended after \d+ of"):
            store.download(server.url, tmp_path / str(sha1), sha1_hash=sha1, retries=0)
        assert not (tmp_path / str(sha1)).exists()
        assert content(store.download(server.url, tmp_path / str(sha1), sha1_hash=sha1)) == BODY
        assert server.requests == [None, second]


@pytest.mark.parametrize(("after", "weak"), [('"one"', False), ('"two"', False), ('W/"one"', True)])
def test_a_later_call_resumes_the_version_that_the_server_names(after, weak, server, tmp_path):
    server.version = after if weak else '"one"'
    server.answers = ["cut"]
    with pytest.raises(store.DownloadError, match=r"ended after \d+ of"):
        store.download(server.url, tmp_path, retries=0)
    server.version, server.requests[:] = after, []
    assert content(store.download(server.url, tmp_path)) == BODY
    assert server.requests == [None if weak else f"bytes={len(BODY) // 2}-"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.bin", "file.bin.lock"]


def test_a_stalled_server_is_asked_again(server, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "STALL_SECONDS", 0.3)
    server.answers = ["stall"]
    with quiet():
        assert content(store.download(server.url, tmp_path, sha1_hash=SHA1)) == BODY
    assert server.requests == [None, f"bytes={len(BODY) // 2}-"]


def test_a_server_without_ranges_sends_all_again(server, tmp_path):
    server.answers = ["cut", "ignore range"]
    with quiet():
        assert content(store.download(server.url, tmp_path, sha1_hash=SHA1)) == BODY


def test_a_part_that_was_complete_needs_no_more_bytes(server, tmp_path):
    (tmp_path / f"file.bin.{SHA1[:12]}.part").write_bytes(BODY)
    assert content(store.download(server.url, tmp_path, sha1_hash=SHA1)) == BODY


def test_a_wrong_checksum_fails_closed(server, tmp_path):
    server.answers = ["wrong", "wrong"]
    with quiet(), pytest.raises(store.DownloadError, match=SHA1):
        store.download(server.url, tmp_path, sha1_hash=SHA1, retries=1)
    assert [p.name for p in tmp_path.iterdir()] == ["file.bin.lock"]


def test_an_old_file_survives_a_failure(server, tmp_path):
    (tmp_path / "file.bin").write_bytes(b"old")
    server.answers = ["cut", "wrong"]
    with quiet(), pytest.raises(store.DownloadError):
        store.download(server.url, tmp_path, overwrite=True, sha1_hash=SHA1, retries=1)
    assert (tmp_path / "file.bin").read_bytes() == b"old"


def test_not_found_is_not_tried_again(server, tmp_path):
    server.answers = [404]
    with pytest.raises(store.DownloadError, match="404"):
        store.download(server.url, tmp_path)
    assert len(server.requests) == 1


def _raw(text: bytes, pause: float = 0):
    """An answer of these bytes; with a pause before each byte of them."""

    def answer(handler):
        with contextlib.suppress(OSError):  # the other end may have had enough
            for i in range(0, len(text), 1 if pause else len(text)):
                handler.wfile.write(text[i : i + 1] if pause else text)
                handler.server.released.wait(pause)
        handler.close_connection = True

    return answer


HEAD = b"HTTP/1.0 200 OK\r\n"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (HEAD + b"Content-Length: many\r\n\r\nxy", "Content-Length of 'many'"),
        (HEAD + b"Content-Length: -5\r\n\r\nxy", "Content-Length of '-5'"),
        (HEAD + b"\r\n", "empty"),
        (HEAD + b"Content-Length: 0\r\n\r\n", "empty"),
        (b"HTTP/1.0 302 Found\r\nLocation: ftp://127.0.0.1/x\r\n\r\n", "redirects to ftp://127.0.0.1/x"),
        (b"HTTP/1.0 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n", "file:///etc/passwd"),
        (
            HEAD + b"Content-Length: 999999999999999\r\n\r\nxy",
            "limit of 34359738368; MXNET_MAX_DOWNLOAD_BYTES or max_b",
        ),
        (HEAD + b"Content-Length: 99999999999\r\n\r\nxy", "beyond the limit"),
        (HEAD + b"\r\n" + bytes(5000), "5000 bytes or more are beyond the limit of 4000"),
        (b"HTTP/1.0 200" + b"x" * 70000, "got more than 65536 bytes"),
    ],
)
def test_odd_answers_are_refused_and_leave_no_file(answer, message, server, tmp_path, monkeypatch):
    if len(answer) > 4000:
        monkeypatch.setenv("MXNET_MAX_DOWNLOAD_BYTES", "4000")
    server.answers = [_raw(answer)] * 2
    with pytest.raises(store.DownloadError, match=message), quiet():
        store.download(server.url, str(tmp_path), retries=1)
    assert not [name for name in os.listdir(tmp_path) if not name.endswith(".lock")]


def test_a_limit_is_lifted_by_its_keyword(server, tmp_path, monkeypatch):
    monkeypatch.setenv("MXNET_MAX_DOWNLOAD_BYTES", "1000")
    with pytest.raises(store.DownloadError, match="limit of 1000"):
        store.download(server.url, str(tmp_path))
    assert content(store.download(server.url, str(tmp_path), max_bytes=0)) == BODY
    monkeypatch.setenv("MXNET_MAX_DOWNLOAD_BYTES", "a lot")
    with pytest.raises(store.MXNetError, match="MXNET_MAX_DOWNLOAD_BYTES is 'a lot'"):
        store.download(server.url, str(tmp_path), overwrite=True)


@pytest.mark.parametrize("head", [b"", HEAD + b"\r\n"])
def test_a_server_that_dribbles_is_left_in_time(head, server, tmp_path):
    """In its header, or in what it sends."""
    server.answers = [_raw(HEAD + b"X: " + bytes(1000) if not head else head + bytes(1000), pause=0.05)]
    start = time.monotonic()
    with pytest.raises(store.DownloadError, match=r"more than 0\.5 seconds.*MXNET_DOWNLOAD_SECONDS"), quiet():
        store.download(server.url, str(tmp_path), max_seconds=0.5)
    assert time.monotonic() - start < 5


def test_other_protocols_are_refused(tmp_path):
    for url in ("ftp://127.0.0.1/x", "data:text/plain,x", "x.bin"):
        with pytest.raises(store.DownloadError, match="accepted are http, https, file"):
            store.download(url, str(tmp_path / "x"))


@pytest.mark.parametrize("checked", [True, False])
def test_encryption_is_left_only_with_a_checksum(checked):
    redirects, request = store._Redirects(checked), urllib.request.Request("https://127.0.0.1/x")
    arguments = (request, None, 302, "Found", {}, "http://127.0.0.1/x")
    if checked:
        assert redirects.redirect_request(*arguments).full_url == "http://127.0.0.1/x"
    else:
        with pytest.raises(store._Refused, match="not encrypted"):
            redirects.redirect_request(*arguments)


def test_offline_says_what_is_missing_and_where(server, tmp_path, monkeypatch):
    monkeypatch.setenv("MXNET_OFFLINE", "1")
    with pytest.raises(store.DownloadError, match=r"file\.bin.*MXNET_OFFLINE"):
        store.download(server.url, tmp_path)
    (tmp_path / "file.bin").write_bytes(BODY)
    store.download(server.url, tmp_path, sha1_hash=SHA1)
    assert server.requests == []


def test_processes_that_want_one_file_fetch_it_once(server, tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=store.download, args=(server.url, str(tmp_path))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert content(tmp_path / "file.bin") == BODY and len(server.requests) == 1


def test_a_folder_can_be_the_mirror(tmp_path, monkeypatch):
    (tmp_path / "gluon").mkdir()
    (tmp_path / "gluon" / "a.bin").write_bytes(BODY)
    monkeypatch.setenv("MXNET_GLUON_REPO", tmp_path.as_uri())
    path = store.download(store.repo_file_url("gluon", "a.bin"), tmp_path / "copy", sha1_hash=SHA1)
    assert content(path) == BODY
    monkeypatch.delenv("MXNET_GLUON_REPO")
    assert store.repo_file_url("gluon", "a.bin") == store.DEFAULT_REPO + "gluon/a.bin"


def test_check_sha1(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")
    # FIPS 180-1, appendix A
    assert store.check_sha1(tmp_path / "f", "A9993E364706816ABA3E25717850C26C9CD0D89D")
    assert not store.check_sha1(tmp_path / "f", "0" * 40)
    assert os.path.basename(store.home()) == ".mxnet" or "MXNET_HOME" in os.environ


class Interrupted(io.BytesIO):
    """A file to copy during whose reading something else happens."""

    def __init__(self, content, meanwhile):
        super().__init__(content)
        self.meanwhile = meanwhile

    def read(self, size):
        if chunk := super().read(size):
            self.meanwhile()
        return chunk


def test_two_processes_unpack_one_file(tmp_path):
    target = tmp_path / "file.bin"
    other = functools.partial(store.write_checked, io.BytesIO(BODY), target, SHA1)
    store.write_checked(Interrupted(BODY, other), target, SHA1[:8])
    assert content(target) == BODY and os.listdir(tmp_path) == ["file.bin"]


def test_what_has_another_checksum_is_not_unpacked(tmp_path):
    (tmp_path / "file.bin").write_bytes(b"before")
    with pytest.raises(store.DownloadError, match=f"file.bin has the SHA-1 .*, not {SHA1}"):
        store.write_checked(io.BytesIO(b"damaged"), tmp_path / "file.bin", SHA1)
    assert content(tmp_path / "file.bin") == b"before" and os.listdir(tmp_path) == ["file.bin"]


def test_what_is_missing_in_a_folder_that_cannot_be_written_names_the_folder(tmp_path, monkeypatch):
    def refuse(path, mode="r", *rest, **more):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(core_store, "open", refuse, raising=False)
    wanted = r"weights.params is not there, and cannot be put.*MXNET_HOME"
    with pytest.raises(OSError, match=wanted) as caught, core_store.locked(os.fspath(tmp_path / "weights.params")):
        pass
    assert caught.value.filename == str(tmp_path)
