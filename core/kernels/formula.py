"""Scalar formulas: one definition of a pointwise operator, from which everything else is made.

A formula is an ordinary Python function of scalars, run once on symbolic values::

    def silu(x):
        return x * sigmoid(x)

That run records an expression graph (`Expr`). From the graph come the CPU kernel (a chain of ATen
calls, `core.kernels.cpu.pointwise`), the Triton kernel (`core.kernels.triton.pointwise`), the derivative
(`Formula.gradient`, reverse accumulation over the graph) and fusion (`compose`). Nodes are interned,
so common subexpressions are shared by construction.

This module imports neither torch nor triton.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

Scalar = int | float | bool

_interned: dict[tuple[Any, ...], Expr] = {}


class Expr:
    """A node: `op` applied to `args`. Leaves are `input` (index), `attr` (name) and `const` (value)."""

    __slots__ = ("args", "op")
    op: str
    args: tuple[Any, ...]

    def __new__(cls, op: str, *args: Any) -> Expr:
        key = (op, *(id(a) if isinstance(a, Expr) else (type(a), repr(a)) for a in args))
        node = _interned.get(key)
        if node is None:
            node = object.__new__(cls)
            node.op, node.args = op, args
            node = _interned.setdefault(key, node)  # another thread may have made it meanwhile
        return node

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.args))})"

    def __add__(self, other: Operand) -> Expr:
        return add(self, other)

    def __radd__(self, other: Operand) -> Expr:
        return add(other, self)

    def __sub__(self, other: Operand) -> Expr:
        return sub(self, other)

    def __rsub__(self, other: Operand) -> Expr:
        return sub(other, self)

    def __mul__(self, other: Operand) -> Expr:
        return mul(self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return mul(other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return div(self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return div(other, self)

    def __pow__(self, other: Operand) -> Expr:
        return power(self, other)

    def __rpow__(self, other: Operand) -> Expr:
        return power(other, self)

    def __neg__(self) -> Expr:
        return neg(self)

    def __lt__(self, other: Operand) -> Expr:
        return CONSTRUCTORS["lt"](self, other)

    def __le__(self, other: Operand) -> Expr:
        return CONSTRUCTORS["le"](self, other)

    def __gt__(self, other: Operand) -> Expr:
        return CONSTRUCTORS["gt"](self, other)

    def __ge__(self, other: Operand) -> Expr:
        return CONSTRUCTORS["ge"](self, other)

    def __bool__(self) -> NoReturn:
        raise TypeError("a formula cannot branch on a value in Python; use where(condition, a, b)")


Operand = Expr | Scalar
Unary = Callable[[Operand], Expr]
Binary = Callable[[Operand, Operand], Expr]


def lift(value: Operand) -> Expr:
    """`value` as a node; Python scalars become constants."""
    return value if isinstance(value, Expr) else Expr("const", value)


def is_const(node: Expr, value: Scalar | None = None) -> bool:
    return node.op == "const" and (value is None or node.args[0] == value)


def literal(value: Scalar) -> str:
    """A number as Python source."""
    return repr(value) if not isinstance(value, float) or math.isfinite(value) else f"float('{value}')"


def inputs_of(roots: Sequence[Expr]) -> list[int]:
    """Indices of the inputs that the graph under `roots` reads, in ascending order."""
    return sorted(node.args[0] for node in postorder(roots) if node.op == "input")


def attrs_of(roots: Sequence[Expr]) -> list[str]:
    """Names of the attributes that the graph under `roots` reads, sorted."""
    return sorted(node.args[0] for node in postorder(roots) if node.op == "attr")


def postorder(roots: Sequence[Expr]) -> list[Expr]:
    """Every node under `roots` once, arguments before users."""
    seen: set[int] = set()
    order: list[Expr] = []
    stack = [(r, False) for r in reversed(roots)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((a, False) for a in reversed(node.args) if isinstance(a, Expr))
    return order


def substitute(root: Expr, leaves: Callable[[Expr], Expr | None]) -> Expr:
    """`root` with every leaf for which `leaves` gives a node replaced by that node."""
    new: dict[int, Expr] = {}
    for node in postorder([root]):
        if node.op in ("input", "attr", "const"):
            leaf = leaves(node)
            new[id(node)] = node if leaf is None else leaf
        else:
            new[id(node)] = CONSTRUCTORS[node.op](*(new[id(a)] if isinstance(a, Expr) else a for a in node.args))
    return new[id(root)]


# ----------------------------------------------------------------------------------------------
# Primitive functions. The constructors simplify what is exact for every value they meet; terms with
# a constant 0 arise in derivatives only, where dropping them is the calculus, not rounding.


def add(a: Operand, b: Operand) -> Expr:
    a, b = lift(a), lift(b)
    if is_const(a) and is_const(b):
        return lift(a.args[0] + b.args[0])
    if is_const(a, 0):
        return b
    if is_const(b, 0):
        return a
    return Expr("add", a, b)


def sub(a: Operand, b: Operand) -> Expr:
    a, b = lift(a), lift(b)
    if is_const(a) and is_const(b):
        return lift(a.args[0] - b.args[0])
    if is_const(b, 0):
        return a
    return Expr("sub", a, b)


def mul(a: Operand, b: Operand) -> Expr:
    a, b = lift(a), lift(b)
    if is_const(a) and is_const(b):
        return lift(a.args[0] * b.args[0])
    if is_const(a, 1):
        return b
    if is_const(b, 1):
        return a
    return Expr("mul", a, b)


def div(a: Operand, b: Operand) -> Expr:
    a, b = lift(a), lift(b)
    if is_const(b, 1):
        return a
    return Expr("div", a, b)


def neg(a: Operand) -> Expr:
    a = lift(a)
    return lift(-a.args[0]) if is_const(a) else Expr("neg", a)


def power(a: Operand, b: Operand) -> Expr:
    a, b = lift(a), lift(b)
    if is_const(b, 1):
        return a
    if is_const(b, 2):
        return mul(a, a)
    return Expr("pow", a, b)


def where(condition: Operand, a: Operand, b: Operand) -> Expr:
    """`a` where `condition` holds, else `b`."""
    return Expr("where", lift(condition), lift(a), lift(b))


def cast(a: Operand, dtype: str) -> Expr:
    """`a` converted to `dtype` (a name such as "float32")."""
    return Expr("cast", lift(a), dtype)


def _unary(name: str) -> Unary:
    def build(a: Operand) -> Expr:
        return Expr(name, lift(a))

    build.__name__ = name
    return build


def _binary(name: str) -> Binary:
    def build(a: Operand, b: Operand) -> Expr:
        return Expr(name, lift(a), lift(b))

    build.__name__ = name
    return build


UNARY = (
    "abs exp exp2 log log2 log10 log1p expm1 sqrt rsqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh erf erfinv lgamma digamma polygamma1 polygamma2 sigmoid floor ceil rint trunc round_away sign logical_not "
    "bitwise_not isnan isinf isfinite"
).split()
BINARY = (
    "floordiv mod fmod maximum minimum fmax fmin atan2 hypot ldexp copysign eq ne lt le gt ge logical_and logical_or "
    "logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm nextafter "
    "gamma_slope"
).split()
PREDICATES = frozenset(
    "eq ne lt le gt ge logical_and logical_or logical_xor logical_not isnan isinf isfinite".split()
)  # these give a boolean

# Reductions over the row that an element is in, for row programs (`core.kernels.row_program`); the last ignores NaN.
REDUCTIONS = "row_sum row_mean row_max row_min row_fmax".split()

UNKNOWN = "unknown"  # a derivative that exists and has no formula here: it can be passed on, but not computed

CONSTRUCTORS: dict[str, Callable[..., Expr]] = {name: _unary(name) for name in (*UNARY, *REDUCTIONS, UNKNOWN)}
CONSTRUCTORS |= {name: _binary(name) for name in BINARY}
CONSTRUCTORS |= {"add": add, "sub": sub, "mul": mul, "div": div, "neg": neg, "pow": power, "where": where, "cast": cast}
globals().update({name: CONSTRUCTORS[name] for name in UNARY + BINARY if name != "abs"})
fabs = CONSTRUCTORS["abs"]
if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Expr]: ...  # the names that were entered here


LN2 = math.log(2.0)
LN10 = math.log(10.0)
TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)

# d(op)/d(argument k) times the adjoint `g`: RULES[op](g, y, *arguments) gives one term per argument,
# None where the derivative vanishes. `y` is the node itself, so its value is reused.
RULES: dict[str, Callable[..., tuple[Expr | None, ...]]] = {
    "add": lambda g, y, a, b: (g, g),
    "sub": lambda g, y, a, b: (g, neg(g)),
    "mul": lambda g, y, a, b: (g * b, g * a),
    "div": lambda g, y, a, b: (g / b, neg(g * a / (b * b))),
    "neg": lambda g, y, a: (neg(g),),
    "pow": lambda g, y, a, b: (
        g * b * power(a, sub(b, 1)),
        g * y * CONSTRUCTORS["log"](a) if not is_const(b) else None,
    ),
    "where": lambda g, y, c, a, b: (None, where(c, g, 0), where(c, 0, g)),
    "cast": lambda g, y, a, dtype: (g, None),
    "abs": lambda g, y, a: (g * CONSTRUCTORS["sign"](a),),
    "exp": lambda g, y, a: (g * y,),
    "exp2": lambda g, y, a: (g * y * LN2,),
    "log": lambda g, y, a: (g / a,),
    "log2": lambda g, y, a: (g / (a * LN2),),
    "log10": lambda g, y, a: (g / (a * LN10),),
    "log1p": lambda g, y, a: (g / (a + 1),),
    "expm1": lambda g, y, a: (g * (y + 1),),
    "sqrt": lambda g, y, a: (g * 0.5 / y,),
    "rsqrt": lambda g, y, a: (g * -0.5 * y / a,),
    "cbrt": lambda g, y, a: (g / (3.0 * y * y),),
    "sin": lambda g, y, a: (g * CONSTRUCTORS["cos"](a),),
    "cos": lambda g, y, a: (neg(g * CONSTRUCTORS["sin"](a)),),
    "tan": lambda g, y, a: (g * (y * y + 1),),
    "asin": lambda g, y, a: (g * CONSTRUCTORS["rsqrt"](1 - a * a),),
    "acos": lambda g, y, a: (neg(g * CONSTRUCTORS["rsqrt"](1 - a * a)),),
    "atan": lambda g, y, a: (g / (a * a + 1),),
    "sinh": lambda g, y, a: (g * CONSTRUCTORS["cosh"](a),),
    "cosh": lambda g, y, a: (g * CONSTRUCTORS["sinh"](a),),
    "tanh": lambda g, y, a: (g * (1 - y * y),),
    "asinh": lambda g, y, a: (g * CONSTRUCTORS["rsqrt"](a * a + 1),),
    "acosh": lambda g, y, a: (g * CONSTRUCTORS["rsqrt"](a * a - 1),),
    "atanh": lambda g, y, a: (g / (1 - a * a),),
    "erf": lambda g, y, a: (g * TWO_OVER_SQRT_PI * CONSTRUCTORS["exp"](neg(a * a)),),
    "erfinv": lambda g, y, a: (g * (1.0 / TWO_OVER_SQRT_PI) * CONSTRUCTORS["exp"](y * y),),
    "lgamma": lambda g, y, a: (g * CONSTRUCTORS["digamma"](a),),
    "digamma": lambda g, y, a: (g * CONSTRUCTORS["polygamma1"](a),),
    "polygamma1": lambda g, y, a: (g * CONSTRUCTORS["polygamma2"](a),),
    "polygamma2": lambda g, y, a: (g * CONSTRUCTORS[UNKNOWN](a),),
    UNKNOWN: lambda g, y, a: (g * CONSTRUCTORS[UNKNOWN](a),),
    "sigmoid": lambda g, y, a: (g * y * (1 - y),),
    "mod": lambda g, y, a, b: (g, neg(g * CONSTRUCTORS["floor"](a / b))),
    "fmod": lambda g, y, a, b: (g, neg(g * CONSTRUCTORS["trunc"](a / b))),
    # MXNet: a tie goes to the left operand, and what is not a number has no gradient
    "maximum": lambda g, y, a, b: (where(a >= b, g, 0), where(a < b, g, 0)),
    "minimum": lambda g, y, a, b: (where(a <= b, g, 0), where(a > b, g, 0)),
    "fmax": lambda g, y, a, b: (where(a >= b, g, 0), where(a < b, g, 0)),
    "fmin": lambda g, y, a, b: (where(a <= b, g, 0), where(a > b, g, 0)),
    "atan2": lambda g, y, a, b: (g * b / (a * a + b * b), neg(g * a / (a * a + b * b))),
    "hypot": lambda g, y, a, b: (g * a / y, g * b / y),
    "ldexp": lambda g, y, a, b: (g * CONSTRUCTORS["exp2"](b), g * y * LN2),
    "gamma_slope": lambda g, y, a, b: (g * CONSTRUCTORS[UNKNOWN](a), g * CONSTRUCTORS[UNKNOWN](b)),
    "copysign": lambda g, y, a, b: (g * CONSTRUCTORS["copysign"](1.0, a * b), None),
}


GRADIENT, OUT = -1, -2  # operands of a gradient that are no input of the formula itself


def _fresh(name: str, taken: Sequence[str]) -> str:
    """`name`, with as many underscores behind it as make it new."""
    while name in taken:
        name += "_"
    return name


class Formula:
    """A pointwise function of scalars: `inputs` names its operands, `attrs` its scalar attributes.

    `derivative`, where given, is a second formula function of (inputs..., y) that returns one
    derivative an input (a tuple if there are several), written with the output y where that is cheaper.
    """

    def __init__(
        self, name: str, inputs: Sequence[str], attrs: Sequence[str], root: Expr,
        derivative: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.inputs, self.attrs, self.root = name, tuple(inputs), tuple(attrs), root
        self.derivative = derivative
        self._gradients: dict[int, tuple[Formula, tuple[int, ...]] | None] = {}
        self.compiled: dict[object, object] = {}  # the backends keep what they generate from the formula here

    def __repr__(self) -> str:
        return f"<formula {self.name}({', '.join(self.inputs + self.attrs)}) = {self.root!r}>"

    @classmethod
    def of(
        cls, function: Callable[..., Any], derivative: Callable[..., Any] | None = None, name: str | None = None
    ) -> Formula:
        """The formula of a Python function: positional parameters are operands, keyword-only ones attributes."""
        inputs: list[str] = []
        attrs: list[str] = []
        for p in inspect.signature(function).parameters.values():
            (attrs if p.kind is p.KEYWORD_ONLY else inputs).append(p.name)
        symbols = [Expr("input", i) for i in range(len(inputs))]
        root = lift(function(*symbols, **{a: Expr("attr", a) for a in attrs}))
        return cls(name or function.__name__, inputs, attrs, root, derivative)

    def gradient(self, k: int) -> tuple[Formula, tuple[int, ...]] | None:
        """The formula of gradient * d(self)/d(input k) and what its operands are, or None where it is zero.

        An operand is an input of this formula (its position), GRADIENT, or OUT, the value of this formula.
        """
        if k not in self._gradients:
            self._gradients[k] = self._differentiate(k)
        return self._gradients[k]

    def _differentiate(self, k: int) -> tuple[Formula, tuple[int, ...]] | None:
        n = len(self.inputs)
        gradient, out = Expr("input", n), Expr("input", n + 1)
        if self.derivative is not None:
            symbols = [Expr("input", i) for i in range(n)]
            attrs = {a: Expr("attr", a) for a in self.attrs}
            accepted = inspect.signature(self.derivative).parameters
            terms = self.derivative(*symbols, out, **{a: v for a, v in attrs.items() if a in accepted})
            term = terms[k] if isinstance(terms, tuple) else terms
            root = None if term is None else gradient * lift(term)
        else:
            root = gradients(self.root, gradient, n)[k]
        if root is None:
            return None
        used = inputs_of([root])
        if n not in used:  # a gradient that is constant in the output's gradient still has its shape
            used = sorted([*used, n])
        order = sorted(used, key=lambda i: (i != n, i))
        position = {i: Expr("input", p) for p, i in enumerate(order)}
        root = substitute(root, lambda leaf: position[leaf.args[0]] if leaf.op == "input" else None)
        names = [*self.inputs, _fresh("gradient", self.inputs), _fresh("out", self.inputs)]
        formula = Formula(f"{self.name}_grad{k}", [names[i] for i in order], attrs_of([root]), root)
        return formula, tuple({n: GRADIENT, n + 1: OUT}.get(i, i) for i in order)


def gradients(root: Expr, gradient: Expr, count: int) -> list[Expr | None]:
    """Reverse accumulation: the adjoint of each of the first `count` inputs; None where it is zero."""
    adjoint: dict[int, Expr] = {id(root): gradient}
    for node in reversed(postorder([root])):
        g = adjoint.get(id(node))
        if g is None or node.op in ("input", "attr", "const") or node.op not in RULES:
            continue
        for argument, term in zip(node.args, RULES[node.op](g, node, *node.args), strict=False):
            if term is not None and isinstance(argument, Expr):
                before = adjoint.get(id(argument))
                adjoint[id(argument)] = term if before is None else add(before, term)
    return [adjoint.get(id(Expr("input", i))) for i in range(count)]


def compose(outer: Formula, slot: int, inner: Formula, name: str) -> Formula:
    """`outer` with its operand `slot` computed by `inner`: the fusion of two pointwise steps.

    Operands: those of `outer` without `slot`, then those of `inner`. Attribute names of both must differ
    unless they stand for the same value.
    """
    kept = [i for i in range(len(outer.inputs)) if i != slot]
    shift = len(kept)
    inner_root = substitute(inner.root, lambda n: Expr("input", n.args[0] + shift) if n.op == "input" else None)
    operand = {i: Expr("input", p) for p, i in enumerate(kept)} | {slot: inner_root}
    root = substitute(outer.root, lambda n: operand[n.args[0]] if n.op == "input" else None)
    names = [outer.inputs[i] for i in kept] + list(inner.inputs)
    return Formula(name, names, attrs_of([root]), root)
