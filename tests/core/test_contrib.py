"""Parts of `mx.contrib`: vocabularies and word vectors, loaders for modules, gradients of less variance."""

import collections
import ctypes

import numpy as np
import pytest

import core as mx
from core import contrib
from core.contrib import text


def test_tokens_are_counted_and_numbered():
    counter = text.utils.count_tokens_from_str(" Life is great! \n life is good . \n", to_lower=True)
    assert counter == collections.Counter({"life": 2, "is": 2, "great!": 1, "good": 1, ".": 1})
    counter = text.utils.count_tokens_from_str("aLIFEbIScLIFE", "IS", "LIFE", to_lower=True)
    assert counter == collections.Counter("abc")
    words = collections.Counter(["a", "b", "b", "c", "c", "c", "some_word$"])
    v = text.vocab.Vocabulary(words, most_freq_count=2, reserved_tokens=["b"])
    assert v.idx_to_token == ["<unk>", "b", "c", "a"] and len(v) == 4
    assert v.to_indices(["c", "x"]) == [2, 0] and v.to_indices("b") == 1
    assert v.to_tokens(2) == "c" and v.to_tokens([0, 3]) == ["<unk>", "a"]
    assert text.vocab.Vocabulary(words, min_freq=2).idx_to_token == ["<unk>", "c", "b"]
    with pytest.raises(ValueError, match="index 9"):
        v.to_tokens(9)
    with pytest.raises(AssertionError):
        text.vocab.Vocabulary(words, reserved_tokens=["<unk>"])


def test_vectors_of_a_file(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("a 0.1 0.2 0.3\nb 0.4 0.5 0.6\nA 1 1 1\nb 9 9 9\n")
    with pytest.warns(UserWarning, match="'b' has a vector already"):
        e = text.embedding.CustomEmbedding(str(path), init_unknown_vec=mx.nd.ones)
    assert e.vec_len == 3 and e.idx_to_token == ["<unk>", "a", "b", "A"]
    np.testing.assert_allclose(e.get_vecs_by_tokens("zzz").asnumpy(), [1, 1, 1])
    np.testing.assert_allclose(e.get_vecs_by_tokens(["a", "B"], lower_case_backup=True).asnumpy()[1], [0.4, 0.5, 0.6])
    e.update_token_vectors(["a"], mx.nd.array([7, 8, 9]))
    np.testing.assert_allclose(e.idx_to_vec.asnumpy()[1], [7, 8, 9])
    with pytest.raises(ValueError, match="'zzz' is unknown"):
        e.update_token_vectors("zzz", mx.nd.ones((3,)))
    v = text.vocab.Vocabulary(collections.Counter(["b", "new"]))
    both = text.embedding.CompositeEmbedding(v, [e, e])
    assert both.vec_len == 6 and both.idx_to_token == ["<unk>", "b", "new"]
    np.testing.assert_allclose(both.idx_to_vec.asnumpy(), [[1] * 6, [0.4, 0.5, 0.6] * 2, [1] * 6])
    with pytest.warns(UserWarning):
        of_vocabulary = text.embedding.CustomEmbedding(str(path), vocabulary=v)
    assert of_vocabulary.idx_to_vec.shape == (3, 3)
    path.write_text("a 1 2\nb 1\nc 1 2 3\n")
    with pytest.raises(AssertionError, match=r"line 3.*3 numbers"), pytest.warns(UserWarning, match="head"):
        text.embedding.CustomEmbedding(str(path))


def test_published_vectors_are_listed_and_checked(tmp_path, monkeypatch):
    names = text.embedding.get_pretrained_file_names()
    assert len(names["glove"]) == 10 and len(names["fasttext"]) == 327
    assert "glove.6B.50d.txt" in text.embedding.get_pretrained_file_names("glove")
    with pytest.raises(KeyError, match="wiki"):
        text.embedding.create("fasttext", pretrained_file_name="wiki.simpel.vec")
    monkeypatch.setenv("MXNET_OFFLINE", "1")
    with pytest.raises(mx.MXNetError, match="MXNET_OFFLINE"):
        text.embedding.create("glove", pretrained_file_name="glove.6B.50d.txt", embedding_root=str(tmp_path))


def test_embeddings_of_users_are_published_too(tmp_path, monkeypatch):
    import hashlib

    content = "hello 1 2 3\nworld 4 5 6\n"
    source = tmp_path / "repo" / "gluon" / "embeddings" / "mine" / "mine.vec"
    source.parent.mkdir(parents=True)
    source.write_text(content)
    monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "repo").as_uri())

    @text.embedding.register
    class Mine(text.embedding._TokenEmbedding):
        pretrained_file_name_sha1 = {"mine.vec": hashlib.sha1(content.encode()).hexdigest()}

        def __init__(self, root):
            super().__init__()
            self._check_pretrained_file_names("mine.vec")
            self._load_embedding(self._get_pretrained_file(root, "mine.vec"), " ", mx.nd.zeros)

    e = text.embedding.create("mine", root=str(tmp_path / "kept"))
    assert e.to_indices("world") == 2 and e.idx_to_vec.asnumpy().tolist() == [[0, 0, 0], [1, 2, 3], [4, 5, 6]]
    with pytest.raises(KeyError, match=r"Did you mean 'mine.vec'"):
        Mine._check_pretrained_file_names("min.vec")


def test_a_loader_feeds_a_module():
    from gluon.data import ArrayDataset, DataLoader

    data = ArrayDataset(np.arange(20, dtype="float32").reshape(10, 2), np.arange(10, dtype="float32") % 2)
    batches = contrib.io.DataLoaderIter(DataLoader(data, 4))
    assert [b.pad for b in batches] == [0, 0, 2]
    batches.reset()
    assert batches.provide_data[0].shape == (4, 2)
    x = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax")
    module = mx.mod.Module(x)
    module.fit(batches, num_epoch=1)
    assert module.predict(batches).shape == (10, 2)


def linear_regression():
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    return mx.sym.LinearRegressionOutput(x, mx.sym.var("lin_label"), name="lin")


def test_gradients_with_a_snapshot_are_less_noisy():
    random = np.random.RandomState(0)
    data = random.randn(40, 3).astype("float32")
    labels = (data @ [1, -2, 3] + random.randn(40)).astype("float32").reshape(-1, 1)

    def batches():
        return mx.io.NDArrayIter(data, labels, 4, label_name="lin_label")

    module = contrib.svrg_optimization.SVRGModule(linear_regression(), label_names=["lin_label"], update_freq=2)
    module.bind(batches().provide_data, batches().provide_label)
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    module.update_full_grads(batches())
    seen = {True: [], False: []}
    for batch in batches():
        module.forward_backward(batch)
        grads = module._exec_group.grad_arrays[0][0]
        seen[False].append(grads.asnumpy())
        module._update_svrg_gradients()
        seen[True].append(grads.asnumpy())
    np.testing.assert_allclose(np.mean(seen[True], axis=0), np.mean(seen[False], axis=0), rtol=1e-4)
    assert np.std(seen[True], axis=0).max() < 1e-4  # at the snapshot itself every batch gives the mean
    module.fit(batches(), eval_metric="mse", num_epoch=30)
    best = np.linalg.lstsq(np.c_[data, np.ones(40)], labels, rcond=None)[0].ravel()
    found = module.get_params()[0]
    np.testing.assert_allclose(found["fc_weight"].asnumpy()[0], best[:3], atol=0.02)
    with pytest.raises(ValueError, match="positive"):
        contrib.svrg_optimization.SVRGModule(linear_regression(), update_freq=0)


def test_names_of_the_first_automatic_differentiation():
    both = contrib.autograd.grad_and_loss(lambda x, y: x * y, argnum=0)
    x, y = mx.nd.array([2.0, 3]), mx.nd.array([5.0, 7])
    grads, out = both(x, y)
    assert grads[0].asnumpy().tolist() == [5, 7] and out.asnumpy().tolist() == [10, 21]
    assert contrib.autograd.grad(lambda a: a * a)(x)[0].asnumpy().tolist() == [4, 6]


@pytest.mark.parametrize(
    ("bins", "codes", "width", "threshold", "divergence"),
    [(301, 31, 4.0, 3.9734218, 0.0024932015), (201, 15, 10.0, 5.124378, 0.016822426)],
)  # of MXNet 1.9.1
def test_the_threshold_that_loses_least(bins, codes, width, threshold, divergence):
    edges = np.linspace(-width, width, bins + 1)
    counts = np.floor(1000 * np.exp(-np.abs((edges[1:] + edges[:-1]) / 2)))
    found = mx.nd.contrib.calibrate_entropy(mx.nd.array(counts), mx.nd.array(edges), num_quantized_bins=codes)
    np.testing.assert_allclose([x.asscalar() for x in found], [threshold, divergence], rtol=1e-3)


def test_names_of_the_c_interface_can_be_imported_and_say_that_there_is_no_library():
    from core.base import _LIB, NDArrayHandle, SymbolHandle, c_array, c_str, c_str_array, check_call, mx_uint

    assert list(c_array(mx_uint, [1, 2])) == [1, 2] and list(c_str_array(["a"])) == [b"a"] and not NDArrayHandle().value
    with pytest.raises(mx.MXNetError, match=r"MXNDArrayCreate.*this implementation has none"):
        check_call(_LIB.MXNDArrayCreate())
    partitioned, network = SymbolHandle(), mx.sym.exp(mx.sym.var("a")) + mx.sym.var("b")
    names = c_str_array(["exp"])
    check_call(_LIB.MXSetSubgraphPropertyOpNamesV2(c_str("default"), mx_uint(1), names))
    call = _LIB.MXBuildSubgraphByOpNames
    check_call(call(network.handle, c_str("default"), mx_uint(1), names, ctypes.byref(partitioned)))
    check_call(_LIB.MXRemoveSubgraphPropertyOpNamesV2(c_str("default")))
    assert mx.sym.Symbol(partitioned).list_inputs() == network.list_inputs() == ["a", "b"]
    assert mx.sym.Symbol(partitioned).tojson() == network.tojson()
    assert mx.contrib.quant is mx.contrib.quantization
