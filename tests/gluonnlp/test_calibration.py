"""Ranges of layers' values."""

import logging

import numpy as np

from core import nd
from gluonnlp.calibration import BertLayerCollector


def test_ranges_widen_and_outliers_are_cut(caplog):
    log = logging.getLogger("calibration")
    caplog.set_level(logging.DEBUG, log.name)
    collector = BertLayerCollector(clip_min=-50, clip_max=10, logger=log)
    for values in ([-60, 4], [1, 20]):
        for name in ("dense0_output", "gelu0_leakyrelu0_output", "layernorm0_layernorm0_output", "dense0_weight"):
            collector.collect(name, nd.array(values))
    assert collector.min_max_dict == {
        "dense0_output": (-60, 20),
        "gelu0_leakyrelu0_output": (-60, 10),
        "layernorm0_layernorm0_output": (-50, 20),
    }
    assert "dense0_output: from -60 to 20" in caplog.text
    collector.collect("x_mul0_0", "elemwise_mul", np.zeros(2))
    assert collector.min_max_dict["x_mul0_0"] == (0, 0)
