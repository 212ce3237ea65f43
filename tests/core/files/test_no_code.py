"""No content of a file ever meets something that runs code, or a reader of the standard library that trusts it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("core", "gluon", "gluoncv", "gluonnlp", "scripts", "examples")
# What loads, with the files that may use it and why.
RULES = {
    ("pickle.load", "pickle.loads", "pickle.Unpickler", "cPickle.load", "dill.load", "joblib.load", "marshal.load",
     "marshal.loads", "shelve.open", "torch.load", "yaml.load"): {
        "gluon/data/workers.py": "between a loader and its workers, which it started",
        "gluon/data/pool_iter.py": "the same",
        "gluon/data/shared.py": "the same",
        "gluonnlp/data/stream.py": "between a stream and its worker, which it started",
    },
    ("np.load", "onp.load", "numpy.load", "np.fromregex"): {},
    ("tarfile.open", "tarfile.TarFile", "gzip.open", "bz2.open", "lzma.open", "shutil.unpack_archive"): {
        "gluon/data/streaming.py": "members are read one after the other; none is extracted",
    },
    ("zipfile.ZipFile", "gzip.GzipFile", "bz2.BZ2File"): {"core/files/archives.py": "the reader that checks"},
}  # fmt: skip


def _used(path: Path) -> set[str]:
    """Names with a dot, and those imported from modules, in a source file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            used |= {f"{node.module}.{name.name}" for name in node.names}
    return used


@pytest.mark.parametrize("names", RULES, ids=lambda names: names[0])
def test_readers_that_trust_are_used_by_nobody(names):
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    assert len(paths) > 300
    allowed = RULES[names]
    found = {str(path.relative_to(ROOT)): _used(path) & set(names) for path in paths}
    assert {name for name, used in found.items() if used} == set(allowed), {n: u for n, u in found.items() if u}
