"""The profiler: operators, custom operators, marks of programs; a table, JSON and a trace."""

import json

import pytest

import core as mx
from core import profiler


@pytest.fixture(autouse=True)
def clean(tmp_path):
    profiler.set_config(profile_all=True, filename=str(tmp_path / "trace.json"))
    profiler.dumps(reset=True)
    yield
    profiler.dump()
    profiler.dumps(reset=True)


def times():
    return json.loads(profiler.dumps(format="json"))["Time"]


def test_operators_are_counted_only_while_it_runs(tmp_path):
    x = mx.nd.zeros((10, 10))
    mx.nd.sqrt(x)
    profiler.start()
    y = mx.nd.sqrt(x) + 1
    y = y + 1
    profiler.pause()
    mx.nd.sqrt(x)
    profiler.resume()
    profiler.stop()
    mx.nd.sqrt(x)
    found = times()["operator"]
    assert found["sqrt"]["Count"] == 1 and found["_plus_scalar"]["Count"] == 2
    memory = json.loads(profiler.dumps(format="json"))["Memory"]["Device Storage"]["Memory: cpu/0"]
    assert memory["Max"] > 10_000  # kB
    profiler.dump()
    events = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e["name"] == "sqrt"]
    assert [e["ph"] for e in events] == ["B", "E"] and events[0]["ts"] <= events[1]["ts"]


def test_gradients_and_hybridized_blocks_are_seen():
    from gluon import nn

    net = nn.Dense(3, in_units=4)
    net.initialize()
    net.hybridize()
    x = mx.nd.ones((2, 4))
    net(x)
    profiler.start()
    net(x)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.tanh(x)
    y.backward()
    profiler.stop()
    found = times()["operator"]
    assert found["CachedOp"]["Count"] == 1 and found["tanh"]["Count"] == 1


def test_operators_with_a_shorter_way_are_seen():
    x = mx.nd.ones((2, 4))
    x.attach_grad()
    profiler.start()
    mx.nd.flatten(x)
    mx.nd.sum(x, axis=1)
    with mx.autograd.record():
        mx.nd.flatten(x)
        mx.nd.sum(x, axis=1)
    profiler.stop()
    found = times()["operator"]
    assert found["Flatten"]["Count"] == found["sum"]["Count"] == 2


def test_the_table_is_sorted():
    profiler.start()
    x = mx.nd.ones((50, 50))
    for _ in range(3):
        mx.nd.dot(x, x)
    mx.nd.exp(x)
    profiler.stop()
    for key in ("total", "avg", "min", "max", "count"):
        for ascending in (False, True):
            rows = json.loads(profiler.dumps(format="json", sort_by=key, ascending=ascending))["Time"]["operator"]
            values = [row[key.capitalize()] for row in rows.values()]
            assert values == sorted(values, reverse=not ascending)
    text = profiler.dumps()
    assert "operator\n====" in text and "Total Count" in text and "\ndot " in text


def test_programs_mark_what_they_do(tmp_path):
    profiler.start()
    domain = profiler.Domain("mine")
    counter = domain.new_counter("count", 3)
    counter += 2
    counter -= 1
    with domain.new_task("work"), profiler.Event("inside"):
        pass
    frame = domain.new_frame("frame")
    frame.start()
    frame.stop()
    domain.new_marker("here").mark()
    profiler.dump(False)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["args"]["count"] for e in events if e["ph"] == "C"] == [3, 5, 4]
    assert [e["s"] for e in events if e["name"] == "here"] == ["p"]
    assert {"work", "frame"} <= set(times()["mine"]) and "inside" in times()["event"]


def test_custom_operators_have_their_own_domain():
    class Sigmoid(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], 1 / (1 + mx.nd.exp(-in_data[0])))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * out_data[0] * (1 - out_data[0]))

    @mx.operator.register("ProfiledSigmoid")
    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Sigmoid()

    x = mx.nd.array([0, 1, 2])
    x.attach_grad()
    profiler.start()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="ProfiledSigmoid")
    y.backward()
    profiler.stop()
    found = times()["Custom Operator"]
    assert {"ProfiledSigmoid::pure_python", "_backward_ProfiledSigmoid::pure_python", "ProfiledSigmoid::exp"} <= set(
        found
    )


def test_mistakes_are_named():
    with pytest.raises(TypeError, match="Did you mean 'filename'"):
        profiler.set_config(file_name="x")
    with pytest.raises(ValueError, match="'run' or 'stop'"):
        profiler.set_state("go")
    with pytest.raises(ValueError, match="total"):
        profiler.dumps(sort_by="sum")
