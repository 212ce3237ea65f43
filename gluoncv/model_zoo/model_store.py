"""Published weights: which there are, getting them, and files of the user's in their place."""

import glob
import json
import os
import re
from functools import cache
from importlib.resources import files

from core.base import MXNetError
from gluon.model_zoo import model_store
from gluoncv.model_zoo.state_dict import ENDINGS

# networks whose published file has another name: pruned ones are called by how much faster they are
FILES = {
    "resnet18_v1b_0.89": "resnet18_v1b_2.6x",
    "resnet50_v1d_0.86": "resnet50_v1d_1.8x",
    "resnet50_v1d_0.48": "resnet50_v1d_3.6x",
    "resnet50_v1d_0.37": "resnet50_v1d_5.9x",
    "resnet50_v1d_0.11": "resnet50_v1d_8.8x",
    "resnet101_v1d_0.76": "resnet101_v1d_1.9x",
    "resnet101_v1d_0.73": "resnet101_v1d_2.2x",
    **{
        f"hrnet_{width}_c": f"hrnet_{width}_cls"
        for width in ("w18", "w18_small_v1", "w18_small_v2", "w30", "w32", "w40", "w44", "w48", "w64")
    },
}

cached, purge = model_store.cached, model_store.purge


def get_model_file(name, root=None, tag=None):
    """The path of a network's parameter file, which is fetched when it is not there yet; ValueError for unknown names.

    root: folder of the files, by default `models` under the store's home. tag: the beginning of the SHA-1, 8 digits or
    more, of another version. DownloadError where a file cannot be fetched or is not the one that was asked for.
    """
    tag = None if tag in (None, True) else tag
    return model_store.get_model_file(FILES.get(name, name), root, checksums(), tag)


def has_published_weights(name):
    """Whether `get_model_file` knows a file for the network."""
    return FILES.get(name, name) in checksums()


def weights_file(name, pretrained, root=None):
    """The path of the file that `pretrained` means for a network.

    True: the published file. A file: that file. A folder: the file in it that is called NAME or NAME-anything, or its
    only one.
    A URL: what it leads to, kept under `root`. 8 or more digits of a SHA-1: that version of the published file.
    MXNetError for anything else, and for folders without such a file or with several.
    """
    if not isinstance(pretrained, (str, os.PathLike)):
        return get_model_file(name, root)
    text = os.fspath(pretrained)
    path = model_store.file_of(text, root)
    if path is not None:
        return path
    if os.path.isdir(os.path.expanduser(text)):
        return _in_folder(name, os.path.expanduser(text))
    if re.fullmatch("[0-9a-fA-F]{8,40}", text):
        return get_model_file(name, root, text)
    raise MXNetError(
        f"pretrained={text!r} is no file, no folder, no URL, and not the SHA-1 of published weights (8 to 40 digits). "
        f"pretrained=True takes the published weights of {name}"
    )


@cache
def checksums():
    """SHA-1 of the published parameter file of each network."""
    return json.loads(files("gluoncv.model_zoo").joinpath("published.json").read_text(encoding="utf-8"))


def _in_folder(name, folder):
    found = [
        path for ending in (".params", *ENDINGS) for path in glob.glob(os.path.join(glob.escape(folder), f"*{ending}"))
    ]
    called = [path for path in found if re.match(rf"{re.escape(name)}([-.]|$)", os.path.basename(path))] or found
    if len(called) != 1:
        names = ", ".join(sorted(map(os.path.basename, called))) or "none"
        raise MXNetError(f"the folder {folder} has no single file of weights for {name}; it has: {names}")
    return called[0]
