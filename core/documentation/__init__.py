"""Docstrings of operators: what a record knows is rendered from it, what only a person can say is read from the texts
beside this file, once, when the first docstring is made. Importing `core` reads none of them.

A text (`*.rst`) holds sections. A section begins with a line `# NAME`, the name of a record (`softmax`) or of a function
that is made from a table (`np.add`), and holds what it computes (a first line, formula, shapes, pitfalls, source), lines
`:parameter: what it means`, and an example with its output. The section `# *` says what parameters mean that many
operators have. A section without prose leaves that of the record, the docstring of its rule. `tests/docs` runs the examples.
"""

from __future__ import annotations

import functools
import importlib.resources
import inspect
import textwrap
from collections.abc import Callable
from typing import NamedTuple

from core.ops.attributes import Choice, IntType
from core.ops.registry import REQUIRED, Operator
from core.ops.relations import BROADCAST, SAME
from core.ops.storage_types import KeepsZero


class Section(NamedTuple):
    """What a text says of one name: prose, the meaning of parameters, and an example (each may be empty)."""

    prose: str
    parameters: dict[str, str]
    example: str


def section_of(name: str) -> Section | None:
    """What the texts say of a name, None where they do not."""
    return sections().get(name)


def of_operator(op: Operator) -> str:
    """The docstring of the functions that apply `op`, in the style of NumPy's."""
    section = section_of(op.name) or Section(op.doc, {}, "")
    parts = [section.prose or op.doc, _parameters(op, section), _returns(op), _notes(op), examples(section)]
    return "\n\n".join(part for part in parts if part)


def of_function(name: str, function: Callable) -> str:
    """The docstring of a function that is no operator, such as `np.add`, for which a text has a section; otherwise its own.

    Where the section has no prose that of the operator `function.computes` is taken, or its own.
    """
    section = sections().get(name) or sections().get(name.rpartition(".")[0] + "." + function.__name__)
    if section is None:
        return inspect.getdoc(function) or ""
    computed = sections().get(getattr(function, "computes", ""))
    prose = section.prose or (computed.prose if computed else inspect.getdoc(function) or "")
    common = sections()["np.*" if name.startswith("np.") else "*"].parameters
    given = [
        item(_argument(p), section.parameters.get(p.name) or common.get(p.name))
        for p in inspect.signature(function).parameters.values()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    ]
    parts = [prose, block("Parameters", given), examples(section)]
    return "\n\n".join(part for part in parts if part)


def _argument(p: inspect.Parameter) -> str:
    return p.name if p.default is p.empty else f"{p.name} : default {p.default!r}"


def examples(section: Section) -> str:
    """The example under its title."""
    return block("Examples", [section.example] if section.example else [])


@functools.cache
def sections() -> dict[str, Section]:
    """All sections of all texts, by name."""
    found: dict[str, Section] = {}
    for file in importlib.resources.files(__package__).iterdir():
        if file.name.endswith(".rst"):
            for part in ("\n" + file.read_text("utf-8")).split("\n# ")[1:]:
                name, _, body = part.partition("\n")
                if name in found:
                    raise ValueError(f"two texts have a section {name!r}")
                found[name] = parse(body)
    return found


def parse(body: str) -> Section:
    """The parts of a section."""
    text, mark, example = ("\n" + body.strip()).partition("\n>>> ")
    prose, parameters = [], {}
    for line in text.strip().split("\n"):
        if line.startswith(":") and ": " in line:
            parameter, _, meaning = line[1:].partition(": ")
            parameters[parameter] = meaning
        else:
            prose.append(line)
    return Section("\n".join(prose).strip(), parameters, (mark + example).strip())


def _parameters(op: Operator, section: Section) -> str:
    """Inputs and attributes with their types and defaults."""
    common = sections()["*"].parameters
    lines = []
    for name in op.inputs:
        many = op.variadic and name == op.inputs[-1]
        kind = "arrays, one by one or as one list" if many else "array"
        if name in op.when:
            attribute, value = op.when[name]
            kind += f", with {attribute}={value!r} alone"
        elif name in op.optional:
            kind += ", optional"
        if name in op.mutates:
            kind += ", written to"
        lines.append(item(f"{'*' * many}{name} : {kind}", section.parameters.get(name)))
    for name, (attribute, default) in op.attrs.items():
        kind = attribute.hint
        if isinstance(attribute, Choice):
            kind = "one of " + ", ".join(map(repr, attribute.options))
        elif isinstance(attribute, IntType) and attribute.low > float("-inf"):
            kind += f" from {attribute.low} on"
        kind += ", required" if default is REQUIRED else f", default {default!r}"
        lines.append(item(f"{name} : {kind}", section.parameters.get(name) or common.get(name)))
    return block("Parameters", lines)


def item(head: str, text: str | None) -> str:
    return f"{head}\n{textwrap.indent(text, '    ')}" if text else head


def _returns(op: Operator) -> str:
    """How many arrays come back, of which shape and type, as far as the record tells."""
    count = op.outputs if op.visible is None else op.visible
    if callable(count):
        kind = "array or list of arrays"
    else:
        kind = "array" if count == 1 else f"list of {count} arrays"
    facts = []
    if op.inputs and op.shape is SAME:
        facts.append(f"of the shape of {op.inputs[0]}")
    elif op.shape is BROADCAST:
        facts.append("of the shape to which the inputs are broadcast")
    if op.dtype is not None:
        facts.append(f"of {op.dtype}")
    elif "dtype" in op.attrs:
        facts.append("of the type `dtype`")
    return block("Returns", [item(kind, ", ".join(facts).capitalize() + "." if facts else None)])


def _notes(op: Operator) -> str:
    """What else the record knows: gradients, randomness, modes, sparse arrays, other names, errors."""
    notes = []
    if op.inputs:
        notes.append(
            "Differentiable, to any order." if op.formula is not None and op.rule is not None
            else "Differentiable." if op.differentiable
            else "No gradient passes."
        )  # fmt: skip
    if op.rng:
        notes.append("Random: the numbers follow from `mx.random.seed`.")
    if op.train:
        notes.append("Works in training mode (`autograd.record`, `autograd.train_mode`) otherwise than in prediction.")
    if op.real:
        notes.append("Floating point alone is accepted.")
    if isinstance(op.storage, KeepsZero):
        notes.append("Sparse arrays stay sparse: the operator acts on the stored values.")
    aliases = [name for name in op.aliases if not name.startswith("_")]
    if aliases:
        notes.append(f"Other names: {', '.join(f'`{name}`' for name in aliases)}.")
    if op.attrs:
        notes.append("MXNetError for an unknown keyword or a value of the wrong kind, with the nearest accepted one.")
    return block("Notes", notes)


def block(title: str, items: list[str]) -> str:
    """Items under a title; nothing where there are none."""
    return "\n".join([title, "-" * len(title), *items]) if items else ""
