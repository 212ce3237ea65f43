"""The record of an operator: its inputs, attributes and outputs, how it is called, what it keeps for its gradient."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

from core.base import MXNetError, NotAnArray, WrongKind, conversion, is_of_nodes, nearest
from core.kernels.formula import OUT, Formula
from core.ops import attributes
from core.ops.attributes import Attribute
from core.ops.facts import Facts
from core.ops.values import Attrs, Value


class Bound(NamedTuple):
    """A function of tensors, and the operator and attributes that a tape records (None: more than the result).

    launched: then the operator to launch with these attributes where a tape records.
    """

    kernel: Callable[..., Any] | None
    op: Operator | None
    attrs: Attrs
    launched: Operator | None = None


class Bounds(dict[tuple[Any, ...], tuple[Any, ...]]):
    """What an operator is under some attributes; the key is their values and then the types of those that are no texts,
    for 1, 1.0 and True are equal. They are plain tuples of a Bound's fields, which are unpacked in a tenth of the time.

    Making it raises TypeError where a value is a list.
    """

    LIMIT = 4096

    def __init__(self, op: Operator) -> None:
        self._op = op

    @functools.cached_property
    def plain(self) -> tuple[Any, ...]:
        """That of the default attributes, for which no key is made."""
        return self[(*(NULL for _ in self._op.attrs), *(type(NULL) for _ in self._op.ambiguous))]

    def __missing__(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        found = tuple(self._op.bind(self._op.parse(dict(zip(self._op.attrs, key, strict=False)))))
        if len(self) >= self.LIMIT:
            self.clear()
        self[key] = found
        return found


def _with_attributes(forward: Callable[..., Any], attrs: Attrs) -> Callable[..., Any]:
    """A forward rule under some attributes: with these as its defaults, for a call that passes them on takes longer."""
    if isinstance(forward, FunctionType) and set(attrs) <= {*inspect.getfullargspec(forward).kwonlyargs}:
        given = FunctionType(forward.__code__, forward.__globals__, forward.__name__, None, forward.__closure__)
        given.__defaults__, given.__kwdefaults__ = forward.__defaults__, {**(forward.__kwdefaults__ or {}), **attrs}
        return given
    return functools.partial(forward, **attrs)


NULL = type("Null", (), {"__repr__": lambda self: "<default>", "__bool__": lambda self: False})()
REQUIRED = inspect.Parameter.empty
# Keywords that MXNet's generated functions take for all operators.
_OF_EVERY_FUNCTION = frozenset(("num_args", "cudnn_off", "cudnn_tune", "workspace", "attr"))


class Operator(Facts):
    """An entry of the table. Calling it applies it to values (arrays or symbols) with attributes."""

    def __init__(
        self, name: str, function: Callable[..., Any], *, aliases: tuple[str, ...] = (),
        outputs: Callable[..., Any] | int = 1, visible: Callable[..., Any] | int | None = None,
        mutates: Sequence[str] = (), auxiliary: tuple[str, ...] | None = None, rng: bool = False, train: bool = False,
        reserves: bool = False, overwrites: bool = False, **facts: Any,
    ) -> None:  # fmt: skip
        super().__init__(**facts)
        self.name, self.aliases, self.doc = name, tuple(aliases), inspect.getdoc(function) or ""
        self.function, self.forward = function, function
        self.composite = False
        self.special: Callable[..., Any] | None = None  # attributes -> something shorter (see `specialize`)
        self.special_inputs: int | None = None  # how many of the inputs that reads; the others are not given
        self.inputs: list[str] = []
        self.optional: set[str] = set()
        self.variadic = False
        self.attrs: dict[str, tuple[Attribute, object]] = {}
        self.outputs, self.visible = outputs, visible  # counts, or functions of the attributes
        self.derivative_of: Operator | None = None  # of whose formula this is a gradient
        self.mutates = frozenset(mutates)  # inputs that the operator writes to
        self.auxiliary = self.mutates if auxiliary is None else frozenset(auxiliary)  # those that are its state
        self.rng, self.train = rng, train  # takes a `key` / the `training` flag besides its attributes
        self.overwrites = overwrites  # the rule is told the memory that the result goes to (`into`)
        self.reserves = reserves  # the forward rule gives (outputs, what the gradient rule reads as `reserve`)
        self.formula: Formula | None = None
        # of a formula: the CPU's functions of (tensors..., attributes...) by the dtype of all tensors
        self.on_cpu: dict[Any, Callable[..., Any]] | None = None
        self.rule: Callable[..., Any] | None = None
        self.user_rule: Callable[..., Any] | None = None  # of an autograd.Function
        self.operands_read: Callable[[], list[int]] | None = None  # of a pointwise operator: what its rule reads
        self.several_outputs = (
            callable(outputs) or outputs > 1
        )  # the rule sees several output gradients, zeros where none came
        self._kept: tuple[Any, ...] | None = None
        self.reads: list[tuple[str, int]] = []  # what the rule is given (see `gradient`)
        self.given: Callable[..., Any] | None = None  # calls the rule with that; made by `core.backward`
        self.takes: Callable[..., Any] | None = None  # names of the inputs that it has under some attributes
        self.infer: Callable[..., Any] | None = None  # fills in the shapes of parameters: infer(shapes, attrs)
        self.launchers: dict[type, Callable[..., Any]] = {}  # by the class of the first array (see `core.dispatch`)
        self.scopes: list[Attrs] = []  # of the functions that `core.dispatch` generated
        self.direct = True  # see `go_direct`
        # mixed precision: (inputs, attrs) -> the inputs in other types
        self.cast_inputs: Callable[..., Any] | None = None
        hidden = {"key"} if rng else set()
        hidden |= {"training"} if train else set()
        hidden |= {"into"} if overwrites else set()
        hidden |= {"ctx"}
        for p in inspect.signature(function).parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                self.inputs.append(p.name)
                self.variadic = True
            elif p.kind is p.KEYWORD_ONLY:
                if p.name not in hidden or hasattr(p.annotation, "__metadata__"):
                    self.attrs[p.name] = (attributes.of(p.annotation), p.default)
            elif p.kind is not p.VAR_KEYWORD:
                self.inputs.append(p.name)
                if p.default is None:
                    self.optional.add(p.name)

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    @functools.cached_property
    def results(self) -> str:
        """What the forward rule gives: "one" array, "several" that the user sees all, or "more" than the user sees, and
        reads more than inputs and attributes.
        """
        if self.composite or self.rng or self.train or self.reserves or self.mutates or self.visible is not None:
            return "more"
        return "several" if self.several_outputs else "one" if self.outputs == 1 else "more"

    @functools.cached_property
    def conditional(self) -> list[tuple[int, str, object]]:
        """(position, attribute, value) of the inputs that the operator has under that value alone."""
        return [(self.inputs.index(name), *rule) for name, rule in self.when.items()]

    def check_inputs(self, inputs: Sequence[Any], attrs: Attrs, complete: bool = True) -> None:
        """MXNetError for an input that the operator does not read under the attributes, or lacks in a complete call."""
        for position, attr, value in self.conditional:
            given = position < len(inputs) and inputs[position] is not None
            if given == (attrs[attr] == value):
                continue
            if given:
                raise MXNetError(
                    f"{self.name}: the input {self.inputs[position]} is given, which {attr}={value!r} alone reads; "
                    f"{attr} is {attrs[attr]!r}"
                )
            if complete:
                raise MXNetError(
                    f"{self.name}: the input {self.inputs[position]} is missing, which {attr}={value!r} reads"
                )

    @property
    def differentiable(self) -> bool:
        """Whether gradients may pass: the operator has a rule, or those that it is made of may have one."""
        return self.rule is not None or self.composite

    @functools.cached_property
    def starts(self) -> bool:
        """Whether gradients may start here although none comes in: the rule does not read it, or is a user's."""
        reads_dy = self.formula is not None or any(kind in ("dy", "dys") for kind, _ in self.reads)
        return self.user_rule is not None or (self.rule is not None and not reads_dy)

    def moves(self, attrs: Attrs) -> bool:
        """Whether the backward pass moves states that an application keeps, whatever gradient comes in: in training."""
        trained = attrs.get("training", False) and not attrs.get("use_global_stats", False)
        return trained and bool(self.mutates) and self.rule is not None

    def __call__(self, *inputs: Any, **attrs: Any) -> Value:
        """Applies the operator to values; the result has the kind (nd, np, symbol) of the first one."""
        launch = self.launchers.get(type(inputs[0])) if inputs else None
        return (launch or self._launcher(inputs))(*inputs, **attrs)

    def typed(self, *inputs: Any, **attrs: Any) -> Value:
        """Applies the operator with all its attributes, which are of the right types already: for gradient rules."""
        try:
            apply = inputs[0]._apply_operator
        except (AttributeError, IndexError):  # left out, or wrong
            apply = self._owner(inputs)._apply_operator
        return apply(self, list(inputs), attrs, None)

    def _launcher(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        """The function that applies the operator to values of the kind of the first input."""
        owner = self._owner(inputs)
        makes = getattr(owner, "_launcher", None)  # symbols, and placeholders of parameters, have none
        if inputs[0] is not None and makes is not None and (launch := makes(self)) is not None:
            self.launchers[type(owner)] = launch
            return launch
        return lambda *inputs, out=None, **attrs: owner._apply_operator(
            self, list(inputs), self.parse_named(**attrs), out
        )

    def _owner(self, inputs: Sequence[Any]) -> Any:
        for owner in inputs:  # the first one, nearly always
            if owner is not None:
                break
        else:
            raise WrongKind(f"{self.name} needs at least one array; none was given")
        if not hasattr(owner, "_apply_operator"):
            raise self.no_array(inputs)
        return owner

    def no_array(self, inputs: Sequence[Any]) -> NotAnArray:
        """The error for inputs of which one is neither an array nor a symbol."""
        for name, x in zip(self.inputs + self.inputs[-1:] * len(inputs), inputs, strict=False):
            if x is not None and not hasattr(x, "_apply_operator"):
                return NotAnArray(
                    f"{self.name}: input {name!r} is to be an array, given {type(x).__module__}.{type(x).__name__}"
                    f" {x!r}{conversion(x)}"
                )
        return NotAnArray(f"{self.name}: its inputs are to be arrays, or symbols; given both")

    def parse(self, given: Attrs) -> Attrs:
        """Typed attributes from keywords: defaults filled in; errors name operator, attribute and what is accepted."""
        if not self.has_words:
            return {}  # a file of MXNet may have attributes all the same
        for name in given:  # first, for a wrong word is why a required one is missing
            if name not in self.attrs and not is_of_nodes(name):
                raise self.unknown(name)
        parsed = {}
        for name, (kind, default) in self.attrs.items():
            value = given.get(name, NULL)
            if value is NULL:
                if default is REQUIRED:
                    raise MXNetError(f"{self.name}: attribute {name!r} is required. {self.signature()}")
                parsed[name] = default
                continue
            try:
                parsed[name] = kind.parse(value)
            except ValueError as error:
                raise WrongKind(f"{self.name}: attribute {name}={value!r} does not fit: {error}") from None
        return parsed

    def placed(self, given: list[Any], attrs: Attrs) -> list[Any]:
        """Inputs by position, where those that came by position are those that the operator has under the attributes."""
        names = self.inputs if self.takes is None else self.takes(attrs)
        if all(value is None or name in names for name, value in zip(self.inputs, given, strict=True)):
            return given
        values = [value for value in given if value is not None]
        if len(values) > len(names):
            raise MXNetError(f"{self.name} takes {', '.join(names)} under these attributes, given {len(values)} inputs")
        found = dict(zip(names, values))
        return [found.get(name) for name in self.inputs]

    @functools.cached_property
    def parse_positional(self) -> Callable[..., Attrs]:
        """Typed attributes from values in the order of `attrs`; results are remembered and must not be changed."""
        names = tuple(self.attrs)
        return self._remembering(lambda *values: self.parse(dict(zip(names, values, strict=True))))

    @functools.cached_property
    def parse_named(self) -> Callable[..., Attrs]:
        """Typed attributes from keywords, remembered like those of `parse_positional`."""
        return self._remembering(lambda **attrs: self.parse(attrs))

    @functools.cached_property
    def bounds(self) -> Bounds:
        """What `bind` gives, by the values of the attributes in their order, each with its type."""
        return Bounds(self)

    def bind(self, attrs: Attrs) -> Bound:
        """The visible results as a function of tensors, for typed attributes, and what a tape is to record of it."""
        special = None if self.special is None else self.special(SimpleNamespace(**attrs))
        if isinstance(special, Bound):
            return special
        if isinstance(special, tuple):
            target, its = special
            return target.bind(its)
        if special is not None:
            return Bound(special, self, attrs) if self.results == "one" else Bound(special, None, attrs, self)
        if self.results == "more" or (self.special is not None and self.results == "several"):
            return Bound(None, None, attrs, self)
        return Bound(_with_attributes(self.forward, attrs) if attrs else self.forward, self, attrs)

    def cast(self, rule: Callable[..., Any] | None) -> None:
        """From now on `rule(inputs, attrs)` returns the inputs in other types, on the general path; None: no longer."""
        self.cast_inputs = rule
        self.go_direct(rule is None)

    def go_direct(self, direct: bool) -> None:
        """Whether launchers may take their fast path: not while a profiler watches, or inputs are cast."""
        self.direct = direct and self.cast_inputs is None
        for scope in self.scopes:
            scope["_direct"] = self.direct

    @functools.cached_property
    def binds(self) -> bool:
        """Whether there is a function of tensors for some attributes, which can be remembered."""
        if self.special is None and self.results == "more":
            return False
        return not any(attributes.is_open(kind) for kind, _ in self.attrs.values())

    @functools.cached_property
    def ambiguous(self) -> list[str]:
        """The attributes of which equal values may mean different things, by their types."""
        return [name for name, (kind, _) in self.attrs.items() if not attributes.is_text(kind)]

    @functools.cached_property
    def tuples(self) -> list[str]:
        """The attributes that are tuples of whole numbers."""
        return [name for name, (kind, _) in self.attrs.items() if attributes.is_tuple(kind)]

    def _remembering(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` with a memory, for parsing costs as much as a small kernel; 1, 1.0 and True are kept apart.

        Not where an attribute may be anything, such as a tensor that would be kept alive, or a random key.
        """
        if any(attributes.is_open(kind) for kind, _ in self.attrs.values()):
            return function
        memory = functools.lru_cache(4096, typed=True)(function)
        tuples = self.tuples

        def remembered(*values: Any, **named: Any) -> Attrs:
            if tuples:  # (True, 0) equals (1, 0), which may be remembered
                for value in (*values, *named.values()):
                    if type(value) is tuple and not attributes.BOOLS.isdisjoint(map(type, value)):
                        return function(*values, **named)
            try:
                return memory(*values, **named)
            except TypeError:  # a list among the values; or one that does not fit, which is said once more
                return function(*values, **named)

        return remembered

    def kept(self, count: int) -> tuple[Sequence[int], Sequence[int], bool]:
        """What the gradient rule reads of an application to `count` inputs: (inputs, outputs, whether dtypes)."""
        if self._kept is not None:
            return self._kept
        if self.operands_read is not None:
            reads = self.operands_read()
            self._kept = [i for i in reads if i != OUT], [0] * (OUT in reads), False
            return self._kept
        inputs = [i for kind, i in self.reads if kind == "input"]
        variadic = [i for kind, i in self.reads if kind == "inputs"]  # all from here on
        outputs = [i for kind, i in self.reads if kind == "out"]
        kept = (
            [*inputs, *(j for i in variadic for j in range(i, count))],
            outputs,
            any(k == "dtype" for k, _ in self.reads),
        )
        if not variadic:
            self._kept = kept
        return kept

    def dys_read(self, count: int) -> Sequence[int]:
        """Which of the incoming gradients the rule of an operator of several outputs looks at."""
        found: list[int] = []
        for kind, i in self.reads:
            if kind == "dys":
                return range(count)
            if kind == "dy":
                found.append(i)
        return found if self.user_rule is None else range(count)

    @property
    def has_words(self) -> bool:
        """Whether there are attributes to parse. Variadic operators have one in MXNet, the number of their inputs."""
        return bool(self.attrs) or self.variadic

    def check_words(self, given: Iterable[str]) -> None:
        """MXNetError for keywords that neither the operator nor MXNet's functions have.

        MXNet's operators without attributes ignore what they are given; only `axis` is accepted here, which published
        programs give to pointwise operators.
        """
        for name in given:
            accepted = name in _OF_EVERY_FUNCTION or is_of_nodes(name) or (name == "axis" and not self.has_words)
            if not accepted:
                raise self.unknown(name)

    def unknown(self, name: str) -> MXNetError:
        words = [*self.inputs, *self.attrs]
        return MXNetError(
            f"{self.name} has no attribute {name!r}.{nearest(name, words)} Inputs: {', '.join(self.inputs)}; "
            f"attributes: {', '.join(self.attrs) or 'none'}"
        )

    def signature(self) -> str:
        """The call as text, for messages and documentation."""
        inputs = [f"*{i}" if self.variadic and i == self.inputs[-1] else i for i in self.inputs]
        attrs = [n if d is REQUIRED else f"{n}={d!r}" for n, (_, d) in self.attrs.items()]
        return f"{self.name}({', '.join(inputs + attrs)})"

    def count(self, attrs: Attrs) -> int:
        """Number of outputs under these attributes."""
        return self.outputs(attrs) if callable(self.outputs) else self.outputs

    def count_visible(self, attrs: Attrs) -> int:
        """Number of outputs that a caller sees."""
        if self.visible is None:
            return self.count(attrs)
        return self.visible(attrs) if callable(self.visible) else self.visible
