"""Boxes of detectors: overlaps, non-maximum suppression, matching, anchors, targets and proposals.

Boxes are (left, top, right, bottom) for "corner" and (x, y, width, height) around the centre for "center".
"""

import math
from typing import Annotated

from core import kernels
from core.base import MXNetError
from core.ops.attributes import Bool, Choice, Float, Floats, Int, Shape
from core.ops.registry import F, Operator, gradient, operator
from core.ops.values import Gradients, Tensor, Value

K = kernels.boxes
Format = Annotated[str, Choice("corner", "center")]


@operator("_contrib_box_iou", real=True)
def box_iou(lhs: Tensor, rhs: Tensor, *, format: Format = "corner") -> Tensor:
    """Intersection over union of all pairs: lhs.shape[:-1] + rhs.shape[:-1] of boxes (..., 4); it has no gradient."""
    for boxes in (lhs, rhs):
        if boxes.dim() < 2 or boxes.shape[-1] != 4:
            raise MXNetError(f"box_iou takes boxes (..., n, 4), given the shape {tuple(boxes.shape)}")
    return K.overlaps(lhs, rhs, format == "center")


# ---------------------------------------------------------------------------------------------- suppression


@operator("_contrib_box_nms", aliases=("_contrib_box_non_maximum_suppression",), outputs=2, visible=1, numbered=True)
def box_nms(
    data: Tensor, *, overlap_thresh: Float = 0.5, valid_thresh: Float = 0.0, topk: Int = -1, coord_start: Int = 2,
    score_index: Int = 1, id_index: Int = -1, background_id: Int = -1, force_suppress: Bool = False,
    in_format: Format = "corner", out_format: Format = "corner",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Rows of data (..., n, width) by falling score without those that overlap a better one; -1 fills the rest.

    coord_start, score_index, id_index: columns. Rows with scores up to valid_thresh or of the class background_id are
    dropped, and all but the best topk. Rows of different classes do not compete unless force_suppress. The gradient
    goes to the rows that stay.
    """
    _check_columns(tuple(data.shape), coord_start, score_index, id_index)
    rows, record = K.suppress(
        kernels.shape.reshape(data, (math.prod(data.shape[:-2]), *data.shape[-2:])), overlap_thresh, valid_thresh,
        max(topk, -1), coord_start, score_index, id_index, background_id, force_suppress, in_format == "center",
        out_format == "center",
    )  # fmt: skip
    return kernels.shape.reshape(rows, data.shape), kernels.shape.reshape(record, (*data.shape[:-1], 1))


def _check_columns(shape: tuple[int, ...], coordinates: int, score: int, label: int) -> None:
    width = shape[-1] if shape else 0
    if len(shape) < 2 or width < 5 + (label > 0):
        raise MXNetError(f"box_nms takes (..., n, {5 + (label > 0)} or more columns), given the shape {shape}")
    if not 0 <= coordinates <= width - 4:
        raise MXNetError(f"box_nms: coord_start={coordinates} does not leave 4 of {width} columns")
    taken = range(coordinates, coordinates + 4)
    for name, column in (("score_index", score), ("id_index", label)):
        if name == "id_index" and column < 0:
            continue
        if not 0 <= column < width or column in taken or (name == "id_index" and column == score):
            raise MXNetError(f"box_nms: {name}={column} is not a free column of {width} (coordinates: {list(taken)})")


@gradient(box_nms)
def _box_nms_gradient(dy: Value, out1: Value, data_shape: tuple[int, ...]) -> Gradients:
    return [F._put_rows(dy, out1, shape=data_shape)]


@operator("_put_rows")
def _put_rows(dy: Tensor, index: Tensor, *, shape: Shape) -> Tensor:
    """Zeros of `shape` with the rows of dy written at their indices; index -1 drops a row."""
    width = shape[-1]
    rows = K.put_rows(kernels.shape.reshape(dy, (-1, width)), index.reshape(-1), math.prod(shape[:-1]))
    return kernels.shape.reshape(rows, shape)


@gradient(_put_rows)
def _put_rows_gradient(dy1: Value, index: Value, dy_shape: tuple[int, ...]) -> Gradients:
    return [F._take_rows(dy1, index, shape=dy_shape), None]


@operator("_take_rows")
def _take_rows(data: Tensor, index: Tensor, *, shape: Shape) -> Tensor:
    """Rows of data at the indices, zeros for -1, in `shape`."""
    rows = K.take_rows(kernels.shape.reshape(data, (-1, data.shape[-1])), index.reshape(-1))
    return kernels.shape.reshape(rows, shape)


@gradient(_take_rows)
def _take_rows_gradient(dy: Value, index: Value, data_shape: tuple[int, ...]) -> Gradients:
    return [F._put_rows(dy, index, shape=data_shape), None]


# ---------------------------------------------------------------------------------------------- targets


@operator("_contrib_box_encode", outputs=2)
def box_encode(
    samples: Tensor, matches: Tensor, anchors: Tensor, refs: Tensor, means: Tensor, stds: Tensor
) -> tuple[Tensor, ...]:
    """Regression targets (B, N, 4) of the anchors whose sample is 1, and a mask of them.

    samples (B, N) of 1, 0, -1; matches (B, N): which of refs (B, M, 4) each of anchors (B, N, 4) belongs to; corners;
    means, stds (4,).
    """
    return K.encode(samples, matches, anchors, refs, means, stds)


@operator("_contrib_box_decode", real=True)
def box_decode(
    data: Tensor, anchors: Tensor, *, std0: Float = 1.0, std1: Float = 1.0, std2: Float = 1.0, std3: Float = 1.0,
    clip: Float = -1.0, format: Format = "center",
) -> Tensor:  # fmt: skip
    """Corners of boxes from regression outputs (B, N, 4) and anchors (1, N, 4) in `format`; it has no gradient.

    clip: the most that the logarithm of growth may be, where positive.
    """
    if data.dim() != 3 or anchors.dim() != 3 or data.shape[2] != 4 or anchors.shape[2] != 4:
        raise MXNetError(
            f"box_decode takes data (B, N, 4) and anchors (1, N, 4), given {tuple(data.shape)}, {tuple(anchors.shape)}"
        )
    return K.decode(data, anchors, (std0, std1, std2, std3), clip, format == "center")


@operator("_contrib_bipartite_matching", outputs=2)
def bipartite_matching(
    data: Tensor, *, is_ascend: Bool = False, threshold: Float, topk: Int = -1
) -> tuple[Tensor, Tensor]:
    """Greedy pairing of the rows and columns of scores (..., N, M): the partner of each row and column, -1 for none.

    The best remaining pair is taken while its score is above threshold (below, with is_ascend). As in MXNet, topk > 0
    allows topk + 1 pairs.
    """
    if data.dim() < 2:
        raise MXNetError(f"bipartite_matching takes scores (..., N, M), given the shape {tuple(data.shape)}")
    *lead, n, m = data.shape
    rows, columns = K.match(kernels.shape.reshape(data, (math.prod(lead), n, m)), threshold, is_ascend, topk)
    return kernels.shape.reshape(rows, (*lead, n)), kernels.shape.reshape(columns, (*lead, m))


# ---------------------------------------------------------------------------------------------- single shot detectors


@operator("_contrib_MultiBoxPrior", aliases=("_npx_multibox_prior",), real=True)
def multi_box_prior(
    data: Tensor, *, sizes: Floats = (1.0,), ratios: Floats = (1.0,), clip: Bool = False, steps: Floats = (-1.0, -1.0),
    offsets: Floats = (0.5, 0.5),
) -> Tensor:  # fmt: skip
    """Anchors (1, H W (sizes + ratios - 1), 4) for a map (N, C, H, W), in parts of the image (Liu et al., 2016).

    All sizes with the first ratio, then the first size with the other ratios; steps and offsets are (y, x).
    """
    if data.dim() != 4 or len(steps) != 2 or len(offsets) != 2 or not sizes or not ratios:
        raise MXNetError(
            f"MultiBoxPrior takes (N, C, H, W), sizes, ratios, two steps and two offsets, given {tuple(data.shape)}, "
            f"{sizes}, {ratios}, {steps}, {offsets}"
        )
    return K.priors(data, sizes, ratios, clip, steps, offsets)


@operator(
    "_contrib_MultiBoxTarget", aliases=("_npx_multibox_target",), outputs=3, real=True,
    names=("loc_target", "loc_mask", "cls_target"),
)  # fmt: skip
def multi_box_target(
    anchor: Tensor, label: Tensor, cls_pred: Tensor, *, overlap_threshold: Float = 0.5, ignore_label: Float = -1.0,
    negative_mining_ratio: Float = -1.0, negative_mining_thresh: Float = 0.5, minimum_negative_samples: Int = 0,
    variances: Floats = (0.1, 0.1, 0.2, 0.2),
) -> tuple[Tensor, ...]:  # fmt: skip
    """Regression targets (B, 4 A), their mask and classes (B, A; 0 is background) of anchors (1, A, 4).

    label (B, L, 5 or more): class, left, top, right, bottom; a class of -1 ends the list. cls_pred (B, classes, A)
    ranks negatives when negative_mining_ratio > 0.
    """
    if anchor.dim() != 3 or label.dim() != 3 or cls_pred.dim() != 3 or label.shape[2] < 5 or len(variances) != 4:
        raise MXNetError(
            "MultiBoxTarget takes anchors (1, A, 4), labels (B, L, 5), predictions (B, classes, A) and 4 variances, "
            f"given {tuple(anchor.shape)}, {tuple(label.shape)}, {tuple(cls_pred.shape)}, {variances}"
        )
    return K.targets(
        anchor, label, cls_pred, overlap_threshold, ignore_label, negative_mining_ratio, negative_mining_thresh,
        variances,
    )  # fmt: skip


@operator("_contrib_MultiBoxDetection", aliases=("_npx_multibox_detection",))
def multi_box_detection(
    cls_prob: Tensor, loc_pred: Tensor, anchor: Tensor, *, clip: Bool = True, threshold: Float = 0.01,
    background_id: Int = 0, nms_threshold: Float = 0.5, force_suppress: Bool = False,
    variances: Floats = (0.1, 0.1, 0.2, 0.2), nms_topk: Int = -1,
) -> Tensor:  # fmt: skip
    """Detections (B, A, 6) of class, score, left, top, right, bottom by falling score; class -1: none, or suppressed.

    cls_prob (B, 1 + classes, A), loc_pred (B, 4 A), anchor (1, A, 4). The background is class 0 of cls_prob: MXNet
    takes background_id and does not look at it.
    """
    if cls_prob.dim() != 3 or loc_pred.dim() != 2 or anchor.dim() != 3 or len(variances) != 4:
        raise MXNetError(
            "MultiBoxDetection takes (B, 1 + classes, A), (B, 4 A), (1, A, 4) and 4 variances, given "
            f"{tuple(cls_prob.shape)}, {tuple(loc_pred.shape)}, {tuple(anchor.shape)}, {variances}"
        )
    return K.detections(cls_prob, loc_pred, anchor, clip, threshold, nms_threshold, force_suppress, variances, nms_topk)


# ---------------------------------------------------------------------------------------------- region proposals


def _proposal(name: str, images: str) -> Operator:
    @operator(name, outputs=2, visible=lambda attrs: 2 if attrs["output_score"] else 1, real=True)
    def proposal(
        cls_prob: Tensor, bbox_pred: Tensor, im_info: Tensor, *, rpn_pre_nms_top_n: Int = 6000,
        rpn_post_nms_top_n: Int = 300, threshold: Float = 0.7, rpn_min_size: Int = 16,
        scales: Floats = (4.0, 8.0, 16.0, 32.0), ratios: Floats = (0.5, 1.0, 2.0), feature_stride: Int = 16,
        output_score: Bool = False, iou_loss: Bool = False,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """Regions of interest (B rpn_post_nms_top_n, 5) of image and corners, and scores, from a proposal network.

        cls_prob (B, 2 A, H, W) with the foreground in the second half, bbox_pred (B, 4 A, H, W), im_info (B, 3) of
        height, width and scale (Ren et al., 2015). iou_loss: bbox_pred shifts the corners.
        """
        kinds = len(scales) * len(ratios)
        if cls_prob.dim() != 4 or cls_prob.shape[1] != 2 * kinds or bbox_pred.shape[1] != 4 * kinds:
            raise MXNetError(
                f"{name[9:]}: {kinds} anchors a position need {2 * kinds} scores and {4 * kinds} shifts, given "
                f"{tuple(cls_prob.shape)} and {tuple(bbox_pred.shape)}"
            )
        if images == "one" and cls_prob.shape[0] != 1:
            raise MXNetError(f"Proposal takes one image, given {cls_prob.shape[0]}; MultiProposal takes more")
        return K.proposals(
            cls_prob, bbox_pred, im_info, rpn_pre_nms_top_n, rpn_post_nms_top_n, threshold, rpn_min_size, scales,
            ratios, feature_stride, iou_loss,
        )  # fmt: skip

    return proposal


proposal = _proposal("_contrib_Proposal", "one")
multi_proposal = _proposal("_contrib_MultiProposal", "many")
