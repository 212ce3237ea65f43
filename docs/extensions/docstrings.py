"""Docstrings of this project as reStructuredText.

They are written to be read in an editor: prose in which `*`, `_` and `|` are arithmetic and names, single backquotes
around code, `- ` lists, `>>>` examples, and indented blocks that are to stay as they are. reStructuredText would take
stars and bars for markup, so prose is escaped, and each block is turned into what it means.
"""

from __future__ import annotations

import re

CODE = re.compile(r"``(.+?)``|`([^`\n]+)`")
NAME = re.compile(r"[A-Za-z_][\w.]*\Z")
ITEM = re.compile(r"(\s*)([-*]|\d+\.) +")
RULE = re.compile(r"[-=]{3,}\s*\Z")


def to_rst(lines: list[str]) -> list[str]:
    """The docstring, without its common indentation, as lines of reStructuredText."""
    out: list[str] = []
    for block in _blocks(lines):
        out += [*_block(block, out), ""]
    return out


def prose(text: str) -> str:
    """One piece of running text: what is code is set as code, what looks like markup is escaped."""
    out, at = [], 0
    for match in CODE.finditer(text):
        code = match[1] or match[2]
        out += [_escaped(text[at : match.start()]), _code(code, text[: match.start()], text[match.end() :])]
        at = match.end()
    return "".join([*out, _escaped(text[at:])])


def _blocks(lines: list[str]) -> list[list[str]]:
    """Runs of lines without blank ones; examples stand for themselves, with or without a blank line before them."""
    blocks: list[list[str]] = [[]]
    for line in (line.rstrip() for line in lines):
        example = bool(blocks[-1]) and blocks[-1][0].lstrip().startswith(">>>")
        if not line or (line.lstrip().startswith(">>>") and not example):
            blocks.append([])
        if line:
            blocks[-1].append(line)
    return [block for block in blocks if block]


def _block(block: list[str], before: list[str]) -> list[str]:
    if block[0].lstrip().startswith(">>>"):
        return [line.removeprefix(block[0][: len(block[0]) - len(block[0].lstrip())]) for line in block]
    if all(line.startswith("  ") for line in block) and not ITEM.match(block[0]):
        return ["::", "", *(f"   {line}" for line in block)]
    if len(block) > 1 and RULE.match(block[1]):
        return [f".. rubric:: {prose(block[0])}", "", *(_block(block[2:], before) if block[2:] else [])]
    if len(block) > 2 and re.fullmatch(r"[|: -]+", block[1]):
        return _table(block)
    if any(ITEM.match(line) for line in block):
        return _list(block)
    if any(line.startswith("    ") for line in block):  # aligned by hand: lines are to stay lines
        return ["::", "", *(f"   {line}" for line in block)]
    return prose("\n".join(line.strip() for line in block)).split("\n")


def _list(block: list[str]) -> list[str]:
    """Items, of which each may go on in indented lines, behind a paragraph that introduces them."""
    items: list[tuple[str, str]] = []
    for line in block:
        match = ITEM.match(line)
        if match:
            items.append(("- ", line[match.end() :]))
        elif items and line.startswith(" "):
            items[-1] = (items[-1][0], f"{items[-1][1]} {line.strip()}")
        else:
            items.append(("", line))
    out: list[str] = []
    for k, (mark, text) in enumerate(items):
        if k and mark != items[k - 1][0]:
            out.append("")
        out.append(mark + prose(text))
    return out


def _table(block: list[str]) -> list[str]:
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in block]
    rows = [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    return table(rows[0], [[prose(cell) for cell in row] for row in rows[1:]])


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table of cells that are reStructuredText already."""
    out = [".. list-table::", "   :header-rows: 1", ""]
    for row in (head, *rows):
        for k, cell in enumerate(row):
            out.append(f"   {'* -' if k == 0 else '  -'} {cell}".rstrip())
    return out


def _code(code: str, before: str, after: str) -> str:
    """Code; a name becomes a link where the reference knows it. Markup needs something that is no letter beside it."""
    left = "\\ " if before and not before[-1].isspace() and before[-1] not in "'\"([{<-/:" else ""
    right = "\\ " if after and not after[0].isspace() and after[0] not in "'\")]}>-/:.,;!?" else ""
    if code != code.strip() or code.endswith("\\"):
        return left + _escaped(code) + right
    return f"{left}:py:obj:`{code}`{right}" if NAME.match(code) else f"{left}``{code}``{right}"


def _escaped(text: str) -> str:
    text = re.sub(r"([\\*|`])", r"\\\1", text)
    text = re.sub(r"_(?=\W|\Z)", r"\\_", text)
    text = text.replace("::", ":\\ :")
    # at the start of a line these begin a list, a section or a directive
    return re.sub(r"(?m)^(\s*)([-+•.=~#>]|\(?[A-Za-z0-9]+[.)] )", r"\1\\\2", text)
