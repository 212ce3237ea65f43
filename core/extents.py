"""Extents that are not known as numbers: polynomials in named symbols, with what is rounded of them.

While a block is traced for a class of shapes, the lengths of some axes of its inputs are `Extent`s: `x.shape` of such an
array is `(n0, 12, n1)`, and arithmetic on it gives expressions. Each symbol has a hint, the length that it had in the
call that was traced, and stands for any length from `LOWEST` on. What an expression is compared with is decided by
algebra where that can be done for all lengths; otherwise the hint decides, and the answer becomes a guard: a plan serves
those shapes alone for which all guards give the same answers. Where Python needs the number itself (`range(n)`,
`int(n)`), the symbols in it are pinned to their hints.
"""

from __future__ import annotations

import functools
import itertools
import math
import numbers
import operator
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

LOWEST = 2  # lengths of 0 and 1 broadcast and make other strides: shapes that have them are classes of their own
Monomial = tuple["Symbol | Rounded", ...]  # sorted
Terms = dict[Monomial, int]


class Space:
    """The symbols of one trace, and what was presumed of them.

    large: whether what algebra does not decide has the answer that it has for all lengths that are large enough and
    divide evenly; otherwise the hint has it, and it is a guard. first: the number of the first symbol, by which those
    of two spaces that meet are told apart. guards: conditions as source over the names of the symbols, in the order in
    which they came. pinned: symbols of which the number was needed, and the line that did.
    """

    def __init__(self, large: bool = False, first: int = 0) -> None:
        self.large, self._first = large, first
        self.symbols: list[Symbol] = []
        self.guards: dict[str, None] = {}
        self.pinned: dict[Symbol, Line] = {}
        self.unequal: list[Extent] = []

    def symbol(self, hint: int) -> Extent:
        """A new symbol, as an extent."""
        made = Symbol(self, self._first + len(self.symbols), hint)
        self.symbols.append(made)
        return made.extent

    def opened(
        self, shapes: Sequence[Sequence[int]], groups: Iterable[Sequence[tuple[int, int]]]
    ) -> list[tuple[int | Extent, ...]]:
        """Shapes with a symbol in the place of their lengths for each group of places (number of a shape, axis)."""
        made: list[list[int | Extent]] = [list(shape) for shape in shapes]
        for group in groups:
            k, axis = group[0]
            length = self.symbol(max(LOWEST, shapes[k][axis]))
            for k, axis in group:
                made[k][axis] = length
        return [tuple(shape) for shape in made]

    def guard(self, condition: str) -> None:
        """Restricts the class of shapes."""
        self.guards[condition] = None

    def equalities(self) -> list[str]:
        """Those guards that tell a length: few others belong to the class."""
        return [guard for guard in self.guards if " == " in guard]

    def accepts(self) -> Callable[..., bool]:
        """The function of the lengths of all symbols that tells whether a shape belongs to the class."""
        names = ", ".join(s.text for s in self.symbols)
        conditions = [f"{s.text} >= {LOWEST}" for s in self.symbols] + list(self.guards)
        made: Callable[..., bool] = eval(f"lambda {names}: {' and '.join(conditions) or 'True'}")  # the text is our own
        return made


class Line(str):
    """A line of code that needs a length as a number; by_operator: because the operator does that it calls."""

    by_operator: bool

    def __new__(cls, text: str, by_operator: bool) -> Line:
        made = str.__new__(cls, text)
        made.by_operator = by_operator
        return made


@functools.total_ordering
class Symbol:
    """An unknown length; high: what it is presumed to be at most, if anything is."""

    low = LOWEST
    high: int | None = None

    def __init__(self, space: Space, index: int, hint: int):
        self.hint, self.text, self.key = hint, f"n{index}", (0, index, "")
        self.extent = Extent(space, {(self,): 1})

    def __lt__(self, other: Symbol | Rounded) -> bool:
        return self.key < other.key

    def symbols(self) -> Iterable[Symbol]:
        return (self,)


@functools.total_ordering
class Rounded:
    """A whole number from 0 on that is no polynomial: the floor of a quotient, the whole part of a `Ratio`.

    of: dividend and divisor, or the ratio. Those of one space with the same text are the same.
    """

    low = 0
    high = None

    def __init__(self, text: str, hint: int, *of: Any):
        self.text, self.hint, self.key, self.of = text, hint, (1, 0, text), of
        self._symbols = {s for x in of if isinstance(x, (Extent, Ratio)) for s in x.symbols()}
        self._space = next(x.space for x in of if isinstance(x, (Extent, Ratio)))

    def __eq__(self, other: object) -> bool:
        return type(other) is Rounded and self.text == other.text and self._space is other._space

    def __hash__(self) -> int:
        return hash(self.text)

    def __lt__(self, other: Symbol | Rounded) -> bool:
        return self.key < other.key

    def symbols(self) -> Iterable[Symbol]:
        return self._symbols


class _Ordered:
    """Comparisons, by `_compares(how, other)`, which answers for all lengths or under a guard."""

    __slots__ = ()

    def _compares(self, how: str, other: Any) -> bool:
        raise NotImplementedError

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return self._compares("<", other)

    def __le__(self, other: Any) -> bool:
        return self._compares("<=", other)

    def __gt__(self, other: Any) -> bool:
        return self._compares(">", other)

    def __ge__(self, other: Any) -> bool:
        return self._compares(">=", other)

    def __bool__(self) -> bool:
        return not self._compares("==", 0)


class Extent(_Ordered):
    """A polynomial in symbols that is no constant: an int wherever arithmetic is all that is done with it."""

    __slots__ = ("_hash", "hint", "space", "terms")

    def __init__(self, space: Space, terms: Terms):
        self.space, self.terms = space, terms
        self.hint = sum(c * _product(atom.hint for atom in monomial) for monomial, c in terms.items())
        self._hash: int | None = None

    def symbols(self) -> set[Symbol]:
        """The symbols in it."""
        return {s for monomial in self.terms for atom in monomial for s in atom.symbols()}

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> Any:
        if (terms := _terms(other)) is None:
            return Ratio.of("+", self, other)
        total = dict(self.terms)
        for monomial, c in terms.items():
            total[monomial] = total.get(monomial, 0) + c
        return _made(self.space, total)

    def __mul__(self, other: Any) -> Any:
        if (terms := _terms(other)) is None:
            return Ratio.of("*", self, other)
        product: Terms = {}
        for a, c in self.terms.items():
            for b, d in terms.items():
                monomial = tuple(sorted((*a, *b)))
                product[monomial] = product.get(monomial, 0) + c * d
        return _made(self.space, product)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Extent:
        return self

    def __sub__(self, other: Any) -> Any:
        return Ratio.of("-", self, other) if _terms(other) is None else self + other * -1

    def __rsub__(self, other: Any) -> Any:
        return Ratio.of("-", other, self) if _terms(other) is None else self * -1 + other

    def __floordiv__(self, other: Any) -> Any:
        return NotImplemented if _terms(other) is None else _quotient(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return NotImplemented if _terms(other) is None else _quotient(other, self)

    def __mod__(self, other: Any) -> Any:
        return NotImplemented if _terms(other) is None else self - _quotient(self, other) * other

    def __rmod__(self, other: Any) -> Any:
        return NotImplemented if _terms(other) is None else other - _quotient(other, self) * self

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __pow__(self, exponent: int) -> Any:
        if type(exponent) is int and exponent >= 0:
            return _product([self] * exponent)
        return Ratio.of("**", self, exponent)

    def __truediv__(self, other: Any) -> Any:
        return Ratio.of("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return Ratio.of("/", other, self)

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __floor__(self) -> Extent:
        return self

    __ceil__ = __trunc__ = __floor__

    def __round__(self, digits: int | None = None) -> Extent:
        return self

    # ------------------------------------------------------------------ comparisons

    def __eq__(self, other: object) -> bool:
        return _terms(other) is not None and self._compares("==", other)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((id(self.space), frozenset(self.terms.items())))
        return self._hash

    def _compares(self, how: str, other: Any) -> bool:
        """Whether it stands so to `other`: for all lengths, or by the hint and under a guard."""
        compare = _COMPARISONS[how]
        if _terms(other) is None:  # infinite, or with a fraction
            return compare(0 if abs(other) == math.inf else int(self), other)
        difference = self - other
        if not isinstance(difference, Extent):
            return compare(difference, 0)
        low, high = difference.bounds()
        if low is not None and (low > 0 or (low == 0 and how in ("<", ">="))):
            return how in (">", ">=")
        if high is not None and (high < 0 or (high == 0 and how in ("<=", ">"))):
            return how in ("<", "<=")
        if self.space.large or any(s.extent.space.large for s in difference.symbols()):
            answer = compare(-1 if high == 0 else difference.at_large(), 0)
            if how == "==" and not answer:
                self.space.unequal.append(difference)
            return answer
        answer = compare(difference.hint, 0)
        self.space.guard(f"{self} {how if answer else _OPPOSITE[how]} {other}")
        return answer

    def bounds(self) -> tuple[int | None, int | None]:
        """The least and the greatest value, None where none is known.

        With n = low + m, m >= 0, for each symbol, all terms but the constant grow, or all fall, or nothing is known.
        """
        shifted: Terms = {}
        for monomial, c in self.terms.items():
            expanded: Terms = {(): c}
            for atom in monomial:
                step: Terms = {}
                for m, d in expanded.items():
                    larger = tuple(sorted((*m, atom)))
                    step[larger] = step.get(larger, 0) + d
                    step[m] = step.get(m, 0) + d * atom.low
                expanded = step
            for m, d in expanded.items():
                shifted[m] = shifted.get(m, 0) + d
        constant = shifted.pop((), 0)
        low = constant if all(c >= 0 for c in shifted.values()) else self._extreme(-1)
        high = constant if all(c <= 0 for c in shifted.values()) else self._extreme(1)
        return low, high

    def _extreme(self, sign: int) -> int | None:
        """The sum of the greatest (sign 1) or least values of all terms, None where one has no end."""
        total = 0
        for monomial, c in self.terms.items():
            ends = [atom.high if c * sign > 0 else atom.low for atom in monomial]
            if None in ends:
                return None
            total += c * _product(ends)
        return total

    def at_large(self) -> Fraction:
        """A number of the sign that the expression has for large lengths, 0 where it is 0: of the highest power.

        Floors count as what they are the floor of, and symbols as powers of one length, the later ones higher.
        """
        powers: dict[tuple[int, ...], Fraction] = {}
        for power, c in _powers(self).items():
            powers[power] = powers.get(power, Fraction(0)) + c
        left = {power: c for power, c in powers.items() if c}
        return left[max(left, key=lambda power: (sum(power), power[::-1]))] if left else Fraction(0)

    # ------------------------------------------------------------------ what needs the number

    def __index__(self) -> int:
        for symbol in self.symbols():
            self.space.pinned.setdefault(symbol, _line_of_reader())
        return int(self.hint)

    __int__ = __index__

    def __float__(self) -> float:
        return float(int(self))

    # ------------------------------------------------------------------ text

    def __str__(self) -> str:
        parts = []
        for monomial, c in sorted(self.terms.items(), key=lambda item: (-len(item[0]), [a.key for a in item[0]])):
            factors = [str(c)] * (c != 1 or not monomial)
            factors += [atom.text if type(atom) is Symbol else f"({atom.text})" for atom in monomial]
            parts.append("*".join(factors))
        return " + ".join(parts)

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


class Ratio(_Ordered):
    """A number with a fraction that an expression of extents comes to, such as 1 / n: a float wherever arithmetic is
    all that is done with it. Nothing is simplified, so that it is rounded as the program rounds it.
    """

    __slots__ = ("_symbols", "hint", "space", "text")

    def __init__(self, space: Space, text: str, hint: float, symbols: set[Symbol]):
        self.space, self.text, self.hint, self._symbols = space, text, hint, symbols

    def symbols(self) -> set[Symbol]:
        """The symbols in it."""
        return self._symbols

    @classmethod
    def of(cls, sign: str, a: Any, b: Any) -> Any:
        """`a sign b`; NotImplemented for what is no number."""
        if not all(isinstance(x, numbers.Real) for x in (a, b)):
            return NotImplemented
        symbolic = [x for x in (a, b) if isinstance(x, (Extent, Ratio))]
        value = _ARITHMETIC[sign](hint(a), hint(b))
        if not all(map(_is_finite, (a, b))):
            for x in symbolic:
                float(x)
            return value
        return cls(symbolic[0].space, f"({a}) {sign} ({b})", value, {s for x in symbolic for s in x.symbols()})

    def __add__(self, other: Any) -> Any:
        return Ratio.of("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return Ratio.of("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return Ratio.of("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return Ratio.of("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return Ratio.of("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return Ratio.of("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return Ratio.of("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return Ratio.of("/", other, self)

    def __pow__(self, other: Any) -> Any:
        return Ratio.of("**", self, other)

    def __neg__(self) -> Any:
        return Ratio.of("*", self, -1)

    def __eq__(self, other: object) -> bool:
        return (type(other) is Ratio and self.space is other.space and self.text == other.text) or self._compares(
            "==", other
        )

    def __hash__(self) -> int:
        return hash((id(self.space), self.text))

    def _compares(self, how: str, other: Any) -> bool:
        if not isinstance(other, numbers.Real):
            return False
        answer = _COMPARISONS[how](self.hint, hint(other))
        if _is_finite(other):
            self.space.guard(f"{self} {how if answer else _OPPOSITE[how]} {other}")
        return answer

    def __float__(self) -> float:
        for symbol in self._symbols:
            self.space.pinned.setdefault(symbol, _line_of_reader())
        return float(self.hint)

    def __int__(self) -> int:
        return int(float(self))

    def __trunc__(self) -> Any:
        if self < 0:
            return int(self)
        return Extent(self.space, {(Rounded(f"int({self.text})", int(self.hint), self),): 1})

    __floor__ = __trunc__

    def __str__(self) -> str:
        return f"({self.text})"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


numbers.Integral.register(Extent)
numbers.Real.register(Ratio)
_SYMBOLIC = (Extent, Ratio)
_ARITHMETIC = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
}  # fmt: skip

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_OPPOSITE = {"==": "!=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def hint(n: Any) -> Any:
    """The number that an extent stood for in the call that was traced; for decisions that change speed alone."""
    return n.hint if type(n) in _SYMBOLIC else n


def hints(shape: Iterable[Any]) -> tuple[int, ...]:
    """`hint` of each extent of a shape."""
    return tuple([n.hint if type(n) is Extent else n for n in shape])


def is_symbolic(value: Any) -> bool:
    """Whether there is an extent in a value: itself, or in nested tuples, lists and slices."""
    if isinstance(value, (tuple, list)):
        return any(map(is_symbolic, value))
    if type(value) is slice:
        return is_symbolic((value.start, value.stop, value.step))
    return type(value) in _SYMBOLIC


def integer(value: Any) -> Any:
    """`int(value)`, which leaves an extent as it is."""
    return value if type(value) is Extent else int(value)


def symbols_in(value: Any) -> set[Symbol]:
    """The symbols in a value, or in what tuples, lists and slices nest."""
    if isinstance(value, (tuple, list)):
        return {s for v in value for s in symbols_in(v)}
    if type(value) is slice:
        return symbols_in((value.start, value.stop, value.step))
    return set(value.symbols()) if type(value) in _SYMBOLIC else set()


def same(a: Any, b: Any) -> bool:
    """Whether two lengths are equal whatever the symbols are; nothing is presumed of them."""
    return type(a) is type(b) and (a.terms == b.terms if type(a) is Extent else a == b)


def evaluated(value: Any, lengths: dict[str, int]) -> Any:
    """`value` with the number in the place of each extent, for the lengths of symbols by name."""
    if type(value) in _SYMBOLIC:
        return eval(str(value), {}, lengths)  # the text is our own
    if type(value) is slice:
        return slice(*(evaluated(v, lengths) for v in (value.start, value.stop, value.step)))
    return type(value)(evaluated(v, lengths) for v in value) if type(value) in (tuple, list) else value


def _powers(value: Any) -> dict[tuple[int, ...], Fraction]:
    """An expression as a polynomial with fractions: coefficients by the powers of the symbols, in their order."""
    if type(value) is not Extent:
        return {(): Fraction(value)}
    total: dict[tuple[int, ...], Fraction] = {}
    for monomial, c in value.terms.items():
        product: dict[tuple[int, ...], Fraction] = {(): Fraction(c)}
        for atom in monomial:
            factor: dict[tuple[int, ...], Fraction]
            if isinstance(atom, Symbol):
                factor = {(0,) * atom.key[1] + (1,): Fraction(1)}
            elif len(atom.of) == 2 and len(by := _powers(atom.of[1])) == 1:
                ((power, scale),) = by.items()
                factor = {_moved(p, power, -1): d / scale for p, d in _powers(atom.of[0]).items()}
            else:  # what is known of it is its size
                factor = {(): Fraction(atom.hint)}
            product = {_moved(p, q, 1): c * d for p, c in product.items() for q, d in factor.items()}
        for power, d in product.items():
            total[power] = total.get(power, Fraction(0)) + d
    return total


def _moved(power: tuple[int, ...], by: tuple[int, ...], sign: int) -> tuple[int, ...]:
    """The powers of a product, or of a quotient, without zeros at the end."""
    found = [a + sign * b for a, b in itertools.zip_longest(power, by, fillvalue=0)]
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def bounds_of(part: slice, n: Any) -> tuple[Any, Any, int]:
    """Start, stop and step of a slice of an axis of length n, as `slice.indices` gives them for numbers."""
    if not is_symbolic((part.start, part.stop, part.step, n)):
        return part.indices(n)
    step = 1 if part.step is None else int(part.step)
    least, most = (0, n) if step > 0 else (-1, n - 1)
    first, last = (least, most) if step > 0 else (most, least)
    start = first if part.start is None else _bound(part.start, n, least, most)
    return start, last if part.stop is None else _bound(part.stop, n, least, most), step


def length_of(part: slice, n: Any) -> Any:
    """How many positions a slice takes of an axis of length n."""
    start, stop, step = bounds_of(part, n)
    span = stop - start if step > 0 else start - stop
    return (span + abs(step) - 1) // abs(step) if span > 0 else 0


def _bound(at: Any, n: Any, least: int, most: Any) -> Any:
    """A bound of a slice, counted from the front and cut to the axis."""
    if at < 0:
        at = at + n
        return least if at < least else at
    return most if at > most else at


def _is_finite(value: Any) -> bool:
    return type(value) in _SYMBOLIC or math.isfinite(value)


def _line_of_reader() -> Line:
    """The innermost line outside of this package: it needs a number, or called an operator that does."""
    by_operator = False
    for frame, line in traceback.walk_stack(sys._getframe(1)):
        module = frame.f_globals.get("__name__") or "core."  # what was generated has none
        if module.split(".")[0] not in ("core", "torch"):
            return Line(f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}", by_operator)
        by_operator = by_operator or module.startswith(("core.ops", "core.kernels"))
    return Line("?", by_operator)


def _terms(value: Any) -> Terms | None:
    if type(value) is Extent:
        return value.terms
    whole = isinstance(value, numbers.Integral) or (isinstance(value, float) and value.is_integer())
    return {(): int(value)} if whole else None


def _made(space: Space, terms: Terms) -> Extent | int:
    """The expression, which is an int where no symbol is left."""
    left = {monomial: c for monomial, c in terms.items() if c}
    return Extent(space, left) if any(left) else left.get((), 0)


def _product(factors: Iterable[Any]) -> Any:
    product: Any = 1
    for factor in factors:
        product = product * factor
    return product


def _quotient(dividend: Any, divisor: Any) -> Any:
    """The floor of dividend / divisor: exact where the divisor divides every term, else of what is left of it."""
    space = dividend.space if type(dividend) is Extent else divisor.space
    if not divisor:
        raise ZeroDivisionError("integer division or modulo by zero")
    by = _terms(divisor) or {}
    if len(by) != 1:  # of several terms only a multiple is divided exactly
        factor = _factor(space, dividend, divisor) if type(dividend) is Extent else None
        return _floor(space, dividend, divisor) if factor is None else factor
    ((factors, scale),) = by.items()
    exact: Terms = {}
    rest: Terms = {}
    for monomial, c in (_terms(dividend) or {}).items():
        left = _without(monomial, factors)
        if left is not None and c % scale == 0:
            exact[left] = c // scale
        else:
            rest[monomial] = c
    whole = _made(space, exact)
    left_over = _made(space, rest)
    return whole if isinstance(left_over, int) and not left_over else whole + _floor(space, left_over, divisor)


def _floor(space: Space, dividend: Any, divisor: Any) -> Any:
    if type(dividend) is not Extent and type(divisor) is not Extent:
        return dividend // divisor
    if type(dividend) is Extent and divisor > dividend >= 0:
        return 0
    if type(dividend) is not Extent:  # a number over an expression
        if divisor > dividend >= 0:
            return 0
        dividend = Extent(space, {(): dividend})
    rounded = Rounded(f"({dividend}) // ({divisor})", hint(dividend) // hint(divisor), dividend, divisor)
    return Extent(space, {(rounded,): 1})


def _factor(space: Space, dividend: Extent, divisor: Extent) -> Any:
    """The expression that `divisor` is multiplied with to give `dividend`, if there is one: by long division."""
    first, scale = max(divisor.terms.items(), key=_leading)
    quotient: Any = 0
    while isinstance(dividend, Extent):
        monomial, c = max(dividend.terms.items(), key=_leading)
        left = _without(monomial, first)
        if left is None or c % scale:
            return None
        step = _made(space, {left: c // scale})
        quotient, dividend = quotient + step, dividend - step * divisor
    return None if dividend else quotient


def _leading(term: tuple[Monomial, int]) -> tuple[Any, ...]:
    """The order of terms in a long division: the highest power of the first symbol comes last."""
    return tuple((-atom.key[0], -atom.key[1], atom.key[2]) for atom in term[0])


def _without(monomial: Monomial, factors: Monomial) -> Monomial | None:
    """The monomial divided by these factors; None where they do not divide it."""
    left = list(monomial)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)
