"""What the programs under `scripts/` share: the record of a run in `logs/`, its checkpoints, its progress bar."""
