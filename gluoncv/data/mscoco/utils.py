"""What all of COCO needs."""

from gluoncv.utils.filesystem import try_import


def try_import_pycocotools():
    """ImportError that says how to install pycocotools where it is absent."""
    try_import("pycocotools", "pycocotools is required, you can install it by `pip install 'gluon-triton[cv]'`")
