"""Sphinx extension that offers each tutorial, a percent file, as a notebook to download.

Notebooks are written into the built site; a line with the link goes to the top of each page.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = "tutorials"


def setup(app):
    """Called by Sphinx."""
    app.connect("doctree-resolved", _link)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def read(text: str):
    """The notebook of a percent file, which says, also where it is not run, what its cells are written in."""
    import jupytext

    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    return notebook


def _is_tutorial(app, page: str) -> bool:
    return page.startswith(f"{FOLDER}/") and Path(app.srcdir, f"{page}.py").exists()


def _link(app, tree, page):
    from docutils import nodes

    if not _is_tutorial(app, page) or app.builder.format != "html":
        return
    name = page.rpartition("/")[2]
    line = nodes.paragraph("", classes=["download"])
    line += nodes.reference("", f"{name}.ipynb", refuri=f"{name}.ipynb", internal=False)
    line += nodes.Text(" · ")
    line += nodes.reference("", f"{name}.py", refuri=f"{name}.py", internal=False)
    section = next(iter(tree.findall(nodes.section)))
    section.insert(1, line)


def _write(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    import jupytext

    for path in sorted(Path(app.srcdir, FOLDER).glob("*.py")):
        out = Path(app.outdir, FOLDER)
        out.mkdir(parents=True, exist_ok=True)
        (out / path.name).write_bytes(path.read_bytes())
        jupytext.write(read(path.read_text(encoding="utf-8")), out / f"{path.stem}.ipynb", fmt="ipynb")
