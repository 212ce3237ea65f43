"""Facts about an operator, besides how it computes: what the graph compiler, symbols and arrays ask of its record.

Each is given where the operator is written, as an option of its decorator (`operator("relu", memory="new")`); what is
left out has the default that is always right, if not always fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from core.ops.relations import NONE, Relation
from core.ops.storage_types import DENSE, Storage


@dataclass(eq=False, repr=False, kw_only=True)
class Facts:
    """real: the first input is of floating point alone; of whole numbers the results would be cut off.

    memory: "new" where no result ever lies in the memory of an input; "unknown" (a view, a copy, or the input itself, as
    attributes and strides have it) is safe for any operator.

    shape: how the shapes of inputs and results hang together, as far as that is told (`core.ops.relations`).

    storage: what becomes of sparse arrays (`core.ops.storage_types`). row_gradient: whether the gradient of the second
    input is stored by rows, from the storage types of the inputs and the attributes.
    """

    real: bool = False
    shape: Relation = NONE
    storage: Storage = DENSE
    row_gradient: Callable[[Sequence[str | None], dict], bool] = lambda stypes, attrs: False
    memory: Literal["new", "unknown"] = "unknown"
