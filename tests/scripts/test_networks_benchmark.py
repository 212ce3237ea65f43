"""The benchmark of whole networks: its two cheapest cases, and the same networks on both sides."""

import json
import xml.etree.ElementTree as tree

import pytest

from scripts.benchmarks import networks


def test_two_cases_are_timed_and_drawn(tmp_path, monkeypatch, capsys, forked_contenders):
    monkeypatch.setenv("CXX", "/no/compiler")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("MXTEST_MXNET_PYTHON", raising=False)
    networks.main(["--only", "LeNet|textCNN", "--rounds", "1", "--threads", "1", "--log-dir", str(tmp_path)])
    said = capsys.readouterr().out
    assert "torch.compile is skipped: it needs a C++ compiler, and there is no /no/compiler" in said
    assert "MXNet 1.9.1 is skipped: MXTEST_MXNET_PYTHON names no interpreter" in said
    rows = json.loads((tmp_path / "benchmarks" / "networks.json").read_text())["rows"]
    assert [(row["network"], row["contender"]) for row in rows] == [
        ("LeNet, batch 64", "ours"),
        ("LeNet, batch 64", "ours, hybridized"),
        ("LeNet, batch 64", "PyTorch"),
        ("LeNet, batch 64", "PyTorch, channels-last"),
        ("textCNN, batch 50", "ours"),
        ("textCNN, batch 50", "ours, hybridized"),
        ("textCNN, batch 50", "PyTorch"),
    ]
    for network in ("LeNet, batch 64", "textCNN, batch 50"):
        yardsticks = [row for row in rows if row["network"] == network and row["contender"].startswith("PyTorch")]
        assert min(row["over yardstick"] for row in yardsticks) == 1.0
        fastest = min(row["ms"] for row in yardsticks)
        for row in rows:
            if row["network"] == network:
                assert row["over yardstick"] == pytest.approx(row["ms"] / fastest)
                assert row["bar"] == (0.95 if row["contender"] == "ours, hybridized" else "")
                assert row["peak MB"] > 50
    picture = tree.parse(tmp_path / "benchmarks" / "networks.svg").getroot()
    assert len([e for e in picture.iter() if e.tag.endswith("rect")]) == 1 + len(rows)


def test_a_pattern_that_fits_no_case_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="inference ResNet-50 v1 batch 1"):
        networks.main(["--only", "VGG", "--log-dir", str(tmp_path)])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["ResNet-50 v1", "MobileNet 1.0", "CIFAR ResNet-20", "LSTM LM"])
def test_both_sides_are_the_same_network(name):
    """The same shapes of parameters, but for the form of an LSTM's gates, which count the same."""
    from math import prod

    import core as mx
    import gluon
    from scripts.benchmarks import networks_gluon, networks_torch
    from scripts.benchmarks.networks import CASES

    case = next(case for case in CASES.values() if case.network == name)
    net = networks_gluon.build(name, gluon, case.words)
    net.initialize()
    (x,), _ = case.arrays()
    small = x[:1, :, :64, :64] if x.ndim == 4 else x[:3, :2]
    net(mx.nd.array(small, dtype=small.dtype))
    ours = [p.shape for p in net.collect_params().values() if p.grad_req != "null"]
    theirs = [tuple(p.shape) for p in networks_torch.build(name, case.words).parameters()]
    assert sorted(map(prod, ours)) == sorted(map(prod, theirs))


def test_both_sides_decode_the_same_words():
    """GPT-2 with equal weights, ours also hybridized."""
    import torch

    import core as mx
    import gluon
    from scripts.benchmarks import networks_gluon, networks_torch

    mx.random.seed(1)
    ours, theirs = networks_gluon.build("GPT-2 decoding", gluon, 97), networks_torch.build("GPT-2 decoding", 97)
    ours.initialize(mx.init.Normal(0.3))
    word = mx.nd.array([[3], [5]], dtype="int32")
    expected = ours(word).asnumpy()
    ours.hybridize()
    for _ in range(2):
        assert (ours(word).asnumpy() == expected).all()
    names = {"before.weight": "attn_ln{}_gamma", "before.bias": "attn_ln{}_beta", "network.0.weight": "ffn_ln{}_gamma",
             "network.0.bias": "ffn_ln{}_beta", "heads.": "self_attn{}_qkv_proj_", "joined.": "self_attn{}_out_proj_",
             "network.1.": "ffn{}_dense0_", "network.3.": "ffn{}_dense1_"}  # fmt: skip
    given = {name.partition("gpt2model0_")[2]: p.data().asnumpy() for name, p in ours.collect_params().items()}
    whole = {"words.weight": "embed_weight", "positions.weight": "pos_embed_weight", "after.weight": "final_ln11_gamma",
             "after.bias": "final_ln11_beta"}  # fmt: skip
    state = {}
    for name in theirs.network.state_dict():
        mine = whole.get(name)
        if mine is None:
            _, number, part = name.split(".", 2)
            start = next(start for start in names if part.startswith(start))
            mine = names[start].format(number) + part[len(start) :]
        state[name] = torch.from_numpy(given[mine])
    theirs.network.load_state_dict(state)
    with torch.inference_mode():
        assert (theirs(torch.tensor([[3], [5]])).numpy() == expected).all() and len(set(expected[0])) > 3


def test_cases_of_a_gpu_have_inputs_that_networks_take():
    from scripts.benchmarks.networks import GPU_CASES

    for case in GPU_CASES.values():
        inputs, labels = case.arrays()
        assert [x.shape for x in inputs] == [case.shape] * (2 if case.network.startswith("BERT") else 1)
        assert case.batch in labels.shape


class StandIn:
    """A contender that takes so many seconds a step, or ends at once."""

    def __init__(self, seconds):
        self.seconds, self.asked = seconds, []

    def ask(self, count):
        self.asked.append(count)

    def answer(self):
        if self.seconds is None:
            raise SystemExit("it ended with status 1")
        return {"seconds": [self.seconds] * self.asked.pop(0), "peak": 1024, "faults": 0, "parameters": 7}

    def steps(self, count):
        self.ask(count)
        return self.answer()

    def close(self):
        pass


def test_a_contender_that_fails_leaves_the_others():
    from scripts.benchmarks.networks import COMPILED, GPU_CASES, HYBRIDIZED, OURS, REPLAYED, compare_on_gpu

    case = next(case for case in GPU_CASES.values() if case.network == "textCNN")
    runs = {OURS: StandIn(0.4), HYBRIDIZED: StandIn(0.1), COMPILED: StandIn(0.2), REPLAYED: StandIn(None)}
    rows = {row["contender"]: row for row in compare_on_gpu(case, runs, 2)}
    assert (rows[HYBRIDIZED]["over yardstick"], rows[HYBRIDIZED]["yardstick"]) == (0.5, COMPILED)
    assert rows[HYBRIDIZED]["met"] == "yes" and rows[REPLAYED]["ms"] != rows[REPLAYED]["ms"]
    assert len({tuple(row) for row in rows.values()}) == 1  # one table
    rows = {row["contender"]: row for row in compare_on_gpu(case, {**runs, HYBRIDIZED: StandIn(None)}, 2)}
    assert rows[HYBRIDIZED]["met"] == "failed"
    rows = {row["contender"]: row for row in compare_on_gpu(case, {**runs, COMPILED: StandIn(None)}, 2)}
    assert rows[HYBRIDIZED]["met"] == "not measured"
