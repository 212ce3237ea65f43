"""OTB-2015 (Wu et al., 2015): videos with the box of a target in each frame."""

from __future__ import annotations

import os
from glob import glob

from core import image
from core.files.text import read_json, reading
from gluon.data.dataset import Dataset

__all__ = ["OTBTracking", "OTBVideo", "Video"]

# Videos whose results trackers write under a name of their own, but for the first letter
_OTHER_NAMES = {
    "FleetFace": "fleetface", "Jogging-1": "jogging_1", "Jogging-2": "jogging_2", "Skating2-1": "skating2_1",
    "Skating2-2": "skating2_2", "FaceOcc1": "faceocc1", "FaceOcc2": "faceocc2", "Human4-2": "human4_2",
}  # fmt: skip


class Video:
    """A video: frames in the files `img_names` below `root`, and boxes `gt_rect` (left, top, width, height).

    Item k is (NumPy frame (H, W, 3), blue first, box). load_img: read all frames now.
    """

    def __init__(self, name, root, video_dir, init_rect, img_names, gt_rect, attr, load_img=False):
        self.name, self.video_dir, self.init_rect, self.gt_traj, self.attr = name, video_dir, init_rect, gt_rect, attr
        self.img_names = [os.path.join(root, path) for path in img_names]
        self.pred_trajs, self.imgs = {}, None
        if load_img:
            self.load_img()
        self.height, self.width = self[0][0].shape[:2]

    def load_img(self):
        """Keeps all frames in memory."""
        if self.imgs is None:
            self.imgs = [_read(path) for path in self.img_names]

    def free_img(self):
        """Gives the frames back."""
        self.imgs = None

    def __len__(self):
        return len(self.img_names)

    def __getitem__(self, idx):
        return (_read(self.img_names[idx]) if self.imgs is None else self.imgs[idx]), self.gt_traj[idx]

    def __iter__(self):
        return (self[k] for k in range(len(self)))


class OTBVideo(Video):
    """A video with what trackers found in it."""

    def load_tracker(self, path, tracker_names=None, store=True):
        """Reads boxes from `<path>/<tracker>/<video>.txt` into `pred_trajs`,
        or gives those of the first tracker without `store`.

        tracker_names: one or several, by default all folders that match `path`.
        """
        if not tracker_names:
            tracker_names = [os.path.basename(folder) for folder in glob(path) if os.path.isdir(folder)]
        for name in [tracker_names] if isinstance(tracker_names, str) else tracker_names:
            with open(self._results(os.path.join(path, name)), encoding="utf-8") as file:
                boxes = [[float(number) for number in line.split(",")] for line in file if line.strip()]
            if len(boxes) != len(self.gt_traj):
                raise ValueError(f"{name} has {len(boxes)} boxes of the {len(self.gt_traj)} frames of {self.name}")
            if not store:
                return boxes
            self.pred_trajs[name] = boxes
        self.tracker_names = list(self.pred_trajs)
        return None

    def _results(self, folder):
        other = _OTHER_NAMES.get(self.name, self.name[0].lower() + self.name[1:])
        paths = [os.path.join(folder, f"{name}.txt") for name in (self.name, other)]
        return paths[0] if os.path.exists(paths[0]) else paths[1]


class OTBTracking(Dataset):
    """The videos that `<dataset_root>/<name>.json` lists, by name or by place in the order of names."""

    def __init__(self, name, dataset_root, load_img=False):
        super().__init__()
        self.name, self.dataset_root = name, dataset_root
        path = os.path.join(dataset_root, f"{name}.json")
        listed = read_json(path)
        fields = ("video_dir", "init_rect", "img_names", "gt_rect", "attr")
        with reading(path):
            self.videos = {
                name: OTBVideo(name, dataset_root, *(entry[field] for field in fields), load_img)
                for name, entry in listed.items()
            }
            self.attr = {"ALL": list(self.videos)}
            for name, video in self.videos.items():
                for attribute in video.attr:
                    self.attr.setdefault(attribute, []).append(name)

    def __len__(self):
        return len(self.videos)

    def __getitem__(self, idx):
        return self.videos[idx if isinstance(idx, str) else sorted(self.videos)[idx]]

    def set_tracker(self, path, tracker_names):
        """Where the results of trackers lie, and their names."""
        self.tracker_path, self.tracker_names = path, tracker_names


def _read(path):
    return image.imread(path, 1).asnumpy()[..., ::-1]
