"""Plans that are bound, given other memory and random keys: a program for test_launch.py.

After a plan has been called often enough to be bound, every further call has to launch what its kernels themselves would
for the same arguments, and to return tensors that lie alike. One JSON object a part of a network's plan.
"""

import json
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import gluon
from core import autograd, kernels, nd
from core.graph.compiled import Compiled
from core.kernels.dispatch import unremembered
from gluon import nn
from tests.core.kernels.triton.host_time import CAPTURED, GPU
from tests.core.kernels.triton.launch_samples import Calls, _start, _tensors, alike


class Twice(gluon.HybridBlock):
    """Two inputs, which may be one and the same; views of them; and a random mask."""

    def __init__(self):
        super().__init__()
        self.dense, self.drop = nn.Dense(8, flatten=False), nn.Dropout(0.5)

    def hybrid_forward(self, F, a, b):
        both = F.concat(self.dense(a), F.transpose(b, axes=(0, 2, 1)), dim=2)
        return self.drop(both).sum(axis=(1, 2)) + F.dot(a, b, transpose_b=True).mean()


def moved(t, by: int):
    """The tensor in other memory, `by` elements from where memory begins."""
    if not isinstance(t, torch.Tensor):
        return t
    memory = torch.zeros(t.untyped_storage().nbytes() // t.itemsize + by, dtype=t.dtype)
    return memory.as_strided(t.shape, t.stride(), t.storage_offset() + by)


def failure(calls: Calls, part, variants: list) -> str | None:
    plan = part.run.__self__

    def launched(function, args):
        def call(*given):
            mine, stored = [list(x) if isinstance(x, list) else x for x in given], []
            if len(mine) == 5:
                mine[4] = lambda k: stored.append((k, mine[3][k] is not None))
            result = function(*mine)
            return result, mine[3] if len(mine) == 5 else None, stored, [len(x) for x in mine if isinstance(x, list)]

        return calls.seen(call, args, {})

    for turn in range(4):
        for number, args in enumerate(variants):
            for _ in range(9 if turn == 0 else 1):
                again = launched(plan.call, args)
            with unremembered():
                plain = launched(plan._plain, args)
            if not alike(plain, again):
                return f"turn {turn}, variant {number}: {again}, not {plain}"[-900:]
    known = plan._known.values()
    if not known or plan._function in known:
        return "nothing was bound"
    with unremembered():
        plain = most_alive(plan._plain, variants[0])
    recorded = most_alive(lambda *args: plan._record((), args), variants[0])
    return f"while it is recorded {recorded} tensors live, not {plain}" if recorded > plain else None


def most_alive(function, args) -> int:
    """How many tensors in memory that a call takes live at once."""
    made = Alive({_start(t) for t in _tensors(args)})
    with made:
        function(*(list(x) if isinstance(x, list) else x for x in args))
    return made.most


class Alive(TorchDispatchMode):
    """Counts tensors that live elsewhere than in given memory."""

    def __init__(self, given: set[int]):
        super().__init__()
        self.given, self.made, self.most = given, [], 0

    def __torch_dispatch__(self, called, types, args=(), kwargs=None):
        result = called(*args, **(kwargs or {}))
        self.made = [ref for ref in self.made if ref() is not None]
        self.made += [weakref.ref(t) for t in _tensors(result) if _start(t) not in self.given]
        self.most = max(self.most, len(self.made))
        return result


def parts(name: str, make, shapes: list[tuple]):
    """Names of a training plan's parts, the parts, and arguments that they were called with."""
    net = make()
    net.initialize()
    given = [nd.random.normal(shape=shape) for shape in shapes]
    net(*given)
    net.hybridize()
    for _ in range(4):
        with autograd.record():
            value = net(*given)
        value.backward()
    compiled = next(v for v in vars(net).values() if isinstance(v, Compiled))
    plan = next(p for p in compiled._plans.values() if p.training)
    keys = list(range(5, 5 + len(plan._draw_contexts)))
    inputs, held = [x._data for x in given], [a._data for a in plan.arrays]
    prepared = plan._prepared(held) if plan.early is not None else ()
    results, saved = plan.forward.run(inputs, held, prepared, keys)
    forward = [
        (inputs, held, prepared, keys),
        ([moved(t, 0) for t in inputs], held, prepared, [k + 2**40 for k in keys]),
        ([moved(t, 1) for t in inputs], held, prepared, keys),
        (inputs, [moved(t, 1) for t in held], prepared, keys),
        ([inputs[0]] * len(inputs), held, prepared, keys),
    ]
    yield f"{name}, forward", plan.forward, forward
    heads = [torch.ones_like(results[k]) for k in plan._dys]
    count = len(plan.graph.tracked)

    def call(saved, heads):
        return list(saved), heads, keys, [None] * count, lambda k: None

    backward = [
        call(saved, heads),
        call([moved(t, 0) for t in saved], [moved(t, 1) for t in heads]),
        call([moved(t, 4) for t in saved], [torch.ones(()).expand(t.shape) for t in heads]),
    ]
    yield f"{name}, backward", plan.backward, backward


if __name__ == "__main__":
    cases = {name: (lambda make=make: make()[0], [make()[1]]) for name, make in CAPTURED.items()}
    cases["two inputs"] = Twice, [(2, 8, 8), (2, 8, 8)]
    with kernels.using("triton"):
        seen = Calls(GPU)
        for case, (network, sizes) in cases.items():
            for part, *found in parts(case, network, sizes):
                print(json.dumps({"sample": part, "error": failure(seen, *found)}), flush=True)
