"""What a `Trainer` with kvstore dist_sharded does with a network: units of parameters, gathers around calls, checkpoints."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from core import storage
from core.base import MXNetError, NotSupportedError
from core.kernels import communication
from core.kvstore import slices
from core.kvstore.sharded import Row, Shards, Unit
from core.optimizer.optimizer import Optimizer
from core.symbol import Symbol
from gluon.block import Block
from gluon.block.operators import leaves
from gluon.parameter import Parameter

# Bytes of a unit in stages 1 and 2, in which it need not be a layer.
UNIT_BYTES = 4 << 20
STEPS = "steps"  # the entry of a checkpoint that counts updates


def shard(
    params: Sequence[Parameter], net: Block | None, stage: int, optimizer: Optimizer, mesh: tuple[int, int] | None
) -> Shards:
    """Cuts trained parameters, which have values, into parts of the processes of a mesh (replicas, parts).

    net: the block whose parameters they are, which stage 3 watches the calls of.
    """
    trained = {id(param): (i, param) for i, param in enumerate(params) if param.grad_req != "null"}
    for _, param in trained.values():
        if param._stype != "default" or param._grad_stype != "default":
            raise NotSupportedError(f"dist_sharded: parameter {param.name!r} is sparse, or its gradient is")
        if param.grad_req == "add" and stage > 1:
            raise NotSupportedError(f"dist_sharded, stage {stage}: grad_req 'add' of {param.name!r} needs stage 1")
        if param._data is None:
            raise MXNetError(f"dist_sharded: parameter {param.name!r} has no values yet; initialize the network first")
    if stage == 3:
        if net is None:
            raise ValueError("stage 3 watches the calls of a network: give the Trainer net.collect_params() as it is")
        owned = [[id(param) for param in _own(block)] for block in _walk(net)]
        owned.append(list(trained))
    else:
        owned = [[key] for key in trained]
    groups, taken = [], set()
    for keys in owned:
        keys = [key for key in dict.fromkeys(keys) if key in trained and key not in taken]
        taken.update(keys)
        if keys:
            groups.append([_row(*trained[key]) for key in keys])
    shards = Shards(groups if stage == 3 else _filled(groups), stage, optimizer, mesh)
    unit_of = {row.index: unit for unit in shards.units for row in unit.rows}
    for i, param in trained.values():
        param._unit = unit_of[i] if stage == 3 else None
    if stage == 3:
        for block in _walk(net):
            _watch(block, shards, {id(param): param._unit for _, param in trained.values()})
    return shards


def save_shards(folder: str | os.PathLike, shards: Shards) -> None:
    """Writes the parts of this process; every process calls it, and the first replica has something to write."""
    parts = {}
    for unit in shards.units if shards.layout.replica == 0 else ():
        arrays = unit.arrays(shards.optimizer)
        here = {row.name: (first, begin, end) for row, first, begin, end in unit.pieces()}
        for row in unit.rows:
            first, begin, end = here.get(
                row.name, (row.array.size if row.begin < unit.layout.part * unit.size else 0, 0, 0)
            )
            for kind, array in arrays.items():
                parts[f"{kind}/{row.name}"] = slices.Slice(row.array.shape, first, storage.bits(array._data[begin:end]))
    here = 0 if communication.rank() else 1
    parts[STEPS] = slices.Slice((1,), 1 - here, np.full(here, shards.steps, np.int64))
    slices.save(folder, parts)


def load_shards(folder: str | os.PathLike, shards: Shards) -> None:
    """Reads this process's parts of a checkpoint of any number of processes."""
    wanted, targets = {STEPS: (0, 1)}, {}
    for unit in shards.units:
        for kind, array in unit.arrays(shards.optimizer).items():
            for row, first, begin, end in unit.pieces():
                name = f"{kind}/{row.name}"
                wanted[name], targets[name] = (first, first + end - begin), array._data[begin:end]
    for name, values in (found := slices.load(folder, wanted)).items():
        if name != STEPS:
            storage.set_bits(targets[name], values)
    shards.loaded(int(found[STEPS][0]))


def _row(index: int, param: Parameter) -> Row:
    return Row(index, param.name, param._data[0])


def _filled(groups: list[list[Row]]) -> list[list[Row]]:
    """Groups joined until they hold `UNIT_BYTES`."""
    found: list[list[Row]] = [[]]
    for group in groups:
        if sum(row.array._data.nbytes for row in found[-1]) >= UNIT_BYTES:
            found.append([])
        found[-1] += group
    return found if found[0] else []


def _walk(block: Block) -> Iterator[Block]:
    yield block
    for child in block._children.values():
        yield from _walk(child)


def _own(block: Block) -> list[Parameter]:
    return [*block._reg_params.values(), *block._params.values()]


def _watch(block: Block, shards: Shards, unit_of: dict[int, Unit]) -> None:
    """Gathers what a block reads before each call, and releases it afterwards, also where the call raises an error.

    Of a hybridized block that is all below it, for a plan reads weights where it wants: hybridize the layers of a deep
    network one by one, and each is gathered while the one before it computes, as without plans.
    """

    def units(blocks) -> list[Unit]:
        found = [unit_of.get(id(param)) for one in blocks for param in _own(one)]
        return list({id(unit): unit for unit in found if unit is not None}.values())

    own, below, using = units([block]), units(_walk(block)), []

    def before(called, inputs):
        composed = any(isinstance(value, Symbol) for value in leaves(inputs))  # which reads no weights
        found = [] if composed else below if getattr(called, "_active", False) else own
        using.append((inputs, found))
        shards.use(found)

    def after(called, inputs, *_):
        if using and using[-1][0] is inputs:  # a call that failed before it came here has used nothing
            shards.leave(using.pop()[1])

    if below:
        block.register_forward_pre_hook(before)
        block.register_forward_hook(after)
        block._failure_hook = after
