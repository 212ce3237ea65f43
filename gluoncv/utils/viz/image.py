"""A picture on its own."""

from __future__ import annotations

import numpy as np

from core.extras import load


def as_numpy(values):
    """NumPy of whatever array it is."""
    return values.asnumpy() if hasattr(values, "asnumpy") else np.asarray(values)


def plot_image(img, ax=None, reverse_rgb=False):
    """Shows a picture (H, W, 3) in `ax` (a new one by default), and gives the axes.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from gluoncv.utils.viz import plot_image
    >>> type(plot_image(onp.zeros((20, 20, 3), "uint8"))).__name__
    'Axes'
    """
    plt = load("matplotlib.pyplot", "drawing")

    if ax is None:
        ax = plt.figure().add_subplot(1, 1, 1)
    picture = as_numpy(img).copy()
    if reverse_rgb:
        picture = picture[..., ::-1]
    ax.imshow(picture.astype(np.uint8))
    return ax


def cv_plot_image(
    img, scale=1, upperleft_txt=None, upperleft_txt_corner=(10, 100), left_txt_list=None, left_txt_corner=(10, 150),
    title_txt_list=None, title_txt_corner=(500, 50), canvas_name="demo",
):  # fmt: skip
    """The picture as bytes, with texts; it is given back, and no window is opened (`canvas_name` means nothing).

    >>> from gluoncv.utils.viz import cv_plot_image
    >>> cv_plot_image(onp.zeros((20, 20, 3), "uint8"), scale=2).shape
    (40, 40, 3)
    """
    from PIL import Image, ImageDraw

    picture = Image.fromarray(as_numpy(img).astype(np.uint8))
    if scale != 1:
        picture = picture.resize((int(picture.width * scale), int(picture.height * scale)))
    draw = ImageDraw.Draw(picture)
    texts = [(upperleft_txt, upperleft_txt_corner)]
    texts += [(text, (left_txt_corner[0], left_txt_corner[1] + 30 * k)) for k, text in enumerate(left_txt_list or ())]
    texts += [
        (text, (title_txt_corner[0] + 100 * k, title_txt_corner[1] + 50 * k))
        for k, text in enumerate(title_txt_list or ())
    ]
    for text, (x, y) in texts:
        if text:
            draw.text((x, y), text, fill=(255, 255, 255), anchor="ls")
    return np.array(picture)
