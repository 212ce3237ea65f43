"""Published weights: which there are, and getting them."""

from __future__ import annotations

import glob
import hashlib
import os
import re

from core.base import nearest
from core.files.archives import Archive
from core.files.reader import DamagedFile
from gluon.hub import download_or_advise
from gluon.store import DownloadError, download, home, locked, repo_file_url, write_checked

__all__ = ["cached", "get_model_file", "purge"]

# SHA-1 of the parameter file of each model.
CHECKSUMS = {
    "alexnet": "44335d1f0046b328243b32a26a4fbd62d9057b45",
    "densenet121": "f27dbf2dbd5ce9a80b102d89c7483342cd33cb31",
    "densenet161": "b6c8a95717e3e761bd88d145f4d0a214aaa515dc",
    "densenet169": "2603f878403c6aa5a71a124c4a3307143d6820e9",
    "densenet201": "1cdbc116bc3a1b65832b18cf53e1cb8e7da017eb",
    "inceptionv3": "ed47ec45a937b656fcc94dabde85495bbef5ba1f",
    "mobilenet0.25": "9f83e440996887baf91a6aff1cccc1c903a64274",
    "mobilenet0.5": "8e9d539cc66aa5efa71c4b6af983b936ab8701c3",
    "mobilenet0.75": "529b2c7f4934e6cb851155b22c96c9ab0a7c4dc2",
    "mobilenet1.0": "6b8c5106c730e8750bcd82ceb75220a3351157cd",
    "mobilenetv2_1.0": "36da4ff1867abccd32b29592d79fc753bca5a215",
    "mobilenetv2_0.75": "e2be7b72a79fe4a750d1dd415afedf01c3ea818d",
    "mobilenetv2_0.5": "aabd26cd335379fcb72ae6c8fac45a70eab11785",
    "mobilenetv2_0.25": "ae8f9392789b04822cbb1d98c27283fc5f8aa0a7",
    "resnet18_v1": "a0666292f0a30ff61f857b0b66efc0228eb6a54b",
    "resnet34_v1": "48216ba99a8b1005d75c0f3a0c422301a0473233",
    "resnet50_v1": "0aee57f96768c0a2d5b23a6ec91eb08dfb0a45ce",
    "resnet101_v1": "d988c13d6159779e907140a638c56f229634cb02",
    "resnet152_v1": "671c637a14387ab9e2654eafd0d493d86b1c8579",
    "resnet18_v2": "a81db45fd7b7a2d12ab97cd88ef0a5ac48b8f657",
    "resnet34_v2": "9d6b80bbc35169de6b6edecffdd6047c56fdd322",
    "resnet50_v2": "ecdde35339c1aadbec4f547857078e734a76fb49",
    "resnet101_v2": "18e93e4f48947e002547f50eabbcc9c83e516aa6",
    "resnet152_v2": "f2695542de38cf7e71ed58f02893d82bb409415e",
    "squeezenet1.0": "264ba4970a0cc87a4f15c96e25246a1307caf523",
    "squeezenet1.1": "33ba0f93753c83d86e1eb397f38a667eaf2e9376",
    "vgg11": "dd221b160977f36a53f464cb54648d227c707a05",
    "vgg11_bn": "ee79a8098a91fbe05b7a973fed2017a6117723a8",
    "vgg13": "6bc5de58a05a5e2e7f493e2d75a580d83efde38c",
    "vgg13_bn": "7d97a06c3c7a1aecc88b6e7385c2b373a249e95e",
    "vgg16": "e660d4569ccb679ec68f1fd3cce07a387252a90a",
    "vgg16_bn": "7f01cf050d357127a73826045c245041b0df7363",
    "vgg19": "ad2f660d101905472b83590b59708b71ea22b2e5",
    "vgg19_bn": "f360b758e856f1074a85abd5fd873ed1d98297c3",
}

# The name under which programs add checksums of their own.
_model_sha1 = CHECKSUMS


def get_model_file(name, root=None, checksums=CHECKSUMS, tag=None):
    """The path of a model's parameter file, which is fetched when it is not there yet; ValueError for unknown names.

    root: folder of the files, by default `models` under the store's home. checksums: SHA-1 of the published files by
    name. tag: at least the first 8 digits of the SHA-1 of another version. DownloadError where a file cannot be
    fetched or is not the one that was asked for.
    """
    checksum = tag or _checksum(name, checksums)
    root = _root(root)
    stem = f"{name}-{checksum[:8]}"
    target = os.path.join(root, stem + ".params")
    if os.path.exists(target) and _has_sha1(target, checksum):
        return target
    os.makedirs(root, exist_ok=True)
    with locked(target):
        # Another process may have put it there while this one waited.
        if not (os.path.exists(target) and _has_sha1(target, checksum)):
            url = repo_file_url("gluon/models", f"{stem}.zip")
            archive = download_or_advise(url, os.path.join(root, f"{stem}.zip"), f"{stem}.params into {root}")
            _extract(archive, stem + ".params", target, checksum)
    return target


def file_of(source, root=None):
    """The path of a file that exists, or of what a URL leads to, which is kept under `root`; None for other texts."""
    text = os.fspath(source)
    if re.match(r"(https?|file)://", text):
        os.makedirs(_root(root), exist_ok=True)
        return download(text, path=_root(root))
    path = os.path.expanduser(text)
    return path if os.path.isfile(path) else None


def purge(root=None):
    """Removes all parameter files under `root`."""
    for path in glob.glob(os.path.join(_root(root), "*.params")):
        os.remove(path)


def short_hash(name):
    """The beginning of a model's checksum, which is part of its file name."""
    return _checksum(name)[:8]


def _checksum(name, checksums=CHECKSUMS):
    if name not in checksums:
        raise ValueError(f"there are no published weights for {name!r}.{nearest(name, checksums)}")
    return checksums[name]


def cached(root=None):
    """(name, bytes) of the parameter files under `root`, sorted."""
    return sorted(
        (os.path.basename(path), os.path.getsize(path)) for path in glob.glob(os.path.join(_root(root), "*.params"))
    )


def _has_sha1(path, beginning):
    """Whether the SHA-1 of a file begins with these digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha1").hexdigest().startswith(beginning.lower())


def _root(root):
    return os.path.join(home(), "models") if root is None else os.path.expanduser(root)


def _extract(archive, member, target, checksum):
    """Puts one member of an archive in the place of `target` if it has the checksum, and removes the archive."""
    try:
        with Archive(archive).open(member) as source:
            write_checked(source, target, checksum)
    except DamagedFile as error:
        raise DownloadError(f"{archive} is not the published archive of {member}: {error}") from error
    finally:
        os.remove(archive)
