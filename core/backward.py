"""The backward pass: walks the tape from the outputs, calls the gradient rules of the operator table and lets go of what
a node kept as soon as it is used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from types import SimpleNamespace

from core import kernels, storage
from core.base import MXNetError, as_list
from core.kernels.formula import OUT
from core.ops.registry import F
from core.tape import Application, Leaf, Scope, state

_new = object.__new__
ZERO = object()  # the gradient of an output of a compiled block that was read where nothing comes back


def run(
    outputs,
    output_grads,
    retain_graph,
    train_mode,
    create_graph,
    wanted=(),
    stop=False,
    store: list[Leaf] | None = None,
) -> Sums:
    """Walks the tape from `outputs`, whose gradients are `output_grads`, and gives the adjoints that it met.

    retain_graph: nodes keep what they saved, for another walk. train_mode: the mode in which rules run. create_graph:
    rules are recorded, so that their results differentiate again. wanted: entries of the tape whose adjoints are asked
    for; with `stop` the walk ends at them. store: given where gradients go to the arrays that users read; takes those
    marked arrays whose gradients have no memory until then.
    """
    sums = Sums()
    targets = {place(e) for e in wanted} if wanted else ()
    roots, given = [], {}  # of an output that is given twice, the last gradient counts, as in MXNet
    for output, g in zip(outputs, output_grads, strict=True):
        entry = output._entry
        if entry is None:
            entry = getattr(output, "_aside", None)
        if entry is None:
            raise MXNetError(
                "cannot differentiate: this array is not in a recorded computation. Compute it inside autograd.record() "
                "from arrays with attach_grad()"
            )
        if type(entry) is tuple:
            roots.append(entry[0])
        else:
            sums.reached[id(entry)] = entry
        given[place(entry)] = entry, g
    for entry, g in given.values():
        _add(sums, entry, g, targets)
    with Scope(create_graph, train_mode):
        nodes = order(roots, sums.reached)
        compiled, of_users = [], False  # blocks, and whether there are rules of users
        for node in nodes:
            if type(node) is not Application:
                compiled.append(node)
            elif node.op.user_rule is not None:
                of_users = True
        read = _outputs_read(nodes, compiled, given) if compiled else ()
        waiting, alone = None, ()
        if store is not None:
            waiting, alone = _uses(nodes, sums), _read_once(nodes, sums) if compiled else ()
            if not of_users:
                _release_gradients(sums.reached.values(), given, store)
        for node in nodes:
            dys = sums.nodes.pop(id(node), None)
            stepped = False  # whether only its states are to move
            # Behind a piecewise constant operator a gradient is zero, not absent.
            if dys is None and (node.starts or (node.moves and not targets)):
                dys, stepped = [None] * len(node.outputs), not node.starts
            if dys is not None and not (targets and _note(sums, node, dys, targets) and stop):
                if type(node) is Application:
                    grads = _apply_rule(node, dys, stepped)
                else:
                    dys = [ZERO if h is None and (id(node), k) in read else h for k, h in enumerate(dys)]
                    grads = node.apply_rule(dys, retain_graph, _Early(node, sums, () if stepped else alone))
                if stepped:
                    grads = ()
                if not retain_graph:
                    node.saved_inputs = node.saved_outputs = node.reserve = None
                for parent, g in zip(node.parents, grads):
                    if parent is not None and g is not None:
                        _add(sums, parent, g, targets)
            if waiting:
                _done(node, waiting, sums)
    return sums


def gradients_through(expression, inputs, dys, needs) -> list:
    """Gradients of `expression(*inputs)` with respect to those inputs that `needs` marks.

    Inputs enter through an identity on the tape, at which the walk stops, so that with create_graph the result
    still hangs together with what the inputs were computed from.
    """
    recording = state.recording
    with Scope(True, None):
        bridged = [x if x is None else F._bridge(_tracked(x)) for x in inputs]
        outputs = expression(*bridged)
    outputs = as_list(outputs)
    wanted = [x._entry for x, need in zip(bridged, needs, strict=True) if need]
    sums = run(outputs, dys[: len(outputs)], True, state.training, recording, wanted, stop=True)
    return [sums.wanted.get(place(x._entry)) if need else None for x, need in zip(bridged, needs, strict=True)]


def _tracked(x):
    """The array itself where it is on the tape, else a stand-in that is."""
    if x._entry is not None:
        return x
    x = x.detach()
    x._entry = Leaf(None, "write")
    return x


class Sums:
    """Adjoints met so far: of nodes' outputs, of leaves, and of the entries that the caller asked for."""

    def __init__(self):
        self.nodes: dict[int, list] = {}
        self.leaves: dict[int, tuple] = {}
        self.reached: dict[int, Leaf] = {}  # every marked array that the outputs depend on
        self.wanted: dict[tuple, object] = {}
        self.hooks: dict = {}  # of marked arrays, in the order in which they are met


def place(entry) -> tuple:
    """What tells an entry of the tape from all others."""
    return (id(entry[0]), entry[1]) if type(entry) is tuple else (id(entry), -1)


def _add(sums: Sums, entry, g, targets) -> None:
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


def order(roots, reached: dict) -> list[Application]:
    """Nodes such that each one comes before the nodes that its inputs came from; leaves are put into `reached`."""
    found, seen, stack = [], set(), []
    for node in roots:
        stack.append((node, False))
    while stack:
        node, done = stack.pop()
        if done:
            found.append(node)
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        depth = len(stack)
        for parent in node.parents:
            if type(parent) is tuple:
                if id(parent[0]) not in seen:
                    stack.append((parent[0], False))
            elif parent is not None:
                reached[id(parent)] = parent
        if len(stack) == depth:
            found.append(node)
        else:
            stack.insert(depth, (node, True))
    found.reverse()
    return found


def _note(sums: Sums, node: Application, dys: list, targets: set) -> bool:
    """Keeps the gradients of a node's outputs that the caller asked for; whether it asked for any."""
    asked = [k for k in range(len(dys)) if (id(node), k) in targets]
    for k in asked:
        if dys[k] is not None:
            sums.wanted[id(node), k] = dys[k]
    return bool(asked)


def _outputs_read(nodes: Sequence[Application], compiled: Sequence[Application], given) -> set[tuple]:
    """Outputs, by their places, of compiled blocks in which gradients may start, that those in `given` depend on."""
    if not any([node.starts for node in compiled]):
        return set()
    return {*given, *(place(parent) for node in nodes for parent in node.parents if type(parent) is tuple)}


# ----------------------------------------------------------------------------------------------
# The rule of one node


def _apply_rule(node: Application, dys: list, stepped: bool = False) -> Sequence:
    """Gradients with respect to the inputs of a node; stepped: none is needed."""
    op = node.op
    if node.saved_inputs is None:
        raise MXNetError(
            "this computation was differentiated before and its tape is freed; pass retain_graph=True to keep it"
        )
    if op.rule is None and op.user_rule is None:  # piecewise constant
        return ()
    if op.several_outputs:  # rules of several outputs see zeros where nothing came back
        for k in op.dys_read(len(dys)):
            if dys[k] is None:
                dys[k] = zeros_dy(node.kind, node.outputs[k], _context(node))
    user = op.user_rule
    if user is not None:
        return user(dys)
    needs = []
    for parent in node.parents:
        needs.append(parent is not None and not stepped)
    if op.formula is not None:
        values = {}
        for i in node.saved_inputs:
            values[i] = _restore(node, i)
        if node.saved_outputs:
            values[OUT] = _restore_output(node, 0)
        return op.rule(dys[0], values, node.shapes, node.attrs, needs)
    if op.given is None:
        op.given = _given(tuple(op.reads))
    grads = op.given(op.rule, node, dys, needs)
    return grads if type(grads) is list or isinstance(grads, (list, tuple)) else (grads,)


# What the parameters of gradient rules stand for (see `core.ops.registry.gradient`), as source.
_READ = {
    "dy": "dys[{i}]",
    "dys": "dys",
    "input": "_restore(node, {i}) if {i} in node.saved_inputs else None",
    "inputs": "[_restore(node, j) if j in node.saved_inputs else None for j in range({i}, len(node.parents))]",
    "out": "_restore_output(node, {i})",
    "attrs": "SimpleNamespace(**node.attrs)",
    "shape": "_shape(node, {i})",
    "shapes": "[None if s is None else tuple(s) for s in node.shapes]",
    "dtype": "node.kinds[{i}]",
    "reserve": "node.reserve",
    "needs": "needs",
}


@functools.cache
def _given(reads: tuple[tuple[str, int], ...]) -> Callable:
    """The function of (rule, node, dys, needs) that calls the rule with what it reads."""
    read = ", ".join(_READ[kind].format(i=i) for kind, i in reads)
    scope = {f.__name__: f for f in (_restore, _restore_output, _shape, SimpleNamespace)}
    return eval(f"lambda rule, node, dys, needs: rule({read})", scope)


def _shape(node: Application, i: int) -> tuple | None:
    shape = node.shapes[i] if i < len(node.shapes) else None  # an optional input that was left out may have no place
    return None if shape is None else tuple(shape)


def zeros_dy(kind: type, description: tuple, ctx):
    """Zeros in the place of a gradient that did not come, as `storage.like` describes them."""
    if state.tracer is not None:
        return state.tracer.zeros(kind, description)
    return kind._wrap(kernels.shape.zeros_of(description), ctx)


def _context(node: Application):
    for saved in node.saved_inputs.values():
        return saved[4]
    for saved in node.saved_outputs.values():
        return saved[2]
    return None


def is_remade(array) -> bool:
    """Whether the values of an array are made again where gradients need them, and not kept."""
    return type(array._entry) is Leaf and array._entry.source is not None


def remade(array):
    """An array that holds the values of one whose values are made again, for as long as it lives."""
    array._entry.source()
    restored = type(array)._wrap(array._data, array._ctx)
    restored._entry = array._entry
    return restored


def _restore(node: Application, i: int):
    """The array that was input `i`, as it was, with its own history."""
    tensor, version, entry, kind, ctx, array = node.saved_inputs[i]
    if tensor is None:
        return remade(array)
    if (
        tensor._version != version
        and _changed(tensor, version)
        and node.op.inputs[min(i, len(node.op.inputs) - 1)] not in node.op.mutates
    ):
        raise MXNetError(
            f"an input of {node.op.name} was changed in place after it was used, but its value is needed for the "
            "gradient; write to a copy, or outside of record() after backward()"
        )
    if array._data is tensor and array._entry is entry:
        return array
    restored = kind._wrap(tensor, ctx)
    restored._entry = entry
    return restored


def _changed(tensor, version: int) -> bool:
    """Whether a tensor was written to since it had `version`, other than `tape.written` allows."""
    return tensor._version != version and tensor._version != getattr(tensor, "meant", None)


def _restore_output(node: Application, k: int):
    tensor, version, ctx = node.saved_outputs[k]
    if tensor._version != version and _changed(tensor, version):
        raise MXNetError(
            f"the result of {node.op.name} was changed in place, but its value is needed for the gradient; write to a "
            "copy"
        )
    restored = _new(node.kind._dense_kind)
    restored._data, restored._ctx, restored._entry = tensor, ctx, (node, k)
    return restored


# ----------------------------------------------------------------------------------------------
# Gradients where users read them


def _release_gradients(leaves: Collection[Leaf], given: dict[tuple, tuple], released: list[Leaf]) -> None:
    """Has gradients that are to be overwritten give their memory back; their marked arrays are put into `released`.

    Trainers and parameters hold those, whose values nobody asks for until the pass is over: hooks, which might, keep
    them, and so does an output gradient that they are (`given`: (entry, gradient) of each output).
    """
    large = []
    for leaf in leaves:
        grad = leaf.grad
        if leaf.req == "write" and leaf.hook is None and grad is not None and grad.stype == "default":
            if storage.is_large(grad._data):
                large.append(leaf)
    if not large or len({id(leaf.grad) for leaf in leaves}) < len(leaves):  # two write to one
        return
    dys = {id(g._data) for _, g in given.values() if g.stype == "default"}
    for leaf in large:
        if id(leaf.grad._data) not in dys:
            leaf.released = storage.release(leaf.grad)
            if leaf.released is not None:
                released.append(leaf)


def _uses(nodes: Sequence[Application], sums: Sums) -> dict[int, int]:
    """How often each array whose hook waits for its gradient is read; nothing where no array has a hook."""
    for leaf in sums.reached.values():
        if leaf.hook is not None:
            sums.hooks[leaf.hook] = None
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


def _read_once(nodes: Sequence[Application], sums: Sums) -> set[int]:
    """Marked arrays that one compiled block alone reads, so that what it finds is the whole gradient; by id."""
    counts: dict[int, int] = dict.fromkeys(sums.leaves, 1)
    for node in nodes:
        for parent in node.parents:
            if type(parent) is Leaf:
                counts[id(parent)] = counts.get(id(parent), 0) + 1
    return {key for key, count in counts.items() if count == 1}


class _Early:
    """What a compiled block calls as soon as the gradient of its k-th parent is there for the taking.

    alone: ids of the marked arrays that this block alone reads.
    """

    def __init__(self, node, sums: Sums, alone: Collection[int]):
        self._node, self._sums, self._alone = node, sums, alone

    def __call__(self, k: int, take: Callable) -> None:
        leaf = self._node.parents[k]
        if id(leaf) in self._alone:
            self._sums.leaves[id(leaf)] = leaf, take(k)
            finish(self._sums, leaf)

    def target(self, k: int):
        """The tensor that the whole gradient of the k-th parent is to overwrite; None where there is none."""
        leaf = self._node.parents[k]
        if id(leaf) not in self._alone or leaf.req != "write" or leaf.released is not None or leaf.grad is None:
            return None
        return leaf.grad._data if leaf.grad.stype == "default" else None


def _done(node: Application, waiting: dict[int, int], sums: Sums) -> None:
    """After a node: stores the gradients of marked arrays that no node before it reads."""
    for parent in node.parents:
        if type(parent) is Leaf and id(parent) in waiting:
            waiting[id(parent)] -= 1
            if not waiting[id(parent)]:
                finish(sums, parent)


def finish(sums: Sums, leaf: Leaf) -> None:
    """Stores the gradient of a marked array, once, and tells its hook."""
    if sums.reached.pop(id(leaf), None) is None:
        return
    _store(leaf, sums.leaves.pop(id(leaf), None), sums.leaves.values())
    if leaf.hook is not None:
        leaf.hook.ready(leaf)


def _store(leaf: Leaf, found: tuple | None, others=()) -> None:
    """Puts a finished gradient, the last of `found` (None: zero), where the user reads it."""
    if leaf.grad is None:
        return
    leaf.fresh = True
    if leaf.released is not None:
        refill(leaf, found, others)
    elif leaf.grad.stype != "default":
        leaf.grad._receive(None if found is None else found[1], leaf.req)
    elif found is None:
        if leaf.req == "write":
            kernels.shape.fill_(leaf.grad._data, 0)
    elif found[1]._data is leaf.grad._data:  # a captured plan wrote there
        storage.count_change([leaf.grad._data])
    elif leaf.req == "add":
        kernels.shape.add_(leaf.grad._data, found[1]._data)
    elif not storage.take_ownership(leaf.grad._data, found, others):
        kernels.shape.copy_(leaf.grad._data, found[1]._data)


def refill(leaf: Leaf, found: tuple | None, others=()) -> None:
    """Gives a released gradient its values, the last array of `found` (None: zeros)."""
    leaf.grad._data = storage.restored(leaf.released, found, others)
    leaf.released = None
