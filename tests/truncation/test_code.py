"""Definitions in source code: where each begins, with what stands above it."""

import pytest

from keepwhole.truncation.code import definition_bounds, definitions

SOURCE = """import os

# one
# two
# three
# four
@cached
def first(a):
    return a

# apart

def second(b):
    return b
// between
class Third:
    x = 1
"""


def units(text: str) -> tuple[list[str], list[str]]:
    """The units of a text, and those of them that are signatures."""
    bounds, named = definition_bounds(text, definitions(text))
    parts = [
        text[start:stop] for start, stop in zip(bounds, [*bounds[1:], len(text)], strict=True) if start < len(text)
    ]
    return parts, [part for start, part in zip(bounds, parts, strict=False) if start in named]


def test_three_lines_of_comments_and_decorators_above_a_definition_belong_to_it() -> None:
    parts, signatures = units(SOURCE)
    assert "".join(parts) == SOURCE
    assert signatures == ["# three\n# four\n@cached\ndef first(a):\n", "def second(b):\n", "// between\nclass Third:\n"]
    assert parts == [
        *("import os\n\n# one\n# two\n", signatures[0], "    return a\n\n# apart\n\n", signatures[1]),
        *("    return b\n", signatures[2], "    x = 1\n"),
    ]


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        ("def f():", True),
        ("    async def f(self):", True),
        ("export default function f() {", True),
        ("pub(crate) fn f() {", True),
        ("\tfunc f() {", True),
        ("class A:", True),
        ("describe(it)", True),
        ("define(x)", False),
        ("a def b", False),
        ("classes = 3", False),
        ("#def f():", False),
    ],
)
def test_a_definition_begins_with_its_keyword(line: str, begins: bool) -> None:
    text = "\n".join(["def a():", "x", "def b():", "x", "def c():", "x", line, "x", ""])
    assert (text.index(line, 30) in definitions(text)) is begins
    alone = "\n".join([line, "def a():", "def b():", "def c():", ""])
    assert (0 in definitions(alone)) is begins


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        ("int main(int argc) {", True),
        ("static void *f(void) {  ", True),
        ("std::vector<int> g(a, b) {", True),
        ("main(int argc) {", False),
        ("int main(int argc)", False),
        ("int main(int argc {", False),
        ("return f(x);", False),
    ],
)
def test_without_keywords_a_type_a_name_and_a_body_begin_a_definition(line: str, begins: bool) -> None:
    for text in (f"#include <a>\n{line}\n  x\n}}\n", f"{line}\n  x\n}}\n"):
        assert (text.index(line) in definitions(text)) is begins


def test_two_definitions_with_keywords_are_found_beside_those_with_types() -> None:
    text = "struct a {\n};\nint f(int x) {\n}\nenum b {\n};\n"
    assert [text[at : at + 6] for at in definitions(text)] == ["struct", "int f(", "enum b"]
