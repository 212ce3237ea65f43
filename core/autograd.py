"""Automatic differentiation: a tape of operator applications.

Inside `record()` every operator that reads a tracked array puts a `Node` on the tape; nodes hold their
parents, so the tape lives exactly as long as the arrays that need it. `backward` walks the nodes from the
heads, calls the gradient rules of the operator table and lets go of what a node kept as soon as it is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence

from core import storage
from core.base import MXNetError
from core.kernels.formula import OUT
from core.ops.registry import F, Operator, namespace

GRAD_REQS = ("write", "add", "null")
ZERO = object()  # the gradient of an output of a compiled block that was read where nothing comes back


class _State(threading.local):
    recording = False
    training = False
    pausing = False  # whether this is a pause() inside of a record()
    tracer = None


class _Watch:
    """How many threads record or trace: while none does, none has to look at its own state, which takes longer."""

    __slots__ = ("busy", "lock")

    def __init__(self):
        self.busy, self.lock = 0, threading.Lock()


state, watch = _State(), _Watch()


def engage(recording: bool, tracer) -> None:
    """Sets whether this thread records, and what it traces for (None: nothing)."""
    before = state.recording or state.tracer is not None
    state.recording, state.tracer = recording, tracer
    now = recording or tracer is not None
    if now is not before:
        with watch.lock:
            watch.busy += 1 if now else -1


class Leaf:
    """Marks an array that gradients are wanted for."""

    __slots__ = ("fresh", "grad", "hook", "req", "vacant")

    def __init__(self, grad, req: str):
        self.grad, self.req = grad, req
        self.vacant: tuple | None = None  # what the gradient is to be, while a backward pass has its memory
        self.hook = None  # told of each finished gradient while backward goes on: begin(), ready(leaf), finish()
        self.fresh = False  # whether a backward pass has written the gradient since the last update


class Node:
    """One application of an operator: what its gradient rule will read, and where its inputs came from."""

    __slots__ = (
        "attrs",
        "kind",
        "kinds",
        "op",
        "outputs",
        "parents",
        "reserve",
        "saved_inputs",
        "saved_outputs",
        "shapes",
    )

    @property
    def starts(self) -> bool:
        """Whether there may be gradients although none comes in."""
        return self.op.starts


def is_recording() -> bool:
    """Whether operators are put on the tape."""
    return state.recording


def is_training() -> bool:
    """Whether layers such as Dropout and BatchNorm act as in training."""
    return state.training


def set_recording(is_recording: bool) -> bool:
    """Switches recording; returns what it was before."""
    before = state.recording
    engage(bool(is_recording), state.tracer)
    return before


def set_training(train_mode: bool) -> bool:
    """Switches the training mode; returns what it was before."""
    before, state.training = state.training, bool(train_mode)
    return before


class _Scope:
    """Context manager (and decorator-free) that sets recording and training for a block; None leaves one alone."""

    __slots__ = ("_before", "_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None):
        self._recording, self._training = recording, training

    def __enter__(self):
        recording, wanted = state.recording, self._recording
        self._before = recording, state.training, state.pausing
        if wanted is not None:
            state.pausing = not wanted and (recording or state.pausing)
            if wanted is not recording:
                engage(wanted, state.tracer)
        if self._training is not None:
            state.training = self._training
        return self

    def __exit__(self, *_):
        recording, state.training, state.pausing = self._before
        if self._recording is not None and recording is not state.recording:
            engage(recording, state.tracer)


def record(train_mode: bool = True) -> _Scope:
    """Scope in which operators are recorded, in training mode unless `train_mode` is False."""
    return _Scope(True, train_mode)


def pause(train_mode: bool = False) -> _Scope:
    """Scope in which nothing is recorded."""
    return _Scope(False, train_mode)


def train_mode() -> _Scope:
    """Scope of training behaviour; recording is left as it is."""
    return _Scope(None, True)


def predict_mode() -> _Scope:
    """Scope of inference behaviour; recording is left as it is."""
    return _Scope(None, False)


class untraced:
    """Scope in which operators act on arrays at once, also while a block is traced: parameters are initialised so."""

    def __enter__(self):
        self._before = state.tracer
        engage(state.recording, None)

    def __exit__(self, *_):
        engage(state.recording, self._before)


def mark_variables(variables, gradients, grad_reqs="write") -> None:
    """Attaches gradient buffers to arrays; `grad_reqs` is one of write, add, null, for all or one each."""
    if not isinstance(variables, (list, tuple)):
        variables, gradients = [variables], [gradients]
    reqs = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(variables) == len(gradients) == len(reqs):
        raise ValueError(
            f"{len(variables)} variables, {len(gradients)} gradients and {len(reqs)} requests differ in number"
        )
    for variable, grad, req in zip(variables, gradients, reqs, strict=True):
        if req not in GRAD_REQS:
            raise ValueError(f"grad_req {req!r} is not one of {', '.join(GRAD_REQS)}")
        variable._entry = None if req == "null" else Leaf(grad, req)


def backward(heads, head_grads=None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Computes the gradients of `heads` with respect to every marked array and stores them there.

    head_grads: gradients with respect to the heads, None for ones. Without `retain_graph` the tape is freed.
    """
    heads = _as_list(heads)
    vacated: list[Leaf] = []
    try:
        sums = _run(
            heads, _head_gradients(heads, head_grads), retain_graph, train_mode, create_graph=False, store=vacated
        )
        for leaf in list(sums.reached.values()):
            _finish(sums, leaf)
    except BaseException:
        for leaf in vacated:
            if leaf.vacant is not None:
                _refill(leaf, None)
        raise
    for hook in sums.hooks:
        hook.finish()


def grad(heads, variables, head_grads=None, retain_graph=None, create_graph: bool = False, train_mode: bool = True):
    """The gradients of `heads` with respect to `variables`, as new arrays; nothing is stored.

    With `create_graph` the result can be differentiated again. `retain_graph` defaults to `create_graph`.
    The result is a list, also for a single variable.
    """
    heads, variables = _as_list(heads), _as_list(variables)
    if not variables:
        raise ValueError("at least one variable is needed")
    entries = []
    for v in variables:
        if v._entry is None:
            raise MXNetError(
                "a variable is not part of the recorded computation: call attach_grad() on it before record()"
            )
        entries.append(v._entry)
    retain = create_graph if retain_graph is None else retain_graph
    sums = _run(heads, _head_gradients(heads, head_grads), retain, train_mode, create_graph, entries)
    found = [sums.wanted.get(_place(entry)) for entry in entries]
    if create_graph:
        found = [_hung(value, v) for v, value in zip(variables, found, strict=True)]
    return [v.zeros_like() if value is None else value for v, value in zip(variables, found, strict=True)]


def _hung(gradient, variable):
    """A gradient that does not depend on the variable, put on the tape all the same: its own gradient is zero, as in MXNet."""
    if gradient is None or gradient._entry is not None or gradient.stype != "default":
        return gradient
    with _Scope(True, None):
        return gradient + variable.zeros_like()


def get_symbol(x):
    """The recorded computation of `x` as a Symbol."""
    from core.graph.trace import symbol_of_tape

    return symbol_of_tape(x)


class Function:
    """A differentiable function of the user: override `forward` and `backward` on arrays.

    `save_for_backward(*arrays)` in forward; `self.saved_tensors` in backward, which gets one gradient an output
    and returns one an input.
    """

    def __init__(self):
        self.saved_tensors: tuple = ()

    def save_for_backward(self, *arrays) -> None:
        self.saved_tensors = arrays

    def forward(self, *inputs):
        raise NotImplementedError(f"{type(self).__name__} must define forward")

    def backward(self, *output_grads):
        raise NotImplementedError(f"{type(self).__name__} must define backward")

    def __call__(self, *inputs):
        with pause(train_mode=state.training):
            outputs = self.forward(*inputs)
        single = not isinstance(outputs, (list, tuple))
        results = [outputs] if single else list(outputs)
        if state.recording and any(x._entry is not None for x in inputs if hasattr(x, "_entry")):
            results = [r.detach() for r in results]
            attach_function(self, list(inputs), results)
        return results[0] if single else type(outputs)(results)


# ----------------------------------------------------------------------------------------------
# Recording


def written(tensor) -> None:
    """Called after a write. Inside of a pause() of the recording it is meant: gradients are those at the new values, as in MXNet."""
    if state.pausing:
        tensor.meant = tensor._version


def is_tracked(array) -> bool:
    """Whether an array hangs on the tape: no longer, where its computation was differentiated, which frees it."""
    entry = array._entry
    if type(entry) is tuple and entry[0].saved_inputs is None:
        array._entry = entry = None
    return entry is not None


def attach(op: Operator, attrs: dict, inputs: Sequence, outputs: Sequence, reserve=None) -> None:
    """Puts one application of `op` on the tape where some input is on it; called when recording."""
    tracked, parents = False, []
    for x in inputs:
        entry = None
        if x is not None:
            entry = x._entry
            if type(entry) is tuple and entry[0].saved_inputs is None:
                x._entry = entry = None  # see is_tracked
            if entry is not None:
                tracked = True
        parents.append(entry)
    if not tracked:
        return
    node = Node()
    node.op, node.attrs, node.kind, node.reserve, node.parents = op, attrs, type(outputs[0]), reserve, parents
    kept_inputs, kept_outputs, wants_kinds = op.kept(len(inputs))
    node.shapes = [None if x is None else x._data.shape for x in inputs]
    node.kinds = [None if x is None else x.dtype for x in inputs] if wants_kinds else None
    node.outputs = [storage.like(o._data) for o in outputs] if op.count_heads else [None] * len(outputs)
    node.saved_inputs, node.saved_outputs = {}, {}
    for i in kept_inputs:
        x = inputs[i]
        if x is not None:
            tensor = x._data
            node.saved_inputs[i] = (tensor, tensor._version, x._entry, type(x), x._ctx, x)
    for k in kept_outputs:
        tensor = outputs[k]._data
        node.saved_outputs[k] = (tensor, tensor._version, outputs[k]._ctx)
    for k, o in enumerate(outputs):
        o._entry = (node, k)


def attach_function(function: Function, inputs: Sequence, outputs: Sequence) -> None:
    """Puts one application of a user's `Function` on the tape."""
    op = Operator("_Function", lambda *data: None)
    op.count_heads = True

    def rule(heads):
        with pause(train_mode=state.training):
            grads = function.backward(*heads)
        return list(grads) if isinstance(grads, (list, tuple)) else [grads]

    op.user_rule = rule
    attach(op, {}, inputs, outputs)


# ----------------------------------------------------------------------------------------------
# The backward pass


class _Sums:
    """Adjoints met so far: of nodes' outputs, of leaves, and of the entries that the caller asked for."""

    def __init__(self):
        self.nodes: dict[int, list] = {}
        self.leaves: dict[int, tuple] = {}
        self.reached: dict[int, Leaf] = {}  # every marked array that the heads depend on
        self.wanted: dict[tuple, object] = {}
        self.hooks: dict = {}  # of marked arrays, in the order in which they are met


def gradients_through(expression, inputs, heads, needs) -> list:
    """Gradients of `expression(*inputs)` with respect to those inputs that `needs` marks.

    Inputs enter through an identity on the tape, at which the walk stops, so that with create_graph the result
    still hangs together with what the inputs were computed from.
    """
    recording = state.recording
    with _Scope(True, None):
        bridged = [x if x is None else F._bridge(_tracked(x)) for x in inputs]
        outputs = expression(*bridged)
    outputs = _as_list(outputs)
    wanted = [x._entry for x, need in zip(bridged, needs, strict=True) if need]
    sums = _run(outputs, heads[: len(outputs)], True, state.training, recording, wanted, stop=True)
    return [sums.wanted.get(_place(x._entry)) if need else None for x, need in zip(bridged, needs, strict=True)]


def _tracked(x):
    """The array itself where it is on the tape, else a stand-in that is."""
    if x._entry is not None:
        return x
    x = x.detach()
    x._entry = Leaf(None, "write")
    return x


def _run(
    heads, head_grads, retain_graph, train_mode, create_graph, wanted=(), stop=False, store: list[Leaf] | None = None
) -> _Sums:
    """store: gradients go where users read them; takes the marked arrays whose gradients have no memory until then."""
    sums = _Sums()
    targets = {_place(e) for e in wanted} if wanted else ()
    roots, given = [], {}  # of an array that is a head twice, the last gradient counts, as in MXNet
    for head, g in zip(heads, head_grads, strict=True):
        entry = head._entry
        if entry is None:
            raise MXNetError(
                "cannot differentiate: a head is not in a recorded computation. Compute it inside autograd.record() "
                "from arrays with attach_grad()"
            )
        if type(entry) is tuple:
            roots.append(entry[0])
        else:
            sums.reached[id(entry)] = entry
        given[_place(entry)] = entry, g
    for entry, g in given.values():
        _add(sums, entry, g, targets)
    with _Scope(create_graph, train_mode):
        nodes = _order(roots, sums.reached)
        compiled = [node for node in nodes if type(node) is not Node]
        read = _outputs_read(nodes, compiled, given)
        waiting, alone = None, ()
        if store is not None:
            waiting, alone = _uses(nodes, sums), _read_once(nodes, sums) if compiled else ()
            if not any([type(node) is Node and node.op.user_rule is not None for node in nodes]):
                store += _make_room(sums.reached.values(), {id(g._data) for _, g in given.values()})
        for node in nodes:
            heads_of = sums.nodes.pop(id(node), None)
            if heads_of is None and node.starts:  # behind a piecewise constant operator a gradient is zero, not absent
                heads_of = [None] * len(node.outputs)
            if heads_of is not None and not (targets and _note(sums, node, heads_of, targets) and stop):
                if type(node) is Node:
                    grads = _apply_rule(node, heads_of)
                else:
                    heads_of = [ZERO if h is None and (id(node), k) in read else h for k, h in enumerate(heads_of)]
                    grads = node.apply_rule(heads_of, retain_graph, _early(node, sums, alone))
                if not retain_graph:
                    node.saved_inputs = node.saved_outputs = node.reserve = None
                for parent, g in zip(node.parents, grads):
                    if parent is not None and g is not None:
                        _add(sums, parent, g, targets)
            if waiting:
                _done(node, waiting, sums)
    return sums


def _note(sums: _Sums, node: Node, heads: list, targets: set) -> bool:
    """Keeps the gradients of a node's outputs that the caller asked for; whether it asked for any."""
    asked = [k for k in range(len(heads)) if (id(node), k) in targets]
    for k in asked:
        if heads[k] is not None:
            sums.wanted[id(node), k] = heads[k]
    return bool(asked)


def _outputs_read(nodes: Sequence[Node], compiled: Sequence[Node], heads) -> set[tuple]:
    """Outputs, by their places, that heads depend on, of compiled blocks in which gradients may start."""
    if not any([node.starts for node in compiled]):
        return set()
    return {*heads, *(_place(parent) for node in nodes for parent in node.parents if type(parent) is tuple)}


def _uses(nodes: Sequence[Node], sums: _Sums) -> dict[int, int]:
    """How often each array whose hook waits for its gradient is read; nothing where no array has a hook."""
    sums.hooks = {leaf.hook: None for leaf in sums.reached.values() if leaf.hook is not None}
    if not sums.hooks:
        return {}
    for hook in sums.hooks:
        hook.begin()
    counts: dict[int, int] = {}
    for node in nodes:
        for parent in node.parents:
            if type(parent) is Leaf and parent.hook is not None:
                counts[id(parent)] = counts.get(id(parent), 0) + 1
    return counts


def _read_once(nodes: Sequence[Node], sums: _Sums) -> set[int]:
    """Marked arrays that one compiled block alone reads, so that what it finds is the whole gradient; by id."""
    counts: dict[int, int] = dict.fromkeys(sums.leaves, 1)
    for node in nodes:
        for parent in node.parents:
            if type(parent) is Leaf:
                counts[id(parent)] = counts.get(id(parent), 0) + 1
    return {key for key, count in counts.items() if count == 1}


def _early(node, sums: _Sums, alone) -> Callable:
    """What a compiled block calls as soon as the gradient of its k-th parent is there for the taking."""

    def finish(k: int, take: Callable) -> None:
        leaf = node.parents[k]
        if id(leaf) in alone:
            sums.leaves[id(leaf)] = leaf, take(k)
            _finish(sums, leaf)

    return finish


def _done(node: Node, waiting: dict[int, int], sums: _Sums) -> None:
    """After a node: stores the gradients of marked arrays that no node before it reads."""
    for parent in node.parents:
        if type(parent) is Leaf and id(parent) in waiting:
            waiting[id(parent)] -= 1
            if not waiting[id(parent)]:
                _finish(sums, parent)


def _finish(sums: _Sums, leaf: Leaf) -> None:
    """Stores the gradient of a marked array, once, and tells its hook."""
    if sums.reached.pop(id(leaf), None) is None:
        return
    _store(leaf, sums.leaves.pop(id(leaf), None), sums.leaves.values())
    if leaf.hook is not None:
        leaf.hook.ready(leaf)


def _place(entry) -> tuple:
    return (id(entry[0]), entry[1]) if type(entry) is tuple else (id(entry), -1)


def _add(sums: _Sums, entry, g, targets) -> None:
    """Adds `g` to the adjoint of an entry."""
    if type(entry) is tuple:
        node, k = entry
        slots = sums.nodes.get(id(node))
        if slots is None:
            slots = sums.nodes[id(node)] = [None] * len(node.outputs)
        slots[k] = g if slots[k] is None else slots[k] + g
    else:
        before = sums.leaves.get(id(entry))
        total = g if before is None else before[1] + g
        sums.leaves[id(entry)] = (entry, total)
        if (id(entry), -1) in targets:
            sums.wanted[id(entry), -1] = total


def _order(roots, reached: dict) -> list[Node]:
    """Nodes such that each one comes before the nodes that its inputs came from; leaves are put into `reached`."""
    order, seen = [], set()
    stack = [(r, False) for r in roots]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        stack.append((node, True))
        for parent in node.parents:
            if type(parent) is tuple:
                if id(parent[0]) not in seen:
                    stack.append((parent[0], False))
            elif parent is not None:
                reached[id(parent)] = parent
    order.reverse()
    return order


def _apply_rule(node: Node, heads: list) -> Sequence:
    """Gradients with respect to the inputs of a node."""
    op = node.op
    if node.saved_inputs is None:
        raise MXNetError(
            "this computation was differentiated before and its tape is freed; pass retain_graph=True to keep it"
        )
    if op.rule is None and op.user_rule is None:  # piecewise constant
        return ()
    if op.count_heads:  # rules of several outputs see zeros where nothing came back
        for k in op.heads_read(len(heads)):
            if heads[k] is None:
                heads[k] = zeros_head(node.kind, node.outputs[k], _context(node))
    user = op.user_rule
    if user is not None:
        return user(heads)
    needs = [p is not None for p in node.parents]
    if op.formula is not None:
        values = {i: _restore(node, i) for i in node.saved_inputs}
        if node.saved_outputs:
            values[OUT] = _restore_output(node, 0)
        return op.rule(heads[0], values, node.shapes, namespace(node.attrs), needs)
    grads = op.rule(*[_READ[kind](node, i, heads, needs) for kind, i in op.reads])
    return grads if isinstance(grads, (list, tuple)) else (grads,)


# What the parameters of gradient rules stand for (see `core.ops.registry.gradient`).
_READ = {
    "head": lambda node, i, heads, needs: heads[i],
    "heads": lambda node, i, heads, needs: heads,
    "input": lambda node, i, heads, needs: _restore(node, i) if i in node.saved_inputs else None,
    "inputs": lambda node, i, heads, needs: [
        _restore(node, j) if j in node.saved_inputs else None for j in range(i, len(node.parents))
    ],
    "out": lambda node, i, heads, needs: _restore_output(node, i),
    "attrs": lambda node, i, heads, needs: namespace(node.attrs),
    # An optional input that was left out may have no place among the shapes.
    "shape": lambda node, i, heads, needs: next((tuple(s) for s in node.shapes[i : i + 1] if s is not None), None),
    "shapes": lambda node, i, heads, needs: [None if s is None else tuple(s) for s in node.shapes],
    "dtype": lambda node, i, heads, needs: node.kinds[i],
    "reserve": lambda node, i, heads, needs: node.reserve,
    "needs": lambda node, i, heads, needs: needs,
}


def zeros_head(kind: type, description: tuple, ctx):
    """Zeros in the place of a gradient that did not come, as `storage.like` describes them."""
    if state.tracer is not None:
        return state.tracer.zeros(kind, description)
    return kind._wrap(storage.zeros_of(description), ctx)


def _context(node: Node):
    for saved in node.saved_inputs.values():
        return saved[4]
    for saved in node.saved_outputs.values():
        return saved[2]
    return None


def _restore(node: Node, i: int):
    """The array that was input `i`, as it was, with its own history."""
    tensor, version, entry, kind, ctx, array = node.saved_inputs[i]
    meant = tensor._version in (version, getattr(tensor, "meant", None))
    if not meant and node.op.inputs[min(i, len(node.op.inputs) - 1)] not in node.op.mutates:
        raise MXNetError(
            f"an input of {node.op.name} was changed in place after it was used, but its value is needed for the gradient; "
            "write to a copy, or outside of record() after backward()"
        )
    if array._data is tensor and array._entry is entry:
        return array
    restored = kind._wrap(tensor, ctx)
    restored._entry = entry
    return restored


def _restore_output(node: Node, k: int):
    tensor, version, ctx = node.saved_outputs[k]
    if tensor._version != version:
        raise MXNetError(
            f"the result of {node.op.name} was changed in place, but its value is needed for the gradient; write to a copy"
        )
    restored = node.kind._wrap(tensor, ctx)
    restored._entry = (node, k)
    return restored


def _make_room(leaves: Collection[Leaf], given: set[int]) -> list[Leaf]:
    """The marked arrays whose gradients, which are to be overwritten, gave their memory back.

    Trainers and parameters hold those, whose values nobody asks for until the pass is over: hooks, which might, keep them,
    and so does a head that they are (`given`: ids of the tensors of those).
    """
    if len(leaves) > 1 and len({id(leaf.grad) for leaf in leaves}) < len(leaves):  # two write to one
        return []
    for leaf in leaves:
        grad = leaf.grad
        if leaf.req == "write" and leaf.hook is None and grad is not None and grad.stype == "default":
            if id(grad._data) not in given:
                leaf.vacant = storage.vacate(grad)
    return [leaf for leaf in leaves if leaf.vacant is not None]


def _refill(leaf: Leaf, found: tuple | None, others=()) -> None:
    """Gives a vacant gradient its values, the last array of `found` (None: zeros)."""
    leaf.grad._data = storage.settled(leaf.vacant, found, others)
    leaf.vacant = None


def _store(leaf: Leaf, found: tuple | None, others=()) -> None:
    """Puts a finished gradient, the last of `found` (None: zero), where the user reads it."""
    if leaf.grad is None:
        return
    leaf.fresh = True
    if leaf.vacant is not None:
        _refill(leaf, found, others)
    elif leaf.grad.stype != "default":
        leaf.grad._receive(None if found is None else found[1], leaf.req)
    elif found is None:
        if leaf.req == "write":
            leaf.grad._data.zero_()
    elif leaf.req == "add":
        leaf.grad._data.add_(found[1]._data)
    elif not storage.take_over(leaf.grad._data, found, others):
        leaf.grad._data.copy_(found[1]._data)


def _head_gradients(heads, head_grads) -> list:
    if head_grads is None:
        given = [None] * len(heads)
    else:
        given = head_grads if isinstance(head_grads, (list, tuple)) else [head_grads]
    if len(given) != len(heads):
        raise ValueError(f"{len(heads)} heads, but {len(given)} head gradients")
    return [h.ones_like() if g is None else g for h, g in zip(heads, given, strict=True)]


def _as_list(value) -> list:
    return list(value) if isinstance(value, (list, tuple)) else [value]
