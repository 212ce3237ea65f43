"""Optimizer states as plain data, and back: what `Trainer.save_states` and `Updater.get_states` keep in files."""

from __future__ import annotations

from core import lr_scheduler
from core import ndarray as nd
from core.base import MXNetError
from core.files import Instance, Record
from core.optimizer.optimizer import Optimizer
from core.serialization import from_record, to_record

# What belongs to the running program and not to the file.
LIVE = ("param_dict", "sym_info", "_index_update_count", "aggregate_num", "allow_np_array")


def to_plain(states, optimizer=None):
    """(states with records in place of arrays, the optimizer as an `Instance`) for `core.files.write_states`."""
    return {i: _record(state) for i, state in states.items()}, None if optimizer is None else _instance(optimizer)


def from_plain(states, instance, like):
    """(states with arrays, optimizer) from what `core.files.read_states` gives.

    like: the optimizer in use; one of its class in the file takes over its settings that files do not keep. Without an
    optimizer in the file it stays as it is.
    """
    arrays = {i: _array(state) for i, state in states.items()}
    try:
        return arrays, like if instance is None else _optimizer(instance, like)
    except (AttributeError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise MXNetError(
            f"the {instance.name!r} among the states is damaged ({type(error).__name__}: {error})"
        ) from error


def _record(state):
    if isinstance(state, (tuple, list)):
        return type(state)(_record(part) for part in state)
    return to_record(state) if isinstance(state, nd.NDArray) else state


def _array(state):
    if isinstance(state, (tuple, list)):
        return type(state)(_array(part) for part in state)
    return from_record(state) if isinstance(state, Record) else state


def _instance(thing):
    """An optimizer or a schedule as its class name and its plain attributes."""
    attributes = {}
    for name, value in vars(thing).items():
        if name in LIVE:
            continue
        if isinstance(value, lr_scheduler.LRScheduler):
            value = _instance(value)
        if _plain(value):
            attributes[name] = value
    return Instance(type(thing).__name__, (), attributes)


def _plain(value):
    if isinstance(value, dict):
        return all(_plain(key) and _plain(part) for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_plain, value))
    return value is None or isinstance(value, (bool, int, float, str, Instance))


def _optimizer(instance, like):
    name = instance.name.rpartition(".")[2]
    klass = type(like) if type(like).__name__ == name else Optimizer.opt_registry.get(name.lower())
    if klass is None:
        raise MXNetError(f"the states were written by an optimizer {name!r}, which is not registered")
    made = klass.__new__(klass)
    made.__dict__.update(like.__dict__)
    for key, value in instance.attributes.items():
        if key in LIVE:
            continue
        made.__dict__[key] = _schedule(value, like.lr_scheduler) if isinstance(value, Instance) else value
    counts = made._all_index_update_counts = {int(d): dict(c) for d, c in made._all_index_update_counts.items()}
    made._index_update_count = counts.setdefault(0, {})
    return made


def _schedule(instance, like):
    name = instance.name.rpartition(".")[2]
    klass = type(like) if type(like).__name__ == name else getattr(lr_scheduler, name, None)
    if not (isinstance(klass, type) and issubclass(klass, lr_scheduler.LRScheduler)):
        raise MXNetError(f"the states hold a learning rate schedule {name!r}, which is not known")
    made = klass.__new__(klass)
    if type(like) is klass:  # what files do not keep, such as the parts of a sequence of schedules
        made.__dict__.update(like.__dict__)
    made.__dict__.update(instance.attributes)
    return made
