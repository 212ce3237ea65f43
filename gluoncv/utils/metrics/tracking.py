"""How well trackers follow (one-pass evaluation: Wu et al., 2013)."""

import numpy as np

THRESHOLDS = np.arange(0, 1.05, 0.05)
PIXELS = np.arange(0, 51, 1)


def Iou(rect1, rect2):
    """Intersection over union of corners left, top, right, bottom, numbers or arrays of them."""
    left, top = np.maximum(rect2[0], rect1[0]), np.maximum(rect2[1], rect1[1])
    right, bottom = np.minimum(rect2[2], rect1[2]), np.minimum(rect2[3], rect1[3])
    inter = np.maximum(0, right - left) * np.maximum(0, bottom - top)
    area, other = ((r[2] - r[0]) * (r[3] - r[1]) for r in (rect1, rect2))
    return inter / (area + other - inter)


def overlap_ratio(rect1, rect2):
    """Intersection over union of boxes (N, 4) of left, top, width, height, row by row."""
    low = np.maximum(rect1[:, :2], rect2[:, :2])
    high = np.minimum(rect1[:, :2] + rect1[:, 2:4], rect2[:, :2] + rect2[:, 2:4])
    inter = np.maximum(0, high - low).prod(axis=1)
    union = rect1[:, 2] * rect1[:, 3] + rect2[:, 2] * rect2[:, 3] - inter
    return np.clip(inter / union, 0, 1)


def success_overlap(gt_bb, result_bb, n_frame):
    """Shares of `n_frame` frames whose boxes overlap by more than 0, 0.05, ..., 1.

    Frames without a target do not count.
    """
    overlap, valid = np.full(len(gt_bb), -1.0), (gt_bb[:, 2:] > 0).all(axis=1)
    overlap[valid] = overlap_ratio(gt_bb[valid], result_bb[valid])
    return np.array([(overlap > threshold).sum() / n_frame for threshold in THRESHOLDS])


def success_error(gt_center, result_center, thresholds, n_frame):
    """Shares of `n_frame` frames whose centres (N, 2) are at most so far apart.

    Those without a target count as found.
    """
    distance, valid = np.full(len(gt_center), -1.0), (gt_center > 0).all(axis=1)
    distance[valid] = np.linalg.norm(gt_center[valid] - result_center[valid], axis=1)
    return np.array([(distance <= threshold).sum() / n_frame for threshold in thresholds])


class OPEBenchmark:
    """Curves of trackers on the videos of `dataset`: {tracker: {video: shares}}.

    Videos have `name`, `gt_traj` and `pred_trajs`, the boxes of each tracker, or `load_tracker(path, name, store)`;
    `absent`, if they have it, is 1 in frames that count. The data set has `tracker_names` and `tracker_path`.
    """

    def __init__(self, dataset):
        self.dataset = dataset

    def convert_bb_to_center(self, bboxes):
        """Centres (N, 2) of boxes (N, 4) of left, top, width, height."""
        return bboxes[:, :2] + (bboxes[:, 2:4] - 1) / 2

    def convert_bb_to_norm_center(self, bboxes, gt_wh):
        """Centres in widths and heights of the truth."""
        return self.convert_bb_to_center(bboxes) / (gt_wh + 1e-16)

    def eval_success(self, eval_trackers=None):
        """`success_overlap` of boxes."""
        return self._curves(eval_trackers, success_overlap)

    def eval_precision(self, eval_trackers=None):
        """`success_error` of centres, for 0, 1, ..., 50 pixels."""

        def curve(truth, found, frames):
            return success_error(self.convert_bb_to_center(truth), self.convert_bb_to_center(found), PIXELS, frames)

        return self._curves(eval_trackers, curve)

    def eval_norm_precision(self, eval_trackers=None):
        """`success_error` of centres in sizes of the target, for 0, 0.01, ..., 0.5."""

        def curve(truth, found, frames):
            centers = (self.convert_bb_to_norm_center(x, truth[:, 2:4]) for x in (truth, found))
            return success_error(*centers, PIXELS / 100, frames)

        return self._curves(eval_trackers, curve)

    def show_result(
        self, success_ret, precision_ret=None, norm_precision_ret=None, show_video_level=False, helight_threshold=0.6
    ):
        """Prints areas under the curves of success, best first, and precisions at 20 pixels and 0.2.

        Red is below the threshold.

        show_video_level: a table of videos too, for less than ten trackers whose precision is given.
        """
        area = {name: np.mean(list(videos.values())) for name, videos in success_ret.items()}
        wide = max(12, *(len(name) + 2 for name in area))

        def at_20(found, name):
            return 0 if found is None else np.mean(list(found[name].values()), axis=0)[20]

        rows = [
            f"|{name:^{wide}}|{area[name]:^9.3f}|{at_20(norm_precision_ret, name):^16.3f}|{at_20(precision_ret, name):^11.3f}|"
            for name in sorted(area, key=area.get, reverse=True)[:20]
        ]
        _print_table([f"|{'Tracker name':^{wide}}|{'Success':^9}|{'Norm Precision':^16}|{'Precision':^11}|"], rows)
        if not show_video_level or precision_ret is None or max(len(success_ret), len(precision_ret)) >= 10:
            return

        def cell(value, wide):
            text = f"{value:^{wide}.3f}"
            return f"\033[31m{text}\033[0m|" if value < helight_threshold else f"{text}|"

        heads = [
            f"|{'Tracker name':^21}|" + "".join(f"{name:^21}|" for name in area),
            f"|{'Video name':^21}|" + f"{'success':^9}|{'precision':^11}|" * len(area),
        ]
        rows = [
            f"|{video:^21}|"
            + "".join(
                cell(np.mean(success_ret[n][video]), 9) + cell(np.mean(precision_ret[n][video]), 11) for n in area
            )
            for video in next(iter(success_ret.values()))
        ]
        print("\n\n")
        _print_table(heads, rows)

    def _curves(self, names, curve):
        names = self.dataset.tracker_names if names is None else [names] if isinstance(names, str) else names
        return {name: {video.name: curve(*self._boxes(video, name)) for video in self.dataset} for name in names}

    def _boxes(self, video, name):
        """(truth, boxes of the tracker, number of frames)."""
        found = video.pred_trajs.get(name)
        if found is None:
            found = video.load_tracker(self.dataset.tracker_path, name, False)
        truth, found = np.array(video.gt_traj), np.array(found)
        frames = len(truth)
        if hasattr(video, "absent"):
            truth, found = truth[video.absent == 1], found[video.absent == 1]
        return truth, found, frames


def _print_table(heads, rows):
    line = "-" * len(heads[0])
    print("\n".join([line, *(part for head in heads for part in (head, line)), *rows, line]))
