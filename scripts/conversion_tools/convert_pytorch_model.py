"""Turns a checkpoint of PyTorch, or of Hugging Face, into GluonNLP's files: parameters, and a vocabulary as JSON.

    python scripts/conversion_tools/convert_pytorch_model.py --pytorch_checkpoint_dir bert-base-uncased \\
        --out_dir converted

The folder has config.json (or bert_config.json), pytorch_model.bin or model.safetensors, and the tokenizer's files: a
BERT, RoBERTa, DistilBERT or GPT-2. Nothing in it is executed. The files are named after the first eight digits of their
SHA-1; `net.load_parameters` reads the parameters, `gluonnlp.Vocab.from_json` the vocabulary.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import core as mx
import gluonnlp as nlp
from core.base import MXNetError
from core.files.atomic import write_bytes
from scripts.common.flags import Parser
from scripts.common.program import program


@program
def main(argv: list[str] | None = None) -> tuple[Path, Path]:
    """The paths of the parameters and of the vocabulary."""
    args = parse_args(argv)
    try:
        net, vocab, _ = nlp.model.load_huggingface(args.pytorch_checkpoint_dir, mx.cpu(), args.ignore_extra)
    except MXNetError as error:
        raise SystemExit(str(error)) from error
    args.out_dir.mkdir(parents=True, exist_ok=True)
    text = vocab.to_json().encode()
    words = args.out_dir / f"{hashlib.sha1(text).hexdigest()[:8]}.vocab"
    write_bytes(words, text)
    unnamed = args.out_dir / "unnamed.params"
    net.save_parameters(str(unnamed))
    parameters = args.out_dir / f"{hashlib.sha1(unnamed.read_bytes()).hexdigest()[:8]}.params"
    os.replace(unnamed, parameters)
    print(f"{type(net).__name__}: {parameters}, {words}")
    return parameters, words


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    parser.add_argument("--pytorch_checkpoint_dir", required=True, help="folder of the checkpoint")
    parser.add_argument("--out_dir", type=Path, required=True, help="folder of the result")
    parser.add_argument("--ignore_extra", action="store_true", help="leave out parameters that have no place here")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
