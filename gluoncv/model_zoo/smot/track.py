"""An object that is followed: where it is, from which anchors that is known, and whether it is still seen."""

from __future__ import annotations

import numpy as np


class TrackState:
    """Active: seen in the last frame.

    Missing: not seen there, and not looked for again. Deleted: missing for too long.
    """

    Active = 1
    Missing = 2
    Deleted = 3


class Track:
    """An object with `track_id`, of class `class_id`, whose corners in pixels are `mean` (4,).

    source: (numbers of the anchors, their weights) that the corners are from. keep_alive_thresh: a score below which
    the object counts as missing. max_missing: frames after which one that is missing is deleted. attributes: whatever
    else is known of it. linked_id: number of the object that it is a part of.
    """

    def __init__(
        self, mean, track_id, source, keep_alive_thresh=0.1, max_missing=30, attributes=None, class_id=0, linked_id=None
    ):
        self.mean, self.track_id, self.source = mean, track_id, source
        self.keep_alive_thresh, self.max_missing = keep_alive_thresh, max_missing
        self.attributes, self.class_id, self.linked_id = attributes, class_id, linked_id
        self.age, self.time_since_update = 1, 0
        self.state, self.confidence_score = TrackState.Active, 1.0

    @property
    def display_id(self):
        """The number to show: that of the object it is a part of, if there is one."""
        return self.track_id if self.linked_id is None else self.linked_id

    @property
    def linkable(self):
        """Whether it is part of nothing."""
        return self.linked_id is None

    def link_to(self, track: Track) -> None:
        """Makes it a part of `track`."""
        self.linked_id = track.display_id

    def predict(self) -> None:
        """One frame passes."""
        self.age += 1
        self.time_since_update += 1
        if self.time_since_update > self.max_missing:
            self.state = TrackState.Deleted

    def update(self, bbx: np.ndarray, source=None, attributes=None) -> None:
        """It has been found at `bbx`, corners and a score (5,); a low score makes it missing."""
        self.mean, self.confidence_score = bbx[:4], bbx[4]
        self.source, self.attributes = source, attributes
        self.time_since_update, self.state = 0, TrackState.Active
        if self.confidence_score < self.keep_alive_thresh:
            self.mark_missed()

    def mark_missed(self) -> None:
        """It has not been found; only what is active becomes missing."""
        if self.state == TrackState.Active:
            self.state = TrackState.Missing

    def is_mising(self) -> bool:
        """Whether it is missing."""
        return self.state == TrackState.Missing

    def is_active(self) -> bool:
        """Whether it is seen."""
        return self.state == TrackState.Active

    def is_deleted(self) -> bool:
        """Whether it is given up."""
        return self.state == TrackState.Deleted
