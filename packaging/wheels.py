"""The build backend: setuptools, and stubs of the operator table (core/stubs.py) in every wheel.

Only a wheel needs the project's own dependencies at build time, because the table has to be imported for it; a source
distribution and an editable install do not. The core's own wheel (packaging/core) is built by it, too.
"""

import sys
import tomllib
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.command.build_py import build_py

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
]  # fmt: skip


class BuildWithStart(build_py):
    """Puts a line beside the packages that Python runs as it starts: so `python -m core.mxnet SCRIPT` finds this project
    in a folder, too, that has a `core` of its own.
    """

    def run(self):
        super().run()
        if not self.editable_mode:
            self.copy_file("packaging/gluon_triton.pth", self.build_lib)


def get_requires_for_build_wheel(config_settings=None):
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*build_meta.get_requires_for_build_wheel(config_settings), *project["dependencies"]]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    here = Path.cwd()
    checkout = next(folder for folder in (here, *here.parents) if (folder / "core" / "stubs.py").is_file())
    sys.path.insert(0, str(checkout))
    from core.stubs import write

    stubs = write(checkout)
    try:
        return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    finally:
        for stub in stubs:
            stub.unlink()
