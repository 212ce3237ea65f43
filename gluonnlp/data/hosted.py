"""What data sets that are published somewhere have in common: a folder, and files that are found in it or fetched."""

from __future__ import annotations

import os

from core.base import nearest

from ..base import UnknownKey, kept_in
from ..published import dataset_file, fetch

__all__ = ["Hosted"]


class Hosted:
    """Mixin of published data sets; `folder` is where their files lie below `$MXNET_HOME/datasets`.

    Files that the user's `root` lacks are downloaded to it and their checksums compared.  Where a
    data set also exists in the form its authors released, files of that form in `root` are read too.
    """

    folder: str

    @classmethod
    def _folder_of(cls, root: str | None) -> str:
        return kept_in(root, "datasets", cls.folder)

    @classmethod
    def _find(cls, part: str, root: str | None) -> str:
        """The path of a part of the data set, as the table of published files names it."""
        return fetch(dataset_file(cls.__name__, part), cls._folder_of(root))

    @classmethod
    def _original(cls, root: str | None, *names: str) -> list[str] | None:
        """The paths of files as the authors released them, when all of them are in `root` and ours are not."""
        paths = [os.path.join(cls._folder_of(root), *name.split("/")) for name in names]
        return paths if names and all(map(os.path.isfile, paths)) else None

    @classmethod
    def _check(cls, argument: str, value, allowed) -> None:
        if value not in allowed:
            hint = nearest(value, allowed) if isinstance(value, str) else ""
            raise UnknownKey(f"{cls.__name__}: {argument}={value!r} is not one of {list(allowed)}.{hint}")
