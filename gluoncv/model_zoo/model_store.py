"""Published weights: which there are, and getting them."""

import json
from functools import cache
from importlib.resources import files

from gluon.model_zoo import model_store


def get_model_file(name, root=None):
    """The path of a network's parameter file, which is fetched when it is not there yet; ValueError for unknown names.

    root: folder of the files, by default `models` under the store's home. DownloadError tells when a file cannot be
    fetched or is not the published one.
    """
    return model_store.get_model_file(name, root, checksums())


@cache
def checksums():
    """SHA-1 of the published parameter file of each network."""
    return json.loads(files("gluoncv.model_zoo").joinpath("published.json").read_text(encoding="utf-8"))
