"""Videos for recognising actions: flags that say which frames are seen, data sets, transforms, and batches."""

from __future__ import annotations

import argparse
from pathlib import Path

from gluon.data import DataLoader
from gluoncv.data import HMDB51, UCF101, Kinetics400, SomethingSomethingV2, VideoClsCustom
from gluoncv.data.dataloader import tsn_mp_batchify_fn
from gluoncv.data.transforms import video
from gluoncv.model_zoo import get_model
from scripts.common import parallel
from scripts.common.devices import add_count_argument, settle
from scripts.common.foreign import add_idle_arguments
from scripts.common.precision import add_dtype_argument
from scripts.common.recipe import add_mode_argument

DATASETS = {
    "custom": VideoClsCustom,
    "ucf101": UCF101,
    "hmdb51": HMDB51,
    "kinetics400": Kinetics400,
    "somethingsomethingv2": SomethingSomethingV2,
}
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def add_video_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what says which frames of a video a network sees, which network it is, and on what it runs."""
    add = parser.add_argument
    add("--model", required=True, help="name in the model zoo")
    add("--num-classes", type=int, help="classes of the network (default: those that its name says)")
    add("--use-pretrained", action="store_true", help="the published weights")
    add("--hashtag", default="", help="first digits of the SHA-1 of a version of them")
    add("--resume-params", help="file of weights")
    add("--partial-bn", action="store_true", help="all normalisation but the first uses the running statistics")
    add("--freeze-bn", action="store_true", help="all normalisation uses the running statistics")
    add_mode_argument(parser)
    add("--input-size", type=int, default=224, help="sides of the crop (default: %(default)s)")
    add("--new-height", type=int, default=0, help="height of frames before the crop, 0 for their own")
    add("--new-width", type=int, default=0, help="width of frames before the crop, 0 for their own")
    add("--num-segments", type=int, default=1, help="clips of a video, from equal parts (default: %(default)s)")
    add("--new-length", type=int, default=1, help="frames of a clip (default: %(default)s)")
    add("--new-step", type=int, default=1, help="frames from one of a clip to the next (default: %(default)s)")
    add("--num-crop", type=int, default=1, help="crops of a frame (default: %(default)s, or what the next two say)")
    add("--three-crop", action="store_true", help="three crops of each frame, in tests")
    add("--ten-crop", action="store_true", help="ten crops of each frame, in tests")
    add("--data-aug", choices=("v1", "v2", "v3", "v4"), default="v1", help="how frames are cropped in training")
    add("--video-loader", action="store_true", help="videos are files, not folders of frames")
    add("--use-decord", action="store_true", help="such videos keep their size unless --data-aug is v1")
    add("--slowfast", action="store_true", help="clips at two speeds, for SlowFast")
    add("--slow-temporal-stride", type=int, default=16, help="frames between those of the slow way (default: 16)")
    add("--fast-temporal-stride", type=int, default=2, help="frames between those of the fast way (default: 2)")
    add("-j", "--num-data-workers", type=int, default=0, help="loading processes (default: %(default)s)")
    add("--log-interval", type=int, default=0, metavar="N", help="batches between lines in the log (default: none)")
    add_count_argument(parser)
    add_dtype_argument(parser, float16=True)
    add("--use-amp", dest="dtype", action="store_const", const="float16", help="the same as --dtype float16")


def add_prefetch_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --prefetch-ratio, of `ahead`."""
    parser.add_argument(
        "--prefetch-ratio", type=float, default=2.0, help="batches loaded ahead by each process (default: 2)"
    )


def ahead(args) -> int:
    """Batches that are loaded ahead."""
    return int(args.prefetch_ratio * args.num_data_workers)


# Flags that programs of GluonCV take and make nothing of: without a value, and with one.
IDLE = (
    ("--batch-norm", "--eval", "--input-5d", "--last-gamma", "--mixup", "--use-gn", "--use_se"),
    (
        "--crop-ratio", "--hard-weight", "--mixup-alpha", "--mixup-off-epoch", "--teacher", "--temperature",
    ),
)  # fmt: skip
# Those of training that its programs for tests take, too.
IDLE_IN_TESTS = (
    ("--label-smoothing", "--no-wd"),
    (
        "--logging-file", "--lr", "--lr-decay", "--lr-decay-epoch", "--lr-decay-period", "--lr-mode", "--momentum",
        "--num-epochs", "--resume-epoch", "--resume-states", "--save-dir", "--save-frequency", "--train-list",
        "--warmup-epochs", "--warmup-lr", "--wd",
    ),
)  # fmt: skip


def add_foreign_arguments(parser: argparse.ArgumentParser, test: bool = False) -> None:
    """Adds what command lines for GluonCV may hold and what has no effect there either.

    `test`: flags of training, too.
    """
    add_idle_arguments(parser, *IDLE)
    add_idle_arguments(parser, ("--use-tsn",), why="clips of several --num-segments are averaged anyway")
    if test:
        add_idle_arguments(parser, *IDLE_IN_TESTS, why="it is of training")


def crops(args) -> int:
    """Crops of a frame in tests."""
    return 10 if args.ten_crop else 3 if args.three_crop else args.num_crop


def dataset(args, root: Path, listed: Path, train: bool = False, test: bool = False):
    """The videos below `root` in the list `listed`.

    train: clips begin at random; test: as --three-crop and --ten-crop say.
    """
    given = {
        name: getattr(args, name)
        for name in (
            "num_segments", "new_length", "new_step", "new_width", "new_height", "video_loader", "use_decord",
            "slowfast", "slow_temporal_stride", "fast_temporal_stride", "data_aug",
        )
    }  # fmt: skip
    return DATASETS[getattr(args, "dataset", "custom")](
        root=str(root), setting=str(listed), train=train, test_mode=test, num_crop=crops(args) if test else 1,
        target_width=args.input_size, target_height=args.input_size,
        transform=training(args) if train else testing(args, crops(args) if test else 1), **given,
    )  # fmt: skip


def training(args):
    """From frames to inputs, at random."""
    size, norm = (args.input_size, args.input_size), {"mean": MEAN, "std": DEVIATION}
    if args.data_aug in ("v1", "v2"):
        ratios = [float(ratio) for ratio in args.scale_ratios.split(",")]
        cut = {"scale_ratios": ratios, "more_fix_crop": args.more_fix_crop, "max_distort": args.max_distort, **norm}
        if args.data_aug == "v1":
            return video.VideoGroupTrainTransform(size=size, **cut)
        return video.VideoGroupTrainTransformV2(size=size, short_side=args.new_height or args.input_size, **cut)
    if args.data_aug == "v3":  # 256 to 320 pixels for a crop of 224
        low, high = (round(args.input_size * side / 224) for side in (256, 320))
        return video.VideoGroupTrainTransformV3(crop_size=size, min_size=low, max_size=high, **norm)
    return video.VideoGroupTrainTransformV4(size=size, **norm)


def testing(args, count: int):
    """From frames to inputs, `count` of each frame."""
    if count > 1:
        cut = {3: video.VideoThreeCrop, 10: video.VideoTenCrop}[count](args.input_size)
        steps = [cut, video.VideoToTensor(), video.VideoNormalize(MEAN, DEVIATION)]
        return lambda frames: _through(steps, frames)
    if args.data_aug == "v1":
        return video.VideoGroupValTransform(size=args.input_size, mean=MEAN, std=DEVIATION)
    size = (args.input_size, args.input_size)
    short = args.new_height or args.input_size
    return video.VideoGroupValTransformV2(crop_size=size, short_side=short, mean=MEAN, std=DEVIATION)


def _through(steps, frames):
    for step in steps:
        frames = step(frames)
    return frames


def loader(dataset, batch_size: int, workers: int, train: bool = False, prefetch: int | None = None) -> DataLoader:
    """Batches of clips (B clips, 3, [frames,] height, width), those of a video together, and of classes (B,)."""
    return (parallel.loader if train else DataLoader)(
        dataset,
        batch_size,
        shuffle=train,
        last_batch="rollover" if train else "keep",
        batchify_fn=tsn_mp_batchify_fn,
        num_workers=workers,
        prefetch=prefetch,
    )


def network(args, devices, test: bool = False, suffix: str = "", **options):
    """The network of the zoo, for the clips and crops that the flags say; `suffix` ends its name."""
    options |= {"nclass": args.num_classes} if args.num_classes else {}
    options |= {"partial_bn": True} if args.partial_bn else {}
    options |= {"bn_frozen": True} if args.freeze_bn else {}
    net = get_model(
        args.model + suffix, pretrained=args.use_pretrained and (args.hashtag or True),
        pretrained_base=getattr(args, "use_pretrained_base", False), num_segments=args.num_segments,
        num_crop=crops(args) if test else 1, **options,
    )  # fmt: skip
    settle(net, devices)
    if args.resume_params:
        net.load_parameters(args.resume_params, ctx=devices)
    if args.mode == "hybrid":
        net.hybridize(static_alloc=True, static_shape=True)
    return net
