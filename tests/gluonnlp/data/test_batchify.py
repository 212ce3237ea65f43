"""Batches: padding against NumPy, language model windows, word2vec windows, the paper's snippet."""

import numpy as np
import pytest

import gluonnlp as nlp
from core import nd
from gluon.data import DataLoader, SimpleDataset

batchify = nlp.data.batchify


@pytest.mark.parametrize("kind", [list, np.array, nd.array])
@pytest.mark.parametrize("round_to", [None, 4])
@pytest.mark.filterwarnings("ignore:Pad")
def test_pad_against_numpy(kind, round_to):
    rows = [[1, 2, 3], [4], [5, 6]]
    batch, lengths = batchify.Pad(pad_val=-1, ret_length=True, round_to=round_to, dtype="float32")(
        [kind(r) for r in rows]
    )
    wanted = np.full((3, round_to or 3), -1, "float32")
    for row, given in zip(wanted, rows):
        row[: len(given)] = given
    np.testing.assert_array_equal(batch.asnumpy(), wanted)
    assert (batch.dtype, lengths.dtype, lengths.asnumpy().tolist()) == (np.float32, np.int32, [3, 1, 2])


def test_pad_refuses_what_it_cannot_pad():
    with pytest.raises(NotImplementedError, match="tuple"):
        batchify.Pad(pad_val=0)([(1, 2), (3,)])
    with pytest.raises(KeyError, match="Pad"):
        batchify.Stack()([[1, 2], [3]])


def test_the_papers_snippet():
    """Guo et al. (2020), figure 1: bucketing and batchify functions with a DataLoader."""
    samples = SimpleDataset([([i] * (1 + i % 7), i % 2) for i in range(40)])
    sampler = nlp.data.FixedBucketSampler([len(s[0]) for s in samples], batch_size=8, shuffle=True)
    function = batchify.Tuple(batchify.Pad(pad_val=0), batchify.Stack())
    seen = []
    for words, labels in DataLoader(samples, batchify_fn=function, batch_sampler=sampler):
        assert words.shape[0] == labels.shape[0] <= 8
        assert (labels.asnumpy() == words.asnumpy()[:, 0] % 2).all()
        seen += words.asnumpy()[:, 0].tolist()
    assert sorted(seen) == list(range(40))


def test_sharded_loader():
    samples = SimpleDataset([[i] * (1 + i % 5) for i in range(20)])
    sampler = nlp.data.FixedBucketSampler([len(s) for s in samples], 4, num_buckets=2, num_shards=2)
    loader = nlp.data.ShardedDataLoader(samples, batch_sampler=sampler, batchify_fn=batchify.Pad(pad_val=0))
    batches = list(loader)
    assert len(batches) == len(sampler) and {len(shards) for shards in batches} == {2}
    assert {int(v) for shards in batches for b in shards for v in b.asnumpy().max(axis=1)} == set(range(20))


def vocab():
    return nlp.Vocab(nlp.data.count_tokens("abcdefghijklmnopqrstuvwxyz"))


def test_bptt_columns_read_on():
    """The target of each step is the data of the next, across pieces."""
    text = list("thequickbrownfoxjumpsoverthelazydog")
    pieces = batchify.CorpusBPTTBatchify(vocab(), 4, 3)(text)
    data = np.concatenate([x.asnumpy() for x, _ in pieces])
    target = np.concatenate([y.asnumpy() for _, y in pieces])
    np.testing.assert_array_equal(data[1:], target[:-1])
    columns = np.concatenate([data, target[-1:]]).T
    assert "".join(vocab().to_tokens([int(i) for i in columns.ravel() if i > 3])) == "".join(text)


def test_stream_bptt_reads_every_document_once():
    documents = [["a", "b", "c", "d", "e"], ["f", "g"], ["h", "i", "j"], ["k"], ["l", "m", "n", "o"]]
    stream = nlp.data.SimpleDataStream([SimpleDataset(documents[:2]), SimpleDataset(documents[2:])])
    batches = list(batchify.StreamBPTTBatchify(vocab(), 3, 2, sampler="sequential")(stream))
    read = [int(i) for x, _ in batches for i in x.asnumpy().ravel() if i != 1]
    assert len(read) == len(set(read))
    for data, target in batches:
        inside = (data.asnumpy()[1:] != 1) & (target.asnumpy()[:-1] != 1)
        np.testing.assert_array_equal(data.asnumpy()[1:][inside], target.asnumpy()[:-1][inside])


def test_skip_gram_pairs_are_within_the_window():
    sentence = list(range(20))
    stream = batchify.EmbeddingCenterContextBatchify(6, window_size=3, shuffle=False)([sentence])
    pairs = [(c, w) for centres, (_, rows, words) in stream for c, w in zip(centres[rows], words)]
    assert all(0 < abs(c - w) <= 3 for c, w in pairs)
    whole = batchify.EmbeddingCenterContextBatchify(1, 3, False, False)([sentence])
    assert sum(1 for _ in whole) == sum(min(3, i) + min(3, 19 - i) for i in sentence)


def test_cbow_weights_sum_to_one():
    for centres, (weights, rows, _) in batchify.EmbeddingCenterContextBatchify(4, cbow=True)([list(range(30))]):
        np.testing.assert_allclose(np.bincount(rows, weights, len(centres)), 1, rtol=1e-6)
