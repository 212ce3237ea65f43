"""Writes the features of videos, what a network sees before its last layer, as MODEL_NAME_feat.npy.

    python scripts/action_recognition/feat_extract.py --data-list videos.txt --data-dir videos \\
        --model i3d_resnet50_v1_kinetics400 --use-pretrained --new-length 32 --video-loader --save-dir features

The list is as for train_recognizer.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from scripts.action_recognition.inference import outputs, parser_of
from scripts.common.program import program


@program
def main(argv: list[str] | None = None) -> list[Path]:
    args = parser_of(__doc__, "features").parse_args(argv)
    written = []
    for name, features in outputs(args, feat_ext=True):
        written.append(args.save_dir / f"{args.model}_{name}_feat.npy")
        np.save(written[-1], features)
        print(f"{written[-1]}: {features.shape[0]} numbers")
    return written


if __name__ == "__main__":
    main()
