"""The ways in which a line can be broken: each as the place in a file and the text that takes its place.

A mutant changes what the code does and still parses. Texts for people, docstrings, imports and type hints are left
alone: what they say is no behavior that a test could notice. So are assertions, and `strict=True`, which asserts that
two sequences are equally long, `light=True`, which spares a store reading bodies that nobody asks for, and what a
protocol declares, which no code runs.

A small number becomes the next one, which is another count, place or limit. A large one is doubled: that 8,192 bytes
are read at once, or 8,193, is the same to everybody, while a limit that is twice as high is another promise. For the
same reason an order is reversed where one side is a constant of the module with a large number: `<=` in place of `<`
would be the limit and one. Numbers without a name, such as the status 500, are not limits of this kind. An order that a
clock decides is reversed too: no test meets the one moment that divides `<` from `<=`. A -1 that is assigned stands for
nothing, such as a file that is not open, which -2 does as well: it is left alone.
"""

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

_COMPARED = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_REVERSED = {ast.Lt: ">", ast.LtE: ">", ast.Gt: "<", ast.GtE: "<"}
_CLOCKS = ("time.monotonic(", "time.time(", "time.perf_counter(", ".time()", "_clock()")
_LARGE = 64
"""From here on a number is doubled."""
_COMBINED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "*"}


class Mutant(NamedTuple):
    """One change of one file."""

    line: int
    start: int
    stop: int
    """Where the changed text begins and ends, in bytes of the file."""
    text: str

    def apply(self, source: bytes) -> bytes:
        """Return the file with this change."""
        return source[: self.start] + self.text.encode() + source[self.stop :]


def mutants(source: bytes) -> Iterator[Mutant]:
    """Yield every way to break a file that is known here, in order of its lines."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    large = _large_constants(tree)
    for node in _behavior(tree):
        for place, text in _changes(node, source, starts, large):
            start, stop = _span(place, starts)
            yield Mutant(place.lineno, start, stop, text)


def _large_constants(tree: ast.Module) -> set[str]:
    """Return the names that the module gives to large numbers, written as such or as a sum, product or shift."""
    found: set[str] = set()
    for statement in tree.body:
        if not isinstance(statement, ast.Assign):
            continue
        target, value = statement.targets[0], statement.value
        both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        for name, number in zip(target.elts, value.elts, strict=True) if both else [(target, value)]:
            if isinstance(name, ast.Name) and _number(number) >= _LARGE:
                found.add(name.id)
    return found


def _number(node: ast.expr) -> int:
    """Return the number that an expression of numbers is; 0 for any other."""
    if any(not isinstance(part, ast.Constant | ast.BinOp | ast.operator) for part in ast.walk(node)):
        return 0
    value = eval(compile(ast.Expression(node), "", "eval"))
    return value if isinstance(value, int) else 0


def _behavior(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below `node` that do something; hints, texts and what only type checkers read are left out."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_silent(child):
                yield child
                yield from _behavior(child)


def _is_silent(node: ast.AST) -> bool:
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_hint = (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING") or (
        isinstance(node, ast.keyword) and node.arg == "total"
    )
    is_message = isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom)
    is_assertion = isinstance(node, ast.keyword) and node.arg in ("strict", "light")
    is_none = isinstance(node, ast.Assign) and ast.unparse(node.value) == "-1"
    return is_docstring or is_hint or is_message or is_assertion or is_none or _is_declaration(node)


def _is_declaration(node: ast.AST) -> bool:
    """Return whether a function only declares what others implement: its body is `...`."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    last = node.body[-1]
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant) and last.value.value is ...


def _changes(
    node: ast.AST, source: bytes, starts: list[int], large: Collection[str]
) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    def text(part: ast.expr | ast.stmt) -> str:
        start, stop = _span(part, starts)
        return source[start:stop].decode()

    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        is_reversed = type(node.ops[0]) in _REVERSED and (_reads_clock(node) or _has_name(node, large))
        compared = _REVERSED if is_reversed else _COMPARED
        yield node, f"(({text(node.left)}) {compared[type(node.ops[0])]} ({text(node.comparators[0])}))"
    elif isinstance(node, ast.BinOp) and type(node.op) in _COMBINED and not isinstance(node.left, ast.Constant):
        yield node, f"(({text(node.left)}) {_COMBINED[type(node.op)]} ({text(node.right)}))"
    elif isinstance(node, ast.BoolOp):
        word = "or" if isinstance(node.op, ast.And) else "and"
        yield node, f"({f' {word} '.join(f'({text(value)})' for value in node.values)})"
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield node.test, f"(not ({text(node.test)}))"
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield node, str(not node.value)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield node, str(node.value * 2 if node.value >= _LARGE else node.value + 1)
    elif isinstance(node, ast.Return) and node.value is not None and not _is_flat(node.value):
        yield node, "return None"
    elif (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)) or isinstance(
        node, ast.AugAssign
    ):
        yield node, "pass"


def _reads_clock(node: ast.Compare) -> bool:
    return any(clock in ast.unparse(node) for clock in _CLOCKS)


def _has_name(node: ast.Compare, names: Collection[str]) -> bool:
    """Return whether one side of a comparison is one of these names."""
    return any(isinstance(side, ast.Name) and side.id in names for side in (node.left, *node.comparators))


def _is_flat(node: ast.expr) -> bool:
    """Return whether a value is a constant that is changed as such, or one that no caller tells from None."""
    return isinstance(node, ast.Constant) and (not node.value or isinstance(node.value, int))


def _span(node: ast.expr | ast.stmt, starts: list[int]) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
