"""Pickles read as data: what NumPy and plain Python write comes back, everything else is refused by name."""

import json
import pickle
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.base import MXNetError
from core.files.params import Record
from core.files.pickle_writer import dump_pickle
from core.files.pickles import Instance, load_pickle
from core.files.states import load_states, read_states, write_mxnet_states, write_states
from tests.support.mutations import mutated, survives
from tests.support.places import by_id, recorded, run_program

KEYS = st.one_of(st.text(), st.integers(), st.binary(), st.floats(allow_nan=False), st.tuples(st.integers(), st.text()))
LEAVES = st.one_of(KEYS, st.none(), st.booleans(), st.complex_numbers(allow_nan=False), st.frozensets(KEYS))
PLAIN = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner), max_leaves=12
)
EXAMPLE = pickle.dumps(
    {"w": np.arange(6.0).reshape(2, 3), "n": [1, 2.5, "three", (None, True)], "s": {1, 2}, "b": bytearray(b"xy")}
)
# Attributes of MXNet's optimizers that this project does not keep in files.
DROPPED = ("sym_info", "_index_update_count", "aggregate_num", "allow_np_array")
STATES = [case for case in recorded("trainer_states")]


class Trap:
    def __reduce__(self):
        return eval, ("1 / 0",)


@given(PLAIN, st.integers(0, 5))
def test_plain_containers_come_back(value, protocol):
    assert load_pickle(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "array",
    [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.eye(3, dtype=">i2")), np.array(["a", "bc"]), np.zeros((0, 3))],
)
def test_numpy_arrays_come_back(array, protocol):
    twice = load_pickle(pickle.dumps([array, array, np.float32(2.5), array.dtype], protocol))
    np.testing.assert_array_equal(twice[0], array, strict=True)
    assert twice[0] is twice[1] and twice[2] == np.float32(2.5)


def test_shared_and_ordered_things_keep_their_identity():
    shared = [1]
    loaded = load_pickle(pickle.dumps((shared, shared, OrderedDict(b=1, a=2))))
    assert loaded[0] is loaded[1] and list(loaded[2]) == ["b", "a"]


@pytest.mark.parametrize("protocol", range(6))
def test_code_is_refused_by_name(protocol):
    with pytest.raises(MXNetError, match=r"eval.*refused.*at byte"):
        load_pickle(pickle.dumps(Trap(), protocol))


def test_object_arrays_are_refused():
    with pytest.raises(MXNetError, match="'O8' is refused"):
        load_pickle(pickle.dumps(np.array([Trap()], dtype=object)))


def test_a_memo_index_takes_no_memory():
    with pytest.raises(MXNetError, match=r"damaged|refused|at byte"):
        load_pickle(b"\x80\x04Nr\xff\xff\xff\x7fh\x05.")


def test_copies_are_bounded():
    copies = (
        b"c__builtin__\nbytearray\nq\x00B\x00\x00\x10\x00" + bytes(1 << 20) + b"q\x01" + b"h\x00h\x01\x85R" * 100 + b"."
    )
    with pytest.raises(MXNetError, match="many times its own size"):
        load_pickle(copies)


def test_deep_keys_are_refused():
    with pytest.raises(MXNetError, match="key"):
        load_pickle(b"\x80\x04}" + b")" + b"\x85" * 100_000 + b"Ns.")


@settings(max_examples=2000, deadline=1000, suppress_health_check=list(HealthCheck))
@given(mutated(EXAMPLE))
def test_damage_gives_an_error_or_data(data):
    survives(lambda: load_pickle(data))


@pytest.mark.parametrize("case", by_id(STATES))
def test_trainer_states_of_mxnet(case, tmp_path):
    states, optimizer = read_states(case["folder"] / case["file"])
    assert optimizer.name.split(".")[-1].lower() == case["optimizer"]
    assert optimizer.attributes["num_update"] == case["num_update_at_save"]
    for key, value in case["kwargs"].items():
        assert optimizer.attributes["lr" if key == "learning_rate" else key] == value
    arrays = {key.split(":", 1)[1]: value for key, value in case["values"].items() if key.startswith("state:")}
    got = {f"{i}:{k}": part for i, state in states.items() for k, part in enumerate(parts(state))}
    assert sorted(got) == sorted(arrays)
    for key, value in arrays.items():
        np.testing.assert_array_equal(got[key].data, value, strict=True)
    write_states(tmp_path / "again.states", states, optimizer)
    again, same = read_states(tmp_path / "again.states")
    assert same == optimizer and list(again) == list(states)
    for index, state in states.items():
        for before, after in zip(parts(state), parts(again[index]), strict=True):
            np.testing.assert_array_equal(after.data, before.data, strict=True)


CONTINUE = """
import sys, json, numpy as np, mxnet as mx
from mxnet import autograd, gluon
case, given, path = json.loads(sys.argv[1]), np.load(sys.argv[2]), sys.argv[3]
net = gluon.nn.Dense(3, in_units=4)
net.initialize()
for name in ('weight', 'bias'):
    getattr(net, name).set_data(mx.nd.array(given[name + '_1']))
trainer = gluon.Trainer(net.collect_params(), case['optimizer'], case['kwargs'])
trainer.load_states(path)
for step in (2, 3):
    with autograd.record():
        loss = (net(mx.nd.array(given['in:x'])) ** 2).sum()
    loss.backward()
    trainer.step(6)
    for name in ('weight', 'bias'):
        np.testing.assert_allclose(getattr(net, name).data().asnumpy(), given['%s_%d' % (name, step)], rtol=1e-5, atol=1e-6)
"""


@pytest.mark.mxnet
@pytest.mark.parametrize("case", by_id(STATES))
def test_mxnet_goes_on_from_states_written_here(case, tmp_path, mxnet_python):
    states, optimizer = read_states(case["folder"] / case["file"])
    optimizer = Instance(
        optimizer.name.split(".")[-1], (), {k: v for k, v in optimizer.attributes.items() if k not in DROPPED}
    )
    write_mxnet_states(tmp_path / "x.states", states, optimizer)
    np.savez(tmp_path / "given.npz", **case["values"])
    settings = json.dumps({key: case[key] for key in ("optimizer", "kwargs")})
    run_program(mxnet_python, CONTINUE, settings, tmp_path / "given.npz", tmp_path / "x.states")


@given(PLAIN)
def test_written_pickles_are_read_by_python(value):
    assert pickle.loads(dump_pickle(without_sets(value))) == without_sets(value)


def without_sets(value):
    """What the writer takes: no sets, no complex numbers, keys as they are."""
    if isinstance(value, (list, tuple)):
        return type(value)(without_sets(part) for part in value)
    if isinstance(value, dict):
        return {key: without_sets(part) for key, part in value.items()}
    return None if isinstance(value, (complex, frozenset)) else value


@pytest.mark.parametrize("case", by_id(STATES[:1]))
def test_damaged_trainer_states(case):
    original = (case["folder"] / case["file"]).read_bytes()

    @settings(max_examples=1000, deadline=1000, suppress_health_check=list(HealthCheck))
    @given(mutated(original))
    def run(data):
        survives(lambda: load_states(data))

    run()


def test_states_of_every_storage_type_come_back(tmp_path):
    bits = np.array([0x3F80, 0xC020], np.uint16)
    rows = Record("float32", (5, 2), np.ones((2, 2), "float32"), "row_sparse", (np.array([1, 4]),))
    given = {0: (Record.of(bits, "bfloat16"), None), "name": [rows, 1.5]}
    for write in (write_states, write_mxnet_states):
        write(tmp_path / "x.states", given)
        states, optimizer = read_states(tmp_path / "x.states")
        assert optimizer is None and list(states) == [0, "name"] and states[0][1] is None and states["name"][1] == 1.5
        for before, after in ((given[0][0], states[0][0]), (rows, states["name"][0])):
            assert (after.dtype, after.shape, after.stype) == (before.dtype, before.shape, before.stype)
            for one, other in zip((before.data, *before.aux), (after.data, *after.aux)):
                np.testing.assert_array_equal(other, one, strict=True)


def test_states_hold_nothing_but_plain_data(tmp_path):
    optimizer = Instance("mxnet.optimizer.optimizer.SGD", state={"lr_scheduler": object()})
    with pytest.raises(MXNetError, match=r"'lr_scheduler'.*object.*cannot be saved"):
        write_states(tmp_path / "x", {}, optimizer)
    assert not list(tmp_path.iterdir())
    with pytest.raises(MXNetError, match=r"'__main__.Mine'.*refused"):
        load_states(b"c__main__\nMine\n)R.")


def parts(state):
    """The arrays of one parameter's state."""
    return state if isinstance(state, tuple) else [state] if isinstance(state, Record) else []
