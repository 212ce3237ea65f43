"""Times `import gluon` against `import torch`, each in fresh processes that take turns."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.benchmarks.table import report

MODULES = ("torch", "gluon")
PROGRAM = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="processes for each module (default: %(default)s)")
    args = parser.parse_args()

    seconds = {module: [] for module in MODULES}
    for turn in range(args.rounds + 1):
        for module in MODULES:
            measured = import_seconds(module)
            if turn:  # the first turn fills the caches of byte code and files
                seconds[module].append(measured)
    median = {module: statistics.median(measured) for module, measured in seconds.items()}
    rows = [
        {"import": module, "seconds": median[module], "over torch": median[module] / median["torch"]}
        for module in MODULES
    ]
    report("import_time", f"import in a fresh process, median of {args.rounds}", rows)


def import_seconds(module: str) -> float:
    # An installed package has its byte code beside it; where writing it is forbidden, the compiler would be timed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", PROGRAM.format(module)]
    result = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(result.stdout)


if __name__ == "__main__":
    main()
