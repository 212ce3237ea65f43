"""Where weights come from, by name: MXNet's server, the hub, timm, torchvision, a URL, a file, a folder.

timm.json and torchvision.json have what those packages say of their weights: the network here, size and preparation of
pictures, licence or URL. `*.gluon_in1k` are GluonCV's very own weights, which timm keeps on the hub.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from core.base import MXNetError, nearest
from gluon import hub
from gluon.model_zoo import model_store as files_of_mxnet
from gluon.store import DownloadError
from gluoncv.model_zoo import model_store
from gluoncv.model_zoo.cards import Preprocessing


@dataclass(frozen=True)
class Weights:
    """A file of weights and what is known of it; names_of: the library whose names it has, None for any."""

    path: str
    origin: str
    licence: str | None = None
    preprocessing: Preprocessing | None = None
    names_of: str | None = None

    def facts(self) -> dict:
        """What goes into a card."""
        with open(self.path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        known = {"origin": self.origin, "licence": self.licence, "digest": f"SHA-256 {digest}", "file": self.path}
        return known | {"preprocessing": self.preprocessing}


def find(name: str, pretrained, root=None) -> Weights:
    """The weights that `pretrained` means for a network of the zoo, fetched if need be.

    - True: MXNet's server, or the mirror that `MXNET_GLUON_REPO` names, then GluonCV's weights as timm keeps them;
    - "hf://OWNER/NAME[@REVISION][:FILE]": a file of the hub, model.safetensors where none is named;
    - "timm/NAME" and "torchvision/NAME": weights of those libraries, such as "timm/resnet50d.gluon_in1k" or
      "torchvision/mobilenet_v2"; of several, those behind a dot;
    - a URL, a file, a folder, 8 or more digits of the SHA-1 of a version: see `model_store.weights_file`.

    DownloadError where nothing answers, within about ten seconds, with what was tried; MXNetError for other names and
    for weights of another network.
    """
    if pretrained is True or not isinstance(pretrained, (str, os.PathLike)):
        return _published(name, root)
    text = os.fspath(pretrained)
    if text.startswith(hub.SCHEME):
        place = hub.parse(text)
        row = _timm().get(place.repo.removeprefix("timm/"), [None] * 7)
        return Weights(hub.fetch(place), str(place), row[6], _of_timm(row) if row[0] else None)
    library, slash, key = text.partition("/")
    if slash and library in ("timm", "torchvision") and not os.path.exists(text):
        return (_from_timm if library == "timm" else _from_torchvision)(name, key, root)
    return Weights(model_store.weights_file(name, pretrained, root), text)


def names(name: str) -> list[str]:
    """What `pretrained` may be called for a network, besides True: its weights of timm and torchvision."""
    return [f"timm/{key}" for key, row in _timm().items() if row[0] == name] + [
        f"torchvision/{key}" for key, row in _torchvision().items() if row[0] == name
    ]


def _published(name, root):
    own = next((key for key, row in _timm().items() if row[0] == name and key.endswith(".gluon_in1k")), None)
    try:
        path = model_store.get_model_file(name, root)
        return Weights(path, "GluonCV, from MXNet's server or a mirror", "Apache-2.0")
    except DownloadError as error:
        first = error
    tried = [str(first)]
    if own is not None:
        try:
            weights = _from_timm(name, own, root)
        except DownloadError as error:
            tried.append(str(error))
        else:
            _say(f"{name}: GluonCV's weights as timm keeps them, {weights.origin}")
            return weights
    raise DownloadError(
        f"there are no weights for {name}. Tried: " + "; ".join(tried)
        + (f'. Or put model.safetensors of "timm/{own}" anywhere and pass its path as pretrained' if own else "")
    ) from first  # fmt: skip


def _from_timm(name, key, root):
    row = _row(_timm(), key, name, "timm")
    place = hub.HubFile(f"timm/{row[-1]}")
    return Weights(hub.fetch(place), str(place), row[6], _of_timm(row), "timm")


def _from_torchvision(name, key, root):
    row = _row(_torchvision(), key, name, "torchvision")
    url = row[1]
    folder = files_of_mxnet._root(root)
    path = os.path.join(folder, url.rsplit("/", 1)[-1])
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        hub.download_or_advise(url, path, f"{os.path.basename(path)} into {folder}", mirror=False)
    beginning = re.search(r"-([0-9a-f]{8})\.pth$", url)
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if beginning and not digest.startswith(beginning[1]):
        os.remove(path)
        raise DownloadError(f"{url} came with the SHA-256 {digest}, and its name says {beginning[1]}")
    prepared = Preprocessing(row[2], row[3], row[4], tuple(row[5]), tuple(row[6]), smoothed=True)
    return Weights(path, url, "BSD-3-Clause", prepared, "torchvision")


def _row(table, key, name, library):
    """The row of a name, which may lack what is behind the dot if the network has but one, with its full name behind."""
    found = [full for full in table if full == key or full.split(".")[0] == key]
    if not found:
        mine = [full for full, row in table.items() if row[0] == name]
        have = f" For {name} there are {', '.join(mine)}." if mine else f" There are none for {name}."
        raise MXNetError(f"{library} has no weights {key!r} that are known here.{nearest(key, table)}{have}")
    own = [full for full in found if full.endswith(".gluon_in1k")] or found
    if table[own[0]][0] != name:
        raise MXNetError(f"{library}/{key} are weights of {table[own[0]][0]}, not of {name}")
    return [*table[own[0]], own[0]]


def _of_timm(row):
    _, size, crop, interpolation, mean, deviation = row[:6]
    return Preprocessing(size, int(size / crop), interpolation, tuple(mean), tuple(deviation), smoothed=True)


def _say(text):
    print(text, file=sys.stderr)


@cache
def _timm():
    return _read("timm.json")


@cache
def _torchvision():
    return _read("torchvision.json")


def _read(file):
    return json.loads(files("gluoncv.model_zoo").joinpath(file).read_text(encoding="utf-8"))
