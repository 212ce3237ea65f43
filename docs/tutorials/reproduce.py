# %% [markdown]
# # Reproducing a table
#
# Every figure of the [results](../results.md) comes from a file under `logs/`, which says how it was made: the command
# line, the commit, the versions, the device, the seed, checksums of the data. This page reads such a file, runs a
# shorter version of the program, and goes on with it after an interruption. It needs a checkout, for the logs are
# not part of the installed package.

# %%
import json
import subprocess
import sys
from pathlib import Path

import core

root = Path(core.__file__).parents[1]
record = json.loads((root / "logs/quickstart/lenet_digits.json").read_text())
for key in ("command", "commit", "device", "seed", "versions", "data", "final"):
    print(f"{key:9} {record.get(key)}")

# %% [markdown]
# ## Running it
#
# The full run takes a minute: `python scripts/quickstart.py`; `--help` lists all flags. Here two epochs, which are too
# few for the 98 % that the program insists on: it ends with an error that says so, after the log is written.


# %%
def run(folder):
    """The rows of the epochs of a short run, whose logs and checkpoints go to the folder."""
    command = [
        sys.executable, str(root / "scripts/quickstart.py"), "--epochs", "2", "--seed", "3",
        "--log-dir", f"{folder}/logs", "--save-dir", f"{folder}/checkpoints",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    print(done.stderr.strip().splitlines()[-1])
    (log,) = Path(folder).rglob("lenet_digits.json")
    return json.loads(log.read_text())["epochs"]


first = run("first")
for row in first:
    print({name: row[name] for name in ("epoch", "loss", "test_accuracy")})

# %% [markdown]
# ## The same numbers again
#
# For one seed, on one machine, a run gives the same numbers to the last bit. So does one that was killed and went on
# with `--resume` and the same command line.

# %%
again = run("again")
assert [row["loss"] for row in first] == [row["loss"] for row in again]
print("the same losses")

# %% [markdown]
# ## From logs to tables
#
# `make report` makes [the tables](../results.md) and the curves from `logs/` alone, and `make lint` fails when they
# differ. A log of a commit that is not in the history is refused.
