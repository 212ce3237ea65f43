"""How word vectors do on word similarity and word analogy."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import core as mx
import gluonnlp as nlp
from core.base import MXNetError
from scripts.common.run import Run

SIMILARITY = ("WordSim353", "MEN", "RadinskyMTurk", "RareWords", "SimLex999", "SimVerb3500", "YangPowersVerb130")
# Data sets that come in parts, one of which is all.
WHOLE = {"MEN": {"segment": "full"}}
ANALOGY = ("GoogleAnalogyTestSet",)


def add_evaluation_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds which data sets and functions evaluate, and where the data sets are."""
    similarity, analogy = (nlp.embedding.evaluation.list_evaluation_functions(k) for k in ("similarity", "analogy"))
    add = parser.add_argument
    add("--similarity-datasets", nargs="*", default=SIMILARITY, help="(default: all but two that are hosted alone)")
    add("--similarity-functions", nargs="+", choices=similarity, default=similarity, help="(default: all)")
    add("--analogy-datasets", nargs="*", default=ANALOGY, help="(default: Google's)")
    add("--analogy-functions", nargs="+", choices=analogy, default=analogy, help="(default: all)")
    add("--analogy-dont-exclude-question-words", action="store_true", help="answers may be words of the question")
    add("--no-eval-analogy", dest="analogy_datasets", action="store_const", const=[], help="no analogies")
    add("--analogy-max-vocab-size", type=int, help="look for answers among the so many first words only")
    add("--eval-batch-size", type=int, default=512, help="questions at a time (default: %(default)s)")
    add("--eval-dir", type=Path, help="folder of word_similarity and word_analogy (default: downloaded)")


def evaluate(embedding: nlp.embedding.TokenEmbedding, args: argparse.Namespace, context: mx.Context) -> list[dict]:
    """A row for each data set and function: Spearman's correlation or the share of right answers among the questions
    whose words have vectors, and how many these are.

    A data set that cannot be had is a row with "missing", which says why.
    """
    rows = []
    for names, folder, figures in (
        (args.similarity_datasets, "word_similarity", similarity),
        (args.analogy_datasets, "word_analogy", analogy),
    ):
        root = {"root": str(args.eval_dir / folder)} if args.eval_dir else {}
        for name in names:
            try:
                data = list(nlp.data.create(name, **WHOLE.get(name, {}), **root))
            except MXNetError as error:
                rows.append({"dataset": name, "missing": str(error)})
                continue
            rows += [{"dataset": name} | row for row in figures(embedding, data, args, context)]
    return rows


def conclude(run: Run, embedding: nlp.embedding.TokenEmbedding, args: argparse.Namespace) -> dict:
    """Writes the vectors to --output and what they are worth to the record; the final metrics."""
    args.output.parent.mkdir(parents=True, exist_ok=True)
    embedding.serialize(str(args.output))
    rows = evaluate(embedding, args, mx.cpu())
    run.record.put(evaluation=rows)
    run.record.say(table(rows))
    return run.finish("loss", **{row["dataset"]: row["correlation"] for row in rows if "correlation" in row})


def similarity(embedding, data: list, args: argparse.Namespace, context: mx.Context) -> list[dict]:
    """Spearman's correlation of the functions with the judgements of people."""
    known = embedding.token_to_idx
    pairs = [(known[a], known[b], score) for a, b, score in data if a in known and b in known]
    rows = []
    for name in args.similarity_functions:
        row = {"function": name, "questions": len(data), "known": len(pairs)}
        if len(pairs) > 1:
            net = nlp.embedding.evaluation.WordEmbeddingSimilarity(
                idx_to_vec=embedding.idx_to_vec, similarity_function=name
            )
            net.initialize(ctx=context)
            first, second, scores = zip(*pairs, strict=True)
            found = net(mx.nd.array(first, ctx=context), mx.nd.array(second, ctx=context)).asnumpy()
            row["correlation"] = float(np.corrcoef(ranks(found), ranks(np.array(scores)))[0, 1])
        rows.append(row)
    return rows


def analogy(embedding, data: list, args: argparse.Namespace, context: mx.Context) -> list[dict]:
    """The share of questions a : b = c : d that are answered with d."""
    limit = args.analogy_max_vocab_size or len(embedding.idx_to_token)
    known = {word: i for word, i in embedding.token_to_idx.items() if i < limit}
    questions = [[known[word] for word in q] for q in data if all(word in known for word in q)]
    rows = []
    for name in args.analogy_functions:
        row = {"function": name, "questions": len(data), "known": len(questions)}
        if questions:
            net = nlp.embedding.evaluation.WordEmbeddingAnalogy(
                idx_to_vec=embedding.idx_to_vec[:limit],
                analogy_function=name,
                exclude_question_words=not args.analogy_dont_exclude_question_words,
            )
            net.initialize(ctx=context)
            right = 0
            for begin in range(0, len(questions), args.eval_batch_size):
                *asked, answer = zip(*questions[begin : begin + args.eval_batch_size], strict=True)
                found = net(*(mx.nd.array(words, ctx=context) for words in asked)).asnumpy()
                right += int((found[:, 0] == np.array(answer)).sum())
            row["accuracy"] = right / len(questions)
        rows.append(row)
    return rows


def ranks(values: np.ndarray) -> np.ndarray:
    """The place of each value in their order; equal values share the mean of their places."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def table(rows: list[dict]) -> str:
    """The rows as text."""
    lines = []
    for row in rows:
        if "missing" in row:
            lines.append(f"{row['dataset']}: not there ({row['missing'].splitlines()[0]})")
            continue
        score = next(
            (f"{name} {row[name]:.4f}" for name in ("correlation", "accuracy") if name in row), "too few words"
        )
        lines.append(f"{row['dataset']}, {row['function']}: {score} ({row['known']} of {row['questions']} questions)")
    return "\n".join(lines)
