"""Cases of kernels that read or add up at places which the data decide: embeddings, indexing, detection.

Gradients of these add by atomics in their usual mode; in deterministic mode they do not, and are held against it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator

import torch

from core import kernels
from scripts.benchmarks.kernel_case import Case, Lab, table

aten = torch.ops.aten


def embeddings(lab: Lab) -> Iterator[Case]:
    rows, columns = table(lab, 768)
    words = lab.extent(30522, 11)

    yield Case(
        "embedding gradient",
        f"{words} words of {columns}",
        lambda: (lab.draw(rows, columns), lab.below(words, rows)),
        lambda dy, at: kernels.index.embedding_grad(dy, at, (words, columns)),
        lambda dy, at: aten.embedding_dense_backward(dy, at, words, -1, False),
    )


# ---------------------------------------------------------------- without atomics


def deterministic(lab: Lab) -> Iterator[Case]:
    """All gradients that add by atomics, in the mode that does not, against our own usual mode."""
    for name, make, usual, truth in (*rows_added(lab), *regions_added(lab)):

        def repeatable(*inputs, usual=usual):
            before = kernels.set_deterministic(True)
            try:
                return usual(*inputs)
            finally:
                kernels.set_deterministic(before)

        yield Case("deterministic", f"{name}, over our usual mode", make, repeatable, usual, truth=truth)


def rows_added(lab: Lab) -> Iterator[tuple]:
    """(name, inputs, our gradient, PyTorch's way to the same) of what reads rows or elements by their numbers."""
    index = kernels.index
    for case in embeddings(lab):
        yield f"{case.family}, {case.name}", case.make, case.ours, case.theirs
    outer, rows, inner = lab.extent(16, 2), lab.extent(8192, 9), lab.extent(768, 5)
    count = 2 * rows
    shape = outer, rows, inner
    yield (
        "take along an axis",
        lambda: (lab.draw(outer, count, inner), lab.below(rows, count)),
        lambda dy, at: index.take_grad(dy, at, 1, shape),
        lambda dy, at: dy.new_zeros(shape).index_add(1, at, dy),
    )
    yield (
        "take_along_axis",
        lambda: (lab.draw(outer, count, inner), lab.below(rows, outer, count, inner)),
        lambda dy, at: index.scatter_along_add(dy, at, 1, shape),
        lambda dy, at: dy.new_zeros(shape).scatter_add(1, at, dy),
    )
    yield (
        "gather_nd",
        lambda: (lab.draw(outer * count, inner), torch.stack([lab.below(n, outer * count) for n in shape[:2]])),
        lambda dy, at: index.scatter_nd_add(dy, at, shape),
        lambda dy, at: dy.new_zeros(shape).index_put(tuple(at), dy, accumulate=True),
    )
    yield (
        "advanced indexing",
        lambda: (lab.draw(rows, inner), lab.below(rows, count), lab.draw(count, inner)),
        lambda x, at, dy: index.index_put(x, (at,), dy, True),
        lambda x, at, dy: x.index_put((at,), dy, accumulate=True),
    )


def regions_added(lab: Lab) -> Iterator[tuple]:
    """The same of what reads images at places of regions, grids and shifts; the CPU backend tells the truth."""
    vision, n, channels = kernels.vision, lab.extent(1024, 5), lab.extent(256, 6)
    shape = 2, channels, lab.extent(50, 12), lab.extent(76, 13)

    def draw(*extents):
        return lab.draw(*extents, dtype=torch.float32)

    how = (7, 7), 1 / 16, 2, False, False, shape
    yield (
        "region pooling (ROIAlign)",
        lambda: (draw(n, channels, 7, 7), rois(lab, n, shape[2])),
        lambda dy, at: vision.roi_align_grad(dy, at, *how),
        lambda dy, at: reference("vision").roi_align_grad(dy, at, *how),
    )
    yield (
        "region pooling (maxima)",
        lambda: (
            draw(n, channels, 7, 7),
            kernels.vision.roi_pool(draw(*shape), rois(lab, n, shape[2]), (7, 7), 1 / 16)[1],
        ),
        lambda dy, at: vision.roi_pool_grad(dy, at, shape),
        lambda dy, at: reference("vision").roi_pool_grad(dy, at, shape),
    )
    yield (
        "sampling on a grid",
        lambda: (draw(*shape), draw(*shape), torch.rand(2, 2, *shape[2:], device=lab.device) * 2 - 1),
        lambda dy, x, grid: vision.bilinear_sample_grad(dy, x, grid),
        lambda dy, x, grid: reference("vision").bilinear_sample_grad(dy, x, grid),
    )
    windows, kernel = ((3, 3), (1, 1), (1, 1), (1, 1), 1), 9
    yield (
        "deformable convolution",
        lambda: (draw(2, channels, kernel, shape[2] * shape[3]), draw(*shape), draw(2, 2 * kernel, *shape[2:])),
        lambda dy, x, offset: kernels.deformable.columns_grad(dy, x, offset, None, *windows)[:2],
        lambda dy, x, offset: reference("deformable").columns_grad(dy, x, offset, None, *windows)[:2],
    )


# ---------------------------------------------------------------- detection


def detection(lab: Lab) -> Iterator[Case]:
    """Suppression of 6000 proposals, regions of a batch of 2 with 512 each, 8732 anchors against 32 boxes."""
    vision = importlib.import_module("torchvision.ops") if importlib.util.find_spec("torchvision") else None
    count, channels, regions = lab.extent(6000, 40), lab.extent(256, 6), lab.extent(1024, 6)

    def detections():
        scores = torch.randperm(count, device=lab.device)[:, None] / count + 0.01
        return (torch.cat([torch.zeros_like(scores), scores, boxes(lab, count)], 1)[None],)

    def suppress(data):
        return kernels.boxes.suppress(data, 0.7, 0.0, -1, 2, 1, 0, -1, True, False, False)[0]

    yield Case(
        "detection",
        "non-maximum suppression",
        detections,
        suppress,
        vision and (lambda data: vision.nms(data[0, :, 2:], data[0, :, 1], 0.7)),
        truth=greedy_suppression,
    )

    def features():
        height, width = lab.extent(50, 12), lab.extent(76, 13)
        data = lab.draw(2, channels, height, width, dtype=torch.float32)
        return data, rois(lab, regions, height)

    how = ((7, 7), 1 / 16, 2, False)
    yield Case(
        "detection",
        "region pooling (ROIAlign)",
        features,
        lambda data, rois: kernels.vision.roi_align(data, rois, *how, False),
        vision and (lambda data, rois: vision.roi_align(data, rois, *how)),
        truth=lambda data, rois: reference("vision").roi_align(data, rois, *how, False),
    )

    def pairs():
        return boxes(lab, lab.extent(8732, 50)), boxes(lab, lab.extent(32, 5))

    def matched(anchors, truth):
        return kernels.boxes.match(kernels.boxes.overlaps(anchors, truth, False)[None], 0.1, False, -1)

    yield Case(
        "detection",
        "box matching",
        pairs,
        matched,
        vision and (lambda anchors, truth: vision.box_iou(anchors, truth).max(1)),
        truth=greedy_match,
    )


def boxes(lab: Lab, n: int, extent: float = 600.0):
    """(n, 4) corners of boxes in a picture of about `extent`."""
    corner = torch.rand(n, 2, device=lab.device) * extent
    return torch.cat([corner, corner + 1 + torch.rand(n, 2, device=lab.device) * extent / 4], 1)


def rois(lab: Lab, n: int, height: int):
    """(n, 5) regions of two pictures, of which every sixteenth place is in a map of so many rows."""
    image = (torch.arange(n, device=lab.device) % 2)[:, None]
    return torch.cat([image, boxes(lab, n, 16.0 * height * 0.8)], 1)


def greedy_suppression(data):
    """The rule box by box: the best that is left stays, and what overlaps it by more than 0.7 goes."""
    rows = data[0].cpu()
    rows = rows[rows[:, 1].argsort(descending=True)]
    kept = []
    while len(rows):
        kept.append(rows[0])
        rows = rows[1:][intersection_over_union(rows[:1, 2:], rows[1:, 2:])[0] <= 0.7]
    out = torch.full(data.shape[1:], -1.0, dtype=data.dtype)
    out[: len(kept)] = torch.stack(kept)
    return out[None].to(data.device)


def greedy_match(anchors, truth):
    """The rule pair by pair: the best of what is left, while it overlaps by more than 0.1."""
    scores = intersection_over_union(anchors.cpu(), truth.cpu())
    rows, columns = (torch.full((1, n), -1.0, dtype=scores.dtype) for n in scores.shape)
    while (best := scores.max()) > 0.1:
        row, column = divmod(int((scores == best).flatten().nonzero()[0]), scores.shape[1])
        rows[0, row], columns[0, column] = column, row
        scores[row], scores[:, column] = -1, -1
    return rows.to(anchors.device), columns.to(anchors.device)


def intersection_over_union(a, b):
    """(n, m) of corners a (n, 4) and b (m, 4)."""
    low, high = torch.maximum(a[:, None, :2], b[:, :2]), torch.minimum(a[:, None, 2:], b[:, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    return shared / ((a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1) - shared)


def reference(family: str):
    """Kernels of the CPU backend, which ATen's operators or the tests' formulas vouch for."""
    return importlib.import_module(f"core.kernels.cpu.{family}")
