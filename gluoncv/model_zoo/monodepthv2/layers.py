"""Geometry and losses for learning depth from videos: projection between pictures, likeness of pictures, smoothness."""

import numpy as np

from core import ndarray as nd
from gluon import nn
from gluon.block import HybridBlock


def disp_to_depth(disp, min_depth, max_depth):
    """Disparities in [0, 1] to those between 1 / max_depth and 1 / min_depth, and to depths, their inverses."""
    scaled = 1 / max_depth + (1 / min_depth - 1 / max_depth) * disp
    return scaled, 1 / scaled


def transformation_from_parameters(axisangle, translation, invert=False):
    """Matrices (batch, 4, 4) that rotate and then move; with `invert` the inverse ones.

    Both inputs are (batch, 1, 3).
    """
    rotation = rot_from_axisangle(axisangle)
    if invert:
        return nd.batch_dot(nd.transpose(rotation, axes=(0, 2, 1)), get_translation_matrix(-translation))
    return nd.batch_dot(get_translation_matrix(translation), rotation)


def get_translation_matrix(translation_vector):
    """Matrices (batch, 4, 4) that move by vectors of three numbers each."""
    vector = nd.reshape(translation_vector, (-1, 3, 1))
    batch = vector.shape[0]
    left = nd.broadcast_to(_constant(np.eye(4)[:, :3], vector), shape=(batch, 4, 3))
    return nd.concat(left, nd.concat(vector, nd.ones((batch, 1, 1), ctx=vector.context), dim=1), dim=2)


def rot_from_axisangle(vec):
    """Matrices (batch, 4, 4) that rotate by (batch, 1, 3), axis times angle in radians (Rodrigues' formula)."""
    angle = nd.norm(vec, ord=2, axis=2, keepdims=True)
    axis = nd.broadcast_div(vec, angle + 1e-7)
    x, y, z = (nd.slice_axis(axis, axis=2, begin=i, end=i + 1) for i in range(3))
    zero = nd.zeros_like(x)
    rows = [nd.concat(*row, dim=2) for row in ((zero, -z, y), (z, zero, -x), (-y, x, zero))]
    cross = nd.concat(*rows, dim=1)
    outer = nd.batch_dot(axis, axis, transpose_a=True)
    cosine, sine = nd.cos(angle), nd.sin(angle)
    turned = nd.broadcast_mul(cosine, _constant(np.eye(3), vec)) + nd.broadcast_mul(sine, cross)
    turned = turned + nd.broadcast_mul(1 - cosine, outer)
    padded = nd.concat(turned, nd.zeros((vec.shape[0], 3, 1), ctx=vec.context), dim=2)
    last = nd.broadcast_to(_constant([[0, 0, 0, 1]], vec), shape=(vec.shape[0], 1, 4))
    return nd.concat(padded, last, dim=1)


class BackprojectDepth(HybridBlock):
    """Depths (batch, 1, height, width), inverse camera matrices (batch, 4, 4) to points (batch, 4, height * width)."""

    def __init__(self, batch_size, height, width, ctx=None):
        super().__init__()
        self.batch_size, self.height, self.width = batch_size, height, width
        columns, rows = np.meshgrid(np.arange(width), np.arange(height))
        pixels = np.stack([columns.ravel(), rows.ravel(), np.ones(height * width)])
        with self.name_scope():
            values = {"id_coords": np.stack([columns, rows]), "ones": np.ones((batch_size, 1, height * width))}
            values["pix_coords"] = np.broadcast_to(pixels, (batch_size, *pixels.shape))
            for name, value in values.items():
                parameter = self.params.get(name, shape=value.shape, init="zeros", grad_req="null")
                parameter.initialize(ctx=ctx)
                parameter.set_data(nd.array(value))
                setattr(self, name, parameter)

    def hybrid_forward(self, F, depth, inv_K, id_coords, ones, pix_coords):
        inverse = F.slice(inv_K, begin=(None, 0, 0), end=(None, 3, 3))
        points = F.broadcast_mul(F.reshape(depth, (self.batch_size, 1, -1)), F.batch_dot(inverse, pix_coords))
        return F.concat(points, ones, dim=1)


class Project3D(HybridBlock):
    """Points (batch, 4, height * width), camera matrices and motions (batch, 4, 4) to positions
    (batch, 2, height, width) in [-1, 1].
    """

    def __init__(self, batch_size, height, width, eps=1e-7):
        super().__init__()
        self.batch_size, self.height, self.width, self.eps = batch_size, height, width, eps

    def hybrid_forward(self, F, points, K, T):
        seen = F.batch_dot(F.slice_axis(F.batch_dot(K, T), axis=1, begin=0, end=3), points)
        depth = F.slice_axis(seen, axis=1, begin=2, end=3) + self.eps
        places = F.broadcast_div(F.slice_axis(seen, axis=1, begin=0, end=2), depth)
        places = F.reshape(places, (self.batch_size, 2, self.height, self.width))
        across = F.slice_axis(places, axis=1, begin=0, end=1) / (self.width - 1)
        down = F.slice_axis(places, axis=1, begin=1, end=2) / (self.height - 1)
        return (F.concat(across, down, dim=1) - 0.5) * 2


class SSIM(HybridBlock):
    """How unlike two pictures are at each position, in [0, 1]:
    (1 - structural similarity) / 2 over 3x3 pixels (Wang et al., 2004).
    """

    def __init__(self):
        super().__init__()
        self.pool, self.refl = nn.AvgPool2D(3, 1), nn.ReflectionPad2D(1)
        self.C1, self.C2 = 0.01**2, 0.03**2

    def hybrid_forward(self, F, x, y):
        x, y = self.refl(x), self.refl(y)
        mean_x, mean_y = self.pool(x), self.pool(y)
        var_x = self.pool(x**2) - mean_x**2
        var_y = self.pool(y**2) - mean_y**2
        covariance = self.pool(x * y) - mean_x * mean_y
        above = (2 * mean_x * mean_y + self.C1) * (2 * covariance + self.C2)
        below = (mean_x**2 + mean_y**2 + self.C1) * (var_x + var_y + self.C2)
        return F.clip((1 - above / below) / 2, 0, 1)


def get_smooth_loss(disp, img):
    """Mean steps between neighbouring disparities, which count less where the picture has steps, too."""
    total = 0
    for axis in (3, 2):
        step = nd.abs(_step(disp, axis))
        edge = nd.mean(nd.abs(_step(img, axis)), axis=1, keepdims=True)
        total = total + nd.mean(step * nd.exp(-edge))
    return total


def compute_depth_errors(gt, pred):
    """Errors of depths, NumPy arrays: absolute and squared relative, root mean square, that of logarithms, and the
    shares whose ratio is below 1.25, 1.25^2 and 1.25^3 (Eigen et al., 2014).
    """
    ratio = np.maximum(gt / pred, pred / gt)
    shares = [(ratio < 1.25**k).mean() for k in (1, 2, 3)]
    rmse = np.sqrt(((gt - pred) ** 2).mean())
    rmse_log = np.sqrt(((np.log(gt) - np.log(pred)) ** 2).mean())
    return np.mean(np.abs(gt - pred) / gt), np.mean((gt - pred) ** 2 / gt), rmse, rmse_log, *shares


def _step(x, axis):
    return nd.slice_axis(x, axis=axis, begin=0, end=-1) - nd.slice_axis(x, axis=axis, begin=1, end=None)


def _constant(values, like):
    return nd.array(np.asarray(values, "float32")[None], ctx=like.context)
