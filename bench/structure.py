"""`python -m bench.structure [FOLDER]`: sizes, names and imports of `src/keepwhole`, or of another package.

Prints lines of code by package (without comments, docstrings and blank lines), public classes and names that several of
them share, functions that begin with a bare participle, modules that import most, import knots, and files named by a
gerund. `tests/test_architecture.py` sets limits on the same figures.
"""

import argparse
import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "keepwhole"
_BUSIEST = 10
_LAYOUT = frozenset((tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER))
_IRREGULAR = (
    "begun bought bound brought built chosen drawn fed found given gone heard held kept known laid led left lost made "
    "meant met said seen sent shown spelled spent spoken stood taken thought told written"
)
_NOT_PARTICIPLES = "bed embed exceed feed need proceed red seed shed speed bring during ping ring string thing"


@dataclass(frozen=True)
class Module:
    """One file of a package."""

    name: str
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Return the syntax tree."""
        return ast.parse(self.text)

    @property
    def package(self) -> str:
        """Return the name of its package below the root, one more level below `apps`."""
        folders = self.name.split(".")[1:] if self.path.name == "__init__.py" else self.name.split(".")[1:-1]
        return "/".join(folders[: 2 if folders[:1] == ["apps"] else 1]) or "(root)"

    @property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Return all functions and methods."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]

    @property
    def public_classes(self) -> list[str]:
        """Return the names of its public classes."""
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]


def read_modules(folder: Path = SOURCE) -> dict[str, Module]:
    """Read all modules of a package, by their dotted names."""
    modules: dict[str, Module] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = Module(name, path, path.read_text(encoding="utf-8"))
    return modules


def code_lines(module: Module) -> int:
    """Return the number of lines with code."""
    texts: set[int] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in _LAYOUT and token.type != tokenize.COMMENT:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - texts)


def own_imports(module: Module, modules: Mapping[str, Module], lazy: bool = True) -> set[str]:
    """Return the modules of the same package that a module imports at run time; `lazy` ones are inside functions."""
    found: set[str] = set()
    for node in _run_time_nodes(module.tree, lazy):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(name if name in modules else node.module for name in names)
    return {name for name in found if name in modules and name != module.name}


def _run_time_nodes(node: ast.AST, lazy: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        is_type_only = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if not is_type_only and (lazy or not is_function):
            yield child
            yield from _run_time_nodes(child, lazy)


def knots(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other in a circle: each reaches all others of its group."""
    reach = {name: _reachable(name, graph) for name in graph}
    groups = {tuple(sorted(other for other in reach[name] if name in reach[other])) for name in graph}
    return sorted([list(group) for group in groups if group])


def _reachable(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found


def is_participle(name: str) -> bool:
    """Return whether the name of a function begins with a bare participle.

    >>> is_participle("_begun"), is_participle("stored_bodies"), is_participle("store_bodies"), is_participle("feed")
    (True, True, False, False)
    """
    first = name.strip("_").partition("_")[0]
    is_regular = len(first) > 3 and first.endswith(("ed", "ing"))
    return first in _IRREGULAR.split() or (is_regular and first not in _NOT_PARTICIPLES.split())


def gerund_files(modules: Iterable[Module]) -> list[str]:
    """Return the files whose names end in -ing."""
    return [str(module.path) for module in modules if module.path.stem.endswith("ing")]


def repeated_classes(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Return the names that several public classes share, with their modules."""
    places: dict[str, list[str]] = {}
    for module in modules:
        for name in module.public_classes:
            places.setdefault(name, []).append(module.name)
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.structure", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=SOURCE, help="a package (default: src/keepwhole)")
    modules = read_modules(parser.parse_args().folder)
    _print_packages(modules.values())
    repeated = repeated_classes(modules.values())
    print(f"\nnames that several public classes share: {len(repeated)}")
    for name, where in repeated.items():
        print(f"  {name:<24}{', '.join(where)}")
    functions = [function.name for module in modules.values() for function in module.functions]
    participles = sum(map(is_participle, functions))
    share = f"{participles} ({participles / len(functions):.0%})"
    print(f"\nfunctions: {len(functions)}, beginning with a bare participle: {share}")
    fan_out = {name: len(own_imports(module, modules)) for name, module in modules.items()}
    print("\nmodules that import most of the package's own modules:")
    for name in sorted(fan_out, key=lambda name: (-fan_out[name], name))[:_BUSIEST]:
        print(f"  {fan_out[name]:>3}  {name}")
    found = knots({name: own_imports(module, modules, lazy=False) for name, module in modules.items()})
    print(f"\nknots: {len(found)}")
    for group in found:
        print(f"  {', '.join(group)}")
    gerunds = gerund_files(modules.values())
    print(f"\nfiles ending in -ing: {len(gerunds)}", *(f"  {path}" for path in gerunds), sep="\n")


def _print_packages(modules: Iterable[Module]) -> None:
    files, lines, classes = Counter[str](), Counter[str](), Counter[str]()
    for module in modules:
        files[module.package] += 1
        lines[module.package] += code_lines(module)
        classes[module.package] += len(module.public_classes)
    print(f"{'package':<20}{'files':>6}{'code':>8}{'public classes':>16}")
    for package, code in lines.most_common():
        print(f"{package:<20}{files[package]:>6}{code:>8,}{classes[package]:>16}")
    print(f"{'all':<20}{files.total():>6}{lines.total():>8,}{classes.total():>16}")


if __name__ == "__main__":
    main()
