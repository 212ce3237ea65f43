"""Checkpoints of a run: folders `epoch-NNNN`, each sealed by a `state.json` that has the digests of its files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from pathlib import Path

from core.files.atomic import sync_folder, write_bytes

STATE = "state.json"
NEEDED = ("net.params", "trainer.states", "random-0.json")
NAME = re.compile(r"epoch-(\d+)")


def seal(unfinished: Path, epoch: int, state: dict) -> None:
    """Adds `state` and the digests of all files to a folder, and puts it, as the checkpoint of `epoch`, beside it."""
    state = state | {"files": {path.name: _sha256(path) for path in sorted(unfinished.iterdir())}}
    write_bytes(unfinished / STATE, json.dumps(state | {"digest": _digest(state)}).encode())
    final = unfinished.parent / f"epoch-{epoch:04d}"
    shutil.rmtree(final, ignore_errors=True)  # one that was not whole
    os.replace(unfinished, final)
    sync_folder(str(final.parent))


def latest(folder: Path) -> Path | None:
    """The newest whole checkpoint in `folder`; standard error says which newer ones were passed over, and why."""
    for path in reversed(_named(folder)):
        if (fault := fault_of(path)) is None:
            return path
        print(f"{path} is not whole and is passed over: {fault}", file=sys.stderr, flush=True)
    return None


def read_state(checkpoint: Path) -> dict:
    """What `seal` was given."""
    return json.loads((checkpoint / STATE).read_bytes())


def forget(folder: Path, keep: int = 0) -> None:
    """Removes all checkpoints but the `keep` newest."""
    found = _named(folder)
    for path in found[: max(0, len(found) - keep)]:
        shutil.rmtree(path, ignore_errors=True)


def fault_of(checkpoint: Path) -> str | None:
    """What is wrong with a checkpoint, if anything; of one that was made without digests, whether it can be read."""
    try:
        state = read_state(checkpoint)
        if not isinstance(state, dict) or not isinstance(state.get("epoch"), int) or "record" not in state:
            return f"{STATE} holds no state"
        files = state.get("files", dict.fromkeys(NEEDED))
        if "files" in state and state.pop("digest", None) != _digest(state):
            return f"{STATE} was changed"
        for name, digest in files.items():
            if digest is not None and _sha256(checkpoint / name) != digest:
                return f"{name} was changed"
            if name.endswith(".json"):
                json.loads((checkpoint / name).read_bytes())
            elif not (checkpoint / name).is_file():
                return f"{name} is missing"
    except OSError as error:
        return f"{Path(error.filename or checkpoint).name}: {error.strerror}"
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        return f"{STATE} or another of its files is damaged: {error}"
    return None


def _named(folder: Path) -> list[Path]:
    """The folders that are named as checkpoints are, oldest first."""
    found = [path for path in folder.glob("epoch-*") if NAME.fullmatch(path.name) and path.is_dir()]
    return sorted(found, key=lambda path: int(path.name.removeprefix("epoch-")))


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(state: dict) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
