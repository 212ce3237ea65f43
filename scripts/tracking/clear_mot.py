"""How well objects were followed: CLEAR MOT (Bernardin and Stiefelhagen, 2008) identities (Ristani et al., 2016)."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from core.extras import load
from gluoncv.utils.bbox import bbox_iou

# Shares of an object's frames in which it is found: mostly tracked from the first on, mostly lost below the second.
MOSTLY, HARDLY = 0.8, 0.2


def counts(truth: np.ndarray, found: np.ndarray, min_iou: float = 0.5) -> Counter:
    """What a video adds to the figures; both (N, 6 or more) of frame, number, left, top, width, height.

    Keys: objects, predictions, matches, misses, false_positives, switches, tracks, mostly_tracked, mostly_lost, idtp.
    """
    total, together = Counter(objects=len(truth), predictions=len(found)), Counter()
    last, seen, hit = {}, Counter(), Counter()
    theirs, ours = _by_frame(truth), _by_frame(found)
    for frame in sorted(theirs.keys() | ours.keys()):
        objects, boxes = theirs[frame]
        hypotheses, guesses = ours[frame]
        overlaps = bbox_iou(boxes, guesses) if len(boxes) and len(guesses) else np.zeros((len(boxes), len(guesses)))
        near = overlaps >= min_iou
        together.update((objects[i], hypotheses[k]) for i, k in zip(*np.nonzero(near), strict=True))
        pairs = _match(objects, hypotheses, np.where(near, overlaps, 0), last)
        for i, k in pairs:
            total["switches"] += last.get(objects[i], hypotheses[k]) != hypotheses[k]
            last[objects[i]] = hypotheses[k]
            hit[objects[i]] += 1
        seen.update(objects)
        total.update(matches=len(pairs), misses=len(objects) - len(pairs), false_positives=len(hypotheses) - len(pairs))
    shares = np.array([hit[one] / seen[one] for one in seen])
    total.update(
        tracks=len(shares), mostly_tracked=int((shares >= MOSTLY).sum()), mostly_lost=int((shares < HARDLY).sum())
    )
    total["idtp"] = _identities(together)
    return total


def figures(total: Counter) -> dict[str, float]:
    """MOTA, identities' F1, recall and precision, and those of detections, from `counts` added up."""

    def share(part, *wholes):
        whole = sum(total[name] for name in wholes)
        return part / whole if whole else 0.0

    wrong = total["misses"] + total["switches"] + total["false_positives"]
    return {
        "MOTA": 1 - share(wrong, "objects"),
        "IDF1": share(2 * total["idtp"], "objects", "predictions"),
        "IDR": share(total["idtp"], "objects"),
        "IDP": share(total["idtp"], "predictions"),
        "precision": share(total["matches"], "predictions"),
        "recall": share(total["matches"], "objects"),
        "F1": share(2 * total["matches"], "objects", "predictions"),
    }


def _by_frame(rows):
    """frame -> (numbers, corners)"""
    grouped = defaultdict(list)
    for row in rows:
        grouped[int(row[0])].append(row)
    none = ([], np.zeros((0, 4)))
    frames = defaultdict(lambda: none)
    for frame, of_frame in grouped.items():
        array = np.array(of_frame, "float64")
        corners = np.concatenate([array[:, 2:4], array[:, 2:4] + array[:, 4:6]], axis=1)
        frames[frame] = ([int(number) for number in array[:, 1]], corners)
    return frames


def _match(objects, hypotheses, overlaps, last):
    """Pairs of indices: those of before where they still overlap, of the rest the best together."""
    linear_sum_assignment = load("scipy.optimize", "matching of objects").linear_sum_assignment

    pairs, free = [], overlaps.copy()
    for i, number in enumerate(objects):
        if number in last and last[number] in hypotheses:
            k = hypotheses.index(last[number])
            if free[i, k] > 0:
                pairs.append((i, k))
                free[i], free[:, k] = 0, 0
    # As many pairs as there can be, then the greatest overlap.
    rows, columns = linear_sum_assignment(np.where(free > 0, 1 - free, 1e6))
    return pairs + [(i, k) for i, k in zip(rows, columns, strict=True) if free[i, k] > 0]


def _identities(together):
    """Frames in which objects are at the hypotheses that they are given to, one to one, at most."""
    linear_sum_assignment = load("scipy.optimize", "matching of objects").linear_sum_assignment

    if not together:
        return 0
    rows, columns = (sorted({pair[side] for pair in together}) for side in (0, 1))
    table = np.array([[together[row, column] for column in columns] for row in rows])
    return int(table[linear_sum_assignment(-table)].sum())
