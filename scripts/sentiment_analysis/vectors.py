"""Word vectors for the modes of textCNN that begin with some."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gluonnlp as nlp
from core.files.safetensors import read_safetensors

# The vectors of Mikolov et al. (2013), by the name of gluonnlp.embedding
WORD2VEC = "GoogleNews-vectors-negative300"


def word_vectors(source: Path | None, words: list[str], deviation: float) -> np.ndarray:
    """Vectors (words, dimensions) as float32; words without one are all zeros.

    source: a text file of embeddings with a word and its numbers per line, or the folder of a published BERT
    (`model.safetensors`, `vocab.txt`), where the vector of a word is the mean of those of its word pieces; None: those of word2vec, which are
    downloaded. They are
    shifted and scaled to the mean zero and the standard deviation `deviation`.
    """
    if source is None:
        known, vectors = _of_embedding(nlp.embedding.create("word2vec", source=WORD2VEC), words)
    elif source.is_dir():
        known, vectors = _of_bert(source, words)
    else:
        known, vectors = _of_embedding(nlp.embedding.TokenEmbedding.from_file(str(source)), words)
    vectors = vectors - vectors[known].mean(axis=0)
    vectors *= deviation / vectors[known].std()
    vectors[~known] = 0
    return vectors.astype(np.float32)


def _of_bert(folder: Path, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
    tokenizer = nlp.data.BERTTokenizer.from_file(str(folder / "vocab.txt"))
    tensors, _ = read_safetensors(folder / "model.safetensors")
    (table,) = (record.data for name, record in tensors.items() if name.endswith("word_embeddings.weight"))
    vocab = tokenizer.vocab
    pieces = [[p for p in vocab[tokenizer(word)] if p != vocab[vocab.unknown_token]] for word in words]
    known = np.array([bool(p) for p in pieces])
    return known, np.stack([table[p].mean(axis=0) if p else np.zeros(table.shape[1]) for p in pieces])


def _of_embedding(embedding, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
    known = np.array([word in embedding for word in words])
    return known, embedding[words].asnumpy()
