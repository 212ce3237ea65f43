"""Recognises the actions of videos in a list, one video after the other.

    python scripts/action_recognition/inference.py --data-list videos.txt --data-dir videos \\
        --model i3d_resnet50_v1_kinetics400 --use-pretrained --new-length 32 --video-loader --save-preds

The list is as for train_recognizer.py. What is found is in --logging-file of --save-dir, too; `--save-logits` and
`--save-preds` write NAME_logits.npy and NAME_preds.npy there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from core.files.atomic import write_bytes
from scripts.action_recognition import videos
from scripts.common.devices import add_numbers_argument, contexts
from scripts.common.flags import Parser
from scripts.common.precision import use_dtype
from scripts.common.program import program


@program
def main(argv: list[str] | None = None) -> list[int]:
    args = parser_of(__doc__, "predictions")
    args.add_argument("--save-logits", action="store_true", help="write the scores of all classes")
    args.add_argument("--save-preds", action="store_true", help="write the likeliest class")
    name = "predictions.log"
    args.add_argument(
        "--logging-file", default=name, help="file in --save-dir for what is found (default: %(default)s)"
    )
    args = args.parse_args(argv)
    found, lines = [], []
    for name, scores in outputs(args):
        found.append(int(scores.argmax()))
        for wanted, kind, value in (
            (args.save_logits, "logits", scores),
            (args.save_preds, "preds", np.array(found[-1])),
        ):
            if wanted:
                np.save(args.save_dir / f"{args.model}_{name}_{kind}.npy", value)
        lines.append(f"{name}: class {found[-1]}")
        print(lines[-1])
        write_bytes(args.save_dir / args.logging_file, ("\n".join(lines) + "\n").encode())
    return found


def outputs(args, **options) -> Iterator[tuple[str, np.ndarray]]:
    """The name of each video in the list, and what the network gives for it."""
    device = contexts(args)[0]
    use_dtype(args.dtype)
    args.save_dir.mkdir(parents=True, exist_ok=True)
    dataset = videos.dataset(args, args.data_dir, args.data_list, test=True)
    net = videos.network(args, [device], test=True, **options)
    for k in range(len(dataset)):
        clips, _ = dataset[k]
        yield Path(dataset.clips[k][0]).stem, net(clips.as_in_context(device)).asnumpy()[0]


def parser_of(description: str, folder: str) -> argparse.ArgumentParser:
    """The flags that this program and feat_extract.py share."""
    parser = Parser(description)
    add = parser.add_argument
    add("--data-list", type=Path, required=True, help="list of the videos")
    add("--data-dir", type=Path, default=Path("."), help="folder of the videos (default: %(default)s)")
    add("--save-dir", type=Path, default=Path(folder), help="folder of what is written (default: %(default)s)")
    add("--need-root", action="store_true", help="the list's paths are below --data-dir, as they are anyway")
    videos.add_video_arguments(parser)
    add_numbers_argument(parser, "--gpu-id")
    return parser


if __name__ == "__main__":
    main()
