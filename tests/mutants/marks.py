"""Marks every statement of the source, so that it says by itself when it runs, in whichever process.

The sources of a copy of the tree are rewritten: before every statement of a function a byte of a shared file is set.
That is much cheaper than tracing, and what a test starts, forks or has running writes into the same file.
"""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

FOLDER = "MUTANTS_FOLDER"
"""The variable with the folder that a map is made in."""
HITS = "MUTANTS_HITS"
"""The variable with the path of the shared file; each process that runs tests has its own."""
MODULE = "mutants_hits"
_NAME = "_mutants_hit"
_SOURCE = f'''"""The bytes that are set by what runs."""

import mmap
import os

SIZE = {{size}}


def _opened():
    path = os.environ.get("{HITS}")
    if not path:
        return bytearray(SIZE)
    with open(path, "a+b") as file:
        file.write(bytes(max(0, SIZE - os.path.getsize(path))))
        file.flush()
        return mmap.mmap(file.fileno(), SIZE)


hit = _opened()
'''
_Block = list[ast.stmt]


def mark_sources(source: Path, listing: Path) -> None:
    """Rewrite every file below `source`, and list the statements in their order: file, first line, last line."""
    listed: list[tuple[str, int, int]] = []
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source.parent).as_posix()
        tree = ast.parse(path.read_bytes())
        before = len(listed)
        _mark_blocks(tree, False, name, listed)
        if len(listed) > before:
            tree.body.insert(_first_place(tree.body), ast.parse(f"from {MODULE} import hit as {_NAME}").body[0])
            path.write_text(ast.unparse(tree), encoding="utf-8")
    (source / f"{MODULE}.py").write_text(_SOURCE.format(size=len(listed) + 1), encoding="utf-8")
    listing.write_text(json.dumps(listed), encoding="utf-8")


def _mark_blocks(node: ast.AST, is_inside: bool, name: str, listed: list[tuple[str, int, int]]) -> None:
    inside = is_inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for block in _blocks(node):
        marked: _Block = []
        for at, statement in enumerate(block):
            if inside and not (at == 0 and _is_text(statement)):
                marked.append(ast.parse(f"{_NAME}[{len(listed)}] = 1").body[0])
                listed.append((name, statement.lineno, _last_line(statement)))
            _mark_blocks(statement, inside, name, listed)
            marked.append(statement)
        block[:] = marked


def _blocks(node: ast.AST) -> Iterator[_Block]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list) and block:
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _last_line(statement: ast.stmt) -> int:
    """Return where a statement ends, or, if others are inside, the line before the first of them."""
    inner = [one.lineno for block in _blocks(statement) for one in block[:1]]
    return max(statement.lineno, min(inner) - 1) if inner else statement.end_lineno or statement.lineno


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _first_place(body: _Block) -> int:
    """Return where in a module an import may be put first."""
    at = int(bool(body) and _is_text(body[0]))
    while at < len(body) and isinstance(body[at], ast.ImportFrom) and getattr(body[at], "module", "") == "__future__":
        at += 1
    return at
