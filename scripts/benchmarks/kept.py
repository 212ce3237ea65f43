"""Rows of a benchmark that is killed and goes on: each one is in a file as soon as it is there."""

from __future__ import annotations

import json
from pathlib import Path


class Kept:
    """Rows by what they are of, in a file of JSON lines; without a file, in none."""

    def __init__(self, path: Path | None):
        self._path, self.rows = path, {}
        if path and path.exists():
            rows = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
            self.rows = {row.pop("of"): row for row in rows}

    def add(self, of: str, row: dict) -> dict:
        """The row, which is in the file now; it takes the place of an earlier one."""
        self.rows[of] = row
        if self._path:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:  # lines begin with their end, so that half of one spoils no other
                file.write("\n" + json.dumps({"of": of, **row}))
        return row
