"""How operators treat sparse arrays (the tables in the documentation of `mx.nd.sparse`): rules that records name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.base import MXNetError
from core.ops.values import Attrs

# The numbers of storage types in symbol files (`__storage_type__`).
NUMBERS = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}


class Storage:
    """Results are dense arrays, whatever the inputs are. makes: whether dense inputs become something else, too."""

    makes = False

    def result(self, stypes: Sequence[str], attrs: Attrs) -> str:
        """The storage type that MXNet gives the result for inputs of these."""
        return "default"

    def keeps_zero(self, attrs: Attrs) -> bool:
        """Whether zeros of the only input stay zero, so that the operator acts on the stored values."""
        return False

    def rows_alone(self, attrs: Attrs) -> bool:
        """Whether the operator, a step of an optimizer, changes the rows of a row-sparse gradient alone."""
        return False


class KeepsZero(Storage):
    """Of one array, whose zeros it leaves alone (`when` the attributes say so).

    steep: its slope at zero is infinite, so that zeros of a gradient do not stay zero.
    """

    def __init__(self, when: Callable[[Attrs], bool] = lambda attrs: True, steep: bool = False) -> None:
        self._when, self.steep = when, steep

    def result(self, stypes: Sequence[str], attrs: Attrs) -> str:
        return stypes[0] if self._when(attrs) else "default"

    def keeps_zero(self, attrs: Attrs) -> bool:
        return self._when(attrs)


class Kept(Storage):
    """The storage type that all inputs have, of those named, along the first axis."""

    def __init__(self, *kinds: str) -> None:
        self._kinds = kinds

    def result(self, stypes: Sequence[str], attrs: Attrs) -> str:
        same = attrs.get("dim", 0) == 0 and len(set(stypes)) == 1 and stypes[0] in self._kinds
        return stypes[0] if same else "default"


class RowUpdate(Storage):
    """A step of an optimizer on the rows of its gradient, or only `if_lazy`."""

    def __init__(self, if_lazy: bool = True) -> None:
        self._if_lazy = if_lazy

    def rows_alone(self, attrs: Attrs) -> bool:
        return not self._if_lazy or attrs.get("lazy_update", True)


class Told(Storage):
    """The result's storage type by a rule of its own: `rule(stypes, attrs)`."""

    def __init__(self, rule: Callable[[Sequence[str], Attrs], str], makes: bool = False) -> None:
        self._rule, self.makes = rule, makes

    def result(self, stypes: Sequence[str], attrs: Attrs) -> str:
        return self._rule(stypes, attrs)


class DenseOnly(Storage):
    """Dense; sparse inputs are refused where the attributes say so, for a reason that is told."""

    def __init__(self, when: Callable[[Attrs], bool], reason: str) -> None:
        self._when, self._reason = when, reason

    def result(self, stypes: Sequence[str], attrs: Attrs) -> str:
        if self._when(attrs) and set(stypes) != {"default"}:
            raise MXNetError(f"sparse inputs are refused: {self._reason}")
        return "default"


DENSE, KEEPS_ZERO = Storage(), KeepsZero()
DENSE_OF_STORED = Storage()  # dense as well, from what sparse inputs store (`on_stored` of `core.ops.facts`)
FIRST_CSR = Told(lambda stypes, attrs: "csr" if stypes[0] == "csr" and "row_sparse" not in stypes else "default")
FIRST_KEPT = Told(lambda stypes, attrs: stypes[0])


def rows_if_asked(stypes: Sequence[str | None], attrs: Attrs) -> bool:
    """The rule of lookups: the gradient of what rows are taken from is stored by rows if `sparse_grad` says so."""
    return attrs["sparse_grad"]


def of_variables(attrs: dict[str, Attrs]) -> dict[str, str]:
    """The storage types that variables were made with, from their attributes by name."""
    names = {str(number): name for name, number in NUMBERS.items()}
    given = {name: a.get("__storage_type__") for name, a in attrs.items()}
    return {name: names[number] for name, number in given.items() if number in names}
