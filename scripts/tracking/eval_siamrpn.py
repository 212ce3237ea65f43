"""Follows the targets of OTB-2015 (Wu et al., 2015), and says how well: success and precision of one pass.

    python scripts/tracking/eval_siamrpn.py --dataset OTB2015 --dataset-root OTB2015 \\
        --model-name siamrpn_alexnet_v2_otb15

The boxes go to RESULTS-PATH/DATASET/MODEL/VIDEO.txt. With `--results-only` those that are there are evaluated.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from gluoncv.data import OTBTracking
from gluoncv.model_zoo import get_model
from gluoncv.model_zoo.siamrpn import SiamRPNTracker
from gluoncv.utils.metrics.tracking import OPEBenchmark
from scripts.common.devices import add_count_argument, contexts
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.common.recipe import add_mode_argument


@program
def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse_args(argv)
    data_set = OTBTracking(args.dataset, str(args.dataset_root))
    if args.video:
        data_set.videos = {args.video: data_set.videos[args.video]}
    folder = args.results_path / args.dataset
    if not args.results_only:
        device = contexts(args)[0]
        net = get_model(args.model_name, pretrained=args.model_path or True, ctx=device)
        if args.mode == "hybrid":
            net.backbone.hybridize()
            net.rpn_head.hybridize()
        follow_all(data_set, SiamRPNTracker(net), folder / args.model_name, device)
    data_set.set_tracker(str(folder), [args.model_name])
    benchmark = OPEBenchmark(data_set)
    success, precision, relative = benchmark.eval_success(), benchmark.eval_precision(), benchmark.eval_norm_precision()
    benchmark.show_result(success, precision, relative, show_video_level=args.show_video_level)
    curves = {"success": success, "precision": precision, "norm_precision": relative}
    means = {name: np.mean(list(curve[args.model_name].values()), axis=0) for name, curve in curves.items()}
    return {name: float(mean.mean() if name == "success" else mean[20]) for name, mean in means.items()}


def follow_all(data_set, tracker, folder: Path, device) -> None:
    """Writes the boxes that a tracker finds in each video to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(len(data_set)):
        video, began, boxes = data_set[number], time.perf_counter(), []
        for frame, box in video:
            if boxes:
                boxes.append(tracker.track(frame, device)["bbox"])
            else:
                tracker.init(frame, box, device)
                boxes.append(box)
        seconds = time.perf_counter() - began
        lines = [",".join(f"{float(v):.4f}" for v in box) for box in boxes]
        (folder / f"{video.name}.txt").write_text("\n".join(lines) + "\n")
        print(f"{number + 1:3d} {video.name}: {seconds:.1f} s, {len(video) / seconds:.1f} frames a second")


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--dataset", default="OTB2015", help="name of the list of videos (default: %(default)s)")
    add("--dataset-root", type=Path, default=Path("OTB2015"), help="its folder (default: %(default)s)")
    add("--model-name", default="siamrpn_alexnet_v2_otb15", help="name in the model zoo (default: %(default)s)")
    add("--model-path", help="file, folder or URL of weights (default: the published ones)")
    add("--results-path", type=Path, default=Path("tracks"), help="folder of the boxes (default: %(default)s)")
    add("--results-only", action="store_true", help="evaluate boxes that are there already")
    add("--video", help="only this video")
    add("--show-video-level", action="store_true", help="print a row for each video")
    add_mode_argument(parser)
    add_count_argument(parser)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
