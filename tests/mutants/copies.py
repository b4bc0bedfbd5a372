"""Copies of the tree, outside it: what runs there can neither see a half-made change nor leave anything behind."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LEFT_OUT = (".git", ".venv", ".venvs", ".browser", ".clients", ".servers", ".mutants", "__pycache__", ".hypothesis")


@contextmanager
def copy_of_tree() -> Iterator[Path]:
    """Make a copy without what is installed or generated, and delete it at the end."""
    with tempfile.TemporaryDirectory(prefix="mutants_") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*_LEFT_OUT), symlinks=True)
        yield tree
