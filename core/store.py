"""The one way in which files come from the network: pretrained parameters, vocabularies, data sets.

Settings (environment variables):

- `MXNET_GLUON_REPO`: the mirror to use instead of `DEFAULT_REPO`; an http(s) or file URL.
- `MXNET_HOME`: the folder under which files are kept (default `~/.mxnet`).
- `MXNET_OFFLINE=1`: never touch the network; what is absent raises `DownloadError` at once.
- `MXNET_MAX_DOWNLOAD_BYTES`, `MXNET_DOWNLOAD_SECONDS`: limits to one download (`core.files.limits`).
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import random
import shutil
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import IO
from urllib.parse import urlsplit

from core.base import BadArgument, MXNetError
from core.files.atomic import replacing, sync_folder
from core.files.limits import DOWNLOAD_BYTES, DOWNLOAD_SECONDS

SCHEMES = ("http", "https", "file")
DEFAULT_REPO = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"
STALL_SECONDS = 60
CHUNK = 1 << 20


class DownloadError(MXNetError):
    """A file could not be fetched, or what arrived is not what was asked for."""


def download(
    url: str, path: str | os.PathLike | None = None, overwrite: bool = False, sha1_hash: str | None = None,
    retries: int = 5, verify_ssl: bool = True, *, max_bytes: float | None = None, max_seconds: float | None = None,
) -> str:  # fmt: skip
    """Fetches `url` (http, https or file) into `path` (a file, a folder, or None for the current folder) and returns the file's name.

    A file that exists and has the SHA-1 `sha1_hash` (if one is given) is kept unless `overwrite`. The file
    appears under its name only when it is complete and its checksum is right; a download that was interrupted
    goes on where it stopped, also in another process, with a checksum, or if the server says by an ETag or a date
    that the file is still the same. Of several processes that want one file, one fetches it and the others wait.

    max_bytes, max_seconds: limits to the file's size and to the time that all attempts take, where the defaults
    (32 GiB, 6 hours; `MXNET_MAX_DOWNLOAD_BYTES`, `MXNET_DOWNLOAD_SECONDS`) do not fit; 0 for none. What has arrived
    when the time is over is kept for the next call.

    Raises `DownloadError` after `retries` repetitions, on a wrong checksum, on an empty answer, for a redirection to
    another protocol (to http from https only where there is no checksum), beyond a limit, and when offline.
    """
    if retries < 0:
        raise BadArgument(f"retries must be 0 or more, got {retries}")
    if (scheme := urlsplit(url).scheme.lower()) not in SCHEMES:
        raise DownloadError(f"{url}: the protocol {scheme!r} is not spoken; accepted are {', '.join(SCHEMES)}")
    target = _target(url, path)
    if not overwrite and _is_there(target, sha1_hash):
        return target
    if offline():
        raise DownloadError(
            f"{target} is absent or damaged, and MXNET_OFFLINE forbids downloading {url}. "
            "Put the file there, or unset MXNET_OFFLINE."
        )
    if not verify_ssl:
        warnings.warn(f"the certificate of {url} is not verified (verify_ssl=False)", stacklevel=2)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with locked(target):
        # Another process may have fetched it while this one waited.
        if overwrite or not _is_there(target, sha1_hash):
            size, seconds = DOWNLOAD_BYTES.value(max_bytes), DOWNLOAD_SECONDS.value(max_seconds)
            ends = time.monotonic() + seconds
            _fetch_with_retries(_Wanted(url, sha1_hash, verify_ssl, size, seconds, ends), target, retries)
    return target


def check_sha1(filename: str | os.PathLike, sha1_hash: str) -> bool:
    """Whether the SHA-1 of the file's content is `sha1_hash` (40 hexadecimal digits)."""
    with open(filename, "rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest() == sha1_hash.lower()


def write_checked(source: IO[bytes], target: str | os.PathLike, sha1_hash: str | None = None) -> None:
    """Copies an open file, such as a member of an archive, to `target`, which appears when it is complete.

    Several processes may write one target at a time. sha1_hash: all digits of the SHA-1 that the content must have, or
    the first ones; `DownloadError`, and no new file, if it has another.
    """
    digest = hashlib.sha1()
    with replacing(target) as file:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            file.write(chunk)
        if sha1_hash is not None and not digest.hexdigest().startswith(sha1_hash.lower()):
            raise DownloadError(f"what was unpacked for {target} has the SHA-1 {digest.hexdigest()}, not {sha1_hash}")


def replace_file(src: str | os.PathLike, dst: str | os.PathLike) -> None:
    """Puts `src` in the place of `dst` in one step; both on one file system."""
    os.replace(src, dst)


def offline() -> bool:
    """Whether MXNET_OFFLINE forbids the network."""
    return os.environ.get("MXNET_OFFLINE", "").lower() not in ("", "0", "false")


def home() -> str:
    """The folder under which downloaded files are kept: MXNET_HOME, or `~/.mxnet`."""
    return os.path.expanduser(os.environ.get("MXNET_HOME") or os.path.join("~", ".mxnet"))


def repo_url() -> str:
    """The root of published files, with a slash at its end: MXNET_GLUON_REPO, or `DEFAULT_REPO`."""
    return (os.environ.get("MXNET_GLUON_REPO") or DEFAULT_REPO).rstrip("/") + "/"


def repo_file_url(namespace: str, filename: str) -> str:
    """The URL of a published file, such as `repo_file_url("gluon/dataset/mnist", "NAME.gz")`."""
    return f"{repo_url()}{namespace}/{filename}"


@contextlib.contextmanager
def locked(target: str) -> Iterator[None]:
    """Holds the lock of the file `target` against other processes; the system frees it when a process dies.

    Raises OSError, which names the folder, where that cannot be written to.
    """
    # The lock file stays: removing it would let two processes lock two different files of one name.
    try:
        file = open(f"{target}.lock", "w")  # noqa: SIM115
    except OSError as error:
        folder = os.path.dirname(os.path.abspath(target))
        why = f"{os.path.basename(target)} is not there, and cannot be put into a folder that is not writable"
        raise type(error)(error.errno, f"{why} (MXNET_HOME, or root=, names another)", folder) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Refused(Exception):
    """An answer that another attempt would not change."""


@dataclass(frozen=True)
class _Wanted:
    """What is fetched, and under which limits; `ends` is a time of `time.monotonic`."""

    url: str
    sha1_hash: str | None
    verify_ssl: bool
    max_bytes: float
    max_seconds: float
    ends: float

    def check_time(self) -> None:
        if time.monotonic() > self.ends:
            raise _Refused(
                f"it took more than {self.max_seconds:g} seconds; another call goes on where this one ended, "
                + DOWNLOAD_SECONDS.lifted_by("max_seconds")
            )

    def check_size(self, size: int, part: str) -> None:
        if size > self.max_bytes:
            _remove(part)
            raise _Refused(
                f"{size} bytes or more are beyond the limit of {self.max_bytes:.0f}; "
                + DOWNLOAD_BYTES.lifted_by("max_bytes")
            )


def _target(url: str, path: str | os.PathLike | None) -> str:
    path = os.path.abspath(os.path.expanduser(path if path is not None else "."))
    if not os.path.isdir(path):
        return path
    name = url.split("?")[0].rsplit("/", 1)[-1]
    if not name:
        raise ValueError(f"the URL {url} does not name a file; say in `path` under which name to store it")
    return os.path.join(path, name)


def _is_there(target: str, sha1_hash: str | None) -> bool:
    return os.path.isfile(target) and (sha1_hash is None or check_sha1(target, sha1_hash))


def _fetch_with_retries(wanted: _Wanted, target: str, retries: int) -> None:
    # The checksum is part of the name, so that parts of two versions never meet. Without one the server's name of the
    # version, kept beside the part, must tell: a part of an earlier call without that is not taken up.
    url, sha1_hash = wanted.url, wanted.sha1_hash
    part = f"{target}.{(sha1_hash or 'unchecked')[:12]}.part"
    version = None if sha1_hash else f"{part}.version"
    if version is not None and not os.path.exists(version):
        _remove(part)
    for attempt in range(retries + 1):
        try:
            wanted.check_time()
            _fetch(wanted, part, version)
            if sha1_hash is not None and not check_sha1(part, sha1_hash):
                _remove(part)
                raise _WrongContent(f"what arrived does not have the SHA-1 {sha1_hash}")
            if sha1_hash is None and not os.path.getsize(part):
                _remove(part)
                raise _WrongContent("the server's answer is empty")
            os.replace(part, target)
            sync_folder(os.path.dirname(target))
            if version is not None:
                _remove(version)
            return
        except (OSError, HTTPException, _WrongContent, _Refused) as error:
            if attempt == retries or isinstance(error, _Refused):
                raise DownloadError(f"cannot download {url} to {target}: {error}") from error
            pause = min(2**attempt, 30) * (0.5 + random.random() / 2)
            warnings.warn(f"{url}: {error}; {retries - attempt} attempts left, the next in {pause:.1f} s")
            time.sleep(max(0, min(pause, wanted.ends - time.monotonic())))


class _WrongContent(Exception):
    """The checksum disagrees, or nothing arrived."""


def _fetch(wanted: _Wanted, part: str, version: str | None) -> None:
    """Appends to `part` what it lacks of the file; raises when the connection ends early.

    version: the file that keeps what the server calls the version that the part is of.
    """
    done = os.path.getsize(part) if os.path.exists(part) else 0
    with _open(wanted, done, _read(version)) as response:
        if response is None:
            return
        length = _length(response)
        if not _continues(response, done):
            done = 0
            _keep_version(response, version)
        total = done + length if length is not None else None
        if total is not None:
            wanted.check_size(total, part)
            _check_room(part, length)
        with open(part, "ab" if done else "wb") as file, _bar(part, total, done) as bar:
            # What has arrived is written at once: a stalled connection loses nothing.
            while chunk := response.read1(CHUNK):
                wanted.check_size(file.tell() + len(chunk), part)
                file.write(chunk)
                bar.update(len(chunk))
                wanted.check_time()
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
    wanted.check_time()  # the watch ends a connection as its server would
    if total is not None and size != total:
        raise ConnectionError(f"the connection ended after {size} of {total} bytes")


def _length(response) -> int | None:
    """How many bytes the server announces."""
    text = response.headers.get("Content-Length")
    if text is None:
        return None
    if not (text.isascii() and text.strip().isdecimal()):
        raise _Refused(f"the server announces a Content-Length of {text[:40]!r}, which is no number of bytes")
    return int(text)


def _check_room(part: str, length: int) -> None:
    free = shutil.disk_usage(os.path.dirname(part)).free
    if length > free:
        raise _Refused(f"it takes {length} bytes more, and {os.path.dirname(part)} has room for {free}")


@contextlib.contextmanager
def _open(wanted: _Wanted, done: int, version: str | None) -> Iterator:
    """The answer of the server from byte `done` on, or None when there is nothing beyond it; all,
    if `version` is no more.
    """
    headers = {"Range": f"bytes={done}-", **({"If-Range": version} if version else {})} if done else {}
    request = urllib.request.Request(wanted.url, headers=headers)
    with _Watch(wanted.ends) as watch:
        try:
            with _opener(wanted, watch).open(request, timeout=STALL_SECONDS) as response:
                yield response
        except urllib.error.HTTPError as error:
            if error.code == 416:
                # "Range not satisfiable": the part is already complete (or wrong, which the checksum finds).
                yield None
            elif error.code < 500 and error.code not in (408, 429):
                raise _Refused(error) from error
            else:
                raise


def _opener(wanted: _Wanted, watch: _Watch) -> urllib.request.OpenerDirector:
    """What opens URLs of `SCHEMES` and nothing else."""
    context = ssl.create_default_context() if wanted.verify_ssl else ssl._create_unverified_context()
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(), _Http(watch), _Https(watch, context), urllib.request.FileHandler(),
        urllib.request.HTTPDefaultErrorHandler(), urllib.request.HTTPErrorProcessor(),
        _Redirects(wanted.sha1_hash is not None), urllib.request.UnknownHandler(),
    ):  # fmt: skip
        opener.add_handler(handler)
    return opener


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirections to http and https; away from https only where a checksum finds what is forged."""

    def __init__(self, checked: bool):
        self._checked = checked

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        scheme = urlsplit(newurl).scheme.lower()
        if scheme not in ("http", "https"):
            raise _Refused(f"the server redirects to {newurl}; only http and https are followed")
        if scheme == "http" and req.type == "https" and not self._checked:
            raise _Refused(f"the server redirects to {newurl}, which is not encrypted, and there is no checksum")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Watch:
    """Ends the connections that were made within its block at a time of `time.monotonic`.

    A timeout of the socket is no limit: a server may send one byte in each of its intervals.
    """

    def __init__(self, ends: float):
        self._sockets: list[socket.socket] = []
        seconds = min(max(0, ends - time.monotonic()), threading.TIMEOUT_MAX)
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self):
        self._timer.start()
        return self

    def __exit__(self, *_):
        self._timer.cancel()

    def add(self, connection: socket.socket) -> None:
        self._sockets.append(connection)

    def _end(self) -> None:
        for connection in self._sockets:
            with contextlib.suppress(OSError):  # closed already
                connection.shutdown(socket.SHUT_RDWR)


class _WatchedConnection(HTTPConnection):
    def __init__(self, *args, watch: _Watch, **kwargs):
        super().__init__(*args, **kwargs)
        self._watch = watch

    def connect(self) -> None:
        super().connect()
        self._watch.add(self.sock)


class _WatchedSecureConnection(_WatchedConnection, HTTPSConnection):
    """The same, encrypted: `super().connect()` is that of HTTPSConnection."""


class _Http(urllib.request.HTTPHandler):
    def __init__(self, watch: _Watch):
        super().__init__()
        self._connection = functools.partial(_WatchedConnection, watch=watch)

    def http_open(self, req):
        return self.do_open(self._connection, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, watch: _Watch, context: ssl.SSLContext):
        super().__init__(context=context)
        self._connection = functools.partial(_WatchedSecureConnection, watch=watch, context=context)

    def https_open(self, req):
        return self.do_open(self._connection, req)


def _continues(response, done: int) -> bool:
    """Whether the answer begins at byte `done`, rather than at the start of the file."""
    content_range = response.headers.get("Content-Range") or ""
    return done > 0 and response.status == 206 and content_range.startswith(f"bytes {done}-")


def _keep_version(response, path: str | None) -> None:
    """Writes down what the server calls the version of the file that begins to arrive, if it says so."""
    if path is None:
        return
    tag = response.headers.get("ETag") or ""
    # Weak tags stand for files that may differ in their bytes.
    version = (tag if not tag.startswith("W/") else "") or response.headers.get("Last-Modified")
    if not version:
        _remove(path)
        return
    with open(path, "w", encoding="latin-1") as file:
        file.write(version)


def _read(path: str | None) -> str | None:
    if path is None or not os.path.exists(path):
        return None
    with open(path, encoding="latin-1") as file:
        return file.read()


def _bar(part: str, total: int | None, done: int):
    from tqdm import tqdm

    name = os.path.basename(part).rsplit(".", 2)[0]
    # disable=None: no bar where standard error is not a terminal.
    return tqdm(desc=name, total=total, initial=done, unit="B", unit_scale=True, unit_divisor=1024, disable=None)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
