"""Semantic segmentation."""

from gluoncv.data.transforms.presets.common import MEAN, STD, to_input


def test_transform(img, ctx):
    """The input (1, 3, H, W) of a picture, on `ctx`."""
    return to_input(img, MEAN, STD).expand_dims(0).as_in_context(ctx)


test_transform.__test__ = False  # not a test, whatever its name says
