"""The operator table: one entry per operator, from which every namespace is derived.

Entries are made by three decorators:

- `operator`: a primitive. The decorated function is the forward rule; it gets tensors and typed
  attributes and calls one function of `core.kernels`.
- `pointwise`: a scalar formula (`core.kernels.formula`); kernel and gradient are derived.
- `composite`: an expression over other operators on values (arrays or symbols); its gradient is free.

Signature of the decorated function: positional parameters are inputs (default None: optional; `*data`:
any number), keyword-only parameters are attributes, annotated with a type of `core.ops.attributes`.

`gradient(op)` decorates the gradient rule of a primitive. The names of its parameters say what it
reads, and only that is kept on the tape: `head` (`head1`, ...; `heads` for all) for the incoming gradients,
names of inputs, `out` (`out1`, ...), `<input>_shape`, `<input>_dtype`, `shapes` (of all inputs), `attrs`
(namespace of attributes) and `needs` (one bool per input). It returns one gradient per input (None: zero), written
with operators (`F`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple

from core import kernels
from core.base import MXNetError, NotAnArray, WrongKind, conversion, nearest
from core.kernels.formula import GRADIENT, OUT, UNKNOWN, Expr, Formula, postorder
from core.ops import attributes
from core.ops.attributes import Attribute
from core.ops.facts import Facts
from core.ops.relations import BROADCAST, NONE, SAME
from core.ops.values import Attrs, Dtype, Namespace, Tensor, Value

TABLE: dict[str, Operator] = {}


class Bound(NamedTuple):
    """A function of tensors, and the operator and attributes that a tape records (None: it records the general way)."""

    kernel: Callable[..., Any] | None
    op: Operator | None
    attrs: Attrs


class Bounds(dict[tuple[Any, ...], Bound]):
    """What an operator is under some attributes; the key is value, type, value, type, ..., for 1, 1.0 and True are equal.

    Making it raises TypeError where a value is a list.
    """

    LIMIT = 4096

    def __init__(self, op: Operator) -> None:
        self._op = op

    def __missing__(self, key: tuple[Any, ...]) -> Bound:
        found = self._op.bind(self._op.parse(dict(zip(self._op.attrs, key[::2], strict=True))))
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


_DTYPE_OF = attrgetter("dtype")
NULL = type("Null", (), {"__repr__": lambda self: "<default>", "__bool__": lambda self: False})()
REQUIRED = inspect.Parameter.empty
# Keywords that MXNet's generated functions take for all operators.
_OF_EVERY_FUNCTION = frozenset(("num_args", "cudnn_off", "cudnn_tune", "workspace", "attr", "__layout__"))


class Operator(Facts):
    """An entry of the table. Calling it applies it to values (arrays or symbols) with attributes."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        aliases: tuple[str, ...] = (),
        outputs: Callable[..., Any] | int = 1,
        visible: Callable[..., Any] | int | None = None,
        mutates: Sequence[str] = (),
        auxiliary: tuple[str, ...] | None = None,
        rng: bool = False,
        train: bool = False,
        reserves: bool = False,
        overwrites: bool = False,
        **facts: Any,
    ) -> None:
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
        self.rule: Callable[..., Any] | None = None
        self.user_rule: Callable[..., Any] | None = None  # of an autograd.Function
        self.operands_read: Callable[[], list[int]] | None = None  # of a pointwise operator: what its rule reads
        self.count_heads = callable(outputs) or outputs > 1  # the rule sees several heads, zeros where none came
        self._kept: tuple[Any, ...] | None = None
        self.reads: list[tuple[str, int]] = []
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
        return "several" if self.count_heads else "one" if self.outputs == 1 else "more"

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
        reads_head = self.formula is not None or any(kind in ("head", "heads") for kind, _ in self.reads)
        return self.user_rule is not None or (self.rule is not None and not reads_head)

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
        return self._owner(inputs)._apply_operator(self, list(inputs), attrs, None)

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
            raise TypeError(f"{self.name} needs at least one array; none was given")
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
            if name not in self.attrs:
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
            return Bound(special, self if self.results == "one" else None, attrs)
        if self.results == "more" or (self.special is not None and self.results == "several"):
            return Bound(None, None, attrs)
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

    def heads_read(self, count: int) -> Sequence[int]:
        """Which of the incoming gradients the rule of an operator of several outputs looks at."""
        found: list[int] = []
        for kind, i in self.reads:
            if kind == "heads":
                return range(count)
            if kind == "head":
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
            if name not in _OF_EVERY_FUNCTION and (self.has_words or name != "axis"):
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


def get(name: str) -> Operator:
    """The entry called `name` (or having it as an alias); MXNetError with the nearest name otherwise."""
    try:
        return TABLE[name]
    except KeyError:
        raise MXNetError(f"there is no operator {name!r}.{nearest(name, TABLE)}") from None


def npx_operator(name: str) -> Operator | None:
    """The entry that `npx` and `sym.npx` show as `name`, if there is one."""
    if name.startswith("_"):
        return None
    return TABLE.get(f"_npx_{name}") or TABLE.get(name) or TABLE.get(f"_contrib_{name}")


class _Operators:
    """`F.name` is the operator `name`: how rules and composites call operators on values."""

    def __getattr__(self, name: str) -> Operator:
        op = TABLE.get(name)
        if op is None:
            raise AttributeError(f"there is no operator {name!r}.{nearest(name, TABLE)}")
        setattr(self, name, op)
        return op


F = _Operators()


def register(op: Operator) -> Operator:
    """Enters an operator under its name and its aliases; ValueError where one of them is taken."""
    for name in (op.name, *op.aliases):
        if name in TABLE:
            raise ValueError(f"operator {name!r} is in the table already")
        TABLE[name] = op
    return op


def operator(name: str, **options: Any) -> Callable[[Callable[..., Any]], Operator]:
    """Enters a primitive; options: those of `Operator`, by keyword (aliases, outputs, visible, ...), and its facts."""
    return lambda function: register(Operator(name, function, **options))


def composite(name: str, **options: Any) -> Callable[[Callable[..., Any]], Operator]:
    """Enters an operator that is an expression over others; the function gets values and attributes."""

    def enter(function: Callable[..., Any]) -> Operator:
        op = Operator(name, function, **options)
        op.composite = True
        return register(op)

    return enter


def specialize(op: Operator, inputs: int | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives an operator a shorter way under some attributes: `rule(attrs)`, with attributes as a namespace, returns
    another operator with its attributes, which gives the same; or a function of the inputs' tensors that gives the
    visible result in memory that no other array looks into; or None.

    The rule does once for some attributes what does not depend on the arrays. The function raises where the tensors do
    not fit: the operator itself says why. inputs: how many of the operator's inputs are passed on, where the rule is for
    calls without the others.
    """

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        op.special, op.special_inputs = rule, inputs
        return rule

    return enter


def gradient(op: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a primitive its gradient rule (see the module's text for the parameters)."""

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        parameters = list(inspect.signature(rule).parameters)
        op.rule = rule
        op.reads = [_source(op, p) for p in parameters]
        if "head" in op.inputs and "head1" in parameters:
            # The operator is itself part of a gradient: `head` is its input, `head1` what comes back to it.
            op.reads[parameters.index("head1")] = "head", 0
            if "head" in parameters:
                op.reads[parameters.index("head")] = "input", op.inputs.index("head")
        return rule

    return enter


def infer(op: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives an operator its inference of parameter shapes: `rule(shapes, attrs)` fills in what it can.

    `shapes` maps names of inputs to tuples, or None where unknown (0 marks an unknown axis).
    """

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        op.infer = rule
        return rule

    return enter


def tell(op: Operator, fact: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives an operator a fact that takes more than a line: `@tell(conv, "product")` (see `core.ops.facts`)."""
    if not hasattr(op, fact):
        raise TypeError(f"{op.name}: there is no fact {fact!r}")

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        setattr(op, fact, rule)
        return rule

    return enter


def takes(op: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Says which inputs the operator has, where attributes decide: `rule(attrs)` gives their names."""

    def enter(rule: Callable[..., Any]) -> Callable[..., Any]:
        op.takes = rule
        return rule

    return enter


def decompose(op: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a fused primitive its gradient by way of an equal expression over other operators.

    The expression takes the operator's inputs and attributes as values and is run (and differentiated, to any
    order) only when the gradient of the fused operator is asked for, as second derivatives do.
    """

    def enter(expression: Callable[..., Any]) -> Callable[..., Any]:
        def rule(
            inputs: list[Value | None], heads: list[Value], attrs: Namespace, needs: list[bool]
        ) -> list[Value | None]:
            return gradients_through(lambda *values: expression(*values, **vars(attrs)), inputs, heads, needs)

        op.reads = [("inputs", 0), ("heads", 0), ("attrs", 0), ("needs", 0)]
        op.rule = rule
        return expression

    return enter


def gradients_through(
    expression: Callable[..., Any], inputs: Sequence[Any], heads: Sequence[Any], needs: Sequence[bool]
) -> list[Any]:
    """Gradients of `expression(*inputs)` with respect to those inputs that `needs` marks, for `heads` that come in.

    By the class of the arrays, which knows the tape: see `core.backward.gradients_through`.
    """
    owner = next(x for x in (*inputs, *heads) if x is not None)
    return owner._gradients_through(expression, inputs, heads, needs)


def _source(op: Operator, parameter: str) -> tuple[str, int]:
    """Where the tape finds the parameter of a gradient rule: (kind, position)."""
    if parameter in ("attrs", "needs", "heads", "shapes", "reserve"):
        return parameter, 0
    for kind in ("head", "out"):
        if parameter.startswith(kind) and (parameter == kind or parameter[len(kind) :].isdigit()):
            return kind, int(parameter[len(kind) :] or 0)
    for suffix in ("_shape", "_dtype"):
        if parameter.endswith(suffix) and parameter[: -len(suffix)] in op.inputs:
            return suffix[1:], op.inputs.index(parameter[: -len(suffix)])
    if parameter in op.inputs:
        if op.variadic and parameter == op.inputs[-1]:
            return "inputs", op.inputs.index(parameter)
        return "input", op.inputs.index(parameter)
    raise ValueError(f"{op.name}: the gradient rule asks for {parameter!r}, which is none of its inputs")


# ----------------------------------------------------------------------------------------------
# Pointwise operators


def pointwise(
    name: str,
    *,
    aliases: tuple[str, ...] = (),
    dtype: str | Callable[..., Any] = "same",
    derivative: Callable[..., Any] | None = None,
    differentiable: bool = True,
    variant: Callable[..., Any] = lambda dtype: None,
    **facts: Any,
) -> Callable[[Callable[..., Any]], Operator]:
    """Enters a scalar formula as an operator.

    dtype: "same" as the operands, which must agree (MXNetError otherwise); "first", that of the first one; the
    name of a type; or a function of the operands' dtypes that gives the dtype to compute and the dtype of the result.
    derivative: the derivative in terms of inputs and output y, where that is cheaper than the derived one.
    variant: for a dtype, the function of tensors that takes the position of the formula; it raises for types to refuse.
    """

    def enter(function: Callable[..., Any]) -> Operator:
        op = Operator(name, function, aliases=aliases, **facts)
        for attr, (kind, default) in op.attrs.items():
            if attributes.is_open(kind):
                op.attrs[attr] = (attributes.FloatType(), default)
        return register(
            make_pointwise(
                op, Formula.of(function, derivative, name.lstrip("_")), dtype, differentiable, variant=variant
            )
        )

    return enter


def make_pointwise(
    op: Operator,
    formula: Formula,
    dtype: str | Callable[..., Any],
    differentiable: bool = True,
    refused: str | None = None,
    variant: Callable[..., Any] = lambda dtype: None,
) -> Operator:
    """Completes an entry whose rules follow from `formula`; `refused` is a type that "same" leaves out."""
    op.formula, op.memory = formula, "new"
    op.unnamed = len(formula.inputs) == 1
    if op.shape is NONE:
        op.shape = SAME if op.unnamed else BROADCAST
    kernel = kernels.pointwise.pointwise
    names = formula.attrs

    if dtype == "same":

        def refuse(tensors: Sequence[Tensor]) -> None:
            if tensors[0].dtype == tensors[1].dtype:
                raise MXNetError(f"{op.name}: arrays of {refused} are not accepted; convert with astype")
            raise MXNetError(
                f"{op.name}: operands of one dtype are needed, given "
                f"{', '.join(kernels.dtype_name(t) for t in tensors)}; convert with astype"
            )

        forward, bind = kernels.pointwise_of_one_type(formula, refuse, refused, variant)
        if names:
            op.special = bind
    elif dtype == "first":

        def forward(*tensors: Tensor, **attrs: Any) -> Tensor:
            return kernel(formula, tensors, [attrs[a] for a in names], tensors[0].dtype)
    else:
        rule = dtype if callable(dtype) else lambda *dtypes: (None, dtype)

        types: dict[tuple[Dtype, ...], tuple[str | None, Dtype]] = {}  # to compute in, and of the result

        def forward(*tensors: Tensor, **attrs: Any) -> Tensor:
            given = tuple(map(_DTYPE_OF, tensors))
            if given not in types:
                kinds = list(map(kernels.dtype_name, tensors))
                compute, result = rule(*kinds)
                types[given] = None if set(kinds) == {compute} else compute, kernels.torch_dtype(result)
            compute, kind = types[given]
            if compute is not None:
                tensors = tuple([kernels.cast(t, compute) for t in tensors])
            return kernel(formula, tensors, list(map(attrs.__getitem__, names)), kind)

    op.forward = forward
    if any(node.op == UNKNOWN for node in postorder([formula.root])):
        op.forward = _unknown(op)
    if differentiable:
        _derive(op, formula)
    return op


def _unknown(op: Operator) -> Callable[..., Any]:
    """The forward rule of a derivative that has no formula."""

    def forward(*tensors: Tensor, **attrs: Any) -> None:
        origin = op.name.replace("backward_", "").strip("_0123456789")
        raise MXNetError(f"{origin} cannot be differentiated that often: there is no formula for its next derivative")

    return forward


def _derive(op: Operator, formula: Formula) -> None:
    """The gradient rule of a pointwise operator: one derived operator per input, summed over broadcast axes."""
    count = len(formula.inputs)
    derived: dict[int, tuple[Operator | None, tuple[int, ...]] | None] = {}

    def gradient_operator(k: int) -> tuple[Operator | None, tuple[int, ...]] | None:
        if k not in derived:
            found = formula.gradient(k)
            if found is None:
                derived[k] = None
            elif found[0].root is Expr("input", 0):  # the head itself
                derived[k] = (None, ())
            else:
                derived[k] = (_formula_operator(f"_backward_{op.name}_{k}", found[0], op), found[1])
        return derived[k]

    def operands_read() -> list[int]:
        reads: set[int] = set()
        for k in range(count):
            found = gradient_operator(k)
            reads |= set(found[1]) if found else set()
        return sorted(reads - {GRADIENT})

    def rule(
        head: Value, values: dict[int, Value], shapes: Sequence[Any], attrs: Namespace, needs: Sequence[bool]
    ) -> list[Value | None]:
        gradients: list[Value | None] = []
        for k in range(count):
            found = gradient_operator(k) if needs[k] else None
            if found is None:
                gradients.append(None)
                continue
            derivative, reads = found
            if derivative is None:
                g = head
            else:
                operands = [head if r == GRADIENT else values[r] for r in reads]
                g = derivative(*operands, **{a: getattr(attrs, a) for a in derivative.attrs})
            gradients.append(g if g.shape == shapes[k] else F._sum_to(g, shape=shapes[k]))
        return gradients

    op.rule, op.operands_read = rule, operands_read


def _formula_operator(name: str, formula: Formula, parent: Operator) -> Operator:
    """An operator for a derived formula; it is in the table too, so that graphs can name it."""

    def function() -> None:
        raise NotImplementedError

    op = Operator(name, function)
    op.doc, op.derivative_of = f"Gradient of {parent.name}.", parent
    op.inputs = list(formula.inputs)
    op.attrs = {a: parent.attrs.get(a, (attributes.ScalarType(), REQUIRED)) for a in formula.attrs}
    TABLE[name] = op
    return make_pointwise(op, formula, "first")


def namespace(attrs: Attrs) -> SimpleNamespace:
    """Attributes by name, as `attrs.axis`."""
    return SimpleNamespace(**attrs)
