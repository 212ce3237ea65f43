"""Gradient norms, parallel workers, versions, files, seeds."""

import random

import numpy as np
import pytest

import gluonnlp as nlp
from core import nd
from gluon import Parameter


def parameters(*gradients):
    made = []
    for i, gradient in enumerate(gradients):
        p = Parameter(f"p{i}", shape=(len(gradient),))
        p.initialize()
        p.grad()[:] = nd.array(gradient)
        made.append(p)
    return made


def test_clipping_by_the_global_norm():
    ps = parameters([3.0], [4.0, 12.0])
    assert nlp.utils.grad_global_norm(ps).asscalar() == pytest.approx(13)
    norm = nlp.utils.clip_grad_global_norm(ps, 6.5)
    assert norm.asscalar() == pytest.approx(13)
    np.testing.assert_allclose(np.concatenate([p.grad().asnumpy() for p in ps]), [1.5, 2, 6], rtol=1e-5)
    nlp.utils.clip_grad_global_norm(ps, 100)
    np.testing.assert_allclose(ps[0].grad().asnumpy(), [1.5], rtol=1e-5)


def test_a_norm_needs_gradients():
    for norm in (nlp.utils.grad_global_norm, lambda none: nlp.utils.clip_grad_global_norm(none, 1)):
        with pytest.raises(AssertionError, match="no parameter"):
            norm([])


def test_gradients_that_are_not_finite():
    with pytest.warns(UserWarning, match="infinite or not a number"):
        nlp.utils.clip_grad_global_norm(parameters([float("inf")]), 1)
    _, scale, finite = nlp.utils.grad_global_norm(parameters([float("nan")]), 1)
    assert finite.asscalar() == 0 and np.isnan(scale.asscalar())
    with pytest.raises(ValueError, match="no parameter"):
        nlp.utils.grad_global_norm([])


class Square(nlp.utils.Parallelizable):
    def forward_backward(self, x):
        if isinstance(x, BaseException):
            raise x
        return x * x


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_parallel_workers(workers):
    pool = nlp.utils.Parallel(workers, Square())
    for i in range(10):
        pool.put(i)
    assert sorted(pool.get() for _ in range(10)) == [i * i for i in range(10)]


@pytest.mark.parametrize("error", [ZeroDivisionError(), SystemExit()])
def test_an_error_reaches_who_asks_for_the_result(error):
    pool = nlp.utils.Parallel(1, Square(), serial_init=False)
    pool.put(error)
    with pytest.raises(type(error)):
        pool.get()


def test_versions():
    nlp.utils.check_version("0.7.0")
    with pytest.raises(AssertionError, match=r"99\.0"):
        nlp.utils.check_version("99.0")
    with pytest.warns(UserWarning):
        nlp.utils.check_version("0.11", warning_only=True)


def test_files(tmp_path):
    nlp.utils.mkdir(str(tmp_path / "a" / "b"))
    (tmp_path / "a" / "x.txt").touch()
    assert nlp.utils.glob(f"{tmp_path}/a/*.txt,{tmp_path}/none*") == [str(tmp_path / "a" / "x.txt")]
    nlp.utils.remove(str(tmp_path / "a" / "x.txt"))
    nlp.utils.remove(str(tmp_path / "a" / "x.txt"))
    with pytest.raises(NotImplementedError, match="S3"):
        nlp.utils.remove("s3://bucket/key")


def test_one_seed_for_all():
    drawn = []
    for _ in range(2):
        nlp.utils.set_seed(7)
        drawn.append((random.random(), np.random.rand(), nd.random.uniform(shape=(1,)).asscalar()))
    assert drawn[0] == drawn[1]
