"""Makes what run_pretraining.py learns from: pairs of passages with masked words, out of texts.

    python scripts/bert/create_pretraining_data.py --input_file texts/*.txt --output_dir instances --vocab vocab.txt

A file of texts has a sentence a line, and an empty line between documents. Instances are written to
--output_dir/part-000.npz and so on.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.bert import pretraining
from scripts.common.flags import Parser
from scripts.common.program import program


@program
def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    tokenizer = pretraining.tokenizer(args)
    texts = pretraining.documents(pretraining.matching(args.input_file), tokenizer)
    settings = pretraining.Settings(*(getattr(args, name) for name in pretraining.Settings._fields))
    rng = random.Random(args.random_seed)
    made = [
        instance
        for _ in range(args.dupe_factor)
        for instance in pretraining.instances(texts, tokenizer.vocab, settings, rng)
    ]
    if not made:
        raise SystemExit("the files have too few sentences: an instance needs two passages")
    for part in range(args.num_outputs):
        path = args.output_dir / f"part-{part:03d}.npz"
        pretraining.save(path, made[part :: args.num_outputs], tokenizer.vocab, settings)
    print(
        f"{len(made)} instances of {len(texts)} documents, {sum(i.is_random for i in made)} of them with random "
        "passages"
    )
    return len(made)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--input_file", nargs="+", required=True, help="files of texts, or patterns such as 'texts/*.txt'")
    add("--output_dir", type=Path, required=True, help="folder of the instances")
    pretraining.add_vocabulary_arguments(parser)
    pretraining.add_instance_arguments(parser)
    add("--dupe_factor", type=int, default=5, help="passes with other masks (default: %(default)s)")
    add("--random_seed", type=int, default=12345, help="(default: %(default)s)")
    add("--num_outputs", type=int, default=1, help="files (default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
