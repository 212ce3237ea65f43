"""Training of which every process keeps a part: states, then gradients, then weights (ZeRO, Rajbhandari et al., 2020).

Weights lie in units, flat tensors that are cut into one part for each process, padded to its size. Each process updates
its part. What is kept whole besides depends on the stage:

    stage  weights  gradients  states   memory of float32 and Adam, P parameters on N processes
    1      whole    whole      part     8 P + 8 P / N bytes
    2      whole    part       part     4 P + 12 P / N, and the units whose gradients are on their way
    3      part     part       part     16 P / N, and the units that are in use

A process sends P (N - 1) / N elements to sum gradients, and as many to gather weights: once a step, in stage 3 once in
the forward and once in the backward pass.

On a mesh of R replicas of S processes, N = R S, parts are those of S processes, within a machine, and what a process
has is the same in all replicas: it sends P / S 2 (R - 1) / R elements to them, the sum of its part of the gradients.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from core import ndarray as nd
from core import storage
from core.base import MXNetError, NotSupportedError
from core.dtypes import HALF, dtype_name
from core.kernels import communication
from core.kvstore.processes import all_sum
from core.ndarray import NDArray
from core.optimizer.optimizer import Optimizer
from core.tape import Leaf

UNDER_WAY = 2  # units whose gradients are on their way at a time


@dataclasses.dataclass
class Layout:
    """Where this process stands on a mesh: process r has part r % shards in replica r // shards."""

    replicas: int
    shards: int

    def __post_init__(self):
        count = communication.size()
        if min(self.replicas, self.shards) < 1 or self.replicas * self.shards != count:
            raise ValueError(
                f"mesh is (replicas, processes that share one) for all {count} processes, got "
                f"{(self.replicas, self.shards)}"
            )
        self.part, self.replica = communication.rank() % self.shards, communication.rank() // self.shards

    def join(self, what: str) -> None:
        """Makes the groups in which processes communicate."""
        inside = [[r * self.shards + s for s in range(self.shards)] for r in range(self.replicas)]
        between = [list(ranks) for ranks in zip(*inside)]
        self.gathers = communication.new_group(f"weights of {what}", inside)
        self.sums = communication.new_group(f"gradients of {what}", inside)
        self.totals = communication.new_group(f"replicas of {what}", between) if self.replicas > 1 else None


@dataclasses.dataclass
class Row:
    """A parameter: its index in the optimizer, its name, its marked array, and where it begins in its unit."""

    index: int
    name: str
    array: NDArray
    begin: int = 0

    @property
    def leaf(self) -> Leaf:
        return self.array._entry


class Unit:
    """Parameters of one dtype in one flat tensor, of which this process updates a part.

    weight, gradient: flat arrays of the part.
    """

    def __init__(self, rows: list[Row], stage: int, layout: Layout):
        self.rows, self.stage, self.layout = rows, stage, layout
        begin = 0
        for row in rows:
            row.begin = begin
            begin += row.array.size
        self.size = -(-begin // layout.shards)
        self.context = rows[0].array.context
        flat = self._joined([row.array._data for row in rows])
        self.flat = flat if stage < 3 else None
        self.weight = self._wrap(self._part(flat) if stage < 3 else self._part(flat).clone())
        self.flat_gradient, self.gradient, self.state = None, None, None
        self._coming = None  # values that are on their way, and what to wait for
        self.users = 0  # blocks that are being called
        self.got: set[int] = set()  # leaves whose gradients came since they were sent last
        self.sent, self._pending, self._total = False, None, None
        if stage == 1:
            self.flat_gradient = self._joined([row.leaf.grad._data for row in rows])
            self.gradient = self._wrap(self._part(self.flat_gradient))
            for row, view in zip(rows, self._views(self.flat_gradient)):
                row.leaf.grad._data = view
        else:
            for row in rows:
                self._release(row)
        if stage == 3:
            self.sleep()
        else:
            self._show(flat)

    # ------------------------------------------------------------------ weights

    def wake(self) -> None:
        """The arrays hold their values."""
        if self.flat is None:
            self.begin_wake()
            (self.flat, pending), self._coming = self._coming, None
            pending.wait()
            self._show(self.flat)

    def begin_wake(self) -> None:
        """Begins to gather the values, which `wake` waits for."""
        if self.flat is None and self._coming is None:
            flat = storage.flat(self.size * self.layout.shards, self.weight._data)
            self._coming = flat, communication.gather_parts(flat, self.weight._data, self.layout.gathers)

    def forget(self) -> None:
        """What was gathered is not wanted."""
        if self._coming is not None:
            self._coming[1].wait()
            self._coming = None

    def sleep(self) -> None:
        """The arrays hold nothing; what still reads their values keeps them."""
        self.flat = None
        for row in self.rows:
            row.array._data = storage.hollow(storage.like(row.array._data))

    def rest(self) -> None:
        """After a look at the values outside of a block: they are released."""
        if self.stage == 3 and not self.users:
            self.sleep()

    def begin_gather(self):
        """After an update: the parts of the other processes, and what to wait for."""
        return communication.gather_parts(self.flat, self.weight._data, self.layout.gathers)

    def _show(self, flat) -> None:
        for row, view in zip(self.rows, self._views(flat)):
            row.array._data = storage.counted_alone(view)

    # ------------------------------------------------------------------ gradients

    def send(self) -> None:
        """Begins to sum the gradients; whole ones are released."""
        if self.stage == 1:
            self._pending = communication.reduce_scatter(self.gradient._data, self.flat_gradient, self.layout.sums)
            return
        flat = self._joined([row.leaf.grad._data for row in self.rows])
        for row in self.rows:
            self._release(row)
        part = storage.flat(self.size, flat)
        self.gradient, self.sent = self._wrap(part), True
        self.got.clear()
        self._pending = communication.reduce_scatter(part, flat, self.layout.sums)
        self.flat_gradient = flat  # which the operation reads

    def wait(self) -> None:
        """The part of the gradient is the sum over processes of this replica; begins that over replicas."""
        if self._pending is not None:
            self._pending.wait()
            self._pending = None
            if self.stage > 1:
                self.flat_gradient = None
            if self.layout.replicas > 1:
                self._total = communication.all_reduce(self.gradient._data, group=self.layout.totals)

    def wait_for_replicas(self) -> None:
        """The part of the gradient is the sum over all processes."""
        self.wait()
        if self._total is not None:
            self._total.wait()
            self._total = None

    def _release(self, row: Row) -> None:
        """The next backward pass gives the gradient new memory."""
        gradient = row.leaf.grad
        row.leaf.released = storage.like(gradient._data)
        gradient._data = storage.hollow(row.leaf.released)

    # ------------------------------------------------------------------ parts

    def pieces(self) -> Iterator[tuple[Row, int, int, int]]:
        """(row, its first element, begin, end) of what lies in this process's part."""
        first = self.layout.part * self.size
        for row in self.rows:
            begin, end = max(row.begin, first), min(row.begin + row.array.size, first + self.size)
            if begin < end:
                yield row, begin - row.begin, begin - first, end - first

    def arrays(self, optimizer: Optimizer) -> dict[str, NDArray]:
        """The flat arrays of the part that outlast a step, by name: the weight and the states."""
        self.prepare(optimizer)
        found, stack = {"weight": self.weight}, [("state", self.state)]
        while stack:
            name, state = stack.pop()
            if isinstance(state, (tuple, list)):
                stack += [(f"{name}.{k}", part) for k, part in enumerate(state)]
            elif state is not None:
                found[name] = state
        return found

    def prepare(self, optimizer: Optimizer) -> None:
        """Makes the states."""
        if self.state is None:
            self.state = optimizer.create_state_multi_precision(self.rows[0].index, self.weight)

    def update(self, optimizer: Optimizer, t: int) -> tuple | None:
        """One update of the part; the steps of it, with what they yield first, where it goes by norms (`_parts`)."""
        self.prepare(optimizer)
        state, where = self.state, {}
        if optimizer.multi_precision and dtype_name(self.weight.dtype) in HALF:
            state, master = self.state if optimizer.master_last else reversed(self.state)
            where["w32"] = master._data
        segments = self._segments(optimizer)
        arrays, rates = (self.weight, self.gradient, state), (optimizer.learning_rate, optimizer.wd, t)
        if optimizer.by_norms:
            steps = optimizer._parts([row.index for row, *_ in self.pieces()], *arrays, *rates, segments, **where)
            return (steps, next(steps)) if segments else None
        if any(rest != [1.0, 1.0] for _, _, *rest in segments):
            where["segments"] = segments
        optimizer._rule(*arrays, *rates, **where)
        return None

    def changed(self) -> None:
        """The part was updated."""
        if self.flat is not None:
            storage.count_change([row.array._data for row in self.rows])

    def _segments(self, optimizer: Optimizer) -> list[tuple]:
        factor = optimizer._multiplier
        return [
            (begin, end, factor(row.index, "lr_mult"), factor(row.index, "wd_mult"))
            for row, _, begin, end in self.pieces()
        ]

    def _joined(self, tensors: Sequence):
        flat = storage.flat(self.size * self.layout.shards, tensors[0])
        end = 0
        for tensor, view in zip(tensors, self._views(flat)):
            view.copy_(tensor)
            end += tensor.numel()
        flat[end:] = 0
        return flat

    def _views(self, flat) -> list:
        return [flat[row.begin : row.begin + row.array.size].view(row.array.shape) for row in self.rows]

    def _part(self, flat):
        return flat[self.layout.part * self.size : (self.layout.part + 1) * self.size]

    def _wrap(self, tensor) -> NDArray:
        return NDArray._wrap(tensor, self.context)


class Order:
    """What is used after what: a pass is taken to go as the one before it, as long as it does."""

    def __init__(self):
        self._before, self._now, self._same = [], [], True

    def begin(self) -> None:
        """A pass begins."""
        self._before, self._now, self._same = self._now or self._before, [], True

    def after(self, used: list[Unit]) -> list[Unit]:
        """What is used after this, [] where that is not known."""
        k = len(self._now)
        self._now.append(used)
        self._same = self._same and k < len(self._before) and self._before[k] == used
        return self._before[k + 1] if self._same and k + 1 < len(self._before) else []


class Shards:
    """All units of a trainer; the hook of their marked arrays in stages 2 and 3.

    groups: parameters that belong together: those of a layer, which stage 3 gathers at once. mesh: (replicas, processes
    that share one); None for one replica on all processes.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[Row]],
        stage: int,
        optimizer: Optimizer,
        mesh: tuple[int, int] | None = None,
    ):
        takes_parts = (optimizer.elementwise and optimizer.master_in_kernel) or optimizer.by_norms
        if not (takes_parts and type(optimizer)._updates_by_rule()):
            raise NotSupportedError(
                f"dist_sharded updates parts of parameters, and {type(optimizer).__name__} needs whole ones: use an "
                "optimizer that treats each element by itself, such as adam or sgd, or goes by norms as lamb and lars "
                "do, or kvstore dist_sync"
            )
        self.stage, self.optimizer, self._steps = stage, optimizer, 0
        self.layout = Layout(*(mesh or (1, communication.size())))
        self.layout.join("a sharded trainer")
        self.units = [Unit(rows, stage, self.layout) for group in groups for rows in _by_dtype(group)]
        self._unit_of: dict[int, Unit] = {}
        for unit in self.units:
            for row in unit.rows:
                self._unit_of[id(row.leaf)] = unit
                if stage > 1:
                    row.leaf.hook = self
                if stage == 3:
                    row.leaf.source = lambda unit=unit: self._wake_for_rule(unit)
        self._order = self.units[::-1]  # of sending; known after a step
        self._arrived: list[Unit] = []
        self._next, self._under_way = 0, []
        self._awake: Unit | None = None  # by a gradient rule
        self._calls = 0  # of watched blocks, one inside of another
        self._forward, self._backward = Order(), Order()

    # ------------------------------------------------------------------ the hook of marked arrays

    def begin(self) -> None:
        """A backward pass begins."""
        self._next, self._arrived = 0, []
        self._backward.begin()

    def ready(self, leaf: Leaf) -> None:
        """The gradient of an array is there."""
        unit = self._unit_of[id(leaf)]
        unit.got.add(id(leaf))
        if len(unit.got) == len(unit.rows):
            self._arrived.append(unit)
        while self._next < len(self._order) and self._is_whole(self._order[self._next]):
            self._send(self._order[self._next])
            self._next += 1

    def finish(self) -> None:
        """The pass is over."""
        self.sleep()

    def _is_whole(self, unit: Unit) -> bool:
        return len(unit.got) == len(unit.rows)

    def _send(self, unit: Unit) -> None:
        if len(self._under_way) == UNDER_WAY:
            self._under_way.pop(0).wait()
        unit.send()
        self._under_way.append(unit)

    # ------------------------------------------------------------------ weights of stage 3

    def use(self, units: Sequence[Unit]) -> None:
        """A block that reads these units is called; begins to gather those of the block that was next the last time."""
        if not self._calls:
            self._forward.begin()
        self._calls += 1
        for unit in units:
            unit.wake()
            unit.users += 1
        if units:
            for unit in self._forward.after(list(units)):
                unit.begin_wake()

    def leave(self, units: Sequence[Unit]) -> None:
        """The call is over, or has raised an error."""
        self._calls -= 1
        for unit in units:
            unit.users -= 1
            if not unit.users:
                unit.sleep()
        if not self._calls:
            for unit in self.units:
                unit.forget()

    def _wake_for_rule(self, unit: Unit) -> None:
        if unit.flat is None:
            unit.wake()
            for coming in self._backward.after([unit]):
                coming.begin_wake()
            before, self._awake = self._awake, unit
            if before is not None and not before.users:
                before.sleep()

    def sleep(self) -> None:
        """All weights of stage 3 that no block uses are released."""
        self._awake = None
        for unit in self.units:
            unit.forget()
            if self.stage == 3 and unit.flat is not None and not unit.users:
                unit.sleep()

    # ------------------------------------------------------------------ steps

    def complete(self, what: str, count: float, stale: Callable[[str], Exception]) -> None:
        """The gradients of all parts are sums over processes.

        MXNetError where processes divide by different counts; `stale(name)` where a parameter has no fresh gradient.
        """
        rows = [row for unit in self.units for row in unit.rows]
        old = [not row.leaf.fresh for row in rows]
        answer = communication.exchange(what, np.packbits(old).tobytes())
        anywhere = np.unpackbits(np.frombuffer(answer, np.uint8), count=len(rows))
        if anywhere.any():
            raise stale(rows[int(anywhere.argmax())].name)
        communication.same("what step() divides by", [f"{count:g}"], "Give the size of the batches of all processes")
        for unit in self._order:
            if unit.stage > 1 and unit.sent and unit.got:
                raise MXNetError(
                    f"a backward pass wrote some of the gradients of {', '.join(row.name for row in unit.rows)}, after "
                    "an earlier one had written all: with dist_sharded call step() between them, or use stage=1"
                )
            if unit.stage == 1 or not unit.sent:
                self._send(unit)
        for unit in self._order:
            unit.wait()
        for unit in self._order:
            unit.wait_for_replicas()
        self._under_way.clear()
        if not self._steps and self.stage > 1:
            self._learn_order()

    def _learn_order(self) -> None:
        """Units are sent as their gradients came at process 0."""
        number = {id(unit): k for k, unit in enumerate(self.units)}
        came = list(dict.fromkeys(number[id(unit)] for unit in self._arrived))
        came += [k for k in number.values() if k not in set(came)]
        order = communication.broadcast_integers(came, "the order of gradients")
        self._order = [self.units[k] for k in order]

    def squares(self) -> float:
        """The sum of the squares of all gradients."""
        own = [unit.gradient for unit in self.units]
        total = nd.multi_sum_sq(*own, num_arrays=len(own)).sum().reshape((1,))
        return float(all_sum(total.as_in_context(nd.cpu())).asnumpy()[0]) / self.layout.replicas

    @property
    def steps(self) -> int:
        """How many updates there were."""
        return self._steps

    def loaded(self, steps: int) -> None:
        """The parts got other values, those after `steps` updates."""
        self._steps = steps
        self.optimizer.num_update = self.optimizer.begin_num_update + steps
        self._gather()

    def update(self) -> None:
        """One update of all weights."""
        optimizer = self.optimizer
        self._steps += 1
        t = optimizer.begin_num_update + self._steps
        for unit in self.units:
            optimizer._set_current_context(unit.context.device_id)
            optimizer._index_update_count.update(dict.fromkeys([row.index for row in unit.rows], t))
        optimizer.num_update = max(optimizer.num_update, t)
        if optimizer.by_norms:
            self._update_by_norms(t)
        else:
            for unit in self.units:
                unit.update(optimizer, t)
        for unit in self.units:
            unit.changed()
        self._gather()
        for unit in self.units:
            unit.sent = False
            if self.stage > 1:
                unit.gradient = None
            for row in unit.rows:
                row.leaf.fresh = False

    def _update_by_norms(self, t: int) -> None:
        """One update by an optimizer that goes by norms of whole parameters: one sum over processes is of all of them."""
        optimizer = self.optimizer
        optimizer._begin_parts(self._groups())
        wide = "float64" if any(unit.weight.dtype == np.float64 for unit in self.units) else "float32"
        squares = nd.zeros((2, sum(len(unit.rows) for unit in self.units)), self.units[0].context, wide)
        running, column = [], 0
        for unit in self.units:
            numbers = {id(row): column + k for k, row in enumerate(unit.rows)}
            here = [numbers[id(row)] for row, *_ in unit.pieces()]
            column += len(unit.rows)
            if (begun := unit.update(optimizer, t)) is not None:
                steps, own = begun
                for k, values in enumerate(own):
                    squares[k, here[0] : here[-1] + 1] = unit._wrap(values).astype(wide, copy=False)
                running.append((steps, here))
        squares = all_sum(squares) / self.layout.replicas
        for steps, here in running:
            whole = [squares[k, here[0] : here[-1] + 1].copy()._data for k in range(2)]
            with contextlib.suppress(StopIteration):
                steps.send(whole)

    def _groups(self) -> list[list[int]]:
        """The indices of parameters in the groups in which `Updater` gives them to the optimizer."""
        by_dtype: dict = {}
        for row in sorted((row for unit in self.units for row in unit.rows), key=lambda row: row.index):
            by_dtype.setdefault(row.array.dtype, []).append(row.index)
        count = self.optimizer.aggregate_num or 1
        return [found[k : k + count] for found in by_dtype.values() for k in range(0, len(found), count)]

    def _gather(self) -> None:
        """After a change of the parts: the weights are those of all processes."""
        if self.stage < 3:
            for pending in [unit.begin_gather() for unit in self.units]:
                pending.wait()
        self.sleep()


def _by_dtype(rows: Sequence[Row]) -> list[list[Row]]:
    groups: dict = {}
    for row in rows:
        groups.setdefault((row.array.dtype, str(row.array.context)), []).append(row)
    return list(groups.values())
