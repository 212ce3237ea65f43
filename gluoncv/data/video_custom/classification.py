"""Labelled videos, as folders of frames or as video files."""

from __future__ import annotations

import os

import numpy as np

from core import image, nd, resample
from core.util import require
from gluon.data.dataset import Dataset
from gluoncv.data.base import DATASETS
from gluoncv.data.video_custom.reader import VideoReader

__all__ = ["VideoClsCustom"]


class VideoClsCustom(Dataset):
    r"""Clips of videos with their class: (float32 (clips, 3, `new_length`, `target_height`, `target_width`), class).

    Clips of one frame are (clips, 3, height, width).

    setting: a text file of lines "path below `root`, number of frames, class".
    train, test_mode: training clips begin at random, others in the middle of their segment.
    name_pattern: names of the frames in a folder, from 1 on. video_loader: the paths are videos, `video_ext` their
    ending where they have none; they need PyAV. new_width, new_height: size of frames before the transform; 0 leaves
    it. With `use_decord` videos keep their size unless `data_aug` is "v1".
    num_segments: clips of a video, from equal parts of it. new_length, new_step: frames of a clip, and how
    many apart these are. temporal_jitter: which of `new_step` frames that is, is drawn. num_crop: crops that the
    transform makes of a frame.
    slowfast: of the frames every `fast_temporal_stride`-th, and behind them again every `slow_temporal_stride`-th.
    transform: from a list of NumPy frames (H, W, 3) of bytes to one of (3, target_height, target_width).
    lazy_init: read nothing yet. is_color, modality: frames have three colours, modality "rgb"; NotSupportedError for
    grey frames and for optical flow. RuntimeError for settings without videos.

    >>> import os, tempfile
    >>> root, setting = tempfile.mkdtemp(), os.path.join(tempfile.mkdtemp(), "list.txt")
    >>> with open(setting, "w") as file:
    ...     _ = file.write("first 16 0\nsecond 20 3\n")
    >>> len(gluoncv.data.VideoClsCustom(root=root, setting=setting))
    2
    """

    ROOT = SETTING = None
    NAME_PATTERN = "img_%05d.jpg"

    def __init__(
        self,
        root=None,
        setting=None,
        train=True,
        test_mode=False,
        name_pattern=None,
        video_ext="mp4",
        is_color=True,
        modality="rgb",
        num_segments=1,
        num_crop=1,
        new_length=1,
        new_step=1,
        new_width=340,
        new_height=256,
        target_width=224,
        target_height=224,
        temporal_jitter=False,
        video_loader=False,
        use_decord=False,
        slowfast=False,
        slow_temporal_stride=16,
        fast_temporal_stride=2,
        data_aug="v1",
        lazy_init=False,
        transform=None,
    ):
        super().__init__()
        require("VideoClsCustom", "is_color", is_color, True)
        require("VideoClsCustom", "modality", modality, "rgb")
        self.root, self.setting = (_given(self, *pair) for pair in ((root, "ROOT"), (setting, "SETTING")))
        self.train, self.test_mode = train, test_mode
        self.name_pattern, self.video_ext = name_pattern or self.NAME_PATTERN, video_ext
        self.num_segments, self.num_crop = num_segments, num_crop
        self.new_length, self.new_step, self.skip_length = new_length, new_step, new_length * new_step
        self.new_width, self.new_height = new_width, new_height
        self.target_width, self.target_height = target_width, target_height
        self.temporal_jitter, self.video_loader, self.use_decord = temporal_jitter, video_loader, use_decord
        self.slowfast, self.data_aug, self.transform = slowfast, data_aug, transform
        self.slow_temporal_stride, self.fast_temporal_stride = slow_temporal_stride, fast_temporal_stride
        if slowfast and (slow_temporal_stride % fast_temporal_stride or temporal_jitter or new_step != 1):
            raise AssertionError(
                "SlowFast takes slow_temporal_stride that is a multiple of fast_temporal_stride, no temporal_jitter "
                "and new_step 1"
            )
        if not lazy_init:
            self.clips = self._make_dataset(self.root, self.setting)

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, index):
        path, duration, target = self.clips[index]
        if self.video_loader:
            name = path if "." in os.path.basename(path) else f"{path}.{self.video_ext}"
            with VideoReader(name) as video:
                numbers = [n - 1 for n in self.numbers_of(len(video))]
                frames = video.get_batch(numbers)
            resized = not self.use_decord or self.data_aug == "v1"
        else:
            numbers, resized = self.numbers_of(duration), True
            frames = [image.imread(os.path.join(path, self.name_pattern % n), 1).asnumpy() for n in numbers]
        return self.input_of(frames, resized), target

    def input_of(self, frames, resized=True):
        """The clips of a sample, of the frames that `numbers_of` names, pictures (H, W, 3) of bytes.

        resized: first to new_width x new_height.
        """
        if resized and self.new_width > 0 and self.new_height > 0:
            frames = [resample.resize(frame, self.new_width, self.new_height) for frame in frames]
        if self.transform is not None:
            frames = self.transform(frames)
        length = len(frames) // (self.num_segments * self.num_crop) if self.slowfast else self.new_length
        clips = np.stack(frames).reshape(-1, length, 3, self.target_height, self.target_width).transpose(0, 2, 1, 3, 4)
        return nd.array(clips[:, :, 0] if self.new_length == 1 else clips)

    def _make_dataset(self, directory, setting):
        if not os.path.exists(setting):
            raise RuntimeError(f"there is no file {setting} that lists the videos")
        clips = []
        with open(setting, encoding="utf-8") as file:
            for line in file:
                fields = line.split()
                if len(fields) < 3:
                    raise RuntimeError(
                        f"{setting}: a line has a path, a number of frames and a class, not {line.strip()!r}"
                    )
                clips.append((os.path.join(directory, fields[0]), int(fields[1]), int(fields[2])))
        if not clips:
            raise RuntimeError(f"{setting} lists no videos")
        return clips

    def numbers_of(self, duration):
        """The numbers, from 1 on, of the frames of all clips of a video."""
        sample = self._sample_val_indices if not self.train else self._sample_train_indices
        starts, skips = (self._sample_test_indices if self.test_mode else sample)(duration)
        numbers = []
        for start in starts:
            offset, clip = int(start), []
            for skip in skips:
                clip.append(offset + int(skip) if offset + skip <= duration else offset)
                if offset + self.new_step < duration:
                    offset += self.new_step
            if self.slowfast:
                fast, slow = (clip[k - 1 :: k] for k in (self.fast_temporal_stride, self.slow_temporal_stride))
                clip = fast + slow
            numbers += clip
        return numbers

    def _sample_train_indices(self, num_frames):
        """(first frames of the clips, from 1 on; which of `new_step` frames each one is)."""
        room = num_frames - self.skip_length + 1
        part = room // self.num_segments
        if part > 0:
            offsets = np.arange(self.num_segments) * part + np.random.randint(part, size=self.num_segments)
        elif num_frames > max(self.num_segments, self.skip_length):
            offsets = np.sort(np.random.randint(room, size=self.num_segments))
        else:
            offsets = np.zeros(self.num_segments)
        return offsets + 1, self._skips()

    def _sample_val_indices(self, num_frames):
        return self._middles(num_frames, num_frames > self.num_segments + self.skip_length - 1)

    def _sample_test_indices(self, num_frames):
        return self._middles(num_frames, num_frames > self.skip_length - 1)

    def _middles(self, num_frames, fits):
        part = (num_frames - self.skip_length + 1) / self.num_segments
        offsets = np.array([int(part / 2.0 + part * k) if fits else 0 for k in range(self.num_segments)])
        return offsets + 1, self._skips()

    def _skips(self):
        count = self.skip_length // self.new_step
        return np.random.randint(self.new_step, size=count) if self.temporal_jitter else np.zeros(count, dtype=int)


def _given(data, value, default):
    """An argument, or what the data set has by itself, below the folder of data sets."""
    if value is not None:
        return os.path.expanduser(value)
    if getattr(data, default) is None:
        raise TypeError(f"{type(data).__name__} needs the argument {default.lower()}")
    return os.path.join(DATASETS, getattr(data, default))
