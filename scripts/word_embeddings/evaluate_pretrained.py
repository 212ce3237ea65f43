"""How published word vectors, or those in a file, do on word similarity and word analogy.

python scripts/word_embeddings/evaluate_pretrained.py --embedding-path vectors.npz --eval-dir ../shared/data
python scripts/word_embeddings/evaluate_pretrained.py --embedding-name glove --embedding-source glove.6B.50d
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gluonnlp as nlp
from core.files.atomic import write_bytes
from scripts.common.devices import add_gpu_argument, context_of
from scripts.common.flags import Parser
from scripts.common.program import program
from scripts.word_embeddings import evaluation


@program
def main(argv: list[str] | None = None) -> list[dict]:
    args = parse_args(argv)
    if args.list_embedding_sources:
        sources = nlp.embedding.list_sources()
        for name, known in sources.items():
            print(f"{name}: {', '.join(known)}")
        return []
    context = context_of(args)
    rows = evaluation.evaluate(read(args), args, context)
    print(evaluation.table(rows))
    if args.output:
        write_bytes(args.output, (json.dumps(rows, indent=1) + "\n").encode())
    return rows


def read(args: argparse.Namespace) -> nlp.embedding.TokenEmbedding:
    """The vectors that the arguments name."""
    if args.embedding_path and args.embedding_path.endswith(".bin"):
        model = nlp.model.train.FasttextEmbeddingModel.load_fasttext_format(args.embedding_path)
        words = [word for word in model._token_to_idx if isinstance(word, str)]
        return nlp.embedding.TokenEmbedding(unknown_token=None, idx_to_token=words, idx_to_vec=model[words])
    if args.embedding_path:
        return nlp.embedding.TokenEmbedding.from_file(args.embedding_path)
    settings = {"load_ngrams": True} if args.fasttext_load_ngrams else {}
    return nlp.embedding.create(args.embedding_name, source=args.embedding_source, **settings)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    parser = Parser(__doc__)
    add = parser.add_argument
    add("--embedding-path", help="file of vectors: text, .npz, or fastText's .bin")
    add("--embedding-name", help="glove, word2vec or fasttext, to be downloaded")
    add("--embedding-source", help="which of its vectors, such as glove.6B.50d")
    add("--fasttext-load-ngrams", action="store_true", help="with n-grams, for words that have no vector")
    add("--list-embedding-sources", action="store_true", help="print what there is, and end")
    add("--output", type=Path, help="JSON file for the rows")
    add_gpu_argument(parser)
    evaluation.add_evaluation_arguments(parser)
    args = parser.parse_args(argv)
    if not (args.list_embedding_sources or args.embedding_path or (args.embedding_name and args.embedding_source)):
        parser.error("give --embedding-path, or --embedding-name with --embedding-source")
    return args


if __name__ == "__main__":
    main()
