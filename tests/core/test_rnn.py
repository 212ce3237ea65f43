"""Cells over symbols; sums and names recorded from MXNet 1.9.1, which got the same weights."""

import random
import zlib

import numpy as np
import pytest

import core as mx
from core import rnn


def weights(names, shapes):
    """A value that depends on the name alone."""
    seeds = (zlib.crc32(name.encode()) % 2**31 for name in names)
    return {
        n: mx.nd.array(np.random.RandomState(s).uniform(-0.5, 0.5, shape)) for n, s, shape in zip(names, seeds, shapes)
    }


def run(symbol, **shapes):
    symbol = mx.sym.Group(symbol) if isinstance(symbol, list) else symbol
    found = symbol.infer_shape(**shapes)
    args = weights(symbol.list_arguments(), found[0])
    outputs = symbol.bind(mx.cpu(), args).forward()
    assert [o.shape for o in outputs] == found[1]
    return [round(float(o.asnumpy().astype("float64").sum()), 4) for o in outputs]


@pytest.mark.parametrize(
    ("cell", "steps", "merged"),
    [
        (rnn.RNNCell, [-1.3507, -0.3, -1.5058], -3.3159),
        (rnn.LSTMCell, [-0.0599, 0.3107, 0.2581], 0.4221),
        (rnn.GRUCell, [0.5655, 1.3316, 1.3362], 3.0632),
    ],
)
def test_single_cells(cell, steps, merged):
    data = mx.sym.var("data")
    outputs, states = cell(5, prefix="p_").unroll(3, data)
    group = mx.sym.Group(outputs)
    assert group.list_outputs() == [f"p_t{i}_out_output" for i in range(3)]
    assert group.list_arguments() == ["data", "p_i2h_weight", "p_i2h_bias", "p_h2h_weight", "p_h2h_bias"]
    np.testing.assert_allclose(run(list(outputs), data=(2, 3, 4)), steps, atol=2e-4)
    outputs, _ = cell(5, prefix="p_").unroll(3, data, merge_outputs=True, layout="TNC")
    np.testing.assert_allclose(run(outputs, data=(3, 2, 4)), [merged], atol=2e-4)
    assert len(states) == (2 if cell is rnn.LSTMCell else 1)


def test_a_stack_with_all_modifiers():
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.LSTMCell(5, prefix="a_"))
    stack.add(rnn.ResidualCell(rnn.GRUCell(5, prefix="b_")))
    stack.add(rnn.DropoutCell(0.5))
    stack.add(rnn.ZoneoutCell(rnn.RNNCell(5, prefix="z_"), 0.3, 0.3))
    outputs, states = stack.unroll(3, mx.sym.var("data"))
    expected = [0.0311, 0.1226, 0.451, -0.4379, -0.3152, 1.2414, 0.451]
    np.testing.assert_allclose(run([*outputs, *states], data=(2, 3, 4)), expected, atol=2e-4)
    with pytest.raises(AssertionError, match="modifies"):
        stack._cells[1].base_cell.begin_state()


@pytest.mark.parametrize("merge", [None, True, False])
def test_both_directions(merge):
    cell = rnn.BidirectionalCell(rnn.LSTMCell(5, prefix="l_"), rnn.LSTMCell(5, prefix="r_"), output_prefix="bi_")
    outputs, _ = cell.unroll(3, mx.sym.var("data"), merge_outputs=merge)
    expected = [2.9879] if merge else [1.3391, 0.6942, 0.9546]
    np.testing.assert_allclose(run(outputs if merge else list(outputs), data=(2, 3, 4)), expected, atol=2e-4)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("rnn_relu", [16.1542, 10.6282]), ("lstm", [-1.4642, 0.4907, 0.8595]), ("gru", [1.0833, 0.7902])],
)
def test_fused_cells_and_what_they_are_made_of(mode, expected):
    data = mx.sym.var("data")
    fused = rnn.FusedRNNCell(5, 2, mode, bidirectional=True, prefix="f_", get_next_state=True)
    whole, states = fused.unroll(3, data, merge_outputs=True)
    np.testing.assert_allclose(run([whole, *states], data=(2, 3, 4)), expected, atol=5e-4)
    single = fused.unfuse()
    parts, _ = single.unroll(3, data, merge_outputs=True)
    assert parts.list_outputs() == ["f_bi_l1_out_output"]
    args = weights(whole.list_arguments(), whole.infer_shape(data=(2, 3, 4))[0])
    unpacked = fused.unpack_weights(args)
    np.testing.assert_array_equal(
        fused.pack_weights(unpacked)["f_parameters"].asnumpy(), args["f_parameters"].asnumpy()
    )
    first, second = (
        s.bind(mx.cpu(), {n: a for n, a in given.items() if n in s.list_arguments()}).forward()[0].asnumpy()
        for s, given in ((whole, args), (parts, single.pack_weights(unpacked)))
    )
    np.testing.assert_allclose(first, second, atol=1e-5)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [(rnn.ConvRNNCell, [4.0581, 3.3581]), (rnn.ConvLSTMCell, [2.2189, 3.516]), (rnn.ConvGRUCell, [5.8356, 8.6716])],
)
def test_cells_with_convolutions(cell, expected):
    outputs, _ = cell((1, 3, 6, 6), 4, prefix="c_").unroll(2, [mx.sym.var("x0"), mx.sym.var("x1")])
    np.testing.assert_allclose(run(list(outputs), x0=(1, 3, 6, 6), x1=(1, 3, 6, 6)), expected, atol=5e-4)


def test_sentences_in_buckets():
    assert rnn.encode_sentences([["a", "b"], ["b", "c", "a"]], invalid_label=0, start_label=1) == (
        [[1, 2], [2, 3, 1]],
        {"\n": 0, "a": 1, "b": 2, "c": 3},
    )
    assert rnn.encode_sentences([["a", "x"]], vocab={"a": 1, "u": 7}, unknown_token="u")[0] == [[1, 7]]
    with pytest.raises(AssertionError, match="'x'"):
        rnn.encode_sentences([["x"]], vocab={"a": 1})
    random.seed(1)
    np.random.seed(1)
    sentences = [[1, 2], [3, 4], [5, 6, 7], [8, 9], [1, 1], [2, 2, 2], [3]]
    batches = list(rnn.BucketSentenceIter(sentences, 2, buckets=[2, 3], invalid_label=0))
    found = [(b.bucket_key, b.data[0].asnumpy().tolist(), b.label[0].asnumpy().tolist()) for b in batches]
    assert found == [  # as MXNet shuffles them
        (2, [[3, 0], [1, 2]], [[0, 0], [2, 0]]),
        (3, [[5, 6, 7], [2, 2, 2]], [[6, 7, 0], [2, 2, 0]]),
        (2, [[8, 9], [3, 4]], [[9, 0], [4, 0]]),
    ]
    turned = next(rnn.BucketSentenceIter(sentences, 2, buckets=[3], layout="TNC"))  # only the place of N counts
    assert turned.data[0].shape == (3, 2)
    with pytest.raises(ValueError, match="layout is NT"):
        rnn.BucketSentenceIter(sentences, 2, layout="TCN")


def test_a_language_model_trains_in_buckets(tmp_path):
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)
    sentences = [[1 + (start + i) % 5 for i in range(length)] for start in range(5) for length in (3, 3, 6, 6)]
    batches = rnn.BucketSentenceIter(sentences, 4, invalid_label=0)
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.LSTMCell(16, prefix="lstm_"))

    def generate(length):
        data, label = mx.sym.var("data"), mx.sym.var("softmax_label")
        embedded = mx.sym.Embedding(data, input_dim=6, output_dim=8, name="embed")
        outputs, _ = stack.unroll(length, embedded, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.Reshape(outputs, shape=(-1, 16)), num_hidden=6, name="scores")
        flat = mx.sym.Reshape(label, shape=(-1,))
        return (
            mx.sym.SoftmaxOutput(scores, flat, use_ignore=True, ignore_label=0, name="softmax"),
            ("data",),
            ("softmax_label",),
        )

    module = mx.mod.BucketingModule(generate, batches.default_bucket_key, context=[mx.cpu(0), mx.cpu(1)])
    perplexity = mx.metric.Perplexity(0)
    module.fit(
        batches, eval_metric=perplexity, num_epoch=15, optimizer="adam", optimizer_params={"learning_rate": 0.05},
        initializer=mx.init.Xavier(), epoch_end_callback=rnn.do_rnn_checkpoint(stack, str(tmp_path / "lm"), 15),
    )  # fmt: skip
    assert perplexity.get()[1] < 1.6  # the next word is certain; five words at random have 5
    _, args, _ = rnn.load_rnn_checkpoint(stack, str(tmp_path / "lm"), 15)
    mine = module.get_params()[0]
    assert set(args) == set(mine)
    np.testing.assert_array_equal(args["lstm_i2h_weight"].asnumpy(), mine["lstm_i2h_weight"].asnumpy())


def test_states_are_carried_by_a_module():
    cell = rnn.LSTMCell(4, prefix="lstm_")
    begin = cell.begin_state(func=mx.sym.var)
    _, states = cell.unroll(3, mx.sym.var("data"), begin_state=begin)
    module = mx.mod.Module(
        mx.sym.Group(states), label_names=None, state_names=[s.name for s in begin], context=[mx.cpu(0), mx.cpu(1)]
    )
    module.bind([("data", (5, 3, 2))], for_training=False)
    module.init_params(mx.init.One())
    batch = mx.io.DataBatch([mx.nd.zeros((5, 3, 2))])
    module.set_states(value=1)
    module.forward(batch)
    parts, first = module.get_outputs(merge_multi_context=False), module.get_outputs()
    module.set_states(states=parts)
    module.forward(batch)
    for before, after in zip(first, module.get_outputs()):
        assert not np.allclose(before.asnumpy(), after.asnumpy(), rtol=1e-3)
