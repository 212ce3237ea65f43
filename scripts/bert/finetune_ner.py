"""scripts/ner/finetune_bert.py under the name that it has in GluonNLP's `scripts/bert`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.ner.finetune_bert import main, parse_args

__all__ = ["main", "parse_args"]

if __name__ == "__main__":
    main()
