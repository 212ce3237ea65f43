"""Pairs of a template and a region in which to search for it,
from videos and pictures cut to 511 pixels (Li et al., 2018).
"""

from __future__ import annotations

import logging
import os

import numpy as np

from core import image
from core.files.text import read_json, reading
from gluon.data.dataset import Dataset
from gluoncv.data.base import DATASETS
from gluoncv.data.transforms.track import Center, SiamRPNaugmentation, center2corner, corner2center
from gluoncv.utils.bbox import bbox_iou

_log = logging.getLogger(__name__)


class TrkDataset(Dataset):
    """Samples (template (3, 127, 127), region (3, 255, 255), classes, offsets and weights of anchors, corners in the
    region).

    dataset_names, detaset_root, detaset_anno, dataset_frame_range, dataset_num_use: of each source, see `SubDataset`;
    paths are below `data_path`. template_ and search_: arguments of `SiamRPNaugmentation`. train_thr_low and so on:
    those of `AnchorTarget`.
    videos_per_epoch, train_epoch: the length of the data set is their product. gray: share of samples without colours.
    neg: share of samples whose target is not in the region. ValueError for sizes that do not fit one another.
    """

    def __init__(
        self,
        data_path=f"{DATASETS}/tracking",
        dataset_names=("vid", "Youtube_bb", "coco", "det"),
        detaset_root=("vid/crop511", "Youtube_bb/crop511", "coco/crop511", "det/crop511"),
        detaset_anno=("vid/train.json", "Youtube_bb/train.json", "coco/train2017.json", "det/train.json"),
        dataset_frame_range=(100, 3, 1, 1),
        dataset_num_use=(100000, -1, -1, -1),
        train_search_size=255,
        train_exemplar_size=127,
        anchor_stride=8,
        anchor_ratios=(0.33, 0.5, 1, 2, 3),
        train_base_size=0,
        train_output_size=17,
        template_shift=4,
        template_scale=0.05,
        template_blur=0,
        template_flip=0,
        template_color=1.0,
        search_shift=64,
        search_scale=0.18,
        search_blur=0,
        search_flip=0,
        search_color=1.0,
        videos_per_epoch=600000,
        train_epoch=50,
        train_thr_high=0.6,
        train_thr_low=0.3,
        train_pos_num=16,
        train_neg_num=16,
        train_total_num=64,
        gray=0.0,
        neg=0.05,
    ):
        super().__init__()
        self.train_search_size, self.train_exemplar_size = train_search_size, train_exemplar_size
        self.train_output_size, self.gray, self.neg = train_output_size, gray, neg
        size = (train_search_size - train_exemplar_size) / anchor_stride + 1 + train_base_size
        if size != train_output_size:
            raise ValueError(f"the sizes make an output of {size} positions, train_output_size is {train_output_size}")
        self.anchor_target = AnchorTarget(
            anchor_stride, list(anchor_ratios), train_search_size, train_output_size, train_thr_high, train_thr_low,
            train_pos_num, train_neg_num, train_total_num,
        )  # fmt: skip
        self.all_dataset, start = [], 0
        sources = zip(dataset_names, detaset_root, detaset_anno, dataset_frame_range, dataset_num_use, strict=True)
        for name, root, anno, frame_range, num_use in sources:
            paths = (os.path.join(data_path, path) for path in (root, anno))
            self.all_dataset.append(SubDataset(name, *paths, frame_range, num_use, start))
            start += len(self.all_dataset[-1])
            self.all_dataset[-1].log()
        self.template_aug = SiamRPNaugmentation(
            template_shift, template_scale, template_blur, template_flip, template_color
        )
        self.search_aug = SiamRPNaugmentation(search_shift, search_scale, search_blur, search_flip, search_color)
        per_epoch = videos_per_epoch if videos_per_epoch > 0 else sum(source.num_use for source in self.all_dataset)
        self.num = per_epoch * train_epoch
        self.pick = self.shuffle()

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        source, index = self._find_dataset(self.pick[index])
        gray = self.gray and self.gray > np.random.random()
        neg = self.neg and self.neg > np.random.random()
        if neg:
            template, search = source.get_random_target(index), np.random.choice(self.all_dataset).get_random_target()
        else:
            template, search = source.get_positive_pair(index)
        pictures = [image.imread(path, 1).asnumpy()[..., ::-1] for path, _ in (template, search)]
        boxes = [self._get_bbox(img, box) for img, (_, box) in zip(pictures, (template, search))]
        template, _ = self.template_aug(pictures[0], boxes[0], self.train_exemplar_size, gray=gray)
        search, box = self.search_aug(pictures[1], boxes[1], self.train_search_size, gray=gray)
        cls, delta, delta_weight, _ = self.anchor_target(box, self.train_output_size, neg)
        template, search = (img.transpose(2, 0, 1).astype("float32") for img in (template, search))
        return template, search, cls, delta, delta_weight, np.array(box)

    def shuffle(self):
        """Numbers of videos of all sources, as many as there are samples."""
        pick = []
        while len(pick) < self.num:
            part = [number for source in self.all_dataset for number in source.pick]
            np.random.shuffle(part)
            pick += part
        return pick[: self.num]

    def _find_dataset(self, index):
        for source in self.all_dataset:
            if source.start_idx + source.num > index:
                return source, index - source.start_idx
        raise IndexError(f"there is no video {index}")

    def _get_bbox(self, img, shape):
        """The `Corner` of a target in the middle of a picture, at the template's scale."""
        w, h = (shape[2] - shape[0], shape[3] - shape[1]) if len(shape) == 4 else shape
        margin = 0.5 * (w + h)
        scale = self.train_exemplar_size / np.sqrt((w + margin) * (h + margin))
        return center2corner(Center(img.shape[1] // 2, img.shape[0] // 2, w * scale, h * scale))


class SubDataset:
    """A source of pairs: files `<root>/<video>/<frame>.<track>.x.jpg`,
    whose boxes `anno` has as {video: {track: {frame: box}}}.

    frame_range: frames that a pair is apart at most. num_use: videos per epoch, -1 for all. start_idx: number of the
    first video.
    """

    def __init__(self, name, root, anno, frame_range, num_use, start_idx):
        self.name, self.root, self.anno, self.frame_range, self.start_idx = name, root, anno, frame_range, start_idx
        videos = read_json(anno)
        with reading(anno):
            self.labels = {video: kept for video, tracks in videos.items() if (kept := _kept(tracks))}
        self.num = len(self.labels)
        self.num_use = self.num if num_use == -1 else num_use
        self.videos, self.path_format = list(self.labels), "{}.{}.{}.jpg"
        self.pick = self.shuffle()

    def __len__(self):
        return self.num

    def log(self):
        """Says what is used."""
        _log.info(
            "%s start-index %d select [%d/%d] path_format %s",
            self.name, self.start_idx, self.num_use, self.num, self.path_format,
        )  # fmt: skip

    def shuffle(self):
        """The numbers of videos of an epoch."""
        numbers, pick = list(range(self.start_idx, self.start_idx + self.num)), []
        while len(pick) < self.num_use:
            np.random.shuffle(numbers)
            pick += numbers
        return pick[: self.num_use]

    def get_image_anno(self, video, track, frame):
        """(file, box) of a frame."""
        frame = f"{frame:06d}"
        path = os.path.join(self.root, video, self.path_format.format(frame, track, "x"))
        return path, self.labels[video][track][frame]

    def get_positive_pair(self, index):
        """(file, box) of two frames of a random track of a video."""
        video, track, frames = self._track(index)
        first = np.random.randint(0, len(frames))
        near = frames[max(first - self.frame_range, 0) : min(first + self.frame_range, len(frames) - 1) + 1]
        second = np.random.choice(near)
        return self.get_image_anno(video, track, frames[first]), self.get_image_anno(video, track, second)

    def get_random_target(self, index=-1):
        """(file, box) of a random frame of a video, of any one for -1."""
        video, track, frames = self._track(np.random.randint(0, self.num) if index == -1 else index)
        return self.get_image_anno(video, track, np.random.choice(frames))

    def _track(self, index):
        video = self.videos[index]
        track = np.random.choice(list(self.labels[video]))
        return video, track, self.labels[video][track]["frames"]


class AnchorTarget:
    """What anchors are taught: called with the `Corner` of the target, the number of positions in a row,
    and whether it is absent.

    Gives classes (A, size, size) of 1, 0 and -1 for those that do not count, offsets (4, A, size, size), their weights,
    and overlaps (A, size, size). train_thr_high, train_thr_low: overlaps of positive and negative anchors.
    train_pos_num, train_neg_num, train_total_num: positive ones at most, negative ones of absent targets, and all.
    """

    def __init__(
        self, anchor_stride, anchor_ratios, train_search_size, train_output_size, train_thr_high=0.6, train_thr_low=0.3,
        train_pos_num=16, train_neg_num=16, train_total_num=64,
    ):  # fmt: skip
        self.anchor_stride, self.train_search_size = anchor_stride, train_search_size
        self.train_thr_high, self.train_thr_low = train_thr_high, train_thr_low
        self.train_pos_num, self.train_neg_num, self.train_total_num = train_pos_num, train_neg_num, train_total_num
        self._centers = anchor_grid(anchor_stride, anchor_ratios, train_search_size // 2, train_output_size)

    def __call__(self, target, size, neg=False):
        count = len(self._centers[0])
        cls = np.full((count, size, size), -1, "int64")
        delta, delta_weight = np.zeros((4, count, size, size), "float32"), np.zeros((count, size, size), "float32")
        x, y, w, h = corner2center(target)
        if neg:
            column, row = (
                size // 2 + int(np.ceil((v - self.train_search_size // 2) / self.anchor_stride + 0.5)) for v in (x, y)
            )
            near = np.zeros_like(cls, bool)
            near[:, max(0, row - 3) : min(size, row + 4), max(0, column - 3) : min(size, column + 4)] = True
            cls[_some(near, self.train_neg_num)[0]] = 0
            return cls, delta, delta_weight, np.zeros_like(delta_weight)
        cx, cy, width, height = self._centers
        delta[:] = (x - cx) / width, (y - cy) / height, np.log(w / width), np.log(h / height)
        corners = np.stack([cx - width * 0.5, cy - height * 0.5, cx + width * 0.5, cy + height * 0.5], -1)
        overlap = bbox_iou(corners.reshape(-1, 4), np.array(target[:4]).reshape(1, 4)).reshape(cls.shape)
        positive, found = _some(overlap > self.train_thr_high, self.train_pos_num)
        negative, _ = _some(overlap < self.train_thr_low, self.train_total_num - self.train_pos_num)
        cls[positive], cls[negative] = 1, 0
        delta_weight[positive] = 1.0 / (found + 1e-6)
        return cls, delta, delta_weight, overlap


def _kept(tracks):
    """The tracks that have boxes, with the numbers of their frames."""
    kept = {}
    for track, boxes in tracks.items():
        boxes = {frame: box for frame, box in boxes.items() if isinstance(box, dict) or _has_area(box)}
        frames = sorted(int(frame) for frame in boxes if frame.isdigit())
        if frames:
            kept[track] = {**boxes, "frames": frames}
    return kept


def _has_area(box):
    w, h = (box[2] - box[0], box[3] - box[1]) if len(box) == 4 else box
    return w > 0 and h > 0


def _some(where, most):
    """(places that are marked, `most` at random if there are more, their number)."""
    places = np.nonzero(where)
    if len(places[0]) <= most:
        return places, len(places[0])
    order = np.arange(len(places[0]))
    np.random.shuffle(order)
    return tuple(part[order[:most]] for part in places), most


def anchor_grid(stride, ratios, center, size, scale=8):
    """Centres, widths and heights (4, A, size, size) of anchors around the positions of a map, in pixels."""
    widths = [int(np.sqrt(stride * stride / ratio)) for ratio in ratios]
    extents = np.array([(w * scale, int(w * ratio) * scale) for w, ratio in zip(widths, ratios)], "float32")
    line = center - size // 2 * stride + np.arange(size, dtype="float32") * stride
    shape = (len(extents), size, size)
    parts = (line, line[:, None], extents[:, 0, None, None], extents[:, 1, None, None])
    return np.stack([np.broadcast_to(part, shape) for part in parts]).astype("float32")
