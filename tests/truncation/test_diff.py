"""The units of a diff: the header of each file, the first line of each hunk, and its body."""

import pytest

from keepwhole.truncation.cut import TextSource, render
from keepwhole.truncation.diff import diff, hunk_bounds
from keepwhole.truncation.strategy import StrategyOptions

LETTERS = "ghijklmnopqrstuvwxyz"


def units(text: str) -> tuple[list[str], list[str]]:
    """The units of a text, and those of them that begin with a header."""
    bounds, headers = hunk_bounds(text)
    parts = [
        text[start:stop] for start, stop in zip(bounds, [*bounds[1:], len(text)], strict=True) if start < len(text)
    ]
    return parts, [part for start, part in zip(bounds, parts, strict=False) if start in headers]


GIT = """diff --git a/one b/one
--- a/one
+++ b/one
@@ -1,2 +1,2 @@
-a
+b
@@ -9 +9 @@ def f():
--- c
+++ d
diff --git a/two b/two
@@ -1 +1 @@
+e
"""


def test_a_file_and_each_of_its_hunks_begin_a_unit() -> None:
    parts, headers = units(GIT)
    assert "".join(parts) == GIT
    assert headers == [
        *(
            "diff --git a/one b/one\n--- a/one\n+++ b/one\n",
            "@@ -1,2 +1,2 @@\n",
            "@@ -9 +9 @@ def f():\n",
            "--- c\n+++ d\n",
        ),
        *("diff --git a/two b/two\n", "@@ -1 +1 @@\n"),
    ]


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("--- old\n+++ new\n@@ -1 +1 @@\n-a\n", ["--- old\n+++ new\n", "@@ -1 +1 @@\n"]),
        ("words\n--- old\n+++ new\n@@ -1 +1 @@\n-a\n", ["--- old\n+++ new\n", "@@ -1 +1 @@\n"]),
        ("--- old\nno header\n", []),
        ("Index: one\n===\n--- one\n+++ one\n@@ -1 +1 @@\n", ["Index: one\n===\n--- one\n+++ one\n", "@@ -1 +1 @@\n"]),
        ("3,4c3\n< a\n---\n> b\n7d6\n< c\n", ["3,4c3\n", "7d6\n"]),
        ("***************\n*** 1 ****\n", ["***************\n"]),
        ("@@ -1 +1 @@", ["@@ -1 +1 @@"]),
        ("plain words\n", []),
    ],
)
def test_headers_of_several_forms_are_known(text: str, headers: list[str]) -> None:
    parts, found = units(text)
    assert found == headers
    assert "".join(parts) == text


def hunk(number: int, said: str) -> str:
    name = LETTERS[number // 20] + LETTERS[number % 20]
    return f"@@ -{number} +{number} @@\n" + f"+the words of {name} {said}\n" * 4


def test_of_hunks_that_are_asked_for_the_first_eight_are_shown_whole() -> None:
    """Ten of them are at the end, where nothing else would bring them."""
    plain, asked = [hunk(n, "say little") for n in range(60)], [hunk(n, "say swordfish") for n in range(60, 70)]
    text = "diff --git a/one b/one\n" + "".join([*plain, *asked, hunk(70, "say little")])
    source = TextSource(text)
    shown = render(diff(source, 3_400, StrategyOptions(question="who says swordfish?")), source)
    assert len(shown) <= 3_400
    assert [hunk in shown for hunk in asked] == [True] * 8 + [False] * 2
    without = render(diff(source, 3_400, StrategyOptions()), source)
    assert "swordfish" not in without
    assert plain[0] in without


def test_a_header_that_is_the_last_line_ends_with_the_text() -> None:
    bounds, headers = hunk_bounds("@@ -1 +1 @@\n")
    assert (list(bounds), list(headers)) == ([0, 12], [0])
    assert list(hunk_bounds("a\n@@ -1 +1 @@\nb")[0]) == [0, 2, 14, 15]
