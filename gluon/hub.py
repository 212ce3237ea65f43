"""Files from the Hugging Face hub and reachability of servers: what both toolkits need to find weights by name.

Downloads go through the package huggingface_hub (`pip install "gluon-triton[hub]"`), with its cache, resumption and
settings: `HF_HOME`, `HF_ENDPOINT` (a mirror), `HF_HUB_OFFLINE`, `HF_TOKEN`. `MXNET_OFFLINE=1` forbids the network here,
too. What arrives is compared with the digest under which the hub keeps it, and is not used, nor kept, if it differs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import urllib.error
import urllib.request
from importlib.util import find_spec
from typing import NamedTuple

from core.base import MXNetError
from core.extras import how_to_install
from gluon.store import DownloadError, download, offline

SCHEME = "hf://"
REACH_SECONDS = 3
# Files of weights that are taken unless the caller names one.
SAFE = ("model.safetensors", "model.safetensors.index.json")


class HubFile(NamedTuple):
    """A place on the hub: OWNER/NAME, a revision or None for the main one, a file or None."""

    repo: str
    revision: str | None = None
    file: str | None = None

    def __str__(self):
        revision = f"@{self.revision}" if self.revision else ""
        return f"{SCHEME}{self.repo}{revision}{f':{self.file}' if self.file else ''}"


def parse(text: str) -> HubFile:
    """The place that `hf://owner/name[@revision][:file]` names; MXNetError for other texts.

    >>> parse("hf://timm/resnet50d.gluon_in1k@main:model.safetensors").file
    'model.safetensors'
    """
    found = re.fullmatch(r"hf://([\w.-]+/[\w.-]+)(?:@([^:@]+))?(?::([^:]+))?", text)
    if found is None or ".." in (found[3] or "").split("/"):
        raise MXNetError(
            f"{text!r} names nothing on the hub; names are hf://OWNER/NAME, with @REVISION and :FILE if need be"
        )
    return HubFile(*found.groups())


def fetch(place: HubFile) -> str:
    """The local path of a file of the hub, model.safetensors where `place` names none.

    DownloadError, a MXNetError, where it is missing, does not come, or is not what the hub calls it.
    """
    return _fetched(place.repo, place.file or SAFE[0], place.revision)


def fetch_folder(place: HubFile, wanted: tuple[str, ...], needed: tuple[str, ...] = ("config.json",)) -> str:
    """The local folder with those of the `wanted` files that the repository has, and its weights in .safetensors.

    DownloadError where one of `needed` or the weights are missing.
    """
    folder = None
    for file in (*needed, *wanted):
        try:
            folder = os.path.dirname(_fetched(place.repo, file, place.revision))
        except Missing:
            if file in needed:
                raise
    if place.file:
        _fetched(place.repo, place.file, place.revision)
        return folder
    try:
        _fetched(place.repo, SAFE[0], place.revision)
    except Missing:
        try:
            index = _fetched(place.repo, SAFE[1], place.revision)
        except Missing as error:
            raise DownloadError(
                f"{place} has no weights in .safetensors. Name another file if you trust it, as in {place}:pytorch_model.bin"
            ) from error
        with open(index, encoding="utf-8") as file:
            for part in sorted(set(json.load(file)["weight_map"].values())):
                _fetched(place.repo, part, place.revision)
    return folder


def endpoint() -> str:
    """The address of the hub: `HF_ENDPOINT`, or https://huggingface.co."""
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def installed() -> bool:
    """Whether huggingface_hub is installed."""
    return find_spec("huggingface_hub") is not None


def unreachable(url: str, seconds: float = REACH_SECONDS) -> str | None:
    """Why the server of a URL does not answer within some seconds; None if it does, with whatever status.

    Files are always reachable. Names are resolved in a thread, for which systems have no time limit.
    """
    if offline():
        return "MXNET_OFFLINE forbids the network"
    if url.startswith(endpoint()) and os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "on", "yes"):
        return "HF_HUB_OFFLINE forbids the hub"
    if url.startswith("file:"):
        return None
    answer = [f"no answer within {seconds:g} s"]

    def ask():
        try:
            with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=seconds):
                answer[0] = None
        except urllib.error.HTTPError:
            answer[0] = None
        except (OSError, ValueError) as error:
            answer[0] = str(getattr(error, "reason", error))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return answer[0]


def download_or_advise(url: str, path: str, put: str, mirror: bool = True, **settings) -> str:
    """`gluon.store.download`, if the server answers within seconds.

    put: what a user may put where instead, "NAME into FOLDER"; mirror: whether `MXNET_GLUON_REPO` would help. Both are
    in the DownloadError that is raised where the file does not come. settings: of `download`.
    """
    advice = f"Put {put}" + ", or name a mirror with MXNET_GLUON_REPO" * mirror
    if why := unreachable(url):
        raise DownloadError(f"{url} is not to be had: {why}. {advice}")
    try:
        return download(url, path, **settings)
    except DownloadError as error:
        raise DownloadError(f"{error}. {advice}") from error


class Missing(DownloadError):
    """The hub has no such repository, revision or file."""


def _fetched(repo, file, revision):
    place = HubFile(repo, revision, file)
    if not installed():
        raise DownloadError(f"{place} needs the package huggingface_hub: {how_to_install('huggingface_hub')}")
    from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import (
        EntryNotFoundError,
        HfHubHTTPError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    cached = try_to_load_from_cache(repo, file, revision=revision)
    why = unreachable(f"{endpoint()}/")
    if why and not isinstance(cached, str):
        raise DownloadError(
            f"{place} is not in the cache ({constants.HF_HUB_CACHE}), and {endpoint()} is not to be had: {why}. "
            "HF_ENDPOINT names a mirror"
        )
    try:
        path = hf_hub_download(
            repo, file, revision=revision, local_files_only=bool(why), etag_timeout=REACH_SECONDS, endpoint=endpoint()
        )
    except (EntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise Missing(f"{endpoint()} has no {place}: {_first_line(error)}") from error
    except (HfHubHTTPError, OSError, ValueError, RuntimeError) as error:
        raise DownloadError(f"{place} did not come from {endpoint()}: {_first_line(error)}") from error
    _check(path, place)
    return path


def _check(path, place):
    """Compares a file with its name in the cache: the SHA-256 of large ones, git's SHA-1 of others."""
    blob = os.path.realpath(path)
    name = os.path.basename(blob)
    if not re.fullmatch("[0-9a-f]{64}|[0-9a-f]{40}", name):
        return
    digest = hashlib.sha256() if len(name) == 64 else hashlib.sha1(f"blob {os.path.getsize(blob)}\0".encode())
    with open(blob, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    if digest.hexdigest() != name:
        os.remove(blob)
        raise DownloadError(f"{place}: what arrived has the digest {digest.hexdigest()}, and the hub says {name}")


def _first_line(error):
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
