"""The build backend: setuptools, and a line beside the packages that Python runs as it starts.

Building takes setuptools alone: nothing of the project is imported. The parts (packaging/core, ...) are built by it, too.
"""

import shutil
from pathlib import Path

from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.command.build_py import build_py

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel", "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
]  # fmt: skip


class BuildWithPrograms(build_py):
    """Puts a line beside the packages that Python runs as it starts, so that `python -m core.mxnet SCRIPT` finds this
    project in a folder, too, that has a `core` of its own; and the programs of `scripts/` into `gluon_cli`, which starts
    them. There `scripts` is in nobody's way.
    """

    def run(self):
        super().run()
        if self.editable_mode:
            return
        self.copy_file("packaging/gluon_triton.pth", self.build_lib)
        target = Path(self.build_lib, "gluon_cli", "programs", "scripts")
        shutil.rmtree(target, ignore_errors=True)  # of an earlier build
        shutil.copytree("scripts", target, ignore=shutil.ignore_patterns("benchmarks", "__pycache__"))
