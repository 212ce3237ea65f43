"""Random numbers: drawn anew in each run, by the runtime's own generator."""

from __future__ import annotations

from core.contrib.onnx.mx2onnx.table import converts, enter


@converts("_multinomial")
def multinomial(g, a, data):
    if g.rank(data) != 2:
        raise g.refuse("draws from more or less than rows of a matrix have no form in ONNX")
    code = g.onnx.TensorProto.INT64
    return g.cast(g.add("Multinomial", g.add("Log", data), sample_size=a.count, dtype=code), g.outputs[0][1], "int64")


def _typed(g, name):
    return g.cast(name, g.outputs[0][1], "float32")


enter({
    "_random_uniform":
        lambda g, a: _typed(g, g.add("RandomUniform", low=a.low, high=a.high, shape=list(g.outputs[0][0]))),
    "_random_normal":
        lambda g, a: _typed(g, g.add("RandomNormal", mean=a.loc, scale=a.scale, shape=list(g.outputs[0][0]))),
    "_random_uniform_like":
        lambda g, a, x: _typed(g, g.add("RandomUniformLike", x, low=a.low, high=a.high, dtype=g.code("float32"))),
    "_random_normal_like":
        lambda g, a, x: _typed(g, g.add("RandomNormalLike", x, mean=a.loc, scale=a.scale, dtype=g.code("float32"))),
})  # fmt: skip
