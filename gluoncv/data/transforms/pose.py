"""Persons in pictures: their joints, the crops around them, and heat maps of joints.

Joints are (J, 3, 2) NumPy arrays of x, y, z, each with 1 behind it where it is visible, else 0. Boxes are left, top,
right, bottom. Heat maps are (N, J, H, W).
"""

from __future__ import annotations

import random

import numpy as np

from core import cpu, image, nd
from gluoncv.data.transforms import affine
from gluoncv.data.transforms.affine import affine_transform, get_3rd_point, get_affine_transform, get_dir

__all__ = [
    "affine_transform", "alpha_pose_detection_processor", "alpha_pose_image_cropper", "count_visible", "crop",
    "crop_resize_normalize", "cv_cropBox", "cv_rotate", "detector_to_alpha_pose", "detector_to_simple_pose",
    "drawGaussian", "flip_heatmap", "flip_joints_3d", "get_3rd_point", "get_affine_transform", "get_dir",
    "get_final_preds", "get_max_pred", "heatmap_to_coord", "heatmap_to_coord_alpha_pose", "random_crop_bbox",
    "random_sample_bbox", "refine_bound", "transformBox", "transformBoxInvert", "transform_predictions",
    "transform_preds", "upscale_bbox_fn",
]  # fmt: skip

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# What AlphaPose takes off red, green and blue.
ALPHA_MEAN = np.array([0.406, 0.457, 0.480], "float32").reshape(3, 1, 1)


# ---------------------------------------------------------------------------------------------- mirroring


def flip_heatmap(heatmap, joint_pairs, shift=False):
    """NumPy heat maps mirrored, left and right joints swapped; `shift`: then moved one position to the right."""
    if heatmap.ndim != 4:
        raise AssertionError(f"heat maps are (N, J, H, W), given {heatmap.shape}")
    return mirrored(heatmap, joint_pairs, shift)


def mirrored(heatmap, joint_pairs, shift=False):
    """`flip_heatmap` of (..., J, H, W)."""
    out = heatmap[..., ::-1].copy()
    for a, b in joint_pairs:
        out[..., [a, b], :, :] = out[..., [b, a], :, :]
    if shift:
        out[..., 1:] = out[..., :-1].copy()
    return out


def flip_joints_3d(joints_3d, width, joint_pairs):
    """Joints in a mirrored picture of `width` pixels, left and right ones swapped; those that are not visible are 0."""
    joints = joints_3d.copy()
    joints[:, 0, 0] = width - joints[:, 0, 0] - 1
    for a, b in joint_pairs:
        joints[[a, b]] = joints[[b, a]]
    joints[:, :, 0] *= joints[:, :, 1]
    return joints


# ---------------------------------------------------------------------------------------------- SimplePose


def crop(img, center, scale, output_size, rot=0):
    """The window of a NumPy picture that `get_affine_transform` describes."""
    return affine.warp(img, get_affine_transform(center, scale, rot, output_size), output_size)


def transform_predictions(coords, center, scale, output_size):
    """Positions (J, 2 or more) in a window of `output_size` in the picture again, NumPy; other columns are 0."""
    back, places = get_affine_transform(center, scale, 0, output_size, inv=1), np.zeros(coords.shape)
    for place, point in zip(places, coords):
        place[:2] = affine_transform(point[:2], back)
    return places


def transform_preds(coords, center, scale, output_size):
    """`transform_predictions` of `mx.nd` arrays."""
    return nd.array(transform_predictions(coords.asnumpy(), center, scale, output_size))


def get_max_pred(batch_heatmaps):
    """Where each heat map is greatest, (N, J, 2) of x and y (0 where none is above 0), and by how much, (N, J, 1)."""
    places, peaks = _peaks(batch_heatmaps.asnumpy())
    return nd.array(places), nd.array(peaks, dtype=batch_heatmaps.dtype)


def get_final_preds(batch_heatmaps, center, scale):
    """`get_max_pred`, moved a quarter to the greater neighbour, in the pictures again; center and scale (N, 2)."""
    maps = batch_heatmaps.asnumpy()
    places, peaks = _peaks(maps)
    _towards_neighbours(places, maps)
    size = maps.shape[3], maps.shape[2]
    center, scale = (x.asnumpy() if isinstance(x, nd.NDArray) else x for x in (center, scale))
    preds = [transform_predictions(p, c, s, size) for p, c, s in zip(places, center, scale)]
    return nd.array(np.stack(preds)), nd.array(peaks, dtype=batch_heatmaps.dtype)


def upscale_bbox_fn(bbox, img, scale=1.25):
    """The box grown by `scale` around its centre, within the picture."""
    x0, y0, x1, y1 = bbox
    half_w, half_h = (x1 - x0) / 2, (y1 - y0) / 2
    x, y = x0 + half_w, y0 + half_h
    return [
        max(x - half_w * scale, 0), max(y - half_h * scale, 0),
        min(x + half_w * scale, img.shape[1]), min(y + half_h * scale, img.shape[0]),
    ]  # fmt: skip


def crop_resize_normalize(img, bbox_list, output_size, mean=MEAN, std=STD):
    """The boxes of a picture as normalised (N, 3, height, width), `output_size` = (height, width)."""
    height, width = output_size
    picture, crops = nd.array(img), []
    for bbox in bbox_list:
        x0, y0 = max(int(bbox[0]), 0), max(int(bbox[1]), 0)
        x1, y1 = min(int(bbox[2]), img.shape[1]), min(int(bbox[3]), img.shape[0])
        part = image.fixed_crop(picture, x0, y0, x1 - x0, y1 - y0, (width, height))
        crops.append(nd.image.normalize(nd.image.to_tensor(part), mean=mean, std=std))
    return nd.stack(*crops)


def detector_to_simple_pose(
    img, class_ids, scores, bounding_boxs, output_shape=(256, 192), scale=1.25, ctx=None, thr=0.5, mean=MEAN, std=STD
):
    """(input of the network on `ctx`, boxes grown by `scale`) of the persons (class 0) that a
    detector is sure of by `thr`.

    What a detector gives: classes (1, N, 1), scores (1, N, 1) and boxes (1, N, 4). Without persons the input is None.
    """
    classes, sure = (x[0].asnumpy().reshape(-1) for x in (class_ids, scores))
    persons = bounding_boxs[0].asnumpy()[(classes == 0) & (sure >= thr)]
    grown = [upscale_bbox_fn(box.tolist(), img, scale=scale) for box in persons]
    if not grown:
        return None, grown
    return crop_resize_normalize(img, grown, output_shape, mean=mean, std=std).as_in_context(ctx or cpu()), grown


def heatmap_to_coord(heatmaps, bbox_list):
    """Joints (N, J, 2) in the picture and how sure they are (N, J, 1), from heat maps of the crops of boxes."""
    maps = heatmaps.asnumpy()
    places, peaks = _peaks(maps)
    boxes = np.asarray(bbox_list, "float64").reshape(-1, 1, 4)
    preds = places / (maps.shape[3], maps.shape[2]) * (boxes[..., 2:] - boxes[..., :2]) + boxes[..., :2]
    return nd.array(preds), nd.array(peaks, dtype=heatmaps.dtype)


def _peaks(maps):
    n, joints, _, width = maps.shape
    flat = maps.reshape(n, joints, -1)
    index, peaks = flat.argmax(axis=2), flat.max(axis=2)[..., None]
    places = np.stack([index % width, index // width], -1).astype("float32")
    return places * (peaks > 0), peaks


def _towards_neighbours(places, maps):
    """Moves places a quarter towards the greater one of the neighbours left and right, and above and below."""
    height, width = maps.shape[2:]
    for sample, row in zip(maps, places):
        for heat, place in zip(sample, row):
            x, y = (int(v) for v in np.floor(place + 0.5))
            if 1 < x < width - 1 and 1 < y < height - 1:
                slope = heat[y, x + 1] - heat[y, x - 1], heat[y + 1, x] - heat[y - 1, x]
                place += np.sign(slope) * 0.25


# ---------------------------------------------------------------------------------------------- AlphaPose


def refine_bound(ul, br):
    """Corners moved apart to 5 pixels at least, in place."""
    for axis in (0, 1):
        ul[axis] = min(ul[axis], br[axis] - 5)
        br[axis] = max(br[axis], ul[axis] + 5)
    return ul, br


# Which halves of a box are left: the probability is above -> axes whose upper left, axes whose lower right
# corner moves.
_HALVES = (
    (0.96, (), (0, 1)), (0.92, (0,), (1,)), (0.88, (1,), (0,)), (0.84, (0, 1), ()),
    (0.80, (), (0,)), (0.76, (0,), ()), (0.72, (), (1,)), (0.68, (1,), ()),
)  # fmt: skip


def random_crop_bbox(ul, br):
    """Corners of a half or a quarter of the box, in place; the whole box in 68 of 100 cases."""
    drawn = random.uniform(0, 1)
    for above, upper, lower in _HALVES:
        if drawn > above:
            middle = [(ul[axis] + br[axis]) / 2 for axis in (0, 1)]
            for axis in upper:
                ul[axis] = middle[axis]
            for axis in lower:
                br[axis] = middle[axis]
            break
    return ul, br


def random_sample_bbox(ul, br, w, h, im_width, im_height):
    """Corners moved at random, in place, as detectors err (Fang et al., 2017); w, h: extent of the box."""
    share = random.uniform(0, 1)
    if share > 0.85:
        ratio = float(h) / w
        patch_w, patch_h = (share * w, share * w * ratio) if w < h else (share * h / ratio, share * h)
        left = ul[0] + random.uniform(0, 1) * (w - patch_w)
        top = ul[1] + random.uniform(0, 1) * (h - patch_h)
        right, bottom = left + patch_w + 1, top + patch_h + 1
    else:
        left = max(1, min(ul[0] + np.random.normal(-0.0142, 0.1158) * w, im_width - 3))
        top = max(1, min(ul[1] + np.random.normal(0.0043, 0.068) * h, im_height - 3))
        right = min(max(left + 2, br[0] + np.random.normal(0.0154, 0.1337) * w), im_width - 3)
        bottom = min(max(top + 2, br[1] + np.random.normal(-0.0013, 0.0711) * h), im_height - 3)
    ul[0], ul[1], br[0], br[1] = left, top, right, bottom
    return ul, br


def count_visible(ul, br, joints_3d):
    """How many joints are visible between the corners, and which."""
    places = joints_3d[:, :2, 0]
    visible = ((places > 0) & (places > ul) & (places < br) & (joints_3d[:, :2, 1] > 0)).all(axis=1)
    return np.sum(visible), visible


def cv_cropBox(img, ul, br, resH, resW, pad_val=0):
    """The box of a NumPy picture at (resH, resW), its aspect kept; `pad_val` outside of the box."""
    br = br - 1
    height = max((br[1] - ul[1]).item(), (br[0] - ul[0]).item() * resH / resW)
    width = height * resW / resH
    pad = np.array([(width - (br[0] - ul[0])) // 2, (height - (br[1] - ul[1])) // 2])
    inside = np.full_like(img, pad_val)
    part = slice(ul[1], br[1] + 1), slice(ul[0], br[0] + 1)
    inside[part] = img[part]
    if img.ndim == 2:
        inside = inside[:, :, None]
    return affine.warp(inside, affine.two_points([ul - pad, br + pad], [[0, 0], [resW - 1, resH - 1]]), (resW, resH))


def cv_rotate(img, rot, resW, resH):
    """A NumPy picture turned by `rot` degrees about the middle of (resW, resH), at that size."""
    center = np.array([resW - 1, resH - 1]) / 2
    up = np.array([0, (resH - 1) * -0.5])
    turned = np.array(get_dir(up, np.pi * rot / 180))
    return affine.warp(img, affine.two_points([center, center + turned], [center, center + up]), (resW, resH))


def transformBox(pt, ul, br, inpH, inpW, resH, resW):
    """A point of the picture in the heat map (resH, resW) of the crop between the corners, rounded."""
    extent = np.array([br[0] - ul[0], br[1] - ul[1]], dtype="float64")
    height = max(extent[1], extent[0] * inpH / inpW)
    width = height * inpW / inpH
    border = np.maximum(0, (np.array([width, height]) - 1) / 2 - (extent - 1) / 2)
    place = (np.array([pt[0] - ul[0], pt[1] - ul[1]]) + border) * resH / height
    return np.array([round(float(v)) for v in place], dtype="float64")


def transformBoxInvert(pt, ul, br, resH, resW):
    """A place in the heat map of the crop between the corners in the picture again, as an `mx.nd` array."""
    return nd.array(
        _from_crop(*(np.asarray(x.asnumpy() if hasattr(x, "asnumpy") else x) for x in (pt, ul, br)), resH, resW)
    )


def _from_crop(places, ul, br, height, width):
    extent = br - ul
    side = max(extent[1], extent[0] * height / width)
    border = np.maximum(0, (np.array([side * width / height, side]) - 1) / 2 - (extent - 1) / 2)
    return places * side / height - border + ul


def drawGaussian(img, pt, sigma, sig=1):
    """A Gaussian with the peak 1 at `pt` = (x, y) in a map (H, W), in place; it reaches 3 `sigma` in each direction.

    ValueError for `sig` below 0, for which the original has a sparse peak that it never defines.
    """
    if sig < 0:
        raise ValueError(f"drawGaussian: sig is not below 0, given {sig}")
    reach = int(3 * sigma)
    left, top = (int(v - reach) for v in pt[:2])
    right, bottom = (int(v + reach + 1) for v in pt[:2])
    height, width = img.shape[:2]
    if left >= width or top >= height or right < 0 or bottom < 0:
        return img
    line = np.arange(-reach, reach + 1, dtype="float32")
    gaussian = np.exp(-(line**2 + line[:, None] ** 2) / (2 * ((2 * reach + 1) / 4.0) ** 2))
    x0, y0, x1, y1 = max(0, left), max(0, top), min(right, width), min(bottom, height)
    img[y0:y1, x0:x1] = gaussian[y0 - top : y1 - top, x0 - left : x1 - left]
    return img


def alpha_pose_detection_processor(img, boxes, class_idxs, scores, thr=0.5):
    """(boxes, scores) of the persons (class 0) that a detector is surer of than `thr`, within the picture;
    None without any.
    """
    boxes, classes, sure = (x.asnumpy().reshape(-1, n) for x, n in ((boxes, 4), (class_idxs, 1), (scores, 1)))
    boxes[:, 0::2], boxes[:, 1::2] = boxes[:, 0::2].clip(0, img.shape[1] - 1), boxes[:, 1::2].clip(0, img.shape[0] - 1)
    picked = ((classes == 0) & (sure > thr))[:, 0]
    return (nd.array(boxes[picked]), nd.array(sure[picked])) if picked.any() else (None, None)


def alpha_pose_image_cropper(source_img, boxes, scores, output_shape=(256, 192)):
    """(inputs (N, 3, *output_shape), boxes (N, 4) grown by a fifth, or by 0.3 where narrow); None for boxes None."""
    if boxes is None:
        return None, boxes
    source = source_img.asnumpy() if isinstance(source_img, nd.NDArray) else source_img
    height, width = source.shape[:2]
    inputs, grown = np.zeros((len(boxes), 3, *output_shape), "float32"), np.zeros((len(boxes), 4))
    for x, out, (x0, y0, x1, y1) in zip(inputs, grown, boxes.asnumpy()):
        extent = np.array([x1 - x0, y1 - y0]) * (0.2 if x1 - x0 > 100 else 0.3) / 2
        left, top = int(max(0, x0 - extent[0])), int(max(0, y0 - extent[1]))
        right, bottom = (
            int(min(width - 1, max(left + 5, x1 + extent[0]))),
            int(min(height - 1, max(top + 5, y1 + extent[1]))),
        )
        if right - left < 1 or bottom - top < 1:
            continue
        part = cv_cropBox(source, np.array((left, top)), np.array((right, bottom)), *output_shape)
        x[:] = alpha_input(part)
        out[:] = left, top, right, bottom
    return nd.array(inputs), grown


def alpha_input(img):
    """A NumPy picture of bytes (H, W, 3) as AlphaPose takes it, float32 (3, H, W)."""
    return img.transpose(2, 0, 1).astype("float32") / np.float32(255) - ALPHA_MEAN


def heatmap_to_coord_alpha_pose(hms, boxes):
    """Joints (N, J, 2) in the picture and how sure they are (N, J, 1),
    from heat maps and NumPy boxes (N, 4) or (N, 1, 4).
    """
    maps, boxes = hms.asnumpy(), np.asarray(boxes, "float32").reshape(-1, 4)
    places, peaks = _peaks(maps)
    _towards_neighbours(places, maps)
    preds = [_from_crop(p, box[:2], box[2:], *maps.shape[2:]) for p, box in zip(places, boxes)]
    return nd.array(np.stack(preds)), nd.array(peaks, dtype=hms.dtype)


def detector_to_alpha_pose(
    img, class_ids, scores, bounding_boxs, output_shape=(256, 192), ctx=None, thr=0.5
):  # fmt: skip
    """(input of the network, boxes) of the persons that a detector found; None, None without any."""
    boxes, scores = alpha_pose_detection_processor(img, bounding_boxs, class_ids, scores, thr=thr)
    inputs, boxes = alpha_pose_image_cropper(img, boxes, scores, output_shape=output_shape)
    return inputs if inputs is None or ctx is None else inputs.as_in_context(ctx), boxes
