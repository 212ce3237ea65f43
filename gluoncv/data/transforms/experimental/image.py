"""Random colours."""

from __future__ import annotations

import random

import numpy as np

from core.image.arrays import like, pixels_of

__all__ = ["np_random_color_distort", "random_color_distort"]

# From RGB to the lightness and chroma of NTSC television (YIQ), and back.
_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
_RGB = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])


def random_color_distort(
    src, brightness_delta=32, contrast_low=0.5, contrast_high=1.5, saturation_low=0.5, saturation_high=1.5, hue_delta=18
):
    """Brightness, contrast, saturation and hue changed at random, each with probability 1/2 (Liu et al., 2016)."""

    def coin():
        return np.random.uniform(0, 1) > 0.5

    def contrast(x):
        return x * np.random.uniform(contrast_low, contrast_high) if coin() else x

    x = pixels_of(src).astype("float32")
    if coin():
        x = x + np.random.uniform(-brightness_delta, brightness_delta)
    early = np.random.randint(0, 2)
    if early:
        x = contrast(x)
    if coin():  # towards or away from grey
        amount = np.random.uniform(saturation_low, saturation_high)
        grey = (x * _YIQ[0].astype("float32")).sum(axis=2, keepdims=True)
        x = x * amount + grey * (1 - amount)
    if coin():  # chroma turned by an angle
        angle = (
            random.uniform(-hue_delta, hue_delta) * np.pi
        )  # published networks were trained with half turns, not degrees
        turn = np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]])
        x = x @ (_RGB @ turn @ _YIQ).T.astype("float32")
    return like(x if early else contrast(x), src)


# Principal components of COCO's colours, in the order blue, green, red
_EIG_VAL = np.array([0.2141788, 0.01817699, 0.00341571], dtype="float32")
_EIG_VEC = np.array(
    [[-0.58752847, -0.69563484, 0.41340352], [-0.5832747, 0.00994535, -0.81221408],
     [-0.56089297, 0.71832671, 0.41158938]],
    dtype="float32",
)  # fmt: skip
_data_rng = np.random.RandomState()


def np_random_color_distort(image, data_rng=None, eig_val=None, eig_vec=None, var=0.4, alphastd=0.1):
    """Brightness, contrast and saturation of a float32 picture (H, W, 3) of 0 to 1, blue first, changed in place.

    By up to `var`, in a random order, and noise of deviation `alphastd` along the colours' principal components (Zhou
    et al., 2019). data_rng: a `numpy.random.RandomState`, by default one of its own.
    """
    rng = _data_rng if data_rng is None else data_rng
    eig_val, eig_vec = _EIG_VAL if eig_val is None else eig_val, _EIG_VEC if eig_vec is None else eig_vec
    grey = image @ np.array([0.114, 0.587, 0.299], dtype="float32")
    mean = grey.mean()

    def blend(amount, other):
        image[...] = image * amount + other * (1 - amount)

    steps = [lambda a: blend(a, 0), lambda a: blend(a, mean), lambda a: blend(a, grey[:, :, None])]
    random.shuffle(steps)
    for step in steps:
        step(1.0 + rng.uniform(low=-var, high=var))
    image += np.dot(eig_vec, eig_val * rng.normal(scale=alphastd, size=(3,)))
    return image
