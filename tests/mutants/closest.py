"""Which tests are closest to a module: those that mirror its name, those that import it, those of its folder."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_IMPORT = re.compile(r"^\s*(?:from|import) (keepwhole[\w.]*)(?: import ([^\n]*))?", re.MULTILINE)
_SLOW = ("torture", "mutants", "clients", "test_docs.py", "test_linear_time.py", "test_never_dearer_machine.py")


@cache
def _imported(path: Path) -> frozenset[str]:
    """Return the modules that a file imports, by their dotted names."""
    found: set[str] = set()
    for module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        found.add(module)
        found.update(f"{module}.{name.strip()}" for name in names.strip("()").split(","))
    return frozenset(found)


@cache
def _test_files() -> tuple[Path, ...]:
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return tuple(path for path in files if not any(slow in path.as_posix() for slow in _SLOW))


@cache
def _users(module: str) -> frozenset[str]:
    """Return the modules of the source that import a module."""
    source = ROOT / "src"
    return frozenset(
        ".".join(path.relative_to(source).with_suffix("").parts)
        for path in source.rglob("*.py")
        if module in _imported(path)
    )


def closest_tests(module_file: Path, at_most: int = 14) -> Sequence[Path]:
    """Return the test files that are closest to a module of the source, the closest first."""
    parts = module_file.relative_to(ROOT / "src").with_suffix("").parts
    module, folder, stem = ".".join(parts), parts[1:-1], parts[-1].removesuffix("s")
    users = _users(module)

    def distance(path: Path) -> tuple[int, int, str] | None:
        is_beside = path.relative_to(ROOT / "tests").parts[:-1] == folder
        if stem in path.stem:
            return (0 if is_beside else 1), 0, path.name
        imported = _imported(path)
        if module in imported:
            return 2, len(imported), path.name
        if users & imported:
            return 3, -len(users & imported), path.name
        if is_beside:
            return 4, 0, path.name
        is_near = path.relative_to(ROOT / "tests").parts[: len(folder) - 1] == folder[:-1]
        return (5, len(imported), path.name) if is_near else None

    ranked = sorted((found, path) for path in _test_files() if (found := distance(path)) is not None)
    return [path for _, path in ranked][:at_most]
