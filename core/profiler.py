"""Where the time goes: a trace for Chrome's viewer (chrome://tracing, Perfetto) and a table by operator.

    profiler.set_config(profile_all=True, filename="profile.json")
    profiler.start()
    ...
    profiler.stop()
    print(profiler.dumps())
    profiler.dump()

Every operator of the table gets a stopwatch while the profiler runs, and costs nothing more when it does not. On a GPU
each operator is waited for, so that its time is its own. A hybridized block is one entry, `CachedOp`; the gradient rule
of an operator is one, too, `_backward_` before its name, besides the operators that it is made of. The domain
`MXNET_C_API` has what a program asked for, as MXNet's bindings name it: operators, and passes backwards.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import threading
import time
import warnings
from collections.abc import Iterator

from core import storage
from core.base import nearest
from core.files.atomic import write_bytes
from core.ops.registry import TABLE, Operator
from core.tape import state
from core.util import require

_SETTINGS = {
    "filename": "profile.json", "profile_all": False, "profile_symbolic": False, "profile_imperative": False,
    "profile_memory": False, "profile_api": False, "continuous_dump": False, "dump_period": 1.0,
    "aggregate_stats": False, "profile_process": "worker",
}  # fmt: skip
_config = dict(_SETTINGS)
_SORTS = {"total": "Total", "avg": "Avg", "min": "Min", "max": "Max", "count": "Count"}


class _State(threading.local):
    custom: str | None = None  # the user's operator that is at work
    scope = ""  # names of the `scope`s that are open, each with a colon behind it
    nested = False  # whether something that the program asked for is at work


_local = _State()
_lock = threading.Lock()
_running = _paused = False
_events: list[dict] = []
_times: dict[str, dict[str, list[float]]] = {}  # by domain and name: count, total, min, max in ms
_memory: dict[str, dict[str, list[float]]] = {}  # the same in kB


def set_config(**kwargs) -> None:
    """Sets `filename` of the trace and what to watch: profile_all, or profile_symbolic, profile_imperative (operators),
    profile_memory, profile_api. The others (continuous_dump, dump_period, aggregate_stats, profile_process) are kept
    for programs written for MXNet. TypeError for other names.
    """
    for name in kwargs:
        if name not in _SETTINGS:
            raise TypeError(f"the profiler has no setting {name!r}.{nearest(name, _SETTINGS)}")
    _config.update(kwargs)


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """`run` or `stop`."""
    _check_process("set_state", profile_process)
    global _running, _paused
    if state not in ("run", "stop"):
        raise ValueError(f"the profiler is set to 'run' or 'stop', got {state!r}")
    if (state == "run") == _running:
        return
    _running, _paused = state == "run", False
    (_watch if _running else _unwatch)()


def start(profile_process: str = "worker") -> None:
    """Begins to watch."""
    set_state("run", profile_process)


def stop(profile_process: str = "worker") -> None:
    """Ends watching; what was seen is kept."""
    set_state("stop", profile_process)


def pause(profile_process: str = "worker") -> None:
    """Looks away until `resume`."""
    _check_process("pause", profile_process)
    global _paused
    _paused = True


def resume(profile_process: str = "worker") -> None:
    """Looks again after `pause`."""
    _check_process("resume", profile_process)
    global _paused
    _paused = False


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Writes the trace to the configured file, atomically; with `finished` the profiler stops and forgets it."""
    _check_process("dump", profile_process)
    heads = [{"ph": "M", "args": {"name": "operators"}, "pid": os.getpid(), "name": "process_name"}]
    with _lock:
        trace = {"traceEvents": heads + _events, "displayTimeUnit": "ms"}
        write_bytes(_config["filename"], json.dumps(trace).encode())
        if finished:
            _events.clear()
    if finished:
        set_state("stop")


def _check_process(function: str, process: str) -> None:
    """NotSupportedError for the servers of a KVStore: stores here are collectives, which have none."""
    require(f"profiler.{function}", "profile_process", process, "worker")


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """Counts and times by operator as text.

    format: table or json. sort_by: total, avg, min, max or count. reset: forgets them afterwards.
    """
    if format not in ("table", "json"):
        raise ValueError(f"the format is 'table' or 'json', got {format!r}")
    if sort_by not in _SORTS:
        raise ValueError(f"figures are sorted by {', '.join(_SORTS)}, got {sort_by!r}")
    with _lock:
        found = {
            kind: {domain: _sorted(rows, kind, sort_by, ascending) for domain, rows in sorted(domains.items())}
            for kind, domains in (("Memory", _memory), ("Time", _times))
        }
        if reset:
            _memory.clear()
            _times.clear()
    if format == "json":
        return json.dumps({**found, "Unit": {"Time": "ms", "Memory": "kB"}}, indent=4)
    lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
    # By domain, as there: tools read what stands between two of them.
    for domain, kind in sorted((domain, kind) for kind, domains in found.items() for domain in domains):
        columns, unit = (["Min", "Max", "Avg"], "kB") if kind == "Memory" else (["Total", "Min", "Max", "Avg"], "ms")
        titles = ["Total Count", *(f"{'Time' if c == 'Total' else c} ({unit})" for c in columns)]
        lines += [domain, "=" * 17, "".join([f"{'Name':<40}", *(f"{t:>17}" for t in titles)])]
        lines.append("".join([f"{'----':<40}", *(f"{'-' * len(t):>17}" for t in titles)]))
        for name, row in found[kind][domain].items():
            lines.append("".join([f"{name:<40}{row['Count']:>17}", *(f"{row[c]:>17.4f}" for c in columns)]))
        lines.append("")
    return "\n".join(lines) + "\n"


# ----------------------------------------------------------------------------------------------
# What programs mark themselves


@contextlib.contextmanager
def scope(name: str = "<unk>:", append_mode: bool = True) -> Iterator[str]:
    """A part of the program under a name, which stands in the trace.

    `append_mode` puts the names of outer ones before it.
    """
    before = _local.scope
    name = (before if append_mode else "") + name.removesuffix(":") + ":"
    _local.scope = name
    try:
        with _Duration("scope", name.removesuffix(":")):
            yield name
    finally:
        _local.scope = before


class Domain:
    """A group of marks under one name."""

    def __init__(self, name: str):
        self.name = name

    def __str__(self):
        return self.name

    def new_task(self, name: str) -> Task:
        """A `Task` of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A `Frame` of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value=None) -> Counter:
        """A `Counter` of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A `Marker` of this domain."""
        return Marker(self, name)


class _Duration:
    """Time between `start` and `stop`; also a context manager."""

    def __init__(self, domain: Domain | str, name: str):
        self.domain, self.name, self._began = domain, name, None

    def __str__(self):
        return self.name

    def start(self) -> None:
        """The time begins."""
        self._began = time.time_ns()

    def stop(self) -> None:
        """The time ends."""
        if self._began is not None and _looks():
            _span(str(self.domain), self.name, self._began, time.time_ns())
        self._began = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


class Task(_Duration):
    """A piece of work, which may overlap with others."""


class Frame(_Duration):
    """A piece of work that is repeated, such as a step of training."""


class Event(_Duration):
    """A piece of work of one thread."""

    def __init__(self, name: str):
        super().__init__("event", name)


class Counter:
    """A number over time."""

    def __init__(self, domain: Domain, name: str, value=None):
        self.domain, self.name, self._value = domain, name, 0
        if value is not None:
            self.set_value(value)

    def __str__(self):
        return self.name

    def set_value(self, value) -> None:
        """Sets the number."""
        self._value = value
        if _looks():
            _emit(name=self.name, cat=str(self.domain), ph="C", args={self.name: value})

    def increment(self, delta=1) -> None:
        """Adds to the number."""
        self.set_value(self._value + delta)

    def decrement(self, delta=1) -> None:
        """Takes from the number."""
        self.set_value(self._value - delta)

    def __iadd__(self, delta):
        self.increment(delta)
        return self

    def __isub__(self, delta):
        self.decrement(delta)
        return self


class Marker:
    """A moment."""

    def __init__(self, domain: Domain, name: str):
        self.domain, self.name = domain, name

    def mark(self, scope: str = "process") -> None:
        """Marks this moment for the thread, task, marker or process, or globally."""
        if _looks():
            _emit(name=self.name, cat=str(self.domain), ph="i", s={"global": "g", "process": "p"}.get(scope, "t"))


# ----------------------------------------------------------------------------------------------
# Names of older programs


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Was replaced by `set_config`."""
    warnings.warn("profiler_set_config was replaced by set_config", DeprecationWarning, stacklevel=2)
    set_config(profile_symbolic=True, profile_imperative=mode == "all", filename=filename)


def profiler_set_state(state: str = "stop") -> None:
    """Was replaced by `set_state`."""
    warnings.warn("profiler_set_state was replaced by set_state", DeprecationWarning, stacklevel=2)
    set_state(state)


def dump_profile() -> None:
    """Was replaced by `dump`."""
    warnings.warn("dump_profile was replaced by dump", DeprecationWarning, stacklevel=2)
    dump(True)


def set_kvstore_handle(handle) -> None:
    """There are no server processes to profile; does nothing."""


# ----------------------------------------------------------------------------------------------
# Stopwatches

_replaced: list[tuple] = []  # (object, name of its attribute, what was there)


def _watch() -> None:
    from core import autograd
    from core.graph.compiled import Plan
    from core.operator import _Application

    operators = {id(op): op for op in TABLE.values()}
    for op in operators.values():
        _replace(op, "forward", functools.partial(_timed, op.name))
        op.go_direct(False)  # around the stopwatch
        if op.composite:
            _replace(op, "function", functools.partial(_timed, op.name))
        if op.rule is not None:
            _replace(op, "rule", functools.partial(_timed, f"_backward_{op.name}"))
    _replace(Plan, "__call__", functools.partial(_timed, "CachedOp"))
    _replace(autograd, "run", functools.partial(_timed, None, call="MXAutogradBackwardEx"))
    _replace(_Application, "forward", functools.partial(_timed_custom, ""))
    _replace(_Application, "backward", functools.partial(_timed_custom, "_backward_"))


def _unwatch() -> None:
    while _replaced:
        owner, name, before = _replaced.pop()
        setattr(owner, name, before)
        if isinstance(owner, Operator):
            owner.go_direct(True)


def _replace(owner, name: str, stopwatch) -> None:
    before = getattr(owner, name)
    _replaced.append((owner, name, before))
    setattr(owner, name, stopwatch(before))


def _timed(name: str | None, function, call: str = "MXImperativeInvokeEx"):
    """`function` with a stopwatch: an entry `name` of the operators, and one `call` where the program itself called it."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        if not _looks() or state.tracer is not None:  # what is traced does not run
            return function(*args, **kwargs)
        nested, _local.nested = _local.nested, True
        begin = time.time_ns()
        try:
            result = function(*args, **kwargs)
        finally:
            _local.nested = nested
        storage.synchronize()
        end = time.time_ns()
        if name is not None:
            custom = _local.custom
            _span(*(("operator", name) if custom is None else ("Custom Operator", f"{custom}::{name}")), begin, end)
        if not nested and _watches("profile_api"):
            _span("MXNET_C_API", call, begin, end)
        if _watches("profile_memory"):
            _sample_memory()
        return result

    return run


def _watches(what: str) -> bool:
    return _config["profile_all"] or _config[what]


def _timed_custom(prefix: str, function):
    """A user's operator: what it calls is filed under its name."""

    @functools.wraps(function)
    def run(self, *args):
        if not _looks():
            return function(self, *args)
        before, _local.custom = _local.custom, self._type
        begin = time.time_ns()
        try:
            return function(self, *args)
        finally:
            _local.custom = before
            _span("Custom Operator", f"{prefix}{self._type}::pure_python", begin, time.time_ns())

    return run


def _looks() -> bool:
    return _running and not _paused


def _span(domain: str, name: str, begin: int, end: int) -> None:
    _emit(name=name, cat=domain, ph="B", ts=begin // 1000)
    _emit(name=name, cat=domain, ph="E", ts=end // 1000)
    with _lock:
        _count(_times, domain, name, (end - begin) / 1e6)


def _sample_memory() -> None:
    with _lock:
        for place, size in storage.memory_in_use().items():
            _count(_memory, "Device Storage", f"Memory: {place}", size / 1024)


def _count(table: dict, domain: str, name: str, value: float) -> None:
    row = table.setdefault(domain, {}).setdefault(name, [0, 0.0, value, value])
    row[:] = row[0] + 1, row[1] + value, min(row[2], value), max(row[3], value)


def _emit(**event) -> None:
    event.setdefault("ts", time.time_ns() // 1000)
    with _lock:
        _events.append({**event, "pid": os.getpid(), "tid": threading.get_ident()})


def _sorted(rows: dict[str, list[float]], kind: str, sort_by: str, ascending: bool) -> dict:
    figures = {
        name: {"Count": n, **({"Total": total} if kind == "Time" else {}), "Min": low, "Max": high, "Avg": total / n}
        for name, (n, total, low, high) in rows.items()
    }
    key = _SORTS[sort_by]
    return dict(sorted(figures.items(), key=lambda item: item[1].get(key, item[1]["Max"]), reverse=not ascending))
