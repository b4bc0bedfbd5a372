"""Copies of the tree, outside it, and which tests run there: they can neither see a half-made change nor leave one."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
SLOW = ("tests/clients", "tests/torture", "tests/mutants", "tests/promises/test_linear_time.py")
"""What is not worth its time here; nor are the tests behind these marks: what a mutant breaks, others notice first."""
MARKS = "not torture and not browser and not clients"
_LEFT_OUT = (
    ".git",
    ".venv",
    ".venvs",
    ".browser",
    ".clients",
    ".servers",
    ".strangers",
    ".mutants",
    "__pycache__",
    ".hypothesis",
)
_UNWANTED = ("PYTEST_CURRENT_TEST", "PYTHONDONTWRITEBYTECODE")


@contextmanager
def copy_of_tree() -> Iterator[Path]:
    """Make a copy without what is installed or generated, and delete it at the end."""
    with tempfile.TemporaryDirectory(prefix="mutants_") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*_LEFT_OUT), symlinks=True)
        yield tree


def environment_in(tree: Path) -> dict[str, str]:
    """Return the environment for tests in a copy of the tree.

    In CI's profile Hypothesis draws the same every time, and with compiled files a run begins in a third of the time.
    """
    outer = {key: value for key, value in os.environ.items() if key not in _UNWANTED}
    return {**outer, "CI": "true", "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
