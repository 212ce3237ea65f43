"""The tools for tests: they accept what is right, and say where something is wrong."""

import os
import sys
from collections import OrderedDict
from contextlib import contextmanager

import numpy as np
import pytest

import core as mx
from core import test_utils as tools


def linear():
    return mx.sym.FullyConnected(mx.sym.var("x"), mx.sym.var("w"), num_hidden=3, no_bias=True)


def wrong_gradient():
    """3x, whose gradient claims to be 1."""
    x = mx.sym.var("x")
    return x + mx.sym.BlockGrad(2 * x)


def test_gradients_against_finite_differences():
    point = [np.random.rand(2, 4), np.random.rand(3, 4)]
    tools.check_numeric_gradient(mx.sym.tanh(linear()), point, rtol=1e-2, atol=1e-2)
    tools.check_numeric_gradient(mx.sym.tanh(linear()), point, rtol=1e-4, atol=1e-5, dtype=np.float64)
    with pytest.raises(AssertionError, match="NUMERICAL_x"):
        tools.check_numeric_gradient(wrong_gradient(), [np.ones((2, 2))], rtol=1e-2, atol=1e-2)


def test_values_and_gradients_against_expectations():
    ones = np.ones((2, 2))
    product = mx.sym.var("x") * mx.sym.var("w")
    tools.check_symbolic_forward(product, [ones, 3 * ones], [3 * ones])
    for request in ("write", "add", "null"):
        tools.check_symbolic_backward(product, [ones, 3 * ones], [ones], {"x": 3 * ones, "w": ones}, grad_req=request)
    with pytest.raises(AssertionError, match="EXPECTED_w"):
        tools.check_symbolic_backward(product, [ones, 3 * ones], [ones], {"w": 3 * ones})
    with pytest.raises(ValueError, match="arguments are"):
        tools.check_symbolic_forward(product, {"x": ones}, [ones])


def test_dtypes_are_compared_with_the_tolerance_of_the_less_exact():
    settings = [
        {"ctx": mx.cpu(i), "x": (2, 4), "type_dict": {"x": t}} for i, t in enumerate(("float64", "float32", "float16"))
    ]
    truth = tools.check_consistency(linear(), settings)
    assert set(truth) == {"x", "w", linear().list_outputs()[0]} or len(truth) == 3
    with pytest.raises(AssertionError):
        tools.check_consistency([linear(), linear() * 2], settings[:2])


def test_differences_are_named():
    with pytest.raises(AssertionError, match=r"2 of 4 places[\s\S]*\(1,\), left=1.0"):
        tools.assert_almost_equal(np.arange(4.0), np.array([0, 2, 2, 3.1]), names=("left", "right"))
    tools.assert_almost_equal(mx.nd.array([1.0]), np.array([1.0005]))  # float32 allows 1e-3
    with pytest.raises(AssertionError):
        tools.assert_almost_equal(np.array([np.nan]), np.array([np.nan]))
    tools.assert_almost_equal(np.array([np.nan]), np.array([np.nan]), equal_nan=True)
    tools.assert_almost_equal_ignore_nan(np.array([np.nan, 1]), np.array([3, 1.0]))
    tools.assert_almost_equal_with_err(np.array([0, 1.0, 2, 3]), np.array([0, 1.0, 2, 4]), etol=0.3)
    with pytest.raises(AssertionError):
        tools.assert_almost_equal_with_err(np.array([0, 1.0, 2, 3]), np.array([0, 1.0, 3, 4]), etol=0.3)
    first = mx.nd.ones((3,))
    assert tools.same_array(first, first) and not tools.same_array(first, first.copy())


@pytest.mark.parametrize("density", [0, 0.3, 1])
def test_sparse_arrays_have_the_density(density):
    array, (indptr, indices, values) = tools.rand_sparse_ndarray((20, 30), "csr", density, shuffle_csr_indices=True)
    assert array.stype == "csr" and len(values) == len(indices) == indptr[-1] == round(600 * density)
    rows = tools.rand_ndarray((40, 2), "row_sparse", density)
    assert rows.stype == "row_sparse" and rows.shape == (40, 2)
    chosen = tools.create_sparse_array((4, 2), "row_sparse", data_init=2, rsp_indices=[3, 1])
    np.testing.assert_array_equal(chosen.asnumpy()[:, 0], [0, 2, 0, 2])


def test_rows_of_a_power_law_double():
    _, (indptr, _, _) = tools.rand_sparse_ndarray((8, 64), "csr", 0.3, distribution="powerlaw")
    assert np.diff(indptr).tolist()[:6] == [2, 4, 8, 16, 32, 64]
    with pytest.raises(ValueError, match="2 elements per row"):
        tools.rand_sparse_ndarray((8, 64), "csr", 0.01, distribution="powerlaw")


def test_samples_against_a_distribution():
    buckets, probs = tools.gen_buckets_probs_with_ppf(lambda q: q, 5)
    mx.random.seed(1)

    def uniform(n):
        return mx.nd.random.uniform(shape=(n,)).asnumpy()

    assert len(tools.verify_generator(uniform, buckets, probs, nsamples=5000)) == 5
    assert tools.mean_check(uniform, 0.5, 12**-0.5, 5000) and not tools.var_check(uniform, 0.5, 5000)
    with pytest.raises(AssertionError, match="do not follow"):
        tools.verify_generator(lambda n: uniform(n) ** 2, buckets, probs, nsamples=5000)


def test_the_environment_comes_back(monkeypatch):
    monkeypatch.setenv("SOME_A", "1")
    with tools.environment({"SOME_A": None, "SOME_B": "2"}):
        assert "SOME_A" not in os.environ and os.environ["SOME_B"] == "2"
    assert os.environ["SOME_A"] == "1" and "SOME_B" not in os.environ
    with tools.environment("SOME_B", "3"):
        assert os.environ["SOME_B"] == "3"
    assert "SOME_B" not in os.environ
    with pytest.raises(AssertionError, match="a name and a value"), tools.environment("SOME_B"):
        pass


def test_optimizers_agree_with_themselves():
    def sgd(**more):
        return mx.optimizer.SGD(momentum=0.9, **more)

    tools.compare_optimizer(sgd(), sgd(), (3, 4), "float32")
    with pytest.raises(AssertionError):
        tools.compare_optimizer(sgd(), sgd(learning_rate=0.5), (3, 4), "float32")


def test_mnist_of_this_machine(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MXNET_OFFLINE", "1")
    (tmp_path / "data").mkdir()
    for name in ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"):
        (tmp_path / "data" / name).symlink_to(data / "mnist" / name)
        (tmp_path / "data" / name.replace("t10k", "train")).symlink_to(data / "mnist" / name)
    found = tools.get_mnist()
    assert found["test_data"].shape == (10000, 1, 28, 28) and found["test_data"].max() == 1
    assert found["test_label"][:5].tolist() == [7, 2, 1, 0, 4]
    train, _ = tools.get_mnist_iterator(100, (784,))
    assert next(train).data[0].shape == (100, 784)


def test_an_archive_cannot_leave_its_folder(tmp_path, monkeypatch):
    import zipfile

    monkeypatch.chdir(tmp_path)
    os.mkdir("d")
    with zipfile.ZipFile("source.zip", "w") as archive:
        archive.writestr("../outside.txt", "x")
    with pytest.raises(mx.MXNetError, match="outside"):
        tools.get_zip_data("d", (tmp_path / "source.zip").as_uri(), "copy.zip")
    assert not (tmp_path / "outside.txt").exists()


def test_gradients_of_symbols_with_numpys_semantics():
    x, y = (mx.sym.var(name).as_np_ndarray() for name in "xy")
    tools.check_numeric_gradient(x * y.sum(), [np.array([1.0, 2.0]), np.array([3.0, 0.5])], rtol=1e-2, atol=1e-3)


def test_names_that_a_star_import_gives():
    names = {}
    exec("from core.test_utils import *", names)
    for module in ("bz2", "errno", "gzip", "json", "logging", "numbers", "os", "platform", "struct", "sys", "time",
                   "traceback", "zipfile"):  # fmt: skip
        assert names[module] is sys.modules[module]
    assert names["np"] is np and names["rnd"] is np.random and names["npt"] is np.testing
    assert names["mx"] is mx and names["np_symbol"] is type(mx.sym.np.zeros((2,)))
    assert names["OrderedDict"] is OrderedDict and names["contextmanager"] is contextmanager
    assert callable(names["environment"])
    assert not {"arrays", "compare", "data", "generators", "late_names", "symbols"} & set(names)
