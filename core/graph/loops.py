"""Bodies of loops: a graph for one step, compiled, and run as often as the data have places along axis 0."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from core import kernels, random_keys, storage
from core.extents import evaluated
from core.graph.ir import INPUT, Graph, Value
from core.graph.passes import optimize
from core.graph.plan import Part, backward_part, early_part, forward_part, sharing_of
from core.graph.replay import run_forward
from core.ndarray.control_flow import foreach, while_loop
from core.ndarray.ndarray import NDArray
from core.ops.registry import TABLE, F


class Body:
    """One step of a loop, which `_loop` and `_loop_grad` run on tensors: data, states, and what the body reads besides.

    graph: of a step; its inputs are elements of `data` arrays and then the states, what it holds is read besides.
    outputs, states: the numbers of its outputs that are stacked, and that are the next step's states.
    """

    def __init__(self, graph: Graph, data: int, outputs: Sequence[int], states: Sequence[int]):
        self.traced, self.data, self.outputs, self.states = graph, data, tuple(outputs), tuple(states)
        self.results = len(self.outputs) + len(self.states)
        self.tracked = [v.index if v.role == INPUT else len(graph.inputs) + v.index for v in graph.tracked]
        self._symbols = [] if graph.space is None else [symbol.text for symbol in graph.space.symbols]

    def forward(self, tensors: Sequence, lengths: tuple, keep: bool) -> tuple[tuple, list]:
        """(outputs stacked and last states, what each step keeps for the backward pass if it is to)."""
        data, states, held = self._operands(tensors)
        if storage.is_meta(tensors[0]):
            return self.described(data[0].shape[:1]), []
        step, rows, kept = self.stepper(held, lengths), [], []
        for i in range(data[0].shape[0]):
            row, states, left = step([*(x[i] for x in data), *states])
            rows.append(row)
            if keep:
                kept.append(left)
        stacked = [TABLE["stack"].forward(*parts, axis=0) for parts in zip(*rows)]
        return (*stacked, *map(storage.lazy_clone, states)), kept

    def described(self, rows: Sequence = ()) -> tuple:
        """The results without memory, of outputs along axes of these lengths."""
        values = self.traced.outputs
        stacked = [storage.meta((*rows, *values[k].shape), values[k].dtype) for k in self.outputs]
        return (*stacked, *(storage.meta(values[k].shape, values[k].dtype) for k in self.states))

    def stepper(self, held: Sequence, lengths: tuple) -> Callable:
        """The function of a step: inputs -> (outputs, states, what the backward pass reads)."""
        prepared = self._early.run(held) if self._early is not None else ()

        def step(inputs):
            keys = [random_keys.next_key(draw.ctx) for draw in self._forward.draws]
            found, saved = self._forward.run(inputs, held, prepared, [*keys, lengths])
            return [found[k] for k in self.outputs], [found[k].contiguous() for k in self.states], (saved, keys)

        return step

    def backward(self, tensors: Sequence, kept: list, lengths: tuple) -> tuple:
        """Gradients of what is `tracked`; tensors: gradients of the results, and then what `forward` got."""
        dys, given = tensors[: self.results], tensors[self.results :]
        values = [*self.graph.inputs, *self.graph.held]
        if storage.is_meta(tensors[0]):
            return tuple(storage.meta(given[k].shape, values[k].dtype) for k in self.tracked)
        count = len(self.outputs)
        ahead: dict = {}  # gradients of what a step gives, by output
        for k, dy in zip(self.states, dys[count:], strict=True):
            ahead[k] = _sum(ahead.get(k), dy)
        sums: dict[int, object] = {}
        rows: dict[int, list] = {k: [] for k in self.tracked if k < self.data}
        for i in reversed(range(len(kept))):
            for k, dy in zip(self.outputs, dys[:count], strict=True):
                ahead[k] = _sum(ahead.get(k), dy[i])
            found, ahead = self.step_back(ahead, kept[i], lengths, dys[0].device), {}
            for k, g in zip(self.tracked, found, strict=True):
                if k < self.data:
                    rows[k].append(self._zeros(values[k], lengths, dys[0].device) if g is None else g)
                elif k >= len(self.graph.inputs):
                    sums[k] = _sum(sums.get(k), g)
                else:
                    ahead[self.states[k - self.data]] = _sum(ahead.get(self.states[k - self.data]), g)
        sums.update((k, ahead.get(self.states[k - self.data])) for k in self.tracked if self._is_state(k))
        sums.update((k, TABLE["stack"].forward(*parts[::-1], axis=0)) for k, parts in rows.items())
        return tuple(
            self._zeros(values[k], lengths, dys[0].device) if sums.get(k) is None else sums[k] for k in self.tracked
        )

    def step_back(self, ahead: dict, kept: tuple, lengths: tuple, device) -> list:
        """Gradients of what is `tracked`, None for zero, from those of a step's outputs by their numbers."""
        saved, keys = kept
        dys = [
            self._zeros(v, lengths, device) if ahead.get(v.index) is None else ahead[v.index].contiguous()
            for v in self.graph.dys
        ]
        keys = [*keys, *(random_keys.next_key(draw.ctx) for draw in self._backward.draws)]
        found: list = [None] * len(self.tracked)
        if dys:
            self._backward.run(list(saved), dys, keys, found, lambda k: None)
        return found

    def replay(self, arrays: Sequence[NDArray], lengths: tuple) -> list[NDArray]:
        """The results on arrays, operator by operator, as a tape can record it."""
        data, states, held = self._operands(arrays)
        rows, states = foreach(lambda x, given: self.replay_step([*x, *given], held, lengths), data, states)
        return [*rows, *states]

    def replay_step(self, inputs: Sequence[NDArray], held: Sequence[NDArray], lengths: tuple) -> tuple[list, list]:
        """(outputs, states) of a step on arrays, operator by operator."""
        values = dict(zip([*self.traced.inputs, *self.traced.held], [*inputs, *held], strict=True))
        found = run_forward(self.traced, values, dict(zip(self._symbols, lengths)))
        return [found[k] for k in self.outputs], [found[k] for k in self.states]

    # ------------------------------------------------------------------

    @functools.cached_property
    def graph(self) -> Graph:
        """The graph after all passes."""
        return optimize(self.traced)

    @functools.cached_property
    def _early(self) -> Part | None:
        return early_part(self.graph, sharing_of(self.graph)) if any(n.early for n in self.graph.nodes) else None

    @functools.cached_property
    def _forward(self) -> Part:
        return forward_part(self.graph, sharing_of(self.graph))

    @functools.cached_property
    def _backward(self) -> Part:
        return backward_part(self.graph, sharing_of(self.graph), retain=True)

    def _operands(self, given: Sequence) -> tuple[list, list, list]:
        """(data, states, what is read besides), in the strides that the graph was traced with."""
        count = len(self.traced.inputs)
        plain = [x.contiguous() if storage.is_tensor(x) else x for x in given[:count]]
        return plain[: self.data], plain[self.data :], list(given[count:])

    def _is_state(self, k: int) -> bool:
        return self.data <= k < len(self.traced.inputs)

    def _zeros(self, value: Value, lengths: tuple, device):
        shape = evaluated(value.shape, dict(zip(self._symbols, lengths)))
        return kernels.shape.zeros_of((shape, value.meta.dtype, device))


class While(Body):
    """A step that is run while another body, the test, gives true, `most` times at most; rows that are left are zeros."""

    def __init__(self, graph: Graph, outputs: Sequence[int], states: Sequence[int], test: Body, most: int):
        super().__init__(graph, 0, outputs, states)
        self.test, self.most = test, most

    def forward(self, tensors: Sequence, lengths: tuple, keep: bool) -> tuple[tuple, list]:
        _, states, held = self._operands(tensors)
        made = self.described((self.most,))
        if storage.is_meta(tensors[0]):
            return made, []
        count = len(self.traced.held)
        step, test = self.stepper(held[:count], lengths), self.test.stepper(held[count:], lengths)
        rows, kept = [], []
        while len(kept) < self.most and bool(test(states)[0][0]):
            row, states, left = step(states)
            rows.append(row)
            kept.append(left if keep else None)
        shapes = [evaluated(tuple(x.shape), dict(zip(self._symbols, lengths))) for x in made[: len(self.outputs)]]
        outputs = [kernels.shape.zeros_of((s, x.dtype, tensors[0].device)) for s, x in zip(shapes, made)]
        for whole, parts in zip(outputs, zip(*rows)):
            whole[: len(rows)].copy_(TABLE["stack"].forward(*parts, axis=0))
        return (*outputs, *map(storage.lazy_clone, states)), kept

    def replay(self, arrays: Sequence[NDArray], lengths: tuple) -> list[NDArray]:
        _, states, held = self._operands(arrays)
        count, outputs = len(self.traced.held), len(self.outputs)

        def step(*variables):
            return self.replay_step(variables, held[:count], lengths)

        def test(*variables):
            return self.test.replay_step(variables, held[count:], lengths)[0][0]

        rows, last = while_loop(test, step, states, self.most)
        if not rows:
            rows = [F.zeros(evaluated(tuple(x.shape), dict(zip(self._symbols, lengths)))) for x in
                    self.described((self.most,))[:outputs]]  # fmt: skip
        return [*rows, *last]


class Branch:
    """One of two bodies without inputs, as a number tells; what `_loop` runs for `cond`."""

    def __init__(self, then: Body, other: Body):
        self.then, self.other, self.results = then, other, then.results
        self._count = len(then.traced.held)
        self.tracked = [*(1 + k for k in then.tracked), *(1 + self._count + k for k in other.tracked)]

    def forward(self, tensors: Sequence, lengths: tuple, keep: bool) -> tuple[tuple, list]:
        """The results of one body, and which it was, with what it keeps."""
        if storage.is_meta(tensors[0]):
            return self.then.described(), []
        body, held = self._chosen(bool(tensors[0]), tensors)
        found, _, kept = body.stepper(held, lengths)([])
        return tuple(map(storage.lazy_clone, found)), [body is self.then, kept if keep else None]

    def backward(self, tensors: Sequence, kept: list, lengths: tuple) -> tuple:
        """Gradients of what both bodies read, zeros for the one that was not run."""
        dys, given = tensors[: self.results], tensors[self.results :]
        made = [storage.meta(given[k].shape, storage.NAMES[given[k].dtype]) for k in self.tracked]
        if storage.is_meta(tensors[0]):
            return tuple(made)
        body, _ = self._chosen(kept[0], given)
        ahead: dict = {}
        for k, dy in zip(body.outputs, dys, strict=True):
            ahead[k] = _sum(ahead.get(k), dy)
        found = body.step_back(ahead, kept[1], lengths, dys[0].device)
        nothing = [None] * (len(self.tracked) - len(found))
        found = [*found, *nothing] if kept[0] else [*nothing, *found]
        return tuple(
            kernels.shape.zeros_of((x.shape, x.dtype, dys[0].device)) if g is None else g for g, x in zip(found, made)
        )

    def replay(self, arrays: Sequence[NDArray], lengths: tuple) -> list[NDArray]:
        """The results of one body on arrays."""
        body, held = self._chosen(bool(arrays[0].asscalar()), arrays)
        return body.replay_step([], held, lengths)[0]

    def _chosen(self, first: bool, given: Sequence) -> tuple[Body, Sequence]:
        held = given[1:]
        return (self.then, held[: self._count]) if first else (self.other, held[self._count :])


def _sum(a, b):
    """The sum of two tensors, of which None is nothing."""
    if a is None or b is None:
        return b if a is None else a
    return TABLE["elemwise_add"].forward(a, b)
