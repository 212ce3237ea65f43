"""What all of COCO needs."""

from core.extras import load


def try_import_pycocotools():
    """ImportError that says how to install pycocotools where it is absent."""
    load("pycocotools", "reading COCO's annotations")
