"""A picture on its own."""

from __future__ import annotations

import numpy as np


def as_numpy(values):
    """NumPy of whatever array it is."""
    return values.asnumpy() if hasattr(values, "asnumpy") else np.asarray(values)


def plot_image(img, ax=None, reverse_rgb=False):
    """Shows a picture (H, W, 3) in `ax` (a new one by default), and gives the axes."""
    import matplotlib.pyplot as plt

    if ax is None:
        ax = plt.figure().add_subplot(1, 1, 1)
    picture = as_numpy(img).copy()
    if reverse_rgb:
        picture = picture[..., ::-1]
    ax.imshow(picture.astype(np.uint8))
    return ax


def cv_plot_image(
    img, scale=1, upperleft_txt=None, upperleft_txt_corner=(10, 100), left_txt_list=None, canvas_name="demo"
):
    """The picture as bytes, with texts at its left; it is given back, and no window is opened."""
    from PIL import Image, ImageDraw

    picture = Image.fromarray(as_numpy(img).astype(np.uint8))
    if scale != 1:
        picture = picture.resize((round(picture.width * scale), round(picture.height * scale)))
    draw = ImageDraw.Draw(picture)
    if upperleft_txt:
        draw.text(upperleft_txt_corner, upperleft_txt, fill=(0, 255, 0))
    for k, text in enumerate(left_txt_list or ()):
        draw.text((10, 150 + 50 * k), text, fill=(0, 255, 0))
    return np.array(picture)
