"""What the build says that it can do."""

import pytest

import core as mx
from core import runtime


@pytest.mark.parametrize(("gpus", "cuda"), [(0, False), (1, True), (4, True)])
def test_features_of_gpus_are_there_with_the_first_one(gpus, cuda, monkeypatch):
    monkeypatch.setattr(runtime, "num_gpus", lambda: gpus)
    enabled = {feature.name: feature.enabled for feature in runtime.feature_list()}
    assert enabled["CUDA"] is enabled["NCCL"] is cuda
    assert enabled["DIST_KVSTORE"] and enabled["INT64_TENSOR_SIZE"] and not enabled["TENSORRT"]


def test_features_by_name():
    features = mx.runtime.Features()
    assert features is mx.runtime.Features()
    assert features.is_enabled("openmp") and features["OPENMP"].enabled and not features.is_enabled("CAFFE")
    with pytest.raises(RuntimeError, match="nonsense"):
        features.is_enabled("nonsense")
    assert repr(features["OPENMP"]).endswith("OPENMP") and repr(features["OPENMP"]) != repr(features["CAFFE"])
