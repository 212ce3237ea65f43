"""Texts that are read a stretch at a time, side by side, with states that go on from stretch to stretch."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import gluonnlp as nlp
from gluon.loss import SoftmaxCrossEntropyLoss
from scripts.common import parallel
from scripts.common.environment import checksums
from scripts.common.run import Run
from scripts.language_model.text import EOS


def begin(args: argparse.Namespace, parts: dict[str, list[str]], files: list[Path]) -> tuple[Run, nlp.Vocab, dict]:
    """The record of a run that learns from these texts, their vocabulary, and the batches of each part."""
    run = Run("language_model", args, data=checksums(files))
    vocab = vocabulary_of(args.dataset, parts["train"], args.min_freq)
    run.record.put(vocabulary=len(vocab), words={name: len(words) for name, words in parts.items()})
    return run, vocab, stretches(parts, vocab, args.bptt, args.batch_size)


def vocabulary_of(dataset: str, words: list[str], min_freq: int) -> nlp.Vocab:
    """That which is published for a data set, or that of its words."""
    return nlp.data.GBWStream("test").vocab if dataset == "gbw" else vocabulary(words, min_freq)


def vocabulary(words: list[str], min_freq: int) -> nlp.Vocab:
    """The words that are there `min_freq` times or more, the frequent ones first."""
    return nlp.Vocab(nlp.data.count_tokens(words), min_freq=min_freq, padding_token=None, bos_token=None, eos_token=EOS)


def stretches(parts: dict[str, list[str]], vocab: nlp.Vocab, length: int, batch_size: int) -> dict:
    """Pairs of words and next words (length, texts) of each part: `batch_size` texts of the training part,
    ten of others; of the training part what this process learns from.
    """
    parts = parts | {"train": parallel.part(parts["train"])}
    return {
        name: nlp.data.batchify.CorpusBPTTBatchify(vocab, length, size, last_batch="discard")(words)
        for (name, words), size in zip(parts.items(), (batch_size, 10, 10), strict=True)
    }


def perplexity(net, batches, context) -> float:
    """exp of the mean cross-entropy of a word of the text."""
    loss_function, total = SoftmaxCrossEntropyLoss(), 0.0
    state = net.begin_state(batch_size=batches[0][0].shape[1], ctx=context)
    for data, target in batches:
        scores, state, *_ = net(data.as_in_context(context), state)
        target = target.as_in_context(context).reshape((-1,))
        total += float(loss_function(scores.reshape((-3, -1)), target).mean().asscalar())
    return math.exp(total / len(batches))


def detached(state):
    """States that gradients do not go back through."""
    return [detached(s) for s in state] if isinstance(state, list | tuple) else state.detach()
