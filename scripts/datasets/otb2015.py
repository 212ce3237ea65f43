"""Brings the 98 sequences of the tracking benchmark OTB-2015, with 100 targets, into ~/.mxnet/datasets/otb.

python scripts/datasets/otb2015.py --download-dir ~/downloads
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.common.program import program
from scripts.datasets.archives import Source, parser_of, unpack

ADDRESS = "http://cvlab.hanyang.ac.kr/tracker_benchmark/seq/"
SEQUENCES = """
    Basketball Biker Bird1 Bird2 BlurBody BlurCar1 BlurCar2 BlurCar3 BlurCar4 BlurFace BlurOwl Board Bolt Bolt2 Box Boy
    Car1 Car2 Car24 Car4 CarDark CarScale ClifBar Coke Couple Coupon Crossing Crowds Dancer Dancer2 David David2 David3
    Deer Diving Dog Dog1 Doll DragonBaby Dudek FaceOcc1 FaceOcc2 Fish FleetFace Football Football1 Freeman1 Freeman3
    Freeman4 Girl Girl2 Gym Human2 Human3 Human4 Human5 Human6 Human7 Human8 Human9 Ironman Jogging Jump Jumping KiteSurf
    Lemming Liquor Man Matrix Mhyang MotorRolling MountainBike Panda RedTeam Rubik Shaking Singer1 Singer2 Skater Skater2
    Skating1 Skating2 Skiing Soccer Subway Surfer Suv Sylvester Tiger1 Tiger2 Toy Trans Trellis Twinnings Vase Walking
    Walking2 Woman
""".split()
# Sequences under the names that the benchmark gives their targets.
TARGETS = {"Jogging": ("Jogging-1", "Jogging-2"), "Skating2": ("Skating2-1", "Skating2-2"), "Human4": ("Human4-2",)}


@program
def main(argv: list[str] | None = None) -> list[Path]:
    """Gives the archives that were unpacked."""
    args = parser_of(__doc__, "otb").parse_args(argv)
    found = unpack(args, tuple(Source(f"{ADDRESS}{name}.zip") for name in SEQUENCES))
    for name, targets in TARGETS.items():
        for target in targets:
            link = args.target_dir / target
            if not link.exists():
                link.symlink_to(name, target_is_directory=True)
    return found


if __name__ == "__main__":
    main()
