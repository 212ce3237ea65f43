"""Crops around targets, as trackers are trained with (Bertinetto et al., 2016)."""

import sys

import numpy as np

from gluoncv.data.transforms.track import crop_box


def crop_hwc(image, bbox, out_sz, padding=(0, 0, 0)):
    """The box (left, top, right, bottom) of a NumPy picture at (out_sz, out_sz), `padding` outside of the picture."""
    return crop_box(image, bbox, out_sz, np.asarray(padding, image.dtype))


def pos_s_2_bbox(pos, s):
    """The corners of a square of side `s` around `pos` = (x, y)."""
    return [pos[0] - s / 2, pos[1] - s / 2, pos[0] + s / 2, pos[1] + s / 2]


def crop_like_SiamFC(image, bbox, context_amount=0.5, exemplar_size=127, instance_size=255, padding=(0, 0, 0)):
    """(template, search region) of a target, squares of `exemplar_size` and `instance_size` pixels at one scale.

    context_amount: the margin around the target, in means of its sides.
    """
    width, height = bbox[2] - bbox[0], bbox[3] - bbox[1]
    center = [(bbox[2] + bbox[0]) / 2.0, (bbox[3] + bbox[1]) / 2.0]
    margin = context_amount * (width + height)
    side = np.sqrt((width + margin) * (height + margin))
    wider = side + (instance_size - exemplar_size) * side / exemplar_size
    return (
        crop_hwc(image, pos_s_2_bbox(center, side), exemplar_size, padding),
        crop_hwc(image, pos_s_2_bbox(center, wider), instance_size, padding),
    )


def printProgress(iteration, total, prefix="", suffix="", decimals=1, barLength=100):
    """Draws a bar of `barLength` characters in the terminal's line; the last call clears it."""
    done = round(barLength * iteration / float(total))
    share = f"{100 * (iteration / float(total)):.{decimals}f}"
    sys.stdout.write(f"\r{prefix} |{'#' * done}{'-' * (barLength - done)}| {share}% {suffix}")
    if iteration == total:
        sys.stdout.write("\x1b[2K\r")
    sys.stdout.flush()
